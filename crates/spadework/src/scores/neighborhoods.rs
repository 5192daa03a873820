//! How well the model preserves neighborhoods, by ranks (Venna and Kaski 2001, "Neighborhood preservation in nonlinear
//! projection methods").
//!
//! With r(i,j) the rank of j among the samples nearest to i (1 for the nearest), U_k(i) the samples that are among the k nearest of i
//! at the output but not at the input, and V_k(i) the other way round,
//!
//! ```text
//! trustworthiness = 1 − 2/(nk(2n − 3k − 1)) Σ_i Σ_{j ∈ U_k(i)} (r_X(i,j) − k)
//! continuity      = 1 − 2/(nk(2n − 3k − 1)) Σ_i Σ_{j ∈ V_k(i)} (r_Y(i,j) − k)
//! ```
//!
//! Both are 1 if all neighbors stay. In contrast to [`edge_overlap`](super::edge_overlap), they take into account how far away the
//! neighbors that leave are. The sums over i are over randomly drawn samples, and the n in front is replaced by their number. Ranks among
//! all samples are exact.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use rayon::prelude::*;

use crate::error::Result;
use crate::monitor::{Monitor, check_cancelled};
use crate::neighbors::{EqualRows, TiedNeighbor, Ties, squared_distance_between};
use crate::random::{Purpose, drawn, stream};
use crate::samples::{PairedSamples, Samples};

/// How well neighborhoods are preserved; each number is from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Neighborhoods {
    /// How near the output neighbors are at the input.
    pub trustworthiness: f64,
    /// How near the input neighbors are at the output.
    pub continuity: f64,
    /// Samples whose neighbors were ranked.
    pub rows: usize,
}

impl Neighborhoods {
    /// Ranks the `neighbors` nearest samples of at most `rows` samples, which the seed draws from all. `ties` decides between
    /// equally near outputs as in a search, if some outputs are equal.
    ///
    /// `None` unless `neighbors` is below half the number of samples: otherwise the factor in front of the sums is not
    /// defined.
    ///
    /// # Errors
    /// [`Error::Cancelled`](crate::error::Error::Cancelled).
    ///
    /// # Complexity
    /// Distances of every drawn sample to all others, on both sides.
    pub fn of(
        samples: &PairedSamples<'_>,
        neighbors: usize,
        rows: usize,
        seed: u64,
        ties: Ties,
        monitor: &dyn Monitor,
    ) -> Result<Option<Self>> {
        let n = samples.len();
        if neighbors == 0 || rows == 0 || 2 * neighbors >= n {
            return Ok(None);
        }
        let chosen = drawn((0..n).collect(), rows, &mut stream(seed, Purpose::RankedRows));
        let inputs_decide = ties == Ties::Inputs && EqualRows::of(samples.output()).is_some();
        let ranked = chosen.par_iter().map(|&i| {
            check_cancelled(monitor)?;
            let (input, mut output) = (Row::of(samples.input(), i), Row::of(samples.output(), i));
            if inputs_decide {
                output.decides.clone_from(&input.distances);
            }
            let came = input.beyond(&output.nearest(neighbors), neighbors);
            let left = output.beyond(&input.nearest(neighbors), neighbors);
            Ok([came, left])
        });
        // Whole numbers, so that the order of summation does not matter.
        let sums =
            ranked.collect::<Result<Vec<_>>>()?.into_iter().fold([0, 0], |[a, b], [x, y]| [a + x, b + y]);
        let scale = 2.0 / ((chosen.len() * neighbors) as f64 * (2 * n - 3 * neighbors - 1) as f64);
        let [trustworthiness, continuity] = sums.map(|sum: u64| 1.0 - scale * sum as f64);
        Ok(Some(Self { trustworthiness, continuity, rows: chosen.len() }))
    }
}

/// The squared distances of one sample to all.
struct Row {
    sample: usize,
    distances: Vec<f64>,
    /// What decides between equal ones; empty if the index does.
    decides: Vec<f64>,
}

impl Row {
    fn of(samples: &Samples<'_>, sample: usize) -> Self {
        let distances =
            (0..samples.len()).map(|other| squared_distance_between(samples, sample, other)).collect();
        Self { sample, distances, decides: Vec::new() }
    }

    fn neighbor(&self, other: usize) -> TiedNeighbor {
        let decides = self.decides.get(other).copied().unwrap_or(0.0);
        TiedNeighbor { squared: self.distances[other], decides, index: other as u32 }
    }

    /// The order of two others by their distance, as in every search.
    fn order(&self, a: usize, b: usize) -> Ordering {
        self.neighbor(a).order(&self.neighbor(b))
    }

    fn others(&self) -> impl Iterator<Item = usize> {
        (0..self.distances.len()).filter(|&other| other != self.sample)
    }

    fn nearest(&self, neighbors: usize) -> Vec<usize> {
        let mut others: Vec<usize> = self.others().collect();
        others.select_nth_unstable_by(neighbors - 1, |&a, &b| self.order(a, b));
        others.truncate(neighbors);
        others
    }

    /// Σ max(r(j) − k, 0) over some samples j: neighbors of this row too add nothing.
    fn beyond(&self, samples: &[usize], neighbors: usize) -> u64 {
        let rank = |j: usize| 1 + self.others().filter(|&other| self.order(other, j).is_lt()).count();
        samples.iter().map(|&j| rank(j).saturating_sub(neighbors) as u64).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::monitor::Silent;

    fn line(values: Vec<f64>) -> Samples<'static> {
        Samples::from_f64(values.len(), 1, values).unwrap()
    }

    #[test]
    fn what_keeps_its_order_keeps_its_neighborhoods() {
        let positions: Vec<f64> = (0..40).map(|i| f64::from(i * i)).collect();
        let scaled = positions.iter().map(|position| 3.0 * position).collect();
        let samples = PairedSamples::new(line(positions), line(scaled)).unwrap();
        let found = Neighborhoods::of(&samples, 5, 100, 0, Ties::default(), &Silent).unwrap().unwrap();
        assert_eq!(found, Neighborhoods { trustworthiness: 1.0, continuity: 1.0, rows: 40 });
    }

    /// Positions 0, 1, 2, 3, 4 become 0, 1, 2, 3, 1.4, and k = 1. At the output 4 is nearest to 1 and to 2, at the input it has rank
    /// 4 for both; 1 is nearest to 4 and had rank 3: 3 + 3 + 2 beyond the first. The other way round, 0 was nearest to 1 and
    /// 1 to 2, and both have rank 2 now; 3 was nearest to 4 and has rank 4: 1 + 1 + 3.
    #[test]
    fn ranks_are_those_one_counts_by_hand() {
        let samples =
            PairedSamples::new(line(vec![0.0, 1.0, 2.0, 3.0, 4.0]), line(vec![0.0, 1.0, 2.0, 3.0, 1.4]))
                .unwrap();
        let found = Neighborhoods::of(&samples, 1, 5, 0, Ties::default(), &Silent).unwrap().unwrap();
        let scale = 2.0 / (5.0 * 6.0);
        // Inexact by the last bits of the scale alone.
        assert!((found.trustworthiness - (1.0 - scale * 8.0)).abs() < 1e-15, "{found:?}");
        assert!((found.continuity - (1.0 - scale * 5.0)).abs() < 1e-15, "{found:?}");
    }

    #[test]
    fn half_of_all_are_too_many_neighbors() {
        let samples =
            PairedSamples::new(line(vec![0.0, 1.0, 2.0, 3.0]), line(vec![0.0, 1.0, 2.0, 3.0])).unwrap();
        assert_eq!(Neighborhoods::of(&samples, 2, 4, 0, Ties::default(), &Silent).unwrap(), None);
        assert!(Neighborhoods::of(&samples, 1, 4, 0, Ties::default(), &Silent).unwrap().is_some());
    }

    #[test]
    fn a_caller_can_stop_it() {
        struct Stop;
        impl Monitor for Stop {
            fn is_cancelled(&self) -> bool {
                true
            }
        }
        let samples = PairedSamples::new(line(vec![0.0, 1.0, 2.0]), line(vec![0.0, 1.0, 2.0])).unwrap();
        assert_eq!(Neighborhoods::of(&samples, 1, 3, 0, Ties::default(), &Stop), Err(Error::Cancelled));
    }
}
