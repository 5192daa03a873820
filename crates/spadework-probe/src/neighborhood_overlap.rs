//! Neighborhood overlap with its confidence interval: the share of input neighbors that are output neighbors too.
//!
//! It is a mean over samples, each weighted by its number of neighbors, so its standard error costs nothing compared with the graphs, and
//! two models on the same samples have a paired difference. [`EdgeMean`] explains how the dependence between neighbors is taken into
//! account; `tests/overlap_coverage.rs` measures how often the intervals hold.

use std::sync::Arc;

use spadework::graph::Graph;
use spadework::scores::{EdgeMean, SampleOverlaps};

use crate::intervals::{Confidence, Difference, Estimated};

/// How many of its input neighbors every sample keeps, with the requested k.
#[derive(Debug, Clone, PartialEq)]
pub struct NeighborhoodOverlap {
    input: Arc<Graph>,
    samples: SampleOverlaps,
}

impl NeighborhoodOverlap {
    /// The overlap of two graphs of the same samples.
    ///
    /// # Panics
    /// When the graphs have different numbers of nodes.
    pub fn between(input: Arc<Graph>, output: &Graph) -> Self {
        let samples = SampleOverlaps::between(&input, output);
        Self { input, samples }
    }

    /// The overlap of every sample.
    pub fn samples(&self) -> &SampleOverlaps {
        &self.samples
    }

    /// The overlap of all of them with its 95 % confidence interval.
    pub fn estimate(&self) -> Estimated {
        let EdgeMean { mean, standard_error, .. } = EdgeMean::of(&self.input, self.samples.shares());
        let nodes = self.input.nodes();
        Estimated::with_standard_error(mean, standard_error, nodes, Confidence::TwoSided).within_unit()
    }

    /// The overlap of groups of samples; `groups` says which of `count` groups every sample belongs to. None for a group whose samples
    /// have no neighbors.
    ///
    /// # Panics
    /// When there is not one group per sample, or a group is not below `count`.
    pub fn of_groups(&self, groups: &[usize], count: usize) -> Vec<Option<Estimated>> {
        let shares = self.samples.shares();
        let mut known = vec![0; count];
        for (&group, _) in groups.iter().zip(shares).filter(|(_, share)| !share.is_nan()) {
            known[group] += 1;
        }
        let means = EdgeMean::of_groups(&self.input, shares, groups, count).into_iter().zip(known);
        let estimate = |(EdgeMean { mean, standard_error, .. }, n)| {
            let found = Estimated::with_standard_error(mean, standard_error, n, Confidence::TwoSided);
            (n > 0).then(|| found.within_unit())
        };
        means.map(estimate).collect()
    }

    /// This overlap minus that of another model on the same input graph, paired by samples.
    ///
    /// # Panics
    /// When the other model has another number of samples.
    pub fn less(&self, other: &Self) -> Difference {
        self.less_shares(other.samples.shares(), Confidence::TwoSided)
    }

    /// This overlap minus that of another model on the same input graph, given by its share for every sample.
    ///
    /// # Panics
    /// When there is not one share per sample.
    pub fn less_shares(&self, shares: &[f64], confidence: Confidence) -> Difference {
        assert_eq!(self.input.nodes(), shares.len(), "both models on the same samples");
        let pairs = self.samples.shares().iter().zip(shares);
        let differences: Vec<f64> = pairs.map(|(own, other)| own - other).collect();
        let EdgeMean { mean, standard_error, .. } = EdgeMean::of(&self.input, &differences);
        let nodes = self.input.nodes();
        Difference::of(Estimated::with_standard_error(mean, standard_error, nodes, confidence), confidence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring of six against a path: of the nodes that lose the edge between them, each keeps one of two neighbors. A group of one sample says
    /// nothing about others.
    #[test]
    fn groups_have_the_overlap_of_their_samples() {
        let ring = Arc::new(Graph::from_edges(6, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5)]).unwrap());
        let path = Graph::from_edges(6, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]).unwrap();
        let found = NeighborhoodOverlap::between(ring, &path).of_groups(&[0, 1, 1, 1, 2, 0], 4);
        let numbers = |at: usize| found[at].map(|found| (found.estimate, found.lower, found.upper, found.n));
        assert_eq!(numbers(0), Some((0.5, 0.5, 0.5, 2)));
        assert_eq!(numbers(1), Some((1.0, 1.0, 1.0, 3)));
        assert_eq!(numbers(2), Some((1.0, 0.0, 1.0, 1)));
        assert_eq!(numbers(3), None);
    }

    /// A ring of six against a path (five of six edges stay) and against no edge of it (none stays).
    #[test]
    fn differences_are_paired_by_samples() {
        let ring = Arc::new(Graph::from_edges(6, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5)]).unwrap());
        let path = Graph::from_edges(6, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]).unwrap();
        let other = Graph::from_edges(6, &[(0, 2), (2, 4), (1, 3), (3, 5)]).unwrap();
        let kept = NeighborhoodOverlap::between(Arc::clone(&ring), &path);
        let lost = NeighborhoodOverlap::between(ring, &other);
        assert!((kept.estimate().estimate - 5.0 / 6.0).abs() < 1e-15);
        assert_eq!((lost.estimate().estimate, lost.estimate().upper), (0.0, 0.0));
        let difference = kept.less(&lost);
        assert!((difference.difference - 5.0 / 6.0).abs() < 1e-15 && difference.lower > 0.0);
        let same = kept.less(&kept);
        assert_eq!((same.difference, same.lower, same.upper), (0.0, 0.0, 0.0));
    }
}
