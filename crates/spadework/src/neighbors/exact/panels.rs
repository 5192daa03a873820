//! Short vectors packed for products of many rows with many.

use rayon::prelude::*;

use super::coordinates::{Coordinates, squared_norm};
use crate::neighbors::lanes::{LANES, Lanes, pair};

/// Rows and blocks of columns that are multiplied at once.
pub(super) const GROUP_ROWS: usize = 8;
pub(super) const GROUP_BLOCKS: usize = 2;
/// Rows that a packed range begins at a multiple of.
pub(super) const PACKED_ROWS: usize = 4 * LANES;
/// More than any product of rows; as half of the squared norm of rows that only fill up a block, it keeps them far from all.
pub(super) const FAR: i32 = (1 << 30) - 1;

/// Products of some rows with some blocks of columns.
pub(super) type Products<L, const ROWS: usize> = [[<L as Lanes>::Numbers; GROUP_BLOCKS]; ROWS];

/// Short vectors in blocks of [`LANES`] rows, filled up with zeros to a multiple of [`PACKED_ROWS`].
#[derive(Debug)]
pub(super) struct Panels {
    /// Pairs of numbers of a row.
    pairs: usize,
    /// Pair j of the rows of block b stands at b · pairs + j, a lane for each row.
    values: Vec<[i32; LANES]>,
    /// ⌊‖ẑ‖²/2⌋.
    halves: Vec<[i32; LANES]>,
    /// ‖ẑ‖² of every row.
    squared_norms: Vec<i32>,
    /// ε of every row.
    pub(super) errors: Vec<f64>,
}

impl Panels {
    /// All numbers of the rows.
    pub(super) fn of_all(coordinates: &Coordinates) -> Self {
        Self::pack(coordinates, coordinates.numbers, &[], coordinates.errors.clone())
    }

    /// The first `count` coordinates of the rows, and ρ for what they leave out.
    pub(super) fn of_first(coordinates: &Coordinates, count: usize) -> Self {
        let (rests, errors) = coordinates.rests(count);
        Self::pack(coordinates, count, &rests, errors)
    }

    /// The first `count` numbers of the rows, and one more each where there are `last` ones.
    fn pack(coordinates: &Coordinates, count: usize, last: &[i16], errors: Vec<f64>) -> Self {
        let rows = coordinates.rows();
        let pairs = (count + usize::from(!last.is_empty())).div_ceil(2);
        let mut values = vec![[0; LANES]; rows.next_multiple_of(PACKED_ROWS) / LANES * pairs];
        values.par_chunks_mut(pairs).enumerate().for_each(|(block, target)| {
            let mut numbers = vec![0; 2 * pairs];
            for (lane, p) in (block * LANES..rows.min((block + 1) * LANES)).enumerate() {
                numbers[..count].copy_from_slice(&coordinates.row(p)[..count]);
                if let Some(&last) = last.get(p) {
                    numbers[count] = last;
                }
                for (target, &[low, high]) in target.iter_mut().zip(numbers.as_chunks().0) {
                    target[lane] = pair(low, high);
                }
            }
        });
        let squared_norms: Vec<i32> = (0..rows)
            .into_par_iter()
            .map(|p| {
                squared_norm(&coordinates.row(p)[..count]) + squared_norm(last.get(p..=p).unwrap_or(&[]))
            })
            .collect();
        let mut halves = vec![[FAR; LANES]; rows.next_multiple_of(PACKED_ROWS) / LANES];
        for (half, norm) in halves.as_flattened_mut().iter_mut().zip(&squared_norms) {
            *half = norm / 2;
        }
        Self { pairs, values, halves, squared_norms, errors }
    }

    /// Blocks that hold a range of rows, which begins at a multiple of [`PACKED_ROWS`].
    pub(super) fn blocks(rows: &std::ops::Range<usize>) -> std::ops::Range<usize> {
        rows.start / LANES..rows.end.next_multiple_of(PACKED_ROWS) / LANES
    }

    /// Numbers of a row.
    pub(super) fn numbers(&self) -> usize {
        2 * self.pairs
    }

    pub(super) fn rows(&self) -> usize {
        self.squared_norms.len()
    }

    /// ⌊‖ẑ‖²/2⌋ of the rows of a block.
    #[inline(always)]
    pub(super) fn halves(&self, block: usize) -> &[i32; LANES] {
        &self.halves[block]
    }

    /// ⌊(‖ẑ_p‖² − `squared_reach`)/2⌋: a row whose squared distance is at most the reach has a product with p of at least
    /// this plus half of its own squared norm.
    #[inline(always)]
    pub(super) fn least_product(&self, p: usize, squared_reach: i64) -> i32 {
        ((i64::from(self.squared_norms[p]) - squared_reach) >> 1) as i32
    }

    /// ‖ẑ_p − ẑ_q‖² of rows whose product is known.
    #[inline(always)]
    pub(super) fn squared_distance(&self, p: usize, q: usize, product: i32) -> i64 {
        i64::from(self.squared_norms[p]) + i64::from(self.squared_norms[q]) - 2 * i64::from(product)
    }

    /// The products of the rows `first`.. of a block, a multiple of `GROUP_ROWS`, with `GROUP_BLOCKS` blocks of columns.
    #[inline(always)]
    pub(super) fn products<L: Lanes>(
        &self,
        lanes: L,
        row_block: usize,
        first: usize,
        column_block: usize,
    ) -> Products<L, GROUP_ROWS> {
        const PART: usize = 2;
        if L::MANY_REGISTERS {
            return self.products_of::<L, GROUP_ROWS>(lanes, row_block, first, column_block);
        }
        let mut products = [[lanes.splat(0); GROUP_BLOCKS]; GROUP_ROWS];
        for (part, products) in products.as_chunks_mut::<PART>().0.iter_mut().enumerate() {
            *products = self.products_of(lanes, row_block, first + part * PART, column_block);
        }
        products
    }

    /// The products of `ROWS` rows.
    #[inline(always)]
    fn products_of<L: Lanes, const ROWS: usize>(
        &self,
        lanes: L,
        row_block: usize,
        first: usize,
        column_block: usize,
    ) -> Products<L, ROWS> {
        let panel = |block: usize| &self.values[block * self.pairs..(block + 1) * self.pairs];
        let columns = panel(column_block).iter().zip(panel(column_block + 1));
        let first = first.min(LANES - ROWS);
        let mut products = [[lanes.splat(0); GROUP_BLOCKS]; ROWS];
        for (rows, (c0, c1)) in panel(row_block).iter().zip(columns) {
            let columns = [lanes.load(c0), lanes.load(c1)];
            for row in 0..ROWS {
                let numbers = lanes.splat(rows[first + row]);
                for block in 0..GROUP_BLOCKS {
                    products[row][block] =
                        lanes.add_pair_products(products[row][block], columns[block], numbers);
                }
            }
        }
        products
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::neighbors::Rows;
    use crate::neighbors::exact::coordinates::Frame;
    use crate::neighbors::lanes::{LanesTask, dispatch};

    struct AllProducts<'a>(&'a Panels);

    impl LanesTask for AllProducts<'_> {
        type Output = Vec<((usize, usize), i32)>;

        #[inline(always)]
        fn run<L: Lanes>(self, lanes: L) -> Self::Output {
            let mut all = Vec::new();
            let blocks = Panels::blocks(&(0..self.0.rows()));
            for row_block in blocks.clone() {
                for first in (0..LANES).step_by(GROUP_ROWS) {
                    for column_block in blocks.clone().step_by(GROUP_BLOCKS) {
                        let products = self.0.products(lanes, row_block, first, column_block);
                        for (row, products) in products.into_iter().enumerate() {
                            for (block, products) in products.into_iter().enumerate() {
                                for (lane, product) in lanes.store(products).into_iter().enumerate() {
                                    let q = (column_block + block) * LANES + lane;
                                    all.push(((row_block * LANES + first + row, q), product));
                                }
                            }
                        }
                    }
                }
            }
            all
        }
    }

    /// An odd number of coordinates, and rows that do not fill a block.
    #[test]
    fn products_are_those_of_the_rows() {
        let values: Vec<f32> = (0..70 * 19).map(|at| (at as f32 * 0.7).sin()).collect();
        let rows = Rows { values: &values, dim: 19 };
        let coordinates = Coordinates::unrotated(rows, &Frame::of(rows).expect("not too large"));
        let panels = Panels::of_all(&coordinates);
        let product = |p: usize, q: usize| -> i32 {
            let pairs = coordinates.row(p).iter().zip(coordinates.row(q));
            pairs.map(|(&a, &b)| i32::from(a) * i32::from(b)).sum()
        };
        let all = dispatch(AllProducts(&panels));
        assert_eq!(all.len(), 128 * 128);
        for ((p, q), got) in all {
            let want = if p.max(q) < 70 { product(p, q) } else { 0 };
            assert_eq!(got, want, "rows {p} and {q}");
        }
    }
}
