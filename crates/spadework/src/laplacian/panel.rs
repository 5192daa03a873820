//! Panels: four vectors stored row by row, the unit of work of the spectral part.
//!
//! A sparse product that gathers rows of four numbers costs little more than one that gathers single numbers, and four
//! doubles fill a vector register. Sums over rows are taken in fixed chunks that are added in order, so that no result
//! depends on the number of threads.

use pulp::{Simd, WithSimd};
use rand::{Rng, RngExt};
use rayon::prelude::*;

use crate::kernels::arch;

/// Vectors in a panel.
pub(crate) const WIDTH: usize = 4;

/// Rows of four numbers: entry `[p][lane]` is entry p of vector `lane`.
pub(crate) type Panel = Vec<[f64; WIDTH]>;

/// A small matrix between panels, `[i][j]`: vector i of the left, vector j of the right.
pub(crate) type Square = [[f64; WIDTH]; WIDTH];

/// Rows handled together; also the unit of parallel work.
const CHUNK: usize = 2048;

/// Rows of a panel that fit the nearest cache together with those of another.
const ROWS_IN_CACHE: usize = 256;

/// Below this many rows a second thread costs more than it gives.
const PARALLEL_ROWS: usize = 32 * 1024;

pub(crate) fn zeros(rows: usize) -> Panel {
    vec![[0.0; WIDTH]; rows]
}

/// Up to four vectors; the others are zero.
pub(crate) fn panel_of<'v>(vectors: impl IntoIterator<Item = &'v [f64]>, rows: usize) -> Panel {
    let mut panel = zeros(rows);
    for (lane, vector) in vectors.into_iter().enumerate() {
        for (row, &entry) in panel.iter_mut().zip(vector) {
            row[lane] = entry;
        }
    }
    panel
}

/// Entries uniform in (−1, 1).
pub(crate) fn random(rows: usize, rng: &mut impl Rng) -> Panel {
    (0..rows).map(|_| std::array::from_fn(|_| rng.random_range(-1.0..1.0))).collect()
}

/// Calls `work(first_row, rows)` for every chunk of a panel, in parallel where it pays.
pub(crate) fn for_each_chunk_mut(panel: &mut Panel, work: impl Fn(usize, &mut [[f64; WIDTH]]) + Sync) {
    if panel.len() < PARALLEL_ROWS {
        work(0, panel);
    } else {
        panel.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, rows)| work(chunk * CHUNK, rows));
    }
}

/// Adds up a value of every chunk of rows, in order.
fn sum_chunks<const N: usize>(
    rows: usize,
    of_chunk: impl Fn(std::ops::Range<usize>) -> [f64; N] + Sync,
) -> [f64; N] {
    let chunk = |index: usize| of_chunk(index * CHUNK..((index + 1) * CHUNK).min(rows));
    let add = |mut sum: [f64; N], part: [f64; N]| {
        for (sum, part) in sum.iter_mut().zip(part) {
            *sum += part;
        }
        sum
    };
    let chunks = rows.div_ceil(CHUNK);
    if rows < PARALLEL_ROWS {
        return (0..chunks).map(chunk).fold([0.0; N], add);
    }
    let parts: Vec<_> = (0..chunks).into_par_iter().map(chunk).collect();
    parts.into_iter().fold([0.0; N], add)
}

/// AᵀB.
pub(crate) fn gram(a: &Panel, b: &Panel) -> Square {
    let flat = sum_chunks(a.len(), |rows| arch().dispatch(Gram { a: &a[rows.clone()], b: &b[rows] }));
    square_of(&flat)
}

/// AᵀB for each of several A. Every chunk of B is read from memory once and stays in the cache for all of them.
pub(crate) fn grams(left: &[Panel], b: &Panel) -> Vec<Square> {
    let chunk = |first: usize| -> Vec<[f64; WIDTH * WIDTH]> {
        let rows = first..(first + CHUNK).min(b.len());
        left.iter().map(|a| arch().dispatch(Gram { a: &a[rows.clone()], b: &b[rows.clone()] })).collect()
    };
    let mut sums = vec![[0.0; WIDTH * WIDTH]; left.len()];
    let mut add = |parts: Vec<[f64; WIDTH * WIDTH]>| {
        for (sum, part) in sums.as_flattened_mut().iter_mut().zip(parts.as_flattened()) {
            *sum += part;
        }
    };
    let firsts = (0..b.len()).step_by(CHUNK);
    if b.len() < PARALLEL_ROWS {
        firsts.map(chunk).for_each(&mut add);
    } else {
        let firsts: Vec<usize> = firsts.collect();
        let parts: Vec<_> = firsts.into_par_iter().map(chunk).collect();
        parts.into_iter().for_each(&mut add);
    }
    sums.iter().map(square_of).collect()
}

fn square_of(flat: &[f64; WIDTH * WIDTH]) -> Square {
    std::array::from_fn(|i| std::array::from_fn(|j| flat[i * WIDTH + j]))
}

/// AᵀB of some rows, compiled for each instruction set.
struct Gram<'a> {
    a: &'a [[f64; WIDTH]],
    b: &'a [[f64; WIDTH]],
}

impl WithSimd for Gram<'_> {
    type Output = [f64; WIDTH * WIDTH];

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Self::Output {
        let mut sums = [[0.0; WIDTH]; WIDTH];
        for (a, b) in self.a.iter().zip(self.b) {
            for i in 0..WIDTH {
                for j in 0..WIDTH {
                    sums[i][j] += a[i] * b[j];
                }
            }
        }
        std::array::from_fn(|at| sums[at / WIDTH][at % WIDTH])
    }
}

/// The diagonal of AᵀB: inner products of corresponding vectors.
pub(crate) fn dots(a: &Panel, b: &Panel) -> [f64; WIDTH] {
    sum_chunks(a.len(), |rows| {
        let mut sum = [0.0; WIDTH];
        for (a, b) in a[rows.clone()].iter().zip(&b[rows]) {
            for lane in 0..WIDTH {
                sum[lane] += a[lane] * b[lane];
            }
        }
        sum
    })
}

/// The largest magnitude in each vector.
pub(crate) fn largest_magnitudes(panel: &Panel) -> [f64; WIDTH] {
    panel.iter().fold([0.0; WIDTH], |largest: [f64; WIDTH], row| {
        std::array::from_fn(|lane| largest[lane].max(row[lane].abs()))
    })
}

/// target += Σ A·C over pairs (A, C), in one pass over the target.
pub(crate) fn add_products(target: &mut Panel, products: &[(&Panel, Square)]) {
    for_each_chunk_mut(target, |first, rows| {
        // A few rows at a time stay in the nearest cache while every product is added to them.
        for (at, rows) in rows.chunks_mut(ROWS_IN_CACHE).enumerate() {
            let first = first + at * ROWS_IN_CACHE;
            for (a, c) in products {
                arch().dispatch(AddProduct { target: rows, a: &a[first..], c });
            }
        }
    });
}

/// Σ A·C for each of several lists of C, one C for each A. All are made in one pass over the A, which are read from memory once.
pub(crate) fn combinations(panels: &[Panel], coefficients: &[Vec<Square>]) -> Vec<Panel> {
    let rows = panels.first().map_or(0, Vec::len);
    let mut combined: Vec<Panel> = coefficients.iter().map(|_| zeros(rows)).collect();
    let mut chunks: Vec<Vec<&mut [[f64; WIDTH]]>> = Vec::new();
    for target in &mut combined {
        for (index, rows) in target.chunks_mut(ROWS_IN_CACHE).enumerate() {
            if chunks.len() <= index {
                chunks.push(Vec::with_capacity(coefficients.len()));
            }
            chunks[index].push(rows);
        }
    }
    let fill = |(index, targets): (usize, Vec<&mut [[f64; WIDTH]]>)| {
        for (target, coefficients) in targets.into_iter().zip(coefficients) {
            for (a, c) in panels.iter().zip(coefficients) {
                arch().dispatch(AddProduct { target: &mut *target, a: &a[index * ROWS_IN_CACHE..], c });
            }
        }
    };
    if rows < PARALLEL_ROWS {
        chunks.into_iter().enumerate().for_each(fill);
    } else {
        chunks.into_par_iter().enumerate().for_each(fill);
    }
    combined
}

/// target += A·C for some rows, compiled for each instruction set.
struct AddProduct<'a> {
    target: &'a mut [[f64; WIDTH]],
    a: &'a [[f64; WIDTH]],
    c: &'a Square,
}

impl WithSimd for AddProduct<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let c = *self.c;
        for (target, a) in self.target.iter_mut().zip(self.a) {
            add_row_product(target, a, &c);
        }
    }
}

/// target += a·C for one row, compiled where it is called.
#[inline(always)]
fn add_row_product(target: &mut [f64; WIDTH], a: &[f64; WIDTH], c: &Square) {
    for i in 0..WIDTH {
        for j in 0..WIDTH {
            target[j] += a[i] * c[i][j];
        }
    }
}

/// A ← A·C.
pub(crate) fn multiply(a: &mut Panel, c: &Square) {
    for_each_chunk_mut(a, |_, rows| arch().dispatch(Multiply { rows, c }));
}

/// A ← A·C for some rows, compiled for each instruction set.
struct Multiply<'a> {
    rows: &'a mut [[f64; WIDTH]],
    c: &'a Square,
}

impl WithSimd for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let c = *self.c;
        for row in self.rows {
            let mut product = [0.0; WIDTH];
            add_row_product(&mut product, row, &c);
            *row = product;
        }
    }
}

/// Each vector of the target: target ← target·scale + a·factor.
pub(crate) fn scale_add(target: &mut Panel, scale: [f64; WIDTH], a: &Panel, factor: [f64; WIDTH]) {
    for_each_chunk_mut(target, |first, rows| {
        for (target, a) in rows.iter_mut().zip(&a[first..]) {
            for lane in 0..WIDTH {
                target[lane] = target[lane] * scale[lane] + a[lane] * factor[lane];
            }
        }
    });
}

/// Takes the mean off every vector: the constant vector is the null space of a connected graph's Laplacian.
pub(crate) fn center(panel: &mut Panel) {
    let sums = sum_chunks(panel.len(), |rows| {
        let mut sum = [0.0; WIDTH];
        for row in &panel[rows] {
            for lane in 0..WIDTH {
                sum[lane] += row[lane];
            }
        }
        sum
    });
    let means = sums.map(|sum| sum / panel.len() as f64);
    for_each_chunk_mut(panel, |_, rows| {
        for row in rows {
            for lane in 0..WIDTH {
                row[lane] -= means[lane];
            }
        }
    });
}

pub(crate) fn negated(c: &Square) -> Square {
    c.map(|row| row.map(|entry| -entry))
}
