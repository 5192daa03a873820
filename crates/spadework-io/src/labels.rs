//! Labels: one class per sample.

use std::collections::{BTreeMap, BTreeSet};

/// The class of each sample, with the names of the classes where they are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labels {
    ids: Vec<i64>,
    names: Option<Vec<String>>,
}

impl Labels {
    /// Labels that are plain numbers.
    pub fn from_ids(ids: Vec<i64>) -> Self {
        Self { ids, names: None }
    }

    /// Labels whose class `i` is called `names[i]`.
    pub fn with_names(ids: Vec<i64>, names: Vec<String>) -> Self {
        Self { ids, names: Some(names) }
    }

    /// Labels that are words: classes are numbered in alphabetical order.
    pub fn from_words<W: AsRef<str>>(words: &[W]) -> Self {
        let names: BTreeSet<&str> = words.iter().map(AsRef::as_ref).collect();
        let by_name: BTreeMap<&str, i64> = names.iter().copied().zip(0..).collect();
        let ids = words.iter().filter_map(|word| by_name.get(word.as_ref()).copied()).collect();
        Self { ids, names: Some(names.into_iter().map(str::to_owned).collect()) }
    }

    /// The class of each sample.
    pub fn ids(&self) -> &[i64] {
        &self.ids
    }

    /// The name of a class, if the data set or file gives one.
    pub fn class_name(&self, id: i64) -> Option<&str> {
        let index = usize::try_from(id).ok()?;
        self.names.as_ref()?.get(index).map(String::as_str)
    }

    /// Whether labels are words and not meaningful numbers.
    pub fn has_names(&self) -> bool {
        self.names.is_some()
    }

    /// Number of samples.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Whether a number means the same class here and there.
    pub(crate) fn has_classes_of(&self, other: &Self) -> bool {
        self.names == other.names
    }

    /// Puts the labels of another part of the same data set behind these.
    pub(crate) fn append(&mut self, mut other: Self) {
        self.ids.append(&mut other.ids);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_numbered_in_alphabetical_order() {
        let labels = Labels::from_words(&["dog", "cat", "dog"]);
        assert_eq!(labels.ids(), [1, 0, 1]);
        assert_eq!((labels.class_name(0), labels.class_name(1)), (Some("cat"), Some("dog")));
        assert_eq!((labels.class_name(2), labels.class_name(-1)), (None, None));
    }
}
