//! The nearest found so far.

use super::tree::NO_SAMPLE;

/// Squared distance and index of a neighbor in one number, which orders as the pair does: the bits of numbers that are
/// not negative order as the numbers.
pub(super) type Key = u128;

#[inline(always)]
pub(super) fn key(squared_distance: f64, index: u32) -> Key {
    Key::from(squared_distance.to_bits()) << u32::BITS | Key::from(index)
}

#[inline(always)]
pub(super) fn squared_distance_of(key: Key) -> f64 {
    f64::from_bits((key >> u32::BITS) as u64)
}

#[inline(always)]
pub(super) fn index_of(key: Key) -> u32 {
    key as u32
}

/// Up to this many neighbors are kept sorted by insertion, more as a heap.
const MOST_INSERTED: usize = 64;

/// The k nearest found so far.
#[derive(Debug)]
pub(super) struct Nearest {
    /// Ascending, or a heap with the worst in front.
    keys: Vec<Key>,
    worst: Key,
}

impl Nearest {
    pub(super) fn new(neighbors: usize) -> Self {
        Self { keys: vec![Self::nothing(); neighbors], worst: Self::nothing() }
    }

    /// Comes after every sample.
    fn nothing() -> Key {
        key(f64::INFINITY, NO_SAMPLE)
    }

    /// What the k-th nearest must come before.
    #[inline(always)]
    pub(super) fn worst(&self) -> Key {
        self.worst
    }

    #[inline(always)]
    pub(super) fn worst_distance(&self) -> f64 {
        squared_distance_of(self.worst)
    }

    /// Puts a key that comes before the worst in its place.
    #[inline(always)]
    pub(super) fn insert(&mut self, key: Key) {
        if self.keys.len() > MOST_INSERTED {
            self.replace_worst(key);
            return;
        }
        let mut at = self.keys.len() - 1;
        while at > 0 && self.keys[at - 1] > key {
            self.keys[at] = self.keys[at - 1];
            at -= 1;
        }
        self.keys[at] = key;
        self.worst = self.keys[self.keys.len() - 1];
    }

    /// Lets the key sink from the front of the heap.
    fn replace_worst(&mut self, key: Key) {
        let (keys, mut at) = (&mut self.keys, 0);
        loop {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            let child = if right < keys.len() && keys[right] > keys[left] { right } else { left };
            if child >= keys.len() || keys[child] <= key {
                break;
            }
            keys[at] = keys[child];
            at = child;
        }
        keys[at] = key;
        self.worst = keys[0];
    }

    /// Moves the keys out, nearest first.
    pub(super) fn take_into(&mut self, target: &mut Vec<Key>) {
        if self.keys.len() > MOST_INSERTED {
            self.keys.sort_unstable();
        }
        target.extend_from_slice(&self.keys);
        self.keys.fill(Self::nothing());
        self.worst = Self::nothing();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kept sorted by insertion, or as a heap: what is left is the front of all that was offered, sorted.
    #[test]
    fn the_nearest_are_kept() {
        for neighbors in [1, 2, 10, MOST_INSERTED, MOST_INSERTED + 1, 300] {
            let mut nearest = Nearest::new(neighbors);
            // Twice: taking the keys out leaves nothing behind.
            for round in 1..=2 {
                let mut offered: Vec<Key> =
                    (0..1000).map(|i| key(f64::from(i * 617 % 97 * round), i as u32)).collect();
                for &key in &offered {
                    if key < nearest.worst() {
                        nearest.insert(key);
                    }
                }
                let mut kept = Vec::new();
                nearest.take_into(&mut kept);
                offered.sort_unstable();
                assert_eq!(kept, offered[..neighbors], "k = {neighbors}, round {round}");
            }
        }
    }

    #[test]
    fn keys_order_as_distances_and_then_indices() {
        let ascending =
            [key(0.0, 3), key(f64::MIN_POSITIVE / 4.0, 2), key(1.0, 1), key(1.0, 2), key(1e300, 0)];
        assert!(ascending.is_sorted() && ascending[4] < Nearest::nothing());
        assert_eq!((squared_distance_of(ascending[3]), index_of(ascending[3])), (1.0, 2));
    }
}
