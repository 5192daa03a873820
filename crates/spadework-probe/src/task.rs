//! What the outputs of a model are: classes, an embedding, or numbers that it predicts.

use std::borrow::Cow;
use std::collections::BTreeSet;

use spadework::error::Result;
use spadework::samples::{Metric, Samples, Values};

use crate::accuracy::{are_classes, deny_classes, predictions};

/// What a caller says about the outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Task {
    /// Several numbers per sample are taken for classes; for an embedding where the labels show that they are none, or where there are no
    /// labels and only directions count: every row has the length 1, or rows are compared by cosine distance. Probabilities are classes in
    /// any case. A single one is taken for the two classes of labels with two
    /// values, and for a predicted number otherwise.
    #[default]
    Auto,
    /// One number per class, or one for two classes.
    Classes,
    /// Coordinates: there are no classes.
    Embedding,
    /// Numbers that are predicted: there are no classes, and probes measure how far the numbers move.
    Regression,
}

impl Task {
    /// All tasks.
    pub const ALL: [Self; 4] = [Self::Auto, Self::Classes, Self::Embedding, Self::Regression];
}

spadework::words! { Task {
    Auto = "auto",
    Classes = "classes",
    Embedding = "embedding",
    Regression = "regression",
} }

/// What given outputs are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OutputKind {
    /// One column per class.
    Classes,
    /// One column z for two classes: the second if z is above the threshold. This is the same as the columns −z and z.
    TwoClasses {
        /// 0, or 0.5 where all outputs are probabilities.
        threshold: f64,
    },
    /// Coordinates.
    Embedding,
    /// Predicted numbers.
    Numbers,
}

impl OutputKind {
    /// What outputs are, by the task, by the labels and by the distance between them.
    ///
    /// ```
    /// use spadework::Samples;
    /// use spadework::samples::Metric::{Cosine, Euclidean};
    /// use spadework_probe::{OutputKind, Task};
    /// let logits = Samples::from_f32(3, 1, vec![-2.0, 0.5, 3.0])?;
    /// let kind = |labels| OutputKind::of(Task::Auto, &logits, labels, Euclidean);
    /// assert_eq!(kind(Some(&[0, 1, 1])), OutputKind::TwoClasses { threshold: 0.0 });
    /// assert_eq!(kind(None), OutputKind::Numbers);
    /// let rows = Samples::from_f32(2, 2, vec![-2.0, 0.5, 3.0, 1.0])?;
    /// let kind = |metric| OutputKind::of(Task::Auto, &rows, None, metric);
    /// assert_eq!([kind(Euclidean), kind(Cosine)], [OutputKind::Classes, OutputKind::Embedding]);
    /// # Ok::<(), spadework::Error>(())
    /// ```
    pub fn of(task: Task, outputs: &Samples<'_>, labels: Option<&[i64]>, metric: Metric) -> Self {
        match (task, outputs.dim()) {
            (Task::Embedding, _) => Self::Embedding,
            (Task::Auto, 2..) if labels.is_some_and(|labels| deny_classes(outputs, labels)) => {
                Self::Embedding
            }
            (Task::Auto, 2..) if labels.is_none() && are_directions(outputs, metric) => Self::Embedding,
            (Task::Auto | Task::Classes, 2..) => Self::Classes,
            (Task::Classes, _) => Self::two_classes(outputs),
            (Task::Auto, _) if labels.is_some_and(|labels| two_values(labels).is_some()) => {
                Self::two_classes(outputs)
            }
            (Task::Auto | Task::Regression, _) => Self::Numbers,
        }
    }

    fn two_classes(outputs: &Samples<'_>) -> Self {
        let values = outputs.values();
        let are_probabilities = (0..values.len()).all(|at| (0.0..=1.0).contains(&values.get(at)));
        Self::TwoClasses { threshold: if are_probabilities { 0.5 } else { 0.0 } }
    }

    /// The outputs with one column per class; none if there are no classes.
    ///
    /// # Errors
    /// Never, for outputs that are samples.
    pub fn classes<'a>(self, outputs: &'a Samples<'a>) -> Result<Option<Cow<'a, Samples<'a>>>> {
        Ok(match self {
            Self::Classes => Some(Cow::Borrowed(outputs)),
            Self::TwoClasses { threshold } => Some(Cow::Owned(both_sides(outputs, threshold)?)),
            Self::Embedding | Self::Numbers => None,
        })
    }

    /// The same for owned outputs; outputs without classes are returned unchanged.
    ///
    /// # Errors
    /// As [`classes`](Self::classes).
    pub fn into_classes(self, outputs: Samples<'static>) -> Result<Samples<'static>> {
        match self {
            Self::TwoClasses { threshold } => both_sides(&outputs, threshold),
            Self::Classes | Self::Embedding | Self::Numbers => Ok(outputs),
        }
    }

    /// Number of classes of outputs with this many columns.
    pub fn class_count(self, columns: usize) -> usize {
        match self {
            Self::TwoClasses { .. } => 2,
            Self::Classes | Self::Embedding | Self::Numbers => columns,
        }
    }

    /// The label that the outputs predict for every sample; `None` if [`accuracy`](crate::accuracy()) is.
    ///
    /// # Errors
    /// When there is not one label per sample.
    ///
    /// ```
    /// use spadework::Samples;
    /// use spadework::samples::Metric;
    /// use spadework_probe::{OutputKind, Task};
    /// let logits = Samples::from_f32(3, 1, vec![-2.0, 0.5, 3.0])?;
    /// let kind = OutputKind::of(Task::Auto, &logits, Some(&[3, 7, 3]), Metric::Euclidean);
    /// assert_eq!(kind.predicted_labels(&logits, &[3, 7, 3])?, Some(vec![3, 7, 7]));
    /// # Ok::<(), spadework::Error>(())
    /// ```
    pub fn predicted_labels(self, outputs: &Samples<'_>, labels: &[i64]) -> Result<Option<Vec<i64>>> {
        let Some(classes) = self.classes(outputs)? else { return Ok(None) };
        if !are_classes(&classes, &self.labels(labels))? {
            return Ok(None);
        }
        let two = if matches!(self, Self::TwoClasses { .. }) { two_values(labels) } else { None };
        let label = |class: usize| two.map_or(class as i64, |two| two[class]);
        Ok(Some(predictions(&classes).into_iter().map(label).collect()))
    }

    /// The labels as positions of these columns: two values become 0 and 1.
    pub fn labels(self, labels: &[i64]) -> Cow<'_, [i64]> {
        match (self, two_values(labels)) {
            (Self::TwoClasses { .. }, Some([_, second])) => {
                labels.iter().map(|&label| i64::from(label == second)).collect()
            }
            _ => Cow::Borrowed(labels),
        }
    }
}

/// Whether only the directions of rows count: every row has the length 1, as embedders return them, or the metric says so. Probabilities do
/// not count: those of a classifier that is sure of each sample have the length 1 too, but add up to 1.
fn are_directions(outputs: &Samples<'_>, metric: Metric) -> bool {
    /// Rows in half precision and in bfloat16 are off by less.
    const SLACK: f64 = 5e-3;
    /// So are sums of probabilities: in bfloat16, each is off by 2⁻⁹ of itself at most.
    const SLACK_OF_SUM: f64 = 5e-3;
    let mut are_probabilities = true;
    for row in 0..outputs.len() {
        let numbers = outputs.values().doubles(outputs.place(row));
        let length = numbers.iter().map(|number| number * number).sum::<f64>().sqrt();
        let is_direction = match metric {
            // A row of zeros is refused where directions are compared.
            Metric::Cosine => length > 0.0,
            _ => (length - 1.0).abs() <= SLACK,
        };
        if !is_direction {
            return false;
        }
        let sum: f64 = numbers.iter().sum();
        are_probabilities &= (sum - 1.0).abs() <= SLACK_OF_SUM && numbers.iter().all(|&number| number >= 0.0);
    }
    !are_probabilities
}

/// The two values of labels, ascending, where they have two.
fn two_values(labels: &[i64]) -> Option<[i64; 2]> {
    let values: BTreeSet<i64> = labels.iter().copied().collect();
    <[i64; 2]>::try_from(values.into_iter().collect::<Vec<_>>()).ok()
}

/// The columns −z and z of one column z.
fn both_sides(outputs: &Samples<'_>, threshold: f64) -> Result<Samples<'static>> {
    match outputs.values() {
        Values::F64(values) => {
            let both = values.iter().flat_map(|value| [threshold - value, value - threshold]);
            Samples::from_f64(outputs.len(), 2, both.collect::<Vec<f64>>())
        }
        // Single precision holds all others.
        values => {
            let (values, threshold) = (values.all_singles(), threshold as f32);
            let both = values.iter().flat_map(|value| [threshold - value, value - threshold]);
            Samples::from_f32(outputs.len(), 2, both.collect::<Vec<f32>>())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accuracy;

    fn column(values: &[f64]) -> Samples<'static> {
        Samples::from_f64(values.len(), 1, values.to_vec()).unwrap()
    }

    #[test]
    fn words_name_tasks() {
        for task in Task::ALL {
            assert_eq!(task.to_string().parse::<Task>().unwrap(), task);
        }
        assert_eq!("words".parse::<Task>().unwrap_err().expected, "auto, classes, embedding or regression");
    }

    #[test]
    fn one_column_with_two_labels_is_a_classifier() {
        let logits = column(&[-1.0, 2.0, 0.5, -3.0]);
        let labels = [3, 7, 7, 7];
        let kind = OutputKind::of(Task::Auto, &logits, Some(&labels), Metric::Euclidean);
        let classes = kind.classes(&logits).unwrap().unwrap();
        assert_eq!(predictions(&classes), [0, 1, 1, 0]);
        assert_eq!(*kind.labels(&labels), [0, 1, 1, 1]);
        assert_eq!(accuracy(&classes, &kind.labels(&labels)).unwrap(), Some(0.75));
        // Probabilities of the second class are above one half.
        let probabilities = column(&[0.1, 0.9, 0.6, 0.4]);
        let kind = OutputKind::of(Task::Classes, &probabilities, None, Metric::Euclidean);
        assert_eq!(predictions(&kind.classes(&probabilities).unwrap().unwrap()), [0, 1, 1, 0]);
    }

    /// Four numbers and two labels, found at the other ends: an embedding. A classifier of more classes finds those there are.
    #[test]
    fn labels_show_what_is_an_embedding() {
        let rows = |largest: [usize; 4]| {
            let row = |at: usize| (0..4).map(move |column| f64::from(u8::from(column == at)));
            Samples::from_f64(4, 4, largest.into_iter().flat_map(row).collect::<Vec<f64>>()).unwrap()
        };
        let kind = |outputs: &Samples<'_>, labels: [i64; 4]| {
            OutputKind::of(Task::Auto, outputs, Some(&labels), Metric::Euclidean)
        };
        assert_eq!(kind(&rows([2, 3, 3, 2]), [0, 1, 0, 1]), OutputKind::Embedding);
        assert_eq!(kind(&rows([0, 1, 0, 2]), [0, 1, 0, 1]), OutputKind::Classes);
        // Every output is a label: a classifier that is always wrong.
        assert_eq!(kind(&rows([1, 2, 3, 0]), [0, 1, 2, 3]), OutputKind::Classes);
        // Labels from 1 on are a mistake; more labels than outputs are not.
        assert_eq!(kind(&rows([0, 1, 2, 3]), [1, 2, 3, 4]), OutputKind::Classes);
        let two = Samples::from_f64(4, 2, vec![0.0; 8]).unwrap();
        assert_eq!(kind(&two, [0, 1, 2, 3]), OutputKind::Embedding);
        let told = OutputKind::of(Task::Classes, &two, Some(&[0, 1, 2, 3]), Metric::Euclidean);
        assert_eq!(told, OutputKind::Classes);
    }

    /// The softmax of a classifier that is sure of every sample, in double and in half precision: rows of length 1 that are no directions.
    #[test]
    fn sure_probabilities_are_classes() {
        for classes in [2_usize, 10] {
            let softmax = |sample: usize| {
                let logit = move |class: usize| {
                    let lead = if class == sample % classes { 9.0 + sample as f64 } else { 0.0 };
                    lead + (class * 7 % 5) as f64 / 10.0
                };
                let total: f64 = (0..classes).map(|class| logit(class).exp()).sum();
                (0..classes).map(move |class| logit(class).exp() / total)
            };
            let rows: Vec<f64> = (0..20).flat_map(softmax).collect();
            // As many digits as half precision has.
            let half =
                |&number: &f64| f64::from(f32::from_bits(((number as f32).to_bits() + 0x1000) & !0x1fff));
            let halves: Vec<f64> = rows.iter().map(half).collect();
            // Those of bfloat16, cut off.
            let cut = |&number: &f64| f64::from(f32::from_bits((number as f32).to_bits() & 0xffff_0000));
            let bfloats: Vec<f64> = rows.iter().map(cut).collect();
            let opposite: Vec<f64> = rows.iter().map(|number| -number).collect();
            for (rows, expected) in [
                (rows, OutputKind::Classes),
                (halves, OutputKind::Classes),
                (bfloats, OutputKind::Classes),
                // Numbers below 0 are no probabilities.
                (opposite, OutputKind::Embedding),
            ] {
                let outputs = Samples::from_f64(20, classes, rows).unwrap();
                for metric in [Metric::Euclidean, Metric::Cosine] {
                    let kind = OutputKind::of(Task::Auto, &outputs, None, metric);
                    assert_eq!(kind, expected, "{classes} classes, {metric}");
                }
            }
        }
    }

    /// Directions without labels are an embedding; labels that name classes, and rows that do, decide otherwise.
    #[test]
    fn rows_of_length_1_are_an_embedding() {
        let turns: Vec<f64> = (0..5).flat_map(|at| <[f64; 2]>::from(f64::from(at).sin_cos())).collect();
        let circle = Samples::from_f64(5, 2, turns.clone()).unwrap();
        let by = |task, outputs: &Samples<'_>, labels, metric| OutputKind::of(task, outputs, labels, metric);
        let kind = |outputs: &Samples<'_>, labels| by(Task::Auto, outputs, labels, Metric::Euclidean);
        assert_eq!(kind(&circle, None), OutputKind::Embedding);
        assert_eq!(kind(&circle, Some(&[1, 0, 0, 1, 1])), OutputKind::Classes);
        assert_eq!(by(Task::Classes, &circle, None, Metric::Euclidean), OutputKind::Classes);
        // The same in half precision, and with one row that is longer.
        let halves: Vec<f64> = turns.iter().map(|number| (number * 1024.0).round() / 1024.0).collect();
        assert_eq!(kind(&Samples::from_f64(5, 2, halves).unwrap(), None), OutputKind::Embedding);
        let longer: Vec<f64> = turns
            .iter()
            .enumerate()
            .map(|(at, number)| if at < 2 { 1.01 * number } else { *number })
            .collect();
        let longer = Samples::from_f64(5, 2, longer).unwrap();
        assert_eq!(kind(&longer, None), OutputKind::Classes);
        // By cosine distance, the length of a row does not count.
        assert_eq!(by(Task::Auto, &longer, None, Metric::Cosine), OutputKind::Embedding);
        assert_eq!(by(Task::Classes, &longer, None, Metric::Cosine), OutputKind::Classes);
        assert_eq!(by(Task::Auto, &longer, Some(&[1, 0, 0, 1, 1]), Metric::Cosine), OutputKind::Classes);
        assert_eq!(by(Task::Auto, &longer, None, Metric::Manhattan), OutputKind::Classes);
        let named = Samples::from_f64(3, 3, vec![1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0]).unwrap();
        assert_eq!(kind(&named, None), OutputKind::Classes);
    }

    #[test]
    fn what_is_no_class_has_none() {
        let two = Samples::from_f64(2, 2, vec![1.0, 2.0, 3.0, 4.0]).unwrap();
        for (task, outputs, labels) in [
            (Task::Embedding, &two, Some(&[0, 1][..])),
            (Task::Regression, &two, None),
            (Task::Auto, &column(&[1.0, 2.0]), None),
            (Task::Auto, &column(&[1.0, 2.0, 3.0]), Some(&[0, 1, 2][..])),
        ] {
            let kind = OutputKind::of(task, outputs, labels, Metric::Euclidean);
            assert!(kind.classes(outputs).unwrap().is_none(), "{task}");
        }
    }
}
