//! How smooth a classifier is over its input graph: what the arrays alone say about robustness, without a model to run.
//!
//! Both numbers compare the outputs at the two ends of the edges of the input graph, which connect nearby samples. With c_p the
//! predicted class of sample p, and r_p its outputs minus their own mean and minus the mean of its predicted class,
//!
//! ```text
//! agreement = #{(p,q) : c_p = c_q} / #{(p,q)}
//! roughness = mean over the edges (p,q) with c_p = c_q of ‖r_p − r_q‖² / mean over the samples p of ‖r_p‖²
//! ```
//!
//! The first says how often the decision stays the same between neighbors. The second says how much the outputs vary if it
//! does: 2 if neighbors have no more in common than any two samples of a class, 0 if they are equal. Neither depends on the
//! scale of the outputs. Models are ranked by both, as their [`Unevenness`](crate::Unevenness).
//! `docs/what-the-scores-mean.md` says how closely they track accuracy under attack.

use spadework::graph::Graph;
use spadework::samples::{Geometry, Samples, Side};

use crate::accuracy::predictions;

/// How smooth a classifier is over its input graph.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Smoothness {
    /// The share of input edges whose two samples get the same class; larger is more robust.
    pub agreement: f64,
    /// How much outputs vary along input edges within a class, relative to their variation within classes; smaller is more
    /// robust. `None` if outputs do not vary within classes, or no edge lies within one.
    pub roughness: Option<f64>,
}

impl Smoothness {
    /// Measures the outputs over the edges of the input graph. `None` if the outputs have a single column, or the graph has no edge.
    ///
    /// # Panics
    /// Where there is not one output per node of the graph.
    ///
    /// ```
    /// use spadework::Samples;
    /// use spadework::graph::generators;
    /// use spadework_probe::Smoothness;
    /// // Four samples in a line: two of the first class, whose outputs differ by 2 across their edge, then two of the second.
    /// let outputs = Samples::from_f64(4, 2, vec![3.0, 0.0, 1.0, 0.0, 0.0, 2.0, 0.0, 2.0])?;
    /// let found = Smoothness::of(&generators::path(4), &outputs).unwrap();
    /// assert_eq!(found.agreement, 2.0 / 3.0);
    /// // Residuals are ±(0.5, −0.5) in the first class and 0 in the second: (2 + 0) / 2 over (0.5 + 0.5 + 0 + 0) / 4.
    /// assert_eq!(found.roughness, Some(4.0));
    /// # Ok::<(), spadework::Error>(())
    /// ```
    pub fn of(graph: &Graph, outputs: &Samples<'_>) -> Option<Self> {
        ClassResiduals::of(outputs)?.smoothness(graph)
    }
}

/// Outputs less their own mean and the mean of their class, row after row.
pub(crate) struct ClassResiduals {
    classes: Vec<usize>,
    dim: usize,
    values: Vec<f64>,
}

impl ClassResiduals {
    /// None where the outputs have a single column.
    pub(crate) fn of(outputs: &Samples<'_>) -> Option<Self> {
        let dim = outputs.dim();
        if dim < 2 {
            return None;
        }
        let classes = predictions(outputs);
        // Squares of tiny numbers would be lost.
        let outputs = Geometry::default().place(Side::Output, outputs.view()).ok()?;
        let mut values = outputs.values().all_doubles().into_owned();
        for row in values.chunks_exact_mut(dim) {
            let mean = row.iter().sum::<f64>() / dim as f64;
            for value in row.iter_mut() {
                *value -= mean;
            }
        }
        let means = class_means(&values, dim, &classes);
        for (row, &class) in values.chunks_exact_mut(dim).zip(&classes) {
            let mean = means[class].iter();
            row.iter_mut().zip(mean).for_each(|(value, mean)| *value -= mean);
        }
        Some(Self { classes, dim, values })
    }

    /// None where the graph has no edge.
    pub(crate) fn smoothness(&self, graph: &Graph) -> Option<Smoothness> {
        assert_eq!(graph.nodes(), self.classes.len(), "one output per node");
        if graph.edge_count() == 0 {
            return None;
        }
        let within: Vec<(usize, usize)> = graph
            .edges()
            .map(|(p, q, _)| (p as usize, q as usize))
            .filter(|&(p, q)| self.are_of_one_class(p, q))
            .collect();
        let agreement = within.len() as f64 / graph.edge_count() as f64;
        Some(Smoothness { agreement, roughness: self.roughness(&within) })
    }

    pub(crate) fn are_of_one_class(&self, p: usize, q: usize) -> bool {
        self.classes[p] == self.classes[q]
    }

    fn row(&self, sample: usize) -> &[f64] {
        &self.values[sample * self.dim..(sample + 1) * self.dim]
    }

    fn roughness(&self, edges: &[(usize, usize)]) -> Option<f64> {
        let energy = edges.iter().map(|&(p, q)| self.change(p, q)).sum::<f64>() / edges.len() as f64;
        let scale = self.mean_square();
        (scale > 0.0 && !edges.is_empty()).then_some(energy / scale)
    }

    /// ‖r_p − r_q‖².
    pub(crate) fn change(&self, p: usize, q: usize) -> f64 {
        self.row(p).iter().zip(self.row(q)).map(|(p, q)| (p - q) * (p - q)).sum()
    }

    /// ‖r_p‖².
    pub(crate) fn square(&self, p: usize) -> f64 {
        self.row(p).iter().map(|value| value * value).sum()
    }

    /// The mean of ‖r_p‖² over the samples.
    pub(crate) fn mean_square(&self) -> f64 {
        let samples = (self.values.len() / self.dim) as f64;
        self.values.iter().map(|value| value * value).sum::<f64>() / samples
    }
}

/// The mean of the rows of every class; zeros where a class has none.
fn class_means(values: &[f64], dim: usize, classes: &[usize]) -> Vec<Vec<f64>> {
    let (mut sums, mut counts) = (vec![vec![0.0; dim]; dim], vec![0_usize; dim]);
    for (row, &class) in values.chunks_exact(dim).zip(classes) {
        counts[class] += 1;
        sums[class].iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
    }
    for (sum, &count) in sums.iter_mut().zip(&counts) {
        for sum in sum.iter_mut() {
            *sum /= count.max(1) as f64;
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use spadework::graph::generators;

    #[test]
    fn what_does_not_vary_within_classes_has_no_roughness() {
        let outputs = Samples::from_f64(4, 2, vec![1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0]).unwrap();
        let found = Smoothness::of(&generators::path(4), &outputs).unwrap();
        assert_eq!(found, Smoothness { agreement: 2.0 / 3.0, roughness: None });
    }

    #[test]
    fn classes_that_change_at_every_edge_have_no_roughness() {
        let outputs = Samples::from_f64(4, 2, vec![1.0, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0, 2.0]).unwrap();
        let found = Smoothness::of(&generators::path(4), &outputs).unwrap();
        assert_eq!(found, Smoothness { agreement: 0.0, roughness: None });
    }

    #[test]
    fn single_numbers_have_no_classes() {
        let outputs = Samples::from_f64(4, 1, vec![1.0, 0.0, 0.0, 1.0]).unwrap();
        assert_eq!(Smoothness::of(&generators::path(4), &outputs), None);
    }
}
