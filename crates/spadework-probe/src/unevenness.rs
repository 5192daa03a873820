//! Unevenness: how much the outputs of a classifier change between neighboring inputs, as one number with its confidence interval.
//!
//! With the agreement A and the roughness R of [`Smoothness`], it is U = R + (1 − A): how much outputs vary between neighbors within
//! a class, plus how often the class changes between neighbors. It is 0 if neither happens; smaller is more robust. Of the numbers
//! that need only arrays, models are ranked by this one. `docs/what-the-scores-mean.md` explains how it was chosen.
//!
//! Its standard error is that of a linear approximation. With s_e = 1 on edges within a class and 0 on others, d_e = ‖r_p − r_q‖²,
//! D the mean of d_e within classes and V the mean of ‖r_p‖², so that R = D / V, an edge changes U by
//! s_e (d_e − D) / (A V) − (s_e − A), and a sample by −R (‖r_p‖² − V) / V. [`EdgeMean`] explains how the dependence between neighbors is
//! taken into account; `tests/overlap_coverage.rs` measures how often the intervals hold.

use std::sync::Arc;

use spadework::graph::Graph;
use spadework::samples::Samples;
use spadework::scores::EdgeMean;

use crate::intervals::{Confidence, Difference, Estimated};
use crate::smoothness::{ClassResiduals, Smoothness};

/// How much the outputs of a classifier change between neighboring inputs; smaller is more robust.
#[derive(Debug, Clone, PartialEq)]
pub struct Unevenness {
    input: Arc<Graph>,
    value: f64,
    /// What every sample contributes to the value, around 0, weighted by its neighbors; NaN for a sample without any.
    influences: Vec<f64>,
}

impl Unevenness {
    /// Measures the outputs over the edges of the input graph. `None` if they have no roughness: a single column, no edge within a
    /// class, or outputs that do not vary within classes.
    ///
    /// # Panics
    /// Where there is not one output per node of the graph.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use spadework::Samples;
    /// use spadework::graph::generators;
    /// use spadework_probe::Unevenness;
    /// // As for `Smoothness::of`: a roughness of 4, and one of three edges between two classes.
    /// let outputs = Samples::from_f64(4, 2, vec![3.0, 0.0, 1.0, 0.0, 0.0, 2.0, 0.0, 2.0])?;
    /// let found = Unevenness::of(Arc::new(generators::path(4)), &outputs).unwrap();
    /// assert!((found.estimate().estimate - (4.0 + 1.0 / 3.0)).abs() < 1e-15);
    /// # Ok::<(), spadework::Error>(())
    /// ```
    pub fn of(input: Arc<Graph>, outputs: &Samples<'_>) -> Option<Self> {
        let residuals = ClassResiduals::of(outputs)?;
        let smoothness = residuals.smoothness(&input)?;
        Self::of_residuals(input, &residuals, smoothness)
    }

    /// The same from what the smoothness was measured by.
    pub(crate) fn of_residuals(
        input: Arc<Graph>,
        residuals: &ClassResiduals,
        Smoothness { agreement, roughness }: Smoothness,
    ) -> Option<Self> {
        let roughness = roughness?;
        let scale = residuals.mean_square();
        let of_edge = |p: usize, q: usize| {
            if residuals.are_of_one_class(p, q) {
                (residuals.change(p, q) / scale - roughness) / agreement - (1.0 - agreement)
            } else {
                agreement
            }
        };
        // A mean over samples, as a mean in which each is weighted by its neighbors.
        let mean_degree = 2.0 * input.edge_count() as f64 / input.nodes() as f64;
        let influence = |p: usize| {
            let neighbors = input.neighbors(p);
            let of_edges: f64 = neighbors.iter().map(|&q| of_edge(p, q as usize)).sum();
            let of_sample = roughness * (1.0 - residuals.square(p) / scale);
            (of_edges + of_sample * mean_degree) / neighbors.len() as f64
        };
        let influences = (0..input.nodes())
            .map(|p| if input.neighbors(p).is_empty() { f64::NAN } else { influence(p) })
            .collect();
        Some(Self { value: roughness + (1.0 - agreement), influences, input })
    }

    /// The number with its 95 % confidence interval.
    pub fn estimate(&self) -> Estimated {
        let error = EdgeMean::of(&self.input, &self.influences).standard_error;
        let found =
            Estimated::with_standard_error(self.value, error, self.influences.len(), Confidence::TwoSided);
        Estimated { lower: found.lower.max(0.0), ..found }
    }

    /// How much more even these outputs are than those of another model on the same input graph, paired by samples: the other number
    /// minus this one.
    ///
    /// # Panics
    /// When the other model has another number of samples.
    pub fn advantage_over(&self, other: &Self) -> Difference {
        assert_eq!(self.influences.len(), other.influences.len(), "both models on the same samples");
        let pairs = other.influences.iter().zip(&self.influences);
        let differences: Vec<f64> = pairs.map(|(other, own)| other - own).collect();
        let error = EdgeMean::of(&self.input, &differences).standard_error;
        let (difference, confidence) = (other.value - self.value, Confidence::TwoSided);
        Difference::of(
            Estimated::with_standard_error(difference, error, differences.len(), confidence),
            confidence,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spadework::graph::generators;

    fn of(outputs: Vec<f64>) -> Option<Unevenness> {
        let outputs = Samples::from_f64(outputs.len() / 2, 2, outputs).unwrap();
        Unevenness::of(Arc::new(generators::path(outputs.len())), &outputs)
    }

    #[test]
    fn outputs_without_roughness_have_no_unevenness() {
        assert_eq!(of(vec![1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0]), None);
        assert_eq!(of(vec![1.0, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0, 2.0]), None);
    }

    /// Influences are around 0, whatever the degrees.
    #[test]
    fn influences_add_up_to_nothing() {
        let outputs = (0..60).map(|i| f64::from((i * 37 + i * i * 5) % 23)).collect();
        let found = of(outputs).unwrap();
        assert!(EdgeMean::of(&found.input, &found.influences).mean.abs() < 1e-13);
    }

    #[test]
    fn the_smoother_model_is_ahead() {
        let smooth: Vec<f64> = (0..40).flat_map(|i| [20.5 - f64::from(i), f64::from(i) - 20.5]).collect();
        let torn: Vec<f64> =
            (0..40).flat_map(|i| [f64::from(i * 17 % 40) - 20.5, 20.5 - f64::from(i * 17 % 40)]).collect();
        let (smooth, torn) = (of(smooth).unwrap(), of(torn).unwrap());
        let ahead = smooth.advantage_over(&torn);
        assert!(ahead.lower > 0.0 && torn.advantage_over(&smooth).upper < 0.0, "{ahead:?}");
        let same = smooth.advantage_over(&smooth);
        assert_eq!((same.difference, same.lower, same.upper), (0.0, 0.0, 0.0));
    }
}
