//! Squared distances from one sample to several at once.

use pulp::Simd;

use crate::neighbors::distance::LANES;

/// Samples in a leaf, and boxes in a block: two of the widest vector registers, four or more of the others.
pub(super) const WIDTH: usize = 16;

/// One coordinate of several things that a sample can be apart from.
pub(super) trait Extents {
    /// How far a coordinate is from that of each of them, one register of them at a time; the sign does not matter.
    fn differences<S: Simd>(&self, simd: S, register: usize, value: S::f64s) -> S::f64s;
}

/// One coordinate of the samples of a leaf.
pub(super) type Points = [f64; WIDTH];

impl Extents for Points {
    #[inline(always)]
    fn differences<S: Simd>(&self, simd: S, register: usize, value: S::f64s) -> S::f64s {
        simd.sub_f64s(value, S::as_simd_f64s(self).0[register])
    }
}

/// One coordinate of boxes: from where to where they reach.
#[derive(Debug, Clone, Copy)]
pub(super) struct BoxBounds {
    pub(super) lows: [f64; WIDTH],
    pub(super) highs: [f64; WIDTH],
}

impl Extents for BoxBounds {
    #[inline(always)]
    fn differences<S: Simd>(&self, simd: S, register: usize, value: S::f64s) -> S::f64s {
        let below = simd.sub_f64s(S::as_simd_f64s(&self.lows).0[register], value);
        let above = simd.sub_f64s(value, S::as_simd_f64s(&self.highs).0[register]);
        simd.max_f64s(simd.max_f64s(below, above), simd.splat_f64s(0.0))
    }
}

/// Squared distances from `sample`, added up in the very order of [`squared_distance`](crate::neighbors::squared_distance).
///
/// `REST` is the number of coordinates modulo [`LANES`]: known to the compiler, it keeps the sums in registers.
#[inline(always)]
pub(super) fn squared_distances<const REST: usize, S: Simd, E: Extents>(
    simd: S,
    sample: &[f64],
    extents: &[E],
) -> [f64; WIDTH] {
    let mut distances = [0.0; WIDTH];
    let (sample_chunks, sample_rest) = sample.as_chunks::<LANES>();
    let (extent_chunks, extent_rest) = extents.as_chunks::<LANES>();
    let (sample_rest, extent_rest) = (&sample_rest[..REST], &extent_rest[..REST]);
    for (register, distances) in S::as_mut_simd_f64s(&mut distances).0.iter_mut().enumerate() {
        let mut lanes = [simd.splat_f64s(0.0); LANES];
        for (values, extents) in sample_chunks.iter().zip(extent_chunks) {
            for lane in 0..LANES {
                add_square(simd, &mut lanes[lane], &extents[lane], register, values[lane]);
            }
        }
        for lane in 0..REST {
            add_square(simd, &mut lanes[lane], &extent_rest[lane], register, sample_rest[lane]);
        }
        let [s0, s1, s2, s3, s4, s5, s6, s7] = lanes;
        let even = simd.add_f64s(simd.add_f64s(s0, s4), simd.add_f64s(s2, s6));
        let odd = simd.add_f64s(simd.add_f64s(s1, s5), simd.add_f64s(s3, s7));
        *distances = simd.add_f64s(even, odd);
    }
    distances
}

/// Rounds twice, as a fused multiply-add would not.
#[inline(always)]
fn add_square<S: Simd, E: Extents>(simd: S, sum: &mut S::f64s, extents: &E, register: usize, value: f64) {
    let difference = extents.differences(simd, register, simd.splat_f64s(value));
    *sum = simd.add_f64s(*sum, simd.mul_f64s(difference, difference));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::arch;
    use crate::kernels::{Kernels, with_kernels};
    use crate::neighbors::squared_distance;
    use pulp::{Scalar, WithSimd};

    /// Coordinates of one sample and of a leaf of others, of very different sizes.
    fn coordinates(dim: usize) -> (Vec<f64>, Vec<Points>) {
        let value = |i: usize| (i as f64 * 0.7).sin() * 10.0_f64.powi((i * 31 % 21) as i32 - 10);
        let points = (0..dim).map(|column| std::array::from_fn(|at| value(column * WIDTH + at + 7)));
        ((0..dim).map(value).collect(), points.collect())
    }

    /// Distances to the points, and to boxes that reach from each point to the next.
    struct Both<'a, const REST: usize>(&'a [f64], &'a [Points]);

    impl<const REST: usize> WithSimd for Both<'_, REST> {
        type Output = ([f64; WIDTH], [f64; WIDTH]);

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
            let boxes: Vec<BoxBounds> = self.1.iter().map(to_the_next).collect();
            (
                squared_distances::<REST, S, Points>(simd, self.0, self.1),
                squared_distances::<REST, S, BoxBounds>(simd, self.0, &boxes),
            )
        }
    }

    fn to_the_next(points: &Points) -> BoxBounds {
        let next = |at: usize| points[(at + 1) % WIDTH];
        BoxBounds {
            lows: std::array::from_fn(|at| points[at].min(next(at))),
            highs: std::array::from_fn(|at| points[at].max(next(at))),
        }
    }

    fn check<const REST: usize>() {
        for dim in [REST, LANES + REST, 3 * LANES + REST].into_iter().filter(|&dim| dim > 0) {
            let (sample, points) = coordinates(dim);
            let both = || Both::<REST>(&sample, &points);
            for kernels in Kernels::available() {
                let (to_points, to_boxes) = with_kernels(kernels, || arch().dispatch(both())).unwrap();
                for at in 0..WIDTH {
                    let point: Vec<f64> = points.iter().map(|points| points[at]).collect();
                    let want = squared_distance(&sample, &point);
                    assert_eq!(to_points[at].to_bits(), want.to_bits(), "{kernels}, d = {dim}, point {at}");
                    let nearer = to_points[at].min(to_points[(at + 1) % WIDTH]);
                    assert!(to_boxes[at] <= nearer, "{kernels}, d = {dim}, box {at}");
                }
            }
        }
    }

    #[test]
    fn distances_have_the_bits_of_the_one_that_decides() {
        check::<0>();
        check::<1>();
        check::<2>();
        check::<3>();
        check::<4>();
        check::<5>();
        check::<6>();
        check::<7>();
    }

    #[test]
    fn a_box_is_as_far_as_its_nearest_corner_or_side() {
        let intervals = |low: f64, high: f64| BoxBounds { lows: [low; WIDTH], highs: [high; WIDTH] };
        let boxes = [intervals(1.0, 2.0), intervals(-5.0, -3.0)];
        let distance = |sample: [f64; 2]| squared_distances::<2, _, _>(Scalar::new(), &sample, &boxes)[0];
        assert_eq!(distance([1.5, -4.0]), 0.0, "inside");
        assert_eq!(distance([4.0, -4.0]), 4.0, "outside");
        assert_eq!(distance([-2.0, 1.0]), 25.0, "off a corner");
    }
}
