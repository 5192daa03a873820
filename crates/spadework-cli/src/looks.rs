//! What an array looks like it is.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hasher};

use spadework::Samples;
use spadework::samples::Values;

/// Sums of probabilities in single precision are off by less than this.
const SUM_SLACK: f64 = 1e-3;

/// Whether every row is non-negative and sums to 1.
pub(crate) fn like_probabilities(samples: &Samples<'_>) -> bool {
    samples.dim() > 1
        && match samples.values() {
            Values::F32(values) => values
                .chunks_exact(samples.dim())
                .all(|row| is_distribution(row.iter().copied().map(f64::from))),
            Values::F64(values) => {
                values.chunks_exact(samples.dim()).all(|row| is_distribution(row.iter().copied()))
            }
        }
}

fn is_distribution(row: impl Iterator<Item = f64> + Clone) -> bool {
    row.clone().all(|value| value >= 0.0) && (row.sum::<f64>() - 1.0).abs() <= SUM_SLACK
}

/// Number of different rows. Rows are told apart by a hash of 64 bits, so that none has to be kept: enough for a note.
pub(crate) fn distinct_rows(samples: &Samples<'_>) -> usize {
    match samples.values() {
        Values::F32(values) => count_distinct(values, samples.dim(), |value| u64::from(value.to_bits())),
        Values::F64(values) => count_distinct(values, samples.dim(), f64::to_bits),
    }
}

fn count_distinct<T: Copy>(values: &[T], dim: usize, bits: impl Fn(T) -> u64) -> usize {
    let hash = |row: &[T]| {
        let mut hasher = DefaultHasher::new();
        for &value in row {
            hasher.write_u64(bits(value));
        }
        hasher.finish()
    };
    values.chunks_exact(dim).map(hash).collect::<HashSet<u64>>().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_probabilities_from_logits() {
        let of = |values: [f32; 4]| Samples::from_f32(2, 2, values.to_vec()).unwrap();
        assert!(like_probabilities(&of([0.25, 0.75, 1.0, 0.0])));
        assert!(!like_probabilities(&of([0.25, 0.75, 1.5, -0.5])));
        assert!(!like_probabilities(&of([0.25, 0.75, 1.0, 0.1])));
        let column = Samples::from_f32(2, 1, vec![1.0, 1.0]).unwrap();
        assert!(!like_probabilities(&column));
    }

    #[test]
    fn counts_different_rows() {
        let samples = Samples::from_f64(4, 1, vec![1.0, 2.0, 1.0, 2.0]).unwrap();
        assert_eq!(distinct_rows(&samples), 2);
        let samples = Samples::from_f32(4, 2, vec![1.0, 2.0, 2.0, 1.0, 1.0, 2.0, 0.0, 3.0]).unwrap();
        assert_eq!(distinct_rows(&samples), 3);
    }
}
