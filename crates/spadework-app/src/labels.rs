//! The labels of the samples.

use spadework::Error as CoreError;
use spadework_io::{Labels, load_labels};

use crate::data::LabelSource;
use crate::failure::Failure;

/// The labels that a request names, or those that come with the inputs.
pub(crate) fn load(
    source: Option<&LabelSource<'_>>,
    with_inputs: Option<&Labels>,
) -> Result<Option<Labels>, Failure> {
    Ok(match source {
        Some(LabelSource::Named(name)) => Some(load_labels(name)?),
        Some(LabelSource::Given(labels)) => Some(labels.clone()),
        None => with_inputs.cloned(),
    })
}

/// One label per sample; `source` is what the user typed for them.
pub(crate) fn check_count(labels: &Labels, samples: usize, source: Option<&str>) -> Result<(), Failure> {
    if labels.len() == samples {
        return Ok(());
    }
    let failure = Failure::from(CoreError::LabelCount { samples, labels: labels.len() });
    Err(match source {
        Some(source) => failure.about_place(source),
        None => failure,
    })
}

/// A sample's label in words: the name of its class where it has one, its number otherwise.
pub(crate) fn text(labels: &Labels, index: usize) -> String {
    word(labels, labels.ids()[index])
}

/// A label in words.
pub(crate) fn word(labels: &Labels, id: i64) -> String {
    labels.class_name(id).map_or_else(|| id.to_string(), str::to_owned)
}
