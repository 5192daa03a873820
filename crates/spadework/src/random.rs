//! Random numbers: always from a seed, with separate streams for each purpose.
//!
//! [`Purpose`] lists every use of random numbers in the workspace with its streams, so that no two can share one by accident: a test
//! proves that all of them are disjoint. Tests, benchmarks and the package `experiments` are not in the list. The experiments draw
//! resamplings and point clouds from stream 0 of seeds of their own, since their recorded results come from these numbers. A purpose that draws for
//! many things (trees, subsamples, probes of a sample) has a range of streams, one for each. Purposes of training draw in rounds, from a seed that is
//! mixed with the purpose.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The streams of a purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Streams {
    /// This many streams of the seed, from the first on.
    Of { first: u64, count: u64 },
    /// Streams by round and index, of a seed that is mixed with this number.
    InRounds { purpose: u64 },
}

/// A single stream of the seed.
const fn one(stream: u64) -> Streams {
    Streams::Of { first: stream, count: 1 }
}

/// As many streams of the seed as there can be samples, from a power of two on.
const fn many(power: u32) -> Streams {
    Streams::Of { first: 1 << power, count: 1 << 32 }
}

/// Defines [`Purpose`] as a table: what it is for, its name, its streams.
macro_rules! purposes {
    ($($(#[$doc:meta])+ $name:ident: $streams:expr,)+) => {
        /// What random numbers are for.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Purpose {
            $($(#[$doc])+ $name,)+
        }

        impl Purpose {
            /// All purposes.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            fn streams(self) -> Streams {
                match self {
                    $(Self::$name => $streams,)+
                }
            }
        }
    };
}

purposes! {
    /// Which entries an approximate Cholesky factor keeps.
    Factor: one(0),
    /// Start vectors of the upper bound of the model score.
    Enclosure: one(1),
    /// Which edges a sparsified graph keeps.
    Sparsifier: one(2),
    /// Resampled means of a comparison of two groups.
    Bootstrap: one(3),
    /// Permutations of a comparison of two groups.
    Permutations: one(4),
    /// Samples whose neighborhoods are ranked.
    RankedRows: one(5),
    /// Edges whose distortion is averaged.
    MeasuredEdges: one(6),
    /// Start vectors of the eigensolvers.
    EigenStart: one(7),
    /// The permuted baseline.
    PermutedOutputs: one(8),
    /// Edges that the top edges are compared with.
    RandomEdges: one(9),
    /// Directions from which a search finds principal axes.
    Axes: one(10),
    /// Start vectors of the test whether eigenvalues are missing.
    Definiteness: one(11),
    /// Half-samples of a confidence interval, one stream per repetition.
    Subsamples: many(32),
    /// Random vectors of a trace, one stream per four vectors.
    Trace: many(40),
    /// Random projections of resistances and of the full spectrum, one stream per four rows.
    Sketch: many(41),
    /// Trees of the approximate search, one stream per tree.
    Trees: many(42),
    /// Corruptions of images, one stream per image.
    Corruption: many(43),
    /// Seeds of variants that a program of the user makes, one stream per variant.
    Variants: many(44),
    /// Samples that are probed.
    ProbedSamples: one(1 << 61),
    /// Order in which a search by probes turns blocks.
    ProbeOrder: one((1 << 61) + 1),
    /// Copies of samples that probes draw, [`PROBE_COPIES`] streams per sample.
    ProbeCopies: Streams::Of { first: 1 << 62, count: PROBE_COPIES << 32 },
    /// Rows by which the recall of an approximate search is measured.
    RecallRows: one(u64::MAX),
    /// Initial weights of a network, by layer.
    Weights: Streams::InRounds { purpose: 1 },
    /// Order of the samples in an epoch.
    Shuffle: Streams::InRounds { purpose: 2 },
    /// Starting points of attacks, by round and sample.
    AttackStart: Streams::InRounds { purpose: 3 },
    /// Augmentations of training images, by epoch and sample.
    Augment: Streams::InRounds { purpose: 4 },
    /// Samples that get the budget of a guided training, by round.
    Budget: Streams::InRounds { purpose: 5 },
    /// Points of a ball and batches of them, for CLEVER scores.
    Ball: Streams::InRounds { purpose: 6 },
    /// Moves of the Square attack, by sample.
    Squares: Streams::InRounds { purpose: 7 },
}

/// Number of probes of one sample that have streams of their own.
pub const PROBE_COPIES: u64 = 1 << 24;
/// Maximum number of rounds of a purpose of training.
pub const MOST_ROUNDS: u64 = 1 << 20;
/// Maximum number of samples or layers of a round.
pub const MOST_IN_ROUND: u64 = 1 << 26;

/// The random numbers of a purpose.
///
/// # Panics
/// When the purpose draws in rounds.
pub fn stream(seed: u64, purpose: Purpose) -> ChaCha8Rng {
    stream_at(seed, purpose, 0)
}

/// The random numbers of a purpose for one of the many things that it draws for.
///
/// # Panics
/// When the purpose draws in rounds, or for fewer things.
pub fn stream_at(seed: u64, purpose: Purpose, index: u64) -> ChaCha8Rng {
    let Streams::Of { first, count } = purpose.streams() else {
        panic!("{purpose:?} draws in rounds");
    };
    assert!(index < count, "{purpose:?} has {count} streams, got {index}");
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(first + index);
    rng
}

/// The random numbers of a purpose of training, for one sample or layer in one round.
///
/// They do not depend on the order in which samples are visited, so a resumed run draws the same numbers as an uninterrupted
/// one.
///
/// # Panics
/// When the purpose does not draw in rounds, and beyond [`MOST_ROUNDS`] or [`MOST_IN_ROUND`].
pub fn stream_in_round(seed: u64, purpose: Purpose, round: u64, index: u64) -> ChaCha8Rng {
    assert!(round < MOST_ROUNDS && index < MOST_IN_ROUND, "round {round} and index {index} have no stream");
    let mut rng = ChaCha8Rng::seed_from_u64(round_seed(seed, purpose));
    rng.set_stream(mix(round).wrapping_add(index));
    rng
}

/// The seed of a purpose that draws in rounds: one of its own, and not the seed given.
///
/// Mixing is one to one, so the mixed seeds of two purposes differ. One of them could be the seed given; the next number that
/// is nobody's takes its place then.
fn round_seed(seed: u64, purpose: Purpose) -> u64 {
    let mixed = |purpose: Purpose| match purpose.streams() {
        Streams::InRounds { purpose } => Some(mix(seed ^ mix(purpose))),
        Streams::Of { .. } => None,
    };
    let own = mixed(purpose).unwrap_or_else(|| panic!("{purpose:?} does not draw in rounds"));
    free_seed(seed, own, |number| Purpose::ALL.iter().any(|&other| mixed(other) == Some(number)))
}

/// `own`, unless it is the seed: then the next number that is not taken.
fn free_seed(seed: u64, own: u64, is_taken: impl Fn(u64) -> bool) -> u64 {
    let mut free = own;
    while free == seed || (free != own && is_taken(free)) {
        free = free.wrapping_add(1);
    }
    free
}

/// Spreads neighboring numbers over the whole range, one to one (Steele, Lea and Flood 2014).
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Brings `count` entries to the front, with equal probability for every choice and order (Fisher and Yates).
///
/// # Panics
/// When there are fewer entries.
pub fn draw<T>(entries: &mut [T], count: usize, rng: &mut ChaCha8Rng) {
    for at in 0..count {
        let other = rng.random_range(at..entries.len());
        entries.swap(at, other);
    }
}

/// `count` of the entries, or all if there are fewer, drawn in the same way, ascending.
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

    /// Streams of the seed as (purpose, first, last).
    fn streams_of_the_seed() -> Vec<(Purpose, u64, u64)> {
        let range = |&purpose: &Purpose| match purpose.streams() {
            Streams::Of { first, count } => Some((purpose, first, first + (count - 1))),
            Streams::InRounds { .. } => None,
        };
        Purpose::ALL.iter().filter_map(range).collect()
    }

    #[test]
    fn no_two_purposes_share_a_stream_of_the_seed() {
        let mut streams = streams_of_the_seed();
        streams.sort_unstable_by_key(|&(_, first, _)| first);
        for pair in streams.windows(2) {
            let [(lower, _, last), (upper, first, _)] = [pair[0], pair[1]];
            assert!(last < first, "{lower:?} and {upper:?} share streams {first} to {last}");
        }
    }

    /// Mixing is one to one, so purposes that draw in rounds have seeds of their own where their numbers differ; none has the seed
    /// given, whose streams are those of the other purposes.
    #[test]
    fn purposes_that_draw_in_rounds_have_seeds_of_their_own() {
        let in_rounds =
            || Purpose::ALL.iter().filter(|purpose| matches!(purpose.streams(), Streams::InRounds { .. }));
        for seed in (0..1000).chain([u64::MAX, 0x9e37_79b9_7f4a_7c15]) {
            let mut seeds: Vec<u64> = in_rounds().map(|&purpose| round_seed(seed, purpose)).collect();
            seeds.push(seed);
            seeds.sort_unstable();
            seeds.dedup();
            assert_eq!(seeds.len(), in_rounds().count() + 1, "seed {seed}");
        }
        // A mixed seed that is the seed given makes way, past the seeds of others.
        assert_eq!(free_seed(5, 9, |_| unreachable!("it is no other's")), 9);
        assert_eq!(free_seed(5, 5, |number| number == 6), 7);
        assert_eq!(free_seed(u64::MAX, u64::MAX, |number| number == 0), 1);
    }

    /// Streams of a round follow its mixed number, so rounds are disjoint where these lie farther apart than a round is long.
    #[test]
    fn no_two_rounds_share_a_stream() {
        let mut firsts: Vec<u64> = (0..MOST_ROUNDS).map(mix).collect();
        firsts.sort_unstable();
        let around = firsts[0].wrapping_sub(firsts[firsts.len() - 1]);
        let gaps = firsts.windows(2).map(|pair| pair[1] - pair[0]);
        assert!(gaps.chain([around]).all(|gap| gap >= MOST_IN_ROUND));
    }

    /// What networks drew before their purposes were listed here: a training must not change.
    #[test]
    fn numbers_of_training_stay() {
        let first = |purpose, round, index| stream_in_round(7, purpose, round, index).random::<u64>();
        let mut rng = ChaCha8Rng::seed_from_u64(mix(7 ^ mix(3)));
        rng.set_stream(mix(2).wrapping_add(11));
        assert_eq!(first(Purpose::AttackStart, 2, 11), rng.random::<u64>());
        assert_ne!(first(Purpose::AttackStart, 0, 1), first(Purpose::AttackStart, 1, 0));
    }

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
