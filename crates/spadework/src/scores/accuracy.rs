//! Clean accuracy: what a score must stand beside.

use crate::{Error, Result, Samples, Values};

/// The part of the samples whose largest output is that of their label; the first of equal outputs counts.
///
/// `None` where labels and outputs do not go together: a single output, or a label that is no index of an output.
///
/// # Errors
/// When there is not one label a sample.
///
/// ```
/// use spadework::{Samples, scores::accuracy};
/// let logits = Samples::from_f32(3, 2, vec![0.1, 0.9, 2.0, -1.0, 0.5, 0.5])?;
/// assert_eq!(accuracy(&logits, &[1, 0, 1])?, Some(2.0 / 3.0));
/// assert_eq!(accuracy(&logits, &[1, 0, 2])?, None);
/// # Ok::<(), spadework::Error>(())
/// ```
pub fn accuracy(outputs: &Samples<'_>, labels: &[i64]) -> Result<Option<f64>> {
    if !are_classes(outputs, labels)? {
        return Ok(None);
    }
    let right = predictions(outputs).into_iter().zip(labels).filter(|&(class, &label)| class as i64 == label);
    Ok(Some(right.count() as f64 / labels.len() as f64))
}

/// Whether every label names one of at least two outputs.
pub(super) fn are_classes(outputs: &Samples<'_>, labels: &[i64]) -> Result<bool> {
    name_outputs(labels, outputs.len(), outputs.dim())
}

/// Whether the labels of so many samples name one each of at least two outputs.
pub(crate) fn name_outputs(labels: &[i64], samples: usize, outputs: usize) -> Result<bool> {
    if labels.len() != samples {
        return Err(Error::LabelCount { samples, labels: labels.len() });
    }
    let classes = 0..outputs as i64;
    Ok(outputs >= 2 && labels.iter().all(|label| classes.contains(label)))
}

/// The position of every sample's largest output, the first of equal ones: the class that a classifier predicts.
///
/// ```
/// use spadework::{Samples, scores::predictions};
/// let logits = Samples::from_f32(2, 3, vec![0.1, 0.9, 0.0, 2.0, -1.0, 2.0])?;
/// assert_eq!(predictions(&logits), [1, 0]);
/// # Ok::<(), spadework::Error>(())
/// ```
pub fn predictions(outputs: &Samples<'_>) -> Vec<usize> {
    fn by_row<T: Copy + PartialOrd>(values: &[T], dim: usize) -> Vec<usize> {
        values.chunks_exact(dim).map(first_largest).collect()
    }
    match outputs.values() {
        Values::F32(values) => by_row(values, outputs.dim()),
        Values::F64(values) => by_row(values, outputs.dim()),
    }
}

fn first_largest<T: Copy + PartialOrd>(row: &[T]) -> usize {
    (1..row.len()).fold(0, |best, at| if row[at] > row[best] { at } else { best })
}
