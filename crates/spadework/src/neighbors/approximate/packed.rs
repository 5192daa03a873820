//! Heads of some samples side by side, so that one sample is compared with sixteen at once.

use super::block::Block;
use crate::neighbors::lanes::{LANES, Lanes};

/// Pairs of numbers in a head; its squared norm comes after them.
const PAIRS: usize = LANES - 1;

/// The heads of sixteen samples, a lane for each: rows of pairs of numbers, and the squared norms last.
type PackedGroup = [[i32; LANES]; PAIRS + 1];

/// Heads in groups, the last of which is filled up with zeros.
#[derive(Debug)]
pub(super) struct Packed {
    len: usize,
    groups: Vec<PackedGroup>,
}

/// A head that is near another: its place, and the squared distance.
pub(super) type Near = (usize, i32);

impl Packed {
    pub(super) fn new<'a>(heads: impl ExactSizeIterator<Item = &'a Block>) -> Self {
        let len = heads.len();
        let mut groups = vec![[[0; LANES]; PAIRS + 1]; len.div_ceil(LANES)];
        for (at, head) in heads.enumerate() {
            for (row, word) in groups[at / LANES].iter_mut().zip(head.words()) {
                row[at % LANES] = word;
            }
        }
        Self { len, groups }
    }

    /// Puts those that are within a squared distance of `limit` of a head into `near`, in their order.
    #[inline(always)]
    pub(super) fn within<L: Lanes>(&self, lanes: L, head: &Block, limit: i32, near: &mut Vec<Near>) {
        self.first_within(lanes, self.len, head, limit, near);
    }

    /// The same for those among the `first` ones.
    #[inline(always)]
    pub(super) fn first_within<L: Lanes>(
        &self,
        lanes: L,
        first: usize,
        head: &Block,
        limit: i32,
        near: &mut Vec<Near>,
    ) {
        let words = head.words();
        // They stay in registers while the groups pass by.
        let mut numbers = [lanes.splat(0); PAIRS];
        for (number, &word) in numbers.iter_mut().zip(&words) {
            *number = lanes.splat(word);
        }
        let (norm, limit) = (lanes.splat(words[PAIRS]), lanes.splat(limit));
        near.clear();
        for (group, rows) in self.groups[..first.div_ceil(LANES)].iter().enumerate() {
            let mut products = lanes.splat(0);
            for (&number, row) in numbers.iter().zip(rows) {
                products = lanes.add_pair_products(products, number, lanes.load(row));
            }
            let norms = lanes.add(norm, lanes.load(&rows[PAIRS]));
            let distances = lanes.sub(lanes.sub(norms, products), products);
            let mut lanes_within = lanes.at_least(limit, distances);
            if lanes_within == 0 {
                continue;
            }
            let distances = lanes.store(distances);
            while lanes_within != 0 {
                let lane = lanes_within.trailing_zeros() as usize;
                lanes_within &= lanes_within - 1;
                // The others only fill up the last group.
                if group * LANES + lane < first {
                    near.push((group * LANES + lane, distances[lane]));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::neighbors::lanes::{LanesTask, dispatch};

    struct Within<'a>(&'a Packed, &'a Block, i32);

    impl LanesTask for Within<'_> {
        type Output = Vec<Near>;

        #[inline(always)]
        fn run<L: Lanes>(self, lanes: L) -> Vec<Near> {
            let mut near = vec![(7, 7)];
            self.0.first_within(lanes, self.0.len / 2, self.1, self.2, &mut near);
            let first = near.clone();
            self.0.within(lanes, self.1, self.2, &mut near);
            assert!(
                near.starts_with(&first) && near[first.len()..].iter().all(|near| near.0 >= self.0.len / 2)
            );
            near
        }
    }

    /// Less than a group, a whole one, and some of which the last is not full.
    #[test]
    fn those_within_a_distance_are_found_with_it() {
        for len in [1, 16, 37] {
            let numbers: Vec<[i16; 2 * PAIRS]> = (0..len)
                .map(|p| std::array::from_fn(|i| (((p * 37 + i * i) as f64 * 0.7).sin() * 3000.0) as i16))
                .collect();
            let heads: Vec<Block> = numbers.iter().map(|numbers| Block::of(numbers)).collect();
            let packed = Packed::new(heads.iter());
            for p in 0..len {
                let squared = |q: usize| -> i32 {
                    numbers[p]
                        .iter()
                        .zip(&numbers[q])
                        .map(|(&a, &b)| (i32::from(a) - i32::from(b)).pow(2))
                        .sum()
                };
                let limit = squared(len / 2);
                let want: Vec<Near> =
                    (0..len).map(|q| (q, squared(q))).filter(|near| near.1 <= limit).collect();
                assert_eq!(dispatch(Within(&packed, &heads[p], limit)), want, "{p} of {len}");
            }
        }
    }
}
