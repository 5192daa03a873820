//! Clean accuracy, which every score must be reported with.

use std::collections::{BTreeMap, BTreeSet};

use spadework::error::{Error, Result};
use spadework::samples::{Samples, Values};

/// The share of the samples whose largest output is that of their label; the first of equal outputs
/// counts.
///
/// `None` if labels and outputs do not match: a single output, a label that is not an index of an output, or outputs that
/// are not classes. Outputs count as classes in two cases: every output is the label of some sample, or the samples of most
/// labels have their largest output at that label more often than anywhere else. (An embedding has more numbers than there
/// are labels, and its largest number is not the label.)
///
/// # Errors
/// When there is not one label per sample.
///
/// ```
/// use spadework::Samples;
/// use spadework_probe::accuracy;
/// let logits = Samples::from_f32(3, 2, vec![0.1, 0.9, 2.0, -1.0, 0.5, 0.5])?;
/// assert_eq!(accuracy(&logits, &[1, 0, 1])?, Some(2.0 / 3.0));
/// assert_eq!(accuracy(&logits, &[1, 0, 2])?, None);
/// let embedding = Samples::from_f32(2, 4, vec![0.1, 0.2, 0.9, 0.3, 0.2, 0.1, 0.3, 0.8])?;
/// assert_eq!(accuracy(&embedding, &[0, 1])?, None);
/// # Ok::<(), spadework::Error>(())
/// ```
pub fn accuracy(outputs: &Samples<'_>, labels: &[i64]) -> Result<Option<f64>> {
    Ok(correct(outputs, labels)?.map(|correct| share_of(&correct)))
}

/// Whether the largest output of every sample is that of its label; `None` if [`accuracy`] is.
fn correct(outputs: &Samples<'_>, labels: &[i64]) -> Result<Option<Vec<bool>>> {
    if !are_classes(outputs, labels)? {
        return Ok(None);
    }
    let pairs = predictions(outputs).into_iter().zip(labels);
    Ok(Some(pairs.map(|(class, &label)| class as i64 == label).collect()))
}

/// The part of the samples that are right.
pub(crate) fn share_of(correct: &[bool]) -> f64 {
    correct.iter().filter(|&&is_right| is_right).count() as f64 / correct.len() as f64
}

/// Whether the outputs are classes that the labels name.
pub(crate) fn are_classes(outputs: &Samples<'_>, labels: &[i64]) -> Result<bool> {
    if labels.len() != outputs.len() {
        return Err(Error::LabelCount { samples: outputs.len(), labels: labels.len() });
    }
    Ok(name_classes(labels, outputs.dim(), || labels.iter().copied().zip(predictions(outputs))))
}

/// Whether labels show that outputs are no classes: there are more labels than outputs, and not for a few samples by mistake, or some
/// outputs are no sample's label and most labels are not found where they would be.
pub(crate) fn deny_classes(outputs: &Samples<'_>, labels: &[i64]) -> bool {
    /// One in so many samples with a wrong label is a mistake in the labels.
    const FEW: usize = 10;
    let classes = 0..outputs.dim() as i64;
    if labels.len() != outputs.len() {
        return false;
    }
    let named: BTreeSet<i64> = labels.iter().copied().collect();
    match labels.iter().filter(|label| !classes.contains(label)).count() {
        0 => !name_classes(labels, outputs.dim(), || labels.iter().copied().zip(predictions(outputs))),
        outside => named.len() > outputs.dim() && FEW * outside > labels.len(),
    }
}

/// Whether labels name the classes of so many outputs; `predicted` are labels of samples with the positions of their largest
/// outputs.
pub(crate) fn name_classes<P: Iterator<Item = (i64, usize)>>(
    labels: &[i64],
    outputs: usize,
    predicted: impl FnOnce() -> P,
) -> bool {
    let classes = 0..outputs as i64;
    if outputs < 2 || !labels.iter().all(|label| classes.contains(label)) {
        return false;
    }
    let named: BTreeSet<i64> = labels.iter().copied().collect();
    named.len() == outputs || are_mostly_found(predicted())
}

/// Which of some samples are right, by labels of all inputs that are classes of the outputs; `None` if no labels say what is right.
/// `predicted` are indices of samples with their classes.
pub(crate) fn right<P: Iterator<Item = (usize, usize)>>(
    labels: Option<&[i64]>,
    inputs: usize,
    outputs: usize,
    predicted: impl Fn() -> P,
) -> Result<Option<Vec<bool>>> {
    let Some(labels) = labels else { return Ok(None) };
    if labels.len() != inputs {
        return Err(Error::LabelCount { samples: inputs, labels: labels.len() });
    }
    let named = || predicted().map(|(index, class)| (labels[index], class));
    let is_right = |(label, class): (i64, usize)| label == class as i64;
    Ok(name_classes(labels, outputs, named).then(|| named().map(is_right).collect()))
}

/// Whether the samples of most labels are taken for their label at least as often as for any other class.
fn are_mostly_found(predicted: impl Iterator<Item = (i64, usize)>) -> bool {
    let mut counts = BTreeMap::<i64, BTreeMap<i64, usize>>::new();
    for (label, class) in predicted {
        *counts.entry(label).or_default().entry(class as i64).or_default() += 1;
    }
    let is_found = |(label, classes): &(&i64, &BTreeMap<i64, usize>)| {
        classes.get(label).is_some_and(|own| classes.values().all(|count| count <= own))
    };
    2 * counts.iter().filter(is_found).count() > counts.len()
}

/// The position of every sample's largest output, the first of equal ones: the class that a classifier predicts.
///
/// ```
/// use spadework::Samples;
/// use spadework_probe::predictions;
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
        values => by_row(&values.all_doubles(), outputs.dim()),
    }
}

fn first_largest<T: Copy + PartialOrd>(row: &[T]) -> usize {
    (1..row.len()).fold(0, |best, at| if row[at] > row[best] { at } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of `dim` numbers whose largest one is where it is said to be.
    fn peaks(dim: usize, at: &[usize]) -> Samples<'static> {
        let row = |&peak: &usize| (0..dim).map(move |column| f64::from(u8::from(column == peak)));
        Samples::from_f64(at.len(), dim, at.iter().flat_map(row).collect::<Vec<f64>>()).unwrap()
    }

    /// However badly a classifier does, it is one where every output has its label: under attack nothing may be right.
    #[test]
    fn outputs_that_all_have_a_label_are_classes() {
        assert_eq!(accuracy(&peaks(3, &[1, 2, 0]), &[0, 1, 2]).unwrap(), Some(0.0));
        assert_eq!(accuracy(&peaks(2, &[1, 1, 1]), &[0, 1, 1]).unwrap(), Some(2.0 / 3.0));
    }

    /// Samples of some of its classes only: the predictions of most of these tell a classifier from an embedding.
    #[test]
    fn an_embedding_is_no_classifier() {
        let labels = [0, 0, 0, 1, 1, 1, 2, 2, 2];
        let classifier = peaks(10, &[0, 0, 4, 1, 1, 9, 2, 7, 7]);
        assert_eq!(accuracy(&classifier, &labels).unwrap(), Some(5.0 / 9.0));
        // One cluster of three has its largest number at its label by chance.
        let embedding = peaks(10, &[5, 5, 5, 1, 1, 1, 3, 3, 8]);
        assert_eq!(accuracy(&embedding, &labels).unwrap(), None);
    }
}
