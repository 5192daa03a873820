//! Probes that are drawn at random.

use std::f64::consts::TAU;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use spadework::random::{PROBE_COPIES, Purpose, stream_at};

use crate::columns::{Columns, Corner};
use crate::grid::Grid;
use crate::kind::{Probe, ProbeKind, ProbeNorm};
use crate::range::Range;

/// Waves that a smooth perturbation is the sum of, a channel.
const WAVES: usize = 4;
/// Copies of one sample that have streams of their own, so that a copy does not depend on what else is probed.
pub(crate) const MOST_COPIES: usize = PROBE_COPIES as usize;

/// How copies are made of samples.
#[derive(Debug, Clone)]
pub(crate) struct Copies {
    pub(crate) probe: Probe,
    pub(crate) grid: Grid,
    pub(crate) range: Range,
    /// Where every column moves by its own radius.
    pub(crate) columns: Option<Columns>,
    pub(crate) seed: u64,
}

impl Copies {
    /// The `copy`-th copy of the sample `index` of all, in place of the sample's own numbers.
    pub(crate) fn perturb(&self, index: usize, copy: usize, numbers: &mut [f32]) {
        let mut rng = stream_at(self.seed, Purpose::ProbeCopies, index as u64 * PROBE_COPIES + copy as u64);
        let moves = self.moves(numbers.len(), &mut rng);
        let step = self.probe.step(numbers.len());
        for (at, (number, by)) in numbers.iter_mut().zip(moves).enumerate() {
            *number = match &self.columns {
                Some(columns) => columns.moved(at, *number, by / step),
                None => self.range.clamp(*number + by),
            };
        }
        if let Some(columns) = &self.columns {
            columns.change_categories(numbers, &mut rng);
        }
    }

    /// A corner of the box around a sample: the whole radius, up where signs are 1 and down where they are −1, of the sample's own categories.
    pub(crate) fn corner(&self, signs: Vec<i8>) -> Corner {
        Columns::corner_of(self.columns.as_ref(), signs)
    }

    /// A sample in a corner.
    pub(crate) fn at(&self, corner: &Corner, sample: &[f32]) -> Vec<f32> {
        let step = self.probe.step(sample.len());
        let moved = |(&number, &sign): (&f32, &i8)| self.range.clamp(number + f32::from(sign) * step);
        match &self.columns {
            Some(columns) => columns.at(corner, sample),
            None => sample.iter().zip(corner.signs()).map(moved).collect(),
        }
    }

    /// How far every number moves, before it is held in its range.
    fn moves(&self, dim: usize, rng: &mut ChaCha8Rng) -> Vec<f32> {
        let step = self.probe.step(dim);
        let mut sign = || if rng.random::<bool>() { step } else { -step };
        match self.probe.kind() {
            // A search draws nothing; its first steps are signs too.
            ProbeKind::Pixel | ProbeKind::Search => (0..dim).map(|_| sign()).collect(),
            ProbeKind::Block { side } => {
                let mut moves = vec![0.0; dim];
                for block in self.grid.blocks(side) {
                    let by = sign();
                    self.grid.places(&block).for_each(|place| moves[place] = by);
                }
                moves
            }
            ProbeKind::Smooth { cycles } => self.scaled(&self.waves(dim, cycles, rng)),
        }
    }

    /// A sum of waves in every channel.
    fn waves(&self, dim: usize, cycles: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
        let Grid { channels, height, width, .. } = self.grid;
        let most = cycles as f64;
        let mut sums = vec![0.0; dim];
        for channel in 0..channels {
            for _ in 0..WAVES {
                let (down, across) = (rng.random_range(-most..=most), rng.random_range(-most..=most));
                let phase = rng.random_range(0.0..TAU);
                for row in 0..height {
                    for column in 0..width {
                        let turns = down * row as f64 / height as f64 + across * column as f64 / width as f64;
                        sums[self.grid.place(channel, row, column)] += (TAU * turns + phase).cos();
                    }
                }
            }
        }
        sums
    }

    /// The same direction, as long as the radius says.
    fn scaled(&self, direction: &[f64]) -> Vec<f32> {
        let length = match self.probe.norm() {
            ProbeNorm::Linf => direction.iter().fold(0.0, |most: f64, number| most.max(number.abs())),
            ProbeNorm::L2 => direction.iter().map(|number| number * number).sum::<f64>().sqrt(),
        };
        // Waves that cancel each other to the last digit go nowhere.
        let scale = if length > 0.0 { self.probe.radius() / length } else { 0.0 };
        direction.iter().map(|number| (number * scale) as f32).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::ChannelOrder;

    fn copies(probe: &str, grid: Grid) -> Copies {
        let range = Range { least: -100.0, most: 100.0 };
        Copies { probe: probe.parse().unwrap(), grid, range, columns: None, seed: 3 }
    }

    /// Whatever its kind, a copy lies as far from its sample as its radius says, and on no other copy.
    #[test]
    fn copies_lie_at_their_radius() {
        let grid = Grid { channels: 3, height: 8, width: 8, order: ChannelOrder::Last };
        for kind in ["pixel", "block", "block:3", "smooth", "smooth:5"] {
            for copy in 0..5 {
                let mut largest = vec![0.0_f32; 192];
                copies(&format!("linf:0.25:{kind}"), grid).perturb(7, copy, &mut largest);
                let most = largest.iter().fold(0.0_f32, |most, number| most.max(number.abs()));
                assert!((most - 0.25).abs() < 1e-6, "{kind}: {most}");
                let mut long = vec![0.0_f32; 192];
                copies(&format!("l2:2:{kind}"), grid).perturb(7, copy, &mut long);
                let length = long.iter().map(|number| number * number).sum::<f32>().sqrt();
                assert!((length - 2.0).abs() < 1e-5, "{kind}: {length}");
                let mut other = vec![0.0_f32; 192];
                copies(&format!("linf:0.25:{kind}"), grid).perturb(8, copy, &mut other);
                assert_ne!(largest, other, "{kind}");
            }
        }
    }

    /// Neighbors in a block move together; in smooth noise they nearly do, in pixel noise they do not.
    #[test]
    fn frequencies_differ() {
        let grid = Grid { channels: 1, height: 16, width: 16, order: ChannelOrder::First };
        let roughness = |probe: &str| {
            let mut moved = vec![0.0_f32; 256];
            copies(probe, grid).perturb(0, 0, &mut moved);
            let pairs = (0..16).flat_map(|row| (0..15).map(move |column| row * 16 + column));
            pairs.map(|at| (moved[at + 1] - moved[at]).abs()).sum::<f32>() / 240.0
        };
        let (pixel, block, smooth) =
            (roughness("linf:1:pixel"), roughness("linf:1:block:4"), roughness("linf:1:smooth:1"));
        // Pixel noise: every second pair differs by 2. Blocks of 4: one in ten does. One cycle over 16 pixels changes by at
        // most 2π/16 from one to the next, and by less over the whole.
        assert!((0.7..1.3).contains(&pixel), "{pixel}");
        assert!(block < 0.3, "{block}");
        assert!(smooth < 0.4, "{smooth}");
    }
}
