//! The point clouds of A.7, after Naitzat, Zhitnikov and Lim (2020): two classes whose shapes a network has to untangle.

use std::f32::consts::TAU;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use spadework_nn::Examples;

use crate::failure::Failure;

/// A cloud by its name in the paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cloud {
    /// A disk with nine holes, and nine disks in them.
    Disks,
    /// Nine pairs of interlocked rings.
    Rings,
}

/// Centers of the holes and of the pairs: a grid of three by three.
const GRID: [[f32; 2]; 9] = [
    [-1.0, -1.0],
    [-1.0, 0.0],
    [-1.0, 1.0],
    [0.0, -1.0],
    [0.0, 0.0],
    [0.0, 1.0],
    [1.0, -1.0],
    [1.0, 0.0],
    [1.0, 1.0],
];
/// The disk reaches beyond the outermost holes.
const DISK: f32 = 2.0;
/// A hole, and the smaller disk in it.
const HOLE: f32 = 0.4;
const INNER: f32 = 0.28;
/// A ring, how far its center lies from that of its pair, and how thick it is.
const RING: f32 = 0.28;
const BESIDE: f32 = 0.14;
const TUBE: f32 = 0.05;

impl Cloud {
    pub(crate) const ALL: [Self; 2] = [Self::Disks, Self::Rings];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Disks => "D-I",
            Self::Rings => "D-II",
        }
    }

    /// Numbers of a point.
    pub(crate) fn dimensions(self) -> usize {
        match self {
            Self::Disks => 2,
            Self::Rings => 3,
        }
    }

    /// `count` points, half of each class, alternating.
    pub(crate) fn draw(self, count: usize, seed: u64) -> Result<Examples, Failure> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut values = Vec::with_capacity(count * self.dimensions());
        let labels: Vec<i64> = (0..count as i64).map(|at| at % 2).collect();
        for (at, &label) in labels.iter().enumerate() {
            let center = GRID[at / 2 % GRID.len()];
            match self {
                Self::Disks if label == 0 => values.extend(around_the_holes(&mut rng)),
                Self::Disks => {
                    let [x, y] = in_disk(&mut rng, INNER);
                    values.extend([center[0] + x, center[1] + y]);
                }
                Self::Rings => values.extend(on_ring(&mut rng, center, label == 0)),
            }
        }
        Ok(Examples::new(values, self.dimensions(), &labels, 2)?)
    }
}

/// A point of a disk, uniform.
fn in_disk(rng: &mut ChaCha8Rng, radius: f32) -> [f32; 2] {
    let (length, angle) = (radius * rng.random::<f32>().sqrt(), TAU * rng.random::<f32>());
    [length * angle.cos(), length * angle.sin()]
}

/// A point of the large disk that lies in no hole.
fn around_the_holes(rng: &mut ChaCha8Rng) -> [f32; 2] {
    loop {
        let point = in_disk(rng, DISK);
        let outside = |hole: &[f32; 2]| (point[0] - hole[0]).hypot(point[1] - hole[1]) > HOLE;
        if GRID.iter().all(outside) {
            return point;
        }
    }
}

/// A point within the tube of a ring: one lies in the plane, its partner stands upright through it.
fn on_ring(rng: &mut ChaCha8Rng, [x, y]: [f32; 2], lies: bool) -> [f32; 3] {
    let (around, [out, up]) = (TAU * rng.random::<f32>(), in_disk(rng, TUBE));
    let (along, across) = ((RING + out) * around.cos(), (RING + out) * around.sin());
    if lies { [x - BESIDE + along, y + across, up] } else { [x + BESIDE + along, y + up, across] }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No point of a disk in a hole is nearer than the gap to a point of the disk around it, and rings do not touch.
    #[test]
    fn classes_do_not_touch() {
        for (cloud, gap) in [(Cloud::Disks, HOLE - INNER), (Cloud::Rings, RING - BESIDE - 2.0 * TUBE)] {
            let points = cloud.draw(2000, 1).unwrap();
            let mut nearest = f32::INFINITY;
            for p in 0..points.len() {
                for q in 0..p {
                    if points.labels()[p] != points.labels()[q] {
                        let apart =
                            points.sample(p).iter().zip(points.sample(q)).map(|(a, b)| (a - b).powi(2));
                        nearest = nearest.min(apart.sum::<f32>().sqrt());
                    }
                }
            }
            assert!(nearest >= gap - 1e-6, "{}: {nearest}", cloud.name());
        }
    }

    #[test]
    fn the_seed_draws_the_same_points() {
        assert_eq!(Cloud::Rings.draw(50, 3).unwrap(), Cloud::Rings.draw(50, 3).unwrap());
        assert_ne!(Cloud::Rings.draw(50, 3).unwrap(), Cloud::Rings.draw(50, 4).unwrap());
    }
}
