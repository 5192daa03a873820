//! Margins: by how much the output of a classifier's decision exceeds that of the next class. They need no graph, and every
//! score of samples must be compared with them.

use spadework::error::Result;
use spadework::samples::{Samples, Values};
use spadework::scores::{Spread, largest};

use crate::accuracy::are_classes;

/// Which margin is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MarginKind {
    /// The largest output minus the second largest: never negative.
    Predicted,
    /// The output of a sample's own label minus the largest other: negative if the classifier is wrong.
    Labeled,
}

spadework::words! { written MarginKind { Predicted = "predicted", Labeled = "labeled" } }

/// The margin of every sample, in the unit of the outputs.
///
/// The outputs have at least two columns. Only the caller knows whether these columns are classes.
#[derive(Debug, Clone, PartialEq)]
pub struct Margins {
    kind: MarginKind,
    values: Vec<f64>,
}

impl Margins {
    /// The margins of the labels if there are labels and the outputs are their classes ([`accuracy`](crate::accuracy())),
    /// and otherwise those of the predictions.
    ///
    /// `None` if the outputs have a single column.
    ///
    /// # Errors
    /// When there is not one label per sample.
    ///
    /// ```
    /// use spadework::Samples;
    /// use spadework_probe::{MarginKind, Margins};
    /// let logits = Samples::from_f32(2, 2, vec![5.0, 2.0, 6.0, 4.0])?;
    /// assert_eq!(Margins::of(&logits, None)?.unwrap().values(), [3.0, 2.0]);
    /// assert_eq!(Margins::of(&logits, Some(&[0, 1]))?.unwrap().values(), [3.0, -2.0]);
    /// assert_eq!(Margins::of(&logits, Some(&[0, 7]))?.unwrap().kind(), MarginKind::Predicted);
    /// # Ok::<(), spadework::Error>(())
    /// ```
    pub fn of(outputs: &Samples<'_>, labels: Option<&[i64]>) -> Result<Option<Self>> {
        let labels = match labels {
            Some(labels) if are_classes(outputs, labels)? => Some(labels),
            _ => None,
        };
        if outputs.dim() < 2 {
            return Ok(None);
        }
        let values = match labels {
            Some(labels) => leads_of(outputs, labels.iter().map(|&label| label as usize)),
            None => match outputs.values() {
                Values::F32(values) => values.chunks_exact(outputs.dim()).map(lead_of_largest).collect(),
                values => values.all_doubles().chunks_exact(outputs.dim()).map(lead_of_largest).collect(),
            },
        };
        let kind = if labels.is_some() { MarginKind::Labeled } else { MarginKind::Predicted };
        Ok(Some(Self { kind, values }))
    }

    /// Which kind of margins they are.
    pub fn kind(&self) -> MarginKind {
        self.kind
    }

    /// The margins, one per sample.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// All samples, smallest margin first, ties to the lower index.
    pub fn ranking(&self) -> Vec<usize> {
        let fragile: Vec<f64> = self.values.iter().map(|margin| -margin).collect();
        largest(&fragile, fragile.len())
    }

    /// Their mean and quantiles.
    ///
    /// # Panics
    /// Never: samples are never empty.
    pub fn spread(&self) -> Spread {
        Spread::of(&self.values).expect("samples are never empty")
    }
}

/// In every row, the column of its class less the largest of the others.
pub(crate) fn leads_of(outputs: &Samples<'_>, classes: impl IntoIterator<Item = usize>) -> Vec<f64> {
    fn by_row<T: Copy + Into<f64>>(
        values: &[T],
        dim: usize,
        classes: impl IntoIterator<Item = usize>,
    ) -> Vec<f64> {
        values.chunks_exact(dim).zip(classes).map(|(row, class)| lead_of(row, class)).collect()
    }
    match outputs.values() {
        Values::F32(values) => by_row(values, outputs.dim(), classes),
        values => by_row(&values.all_doubles(), outputs.dim(), classes),
    }
}

/// A column less the largest of the others.
pub(crate) fn lead_of<T: Copy + Into<f64>>(row: &[T], column: usize) -> f64 {
    let others = row.iter().enumerate().filter(|&(at, _)| at != column);
    row[column].into() - others.map(|(_, &value)| value.into()).fold(f64::NEG_INFINITY, f64::max)
}

/// The largest column less the second largest.
fn lead_of_largest<T: Copy + Into<f64>>(row: &[T]) -> f64 {
    let two = row.iter().fold([f64::NEG_INFINITY; 2], |[first, second], &value| {
        let value = value.into();
        if value > first { [value, first] } else { [first, second.max(value)] }
    });
    two[0] - two[1]
}

#[cfg(test)]
mod tests {
    use super::*;
    use spadework::Error;

    fn outputs() -> Samples<'static> {
        let rows = [[1.0, 4.0, 2.0], [-3.0, -1.0, -1.0], [5.0, 0.5, 4.5], [3.0, 0.0, 1.0]];
        Samples::from_f64(4, 3, rows.as_flattened().to_vec()).unwrap()
    }

    /// Where the prediction is right both margins agree; where it is wrong the label's is what the prediction leads by,
    /// with the sign turned, if the label is second.
    #[test]
    fn labels_turn_the_sign_where_they_are_missed() {
        let predicted = Margins::of(&outputs(), None).unwrap().unwrap();
        assert_eq!(
            (predicted.kind(), predicted.values()),
            (MarginKind::Predicted, &[2.0, 0.0, 0.5, 2.0][..])
        );
        let labeled = Margins::of(&outputs(), Some(&[1, 2, 2, 0])).unwrap().unwrap();
        assert_eq!((labeled.kind(), labeled.values()), (MarginKind::Labeled, &[2.0, 0.0, -0.5, 2.0][..]));
        assert_eq!(labeled.spread().median, 1.0);
        assert_eq!((predicted.ranking(), labeled.ranking()), (vec![1, 2, 0, 3], vec![2, 1, 0, 3]));
    }

    #[test]
    fn a_single_output_leads_over_nothing() {
        let single = Samples::from_f32(2, 1, vec![1.0, 2.0]).unwrap();
        assert_eq!(Margins::of(&single, None).unwrap(), None);
        assert_eq!(Margins::of(&single, Some(&[0, 0])).unwrap(), None);
    }

    #[test]
    fn labels_are_one_a_sample() {
        let error = Margins::of(&outputs(), Some(&[0, 1])).unwrap_err();
        assert_eq!(error, Error::LabelCount { samples: 4, labels: 2 });
    }
}
