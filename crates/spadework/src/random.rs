//! What is drawn at random: always by a seed, and each purpose by a stream of its own.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The numbers of one stream of a seed.
pub(crate) fn stream(seed: u64, stream: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(stream);
    rng
}

/// Brings `count` entries to the front, every choice and order as likely as any other (Fisher and Yates).
pub(crate) fn draw<T>(entries: &mut [T], count: usize, rng: &mut ChaCha8Rng) {
    for at in 0..count {
        let other = rng.random_range(at..entries.len());
        entries.swap(at, other);
    }
}

/// `count` of the entries, or all where there are fewer, drawn likewise, ascending.
pub(crate) fn drawn(mut entries: Vec<usize>, count: usize, rng: &mut ChaCha8Rng) -> Vec<usize> {
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
