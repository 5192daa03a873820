//! The names of labels, classes and columns.

use spadework_io::Labels;

/// A label in words: its name where it has one, its number otherwise.
pub(crate) fn label_name(labels: &Labels, id: i64) -> String {
    labels.class_name(id).map_or_else(|| id.to_string(), str::to_owned)
}

/// A class in words, where labels may have names.
pub(crate) fn class_name(labels: Option<&Labels>, class: usize) -> String {
    labels.map_or_else(|| class.to_string(), |labels| label_name(labels, class as i64))
}

/// Names of the numbers of an input, where there are any.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ColumnNames<'a>(pub(crate) Option<&'a [String]>);

impl ColumnNames<'_> {
    pub(crate) fn name(self, at: usize) -> String {
        self.0.and_then(|names| names.get(at)).map_or_else(|| format!("[{at}]"), Clone::clone)
    }
}
