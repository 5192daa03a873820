//! Samples whose rows are equal, found without comparing every pair.

use rayon::prelude::*;

use crate::samples::{Number, Samples, with_values};

/// Samples by their rows: those of equal rows are a group. There is a group of several.
#[derive(Debug, Clone)]
pub(crate) struct EqualRows {
    /// Where the members of each group start, and where those of the last one end; groups are in the order of their first samples.
    starts: Vec<usize>,
    /// The samples group after group, ascending in each.
    members: Vec<u32>,
}

impl EqualRows {
    /// The groups; `None` if all rows differ.
    ///
    /// Rows are sorted by a hash, and those of the same hash are compared number by number. Zeros of both signs are equal.
    pub(crate) fn of(samples: &Samples<'_>) -> Option<Self> {
        let hashed = |p: usize| (hash_of_row(samples, p), p as u32);
        let mut order: Vec<(u64, u32)> = (0..samples.len()).into_par_iter().map(hashed).collect();
        order.par_sort_unstable();
        if order.array_windows().all(|[a, b]| a.0 != b.0) {
            return None;
        }
        let mut first_equal: Vec<u32> = (0..samples.len() as u32).collect();
        for same_hash in order.chunk_by(|a, b| a.0 == b.0) {
            let mut firsts: Vec<u32> = Vec::new();
            for &(_, p) in same_hash {
                match firsts.iter().find(|&&first| are_equal(samples, first as usize, p as usize)) {
                    Some(&first) => first_equal[p as usize] = first,
                    None => firsts.push(p),
                }
            }
        }
        Self::of_firsts(&first_equal)
    }

    /// The groups by the first sample that each sample is equal to; `None` if that is always itself.
    fn of_firsts(first_equal: &[u32]) -> Option<Self> {
        let mut group_of = vec![0; first_equal.len()];
        let mut sizes: Vec<usize> = Vec::new();
        for (p, &first) in first_equal.iter().enumerate() {
            if first as usize == p {
                group_of[p] = sizes.len() as u32;
                sizes.push(0);
            } else {
                group_of[p] = group_of[first as usize];
            }
            sizes[group_of[p] as usize] += 1;
        }
        if sizes.len() == first_equal.len() {
            return None;
        }
        let mut starts = Vec::with_capacity(sizes.len() + 1);
        starts.push(0);
        for (group, size) in sizes.iter().enumerate() {
            starts.push(starts[group] + size);
        }
        let mut members = vec![0; first_equal.len()];
        let mut next = starts.clone();
        for (p, &group) in group_of.iter().enumerate() {
            members[next[group as usize]] = p as u32;
            next[group as usize] += 1;
        }
        Some(Self { starts, members })
    }

    /// Number of groups, which is that of different rows.
    pub(crate) fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// The samples of a group, ascending.
    pub(crate) fn members(&self, group: usize) -> &[u32] {
        &self.members[self.starts[group]..self.starts[group + 1]]
    }

    /// The first sample of every group.
    pub(crate) fn firsts(&self) -> Vec<u32> {
        self.starts[..self.count()].iter().map(|&start| self.members[start]).collect()
    }
}

fn hash_of_row(samples: &Samples<'_>, p: usize) -> u64 {
    /// An odd number whose bits look random.
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mixed = |hash: u64, bits: u64| {
        let mixed = (hash ^ bits).wrapping_mul(FACTOR);
        mixed ^ (mixed >> 32)
    };
    let place = samples.place(p);
    with_values!(samples.values(), values => {
        // Adding zero makes one zero of both.
        values[place].iter().fold(0, |hash, value| mixed(hash, (value.number() + 0.0).to_bits()))
    })
}

/// Whether two rows are the same numbers.
pub(super) fn are_equal(samples: &Samples<'_>, p: usize, q: usize) -> bool {
    with_values!(samples.values(), values => values[samples.place(p)] == values[samples.place(q)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_rows_are_a_group_whatever_the_sign_of_zero() {
        let values = vec![1.0, 0.0, 2.0, 0.0, 1.0, -0.0, 3.0, 0.0, 2.0, 0.0, 1.0, 0.0];
        let rows = EqualRows::of(&Samples::from_f64(6, 2, values).unwrap()).unwrap();
        let groups: Vec<&[u32]> = (0..rows.count()).map(|group| rows.members(group)).collect();
        assert_eq!(groups, [&[0, 2, 5][..], &[1, 4], &[3]]);
        assert_eq!(rows.firsts(), [0, 1, 3]);
    }

    #[test]
    fn different_rows_are_no_groups() {
        let values: Vec<u8> = (0..=255).collect();
        assert!(EqualRows::of(&Samples::from_u8(128, 2, values).unwrap()).is_none());
    }
}
