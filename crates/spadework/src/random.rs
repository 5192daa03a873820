//! What is drawn at random: always by a seed, and each purpose by streams of its own.
//!
//! [`Purpose`] lists every use of random numbers in the workspace, so that no two can share a stream by accident. A purpose
//! that draws for many things (a tree, a subsample, a copy of a sample) has a range of streams, one for each. Purposes of training
//! draw in rounds; their seed is mixed with the purpose, so that none of their streams is one of the others'.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// What random numbers are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Purpose {
    /// Which entries an approximate Cholesky factor keeps.
    Factor,
    /// Start vectors of the eigensolvers.
    EigenStart,
    /// Start vectors of the upper bound of the model score.
    Enclosure,
    /// Trees of the approximate search, one stream per tree.
    Trees,
    /// Rows by which the recall of an approximate search is measured.
    RecallRows,
    /// Which edges a sparsified graph keeps.
    Sparsifier,
    /// The permuted baseline.
    PermutedOutputs,
    /// Half-samples of a confidence interval, one stream per repetition.
    Subsamples,
    /// Edges that the top edges are compared with.
    RandomEdges,
    /// Resampled means of a comparison.
    Bootstrap,
    /// Permutations of a comparison.
    Permutations,
    /// Samples whose neighborhoods are ranked.
    RankedRows,
    /// Edges whose distortion is averaged.
    MeasuredEdges,
    /// Random projections of resistances and of the full spectrum, one stream per four rows.
    Sketch,
    /// Random vectors of a trace, one stream per four vectors.
    Trace,
    /// Samples that are probed.
    ProbedSamples,
    /// Order in which a search by probes turns blocks.
    ProbeOrder,
    /// Copies of a sample that probes draw, [`PROBE_COPIES`] streams per sample.
    ProbeCopies,
    /// Corruptions of images, one stream per image.
    Corruption,
    /// Initial weights of a network, by layer.
    Weights,
    /// Order of the samples in an epoch.
    Shuffle,
    /// Starting points of attacks, by round and sample.
    AttackStart,
    /// Augmentations of training images, by epoch and sample.
    Augment,
    /// Samples that get the budget of a guided training, by round.
    Budget,
    /// Points of a ball and batches of them, for CLEVER scores.
    Ball,
}

/// Copies of one sample that have streams of their own.
pub const PROBE_COPIES: u64 = 1 << 24;

impl Purpose {
    /// The first stream of a purpose.
    fn first(self) -> u64 {
        match self {
            Purpose::Factor | Purpose::EigenStart | Purpose::Trees | Purpose::Corruption => 0,
            Purpose::Enclosure => 1,
            Purpose::Sparsifier | Purpose::PermutedOutputs | Purpose::RandomEdges => 2,
            Purpose::Bootstrap => 3,
            Purpose::Permutations => 4,
            Purpose::RankedRows => 5,
            Purpose::MeasuredEdges => 6,
            Purpose::Subsamples | Purpose::Sketch => 1 << 32,
            Purpose::Trace => 1 << 40,
            Purpose::ProbedSamples => 1 << 61,
            Purpose::ProbeOrder => (1 << 61) + 1,
            Purpose::ProbeCopies => 1 << 62,
            Purpose::RecallRows => u64::MAX,
            Purpose::Weights => 1,
            Purpose::Shuffle => 2,
            Purpose::AttackStart => 3,
            Purpose::Augment => 4,
            Purpose::Budget => 5,
            Purpose::Ball => 6,
        }
    }
}

/// The random numbers of a purpose.
pub fn stream(seed: u64, purpose: Purpose) -> ChaCha8Rng {
    stream_at(seed, purpose, 0)
}

/// The random numbers of a purpose for one of the many things that it draws for.
pub fn stream_at(seed: u64, purpose: Purpose, index: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(purpose.first() + index);
    rng
}

/// The random numbers of a purpose of training, for one sample or layer in one round.
///
/// They do not depend on the order in which samples are visited, and a run that is resumed draws what it would have drawn.
pub fn stream_in_round(seed: u64, purpose: Purpose, round: u64, index: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(mix(seed ^ mix(purpose.first())));
    rng.set_stream(mix(round).wrapping_add(index));
    rng
}

/// Spreads neighboring numbers over the whole range, one to one (Steele, Lea and Flood 2014).
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Brings `count` entries to the front, every choice and order as likely as any other (Fisher and Yates).
///
/// # Panics
/// When there are fewer entries.
pub fn draw<T>(entries: &mut [T], count: usize, rng: &mut ChaCha8Rng) {
    for at in 0..count {
        let other = rng.random_range(at..entries.len());
        entries.swap(at, other);
    }
}

/// `count` of the entries, or all where there are fewer, drawn likewise, ascending.
pub fn drawn(mut entries: Vec<usize>, count: usize, rng: &mut ChaCha8Rng) -> Vec<usize> {
    let count = count.min(entries.len());
    draw(&mut entries, count, rng);
    entries.truncate(count);
    entries.sort_unstable();
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_choices_without_repetition() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut counts = [0_u32; 6];
        for _ in 0..6000 {
            let mut entries: Vec<u32> = (0..6).collect();
            draw(&mut entries, 2, &mut rng);
            assert_ne!(entries[0], entries[1]);
            counts[entries[0] as usize] += 1;
            counts[entries[1] as usize] += 1;
        }
        // 2000 each, with a standard deviation of 37.
        assert!(counts.iter().all(|count| count.abs_diff(2000) < 200), "{counts:?}");
    }
}
