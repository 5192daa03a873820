//! Rank correlation of two sequences of scores.

/// Kendall's τ_b of two sequences of scores: 1 for the same order, −1 for the reverse, about 0 for unrelated ones.
///
/// τ_b = (C − D)/√((N − T_a)(N − T_b)) with C concordant and D discordant pairs among N = n(n − 1)/2, and T_a, T_b the pairs
/// that are tied in `a` and in `b`. `None` if all scores of a sequence are equal, so that it has no order.
///
/// # Complexity
/// O(n log n), by Knight's algorithm (1966): D is the number of exchanges in which a merge sort brings `b` into the order of
/// `a`.
///
/// # Panics
/// When the sequences differ in length.
///
/// ```
/// use spadework::scores::kendall_tau;
/// assert_eq!(kendall_tau(&[1.0, 2.0, 3.0], &[10.0, 20.0, 30.0]), Some(1.0));
/// assert_eq!(kendall_tau(&[1.0, 2.0, 3.0], &[0.3, 0.2, 0.1]), Some(-1.0));
/// ```
pub fn kendall_tau(a: &[f64], b: &[f64]) -> Option<f64> {
    assert_eq!(a.len(), b.len(), "two scores a sample");
    let mut order: Vec<usize> = (0..a.len()).collect();
    order.sort_unstable_by(|&i, &j| a[i].total_cmp(&a[j]).then(b[i].total_cmp(&b[j])));
    let tied_a = tied_pairs(&order, |i, j| a[i] == a[j]);
    let tied_both = tied_pairs(&order, |i, j| a[i] == a[j] && b[i] == b[j]);
    let mut sorted: Vec<f64> = order.iter().map(|&i| b[i]).collect();
    let discordant = sort_counting_exchanges(&mut sorted);
    let positions: Vec<usize> = (0..sorted.len()).collect();
    let tied_b = tied_pairs(&positions, |i, j| sorted[i] == sorted[j]);
    let pairs = pairs_of(a.len() as u64);
    if tied_a == pairs || tied_b == pairs {
        return None;
    }
    // Below 2⁵³ for fewer than 10⁸ samples, so these are exact.
    let concordant_less_discordant =
        (pairs + tied_both) as f64 - (tied_a + tied_b) as f64 - 2.0 * discordant as f64;
    // The root of a product, not a product of roots: where both have the same ties it is exact, and a sequence agrees with
    // itself by 1, not by the last number below. (n⁴ is far from overflow.)
    let scale = ((pairs - tied_a) as f64 * (pairs - tied_b) as f64).sqrt();
    Some((concordant_less_discordant / scale).clamp(-1.0, 1.0))
}

fn pairs_of(count: u64) -> u64 {
    count * count.saturating_sub(1) / 2
}

/// Pairs within runs of equal entries.
fn tied_pairs(order: &[usize], equal: impl Fn(usize, usize) -> bool) -> u64 {
    order.chunk_by(|&i, &j| equal(i, j)).map(|run| pairs_of(run.len() as u64)).sum()
}

/// Sorts by merging; gives the number of pairs that stood in the wrong order.
fn sort_counting_exchanges(values: &mut Vec<f64>) -> u64 {
    let mut merged = values.clone();
    let mut exchanges = 0;
    let mut width = 1;
    while width < values.len() {
        for (from, to) in values.chunks(2 * width).zip(merged.chunks_mut(2 * width)) {
            let (left, right) = from.split_at(width.min(from.len()));
            exchanges += merge(left, right, to);
        }
        std::mem::swap(values, &mut merged);
        width *= 2;
    }
    exchanges
}

fn merge(mut left: &[f64], mut right: &[f64], merged: &mut [f64]) -> u64 {
    let mut exchanges = 0;
    for place in merged {
        *place = match (left, right) {
            // Of equals the left goes first, so that a tie is no exchange.
            ([a, ..], [b, ..]) if b < a => {
                exchanges += left.len() as u64;
                right = &right[1..];
                *b
            }
            ([a, ..], _) => {
                left = &left[1..];
                *a
            }
            ([], [b, ..]) => {
                right = &right[1..];
                *b
            }
            ([], []) => break,
        };
    }
    exchanges
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of `scipy.stats.kendalltau` (SciPy 1.17.1), variant b.
    #[test]
    fn agrees_with_scipy() {
        let cases = [
            (vec![12.0, 2.0, 1.0, 12.0, 2.0], vec![1.0, 4.0, 7.0, 1.0, 0.0], -0.471_404_520_791_031_6),
            (
                vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0],
                vec![1.0, 3.0, 2.0, 5.0, 4.0, 7.0, 6.0],
                0.714_285_714_285_714_3,
            ),
            (
                vec![0.5, 0.5, 0.1, 0.9, 0.3, 0.3, 0.3, 2.0],
                vec![1.0, 2.0, 2.0, 3.0, 3.0, 3.0, 0.0, 4.0],
                0.375_000_000_000_000_06,
            ),
        ];
        for (a, b, tau) in cases {
            // A sum of whole numbers, a product of two roots and a division: some units of rounding.
            assert!((kendall_tau(&a, &b).unwrap() - tau).abs() < 1e-15, "{tau}");
        }
    }

    /// The definition, pair by pair.
    #[test]
    fn agrees_with_the_definition() {
        let sequence = |factor: usize, modulus: usize| -> Vec<f64> {
            (0..200_usize).map(|i| ((i * factor + i * i / 3) % modulus) as f64).collect()
        };
        for (a, b) in [(sequence(7, 31), sequence(11, 13)), (sequence(3, 997), sequence(5, 991))] {
            let (mut balance, mut in_a, mut in_b) = (0.0, 0.0, 0.0);
            for i in 0..a.len() {
                for j in 0..i {
                    let (x, y): (f64, f64) = (a[i] - a[j], b[i] - b[j]);
                    let (x, y) =
                        (if x == 0.0 { 0.0 } else { x.signum() }, if y == 0.0 { 0.0 } else { y.signum() });
                    balance += x * y;
                    in_a += x * x;
                    in_b += y * y;
                }
            }
            let tau = kendall_tau(&a, &b).unwrap();
            assert!((tau - balance / f64::sqrt(in_a * in_b)).abs() < 1e-14, "{tau}");
        }
    }

    /// Whatever the number of pairs and of ties among them.
    #[test]
    fn a_sequence_agrees_with_itself_exactly() {
        for n in 2..200_u32 {
            for modulus in [3, 7, 1000] {
                let a: Vec<f64> = (0..n).map(|i| f64::from(i * 37 % modulus)).collect();
                let reverse: Vec<f64> = a.iter().map(|score| -score).collect();
                assert_eq!((kendall_tau(&a, &a), kendall_tau(&a, &reverse)), (Some(1.0), Some(-1.0)), "{n}");
            }
        }
    }

    #[test]
    fn nothing_agrees_with_equal_scores() {
        assert_eq!(kendall_tau(&[1.0; 5], &[1.0, 2.0, 3.0, 4.0, 5.0]), None);
        assert_eq!(kendall_tau(&[], &[]), None);
    }
}
