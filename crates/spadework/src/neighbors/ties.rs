//! Neighbors among outputs of which some are equal.
//!
//! Forests, boosting and predicted classes return the same numbers for many samples. By distance alone any of them may be neighbors, and
//! by index the order of the rows would decide. Here the inputs decide: the neighbors of p are ordered by (distance at the output,
//! distance at the input, index), for every sample and every distance, as soon as two outputs are equal.
//!
//! No distance is changed for that. Equal rows are one group, and neighbors are searched among the groups. The members of the
//! groups found are chosen by their inputs, by an exact search if a group is large.

use rayon::prelude::*;

use super::equal_rows::EqualRows;
use super::{
    NeighborLists, NeighborSearch, Recall, check_neighbors, most_search_bytes, nearest_between, ordered,
    squared_distance_between,
};
use crate::error::Result;
use crate::monitor::{Cancelling, Monitor, check_cancelled};
use crate::samples::Samples;

/// What decides which of equally near outputs are neighbors, if some outputs are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Ties {
    /// Their distance at the input, and if that is equal too, the lower index. So the order of the samples does not matter.
    #[default]
    Inputs,
    /// The lower index.
    Index,
}

words! { Ties { Inputs = "inputs", Index = "index" } }

/// Maximum number of bytes that a search among outputs takes, if some are equal, in addition to
/// [`most_search_bytes`](super::most_search_bytes) of both sides; 0 if all outputs differ.
pub fn most_tied_bytes(inputs: &Samples<'_>, outputs: &Samples<'_>, neighbors: usize) -> usize {
    /// Distance and index in a row that has grown to twice what it holds, those that are about to be put there, and an index in a group.
    const NEIGHBOR: usize = 2 * ENTRY + ENTRY + size_of::<Option<u32>>();
    const ENTRY: usize = size_of::<(f64, u32)>();
    /// The rows themselves, and the groups.
    const SAMPLE: usize = size_of::<Row>() + 2 * size_of::<usize>();
    if EqualRows::of(outputs).is_none() {
        return 0;
    }
    // Different outputs are searched in a copy, and so are inputs: those that search, and those among which they do.
    let copies = outputs.values().bytes() + 2 * inputs.values().bytes();
    let longest = most_search_bytes(outputs, outputs.len(), LONGEST * (neighbors.min(outputs.len()) + 1));
    copies + longest + outputs.len() * (SAMPLE + neighbors.min(outputs.len()) * NEIGHBOR)
}

/// A neighbor where something else than the index may decide between equal distances.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TiedNeighbor {
    pub(crate) squared: f64,
    /// Squared distance at the input where that decides, otherwise 0.
    pub(crate) decides: f64,
    pub(crate) index: u32,
}

impl TiedNeighbor {
    /// Order of neighbors: nearer first.
    pub(crate) fn order(&self, other: &Self) -> std::cmp::Ordering {
        let by_distance = self.squared.total_cmp(&other.squared);
        by_distance.then(self.decides.total_cmp(&other.decides)).then(self.index.cmp(&other.index))
    }
}

/// Groups up to this size are searched many at a time, by comparing all their pairs.
const SMALL: usize = 1024;
/// Candidates up to this number are compared one by one.
const FEW: usize = 64;
/// Groups whose candidates are held at the same time: there may be as many candidates as groups.
const TOGETHER: usize = 1024;
/// Pairs of groups that are compared one by one, beyond which lists may become longer instead.
const FEW_PAIRS: usize = 1 << 24;
/// Lists become longer where they end among equal distances for more than one group in so many: comparing these with all others would
/// then take longer than another search.
const ONE_IN: usize = 32;
/// How many times as long they become, at most.
const LONGEST: usize = 4;

/// A search among outputs of which some are equal.
pub(crate) struct TiedSearch<'s> {
    /// As they are searched.
    pub(crate) outputs: &'s Samples<'s>,
    /// The groups of the outputs.
    pub(crate) equal: &'s EqualRows,
    /// The inputs as they are searched.
    pub(crate) inputs: &'s Samples<'s>,
    /// Searches different outputs, and the inputs of large groups.
    pub(crate) search: &'s dyn NeighborSearch,
    pub(crate) neighbors: usize,
    pub(crate) monitor: &'s dyn Monitor,
}

/// Squared distance at the output and index, in the order of neighbors.
type Row = Vec<(f64, u32)>;

/// Groups at the same distance of another one.
struct Shell {
    squared: f64,
    groups: Vec<u32>,
}

/// What completes the neighbors of the members of a group.
struct Completion {
    group: u32,
    /// Shells of which all members are neighbors.
    whole: Vec<Shell>,
    /// The shell of which `wanted` members are.
    last: Shell,
    wanted: usize,
}

impl TiedSearch<'_> {
    /// The lists of all samples.
    ///
    /// # Errors
    /// When k does not fit the samples, or the monitor stops the run.
    pub(crate) fn lists(&self) -> Result<NeighborLists> {
        check_neighbors(self.neighbors, self.outputs.len())?;
        let mut rows: Vec<Row> = vec![Row::new(); self.outputs.len()];
        let mut recalls = self.put_equals(&mut rows)?;
        let short: Vec<u32> =
            (0..self.equal.count() as u32).filter(|&group| self.missing(group) > 0).collect();
        if !short.is_empty() {
            let distinct = self.outputs.rows(&self.equal.firsts())?;
            let lists = self.lists_of_different(&distinct, &short)?;
            recalls.push(lists.recall());
            for some in short.chunks(TOGETHER) {
                let completed = some.par_iter().map(|&group| {
                    check_cancelled(self.monitor)?;
                    Ok(self.completion(group, &distinct, &lists))
                });
                self.put_others(completed.collect::<Result<_>>()?, &mut rows)?;
            }
        }
        Ok(NeighborLists::from_tied_rows(self.neighbors, &rows).with_recall(Recall::of_all(&recalls)))
    }

    /// The lists of the different outputs, of which few end among equal distances if that is possible.
    fn lists_of_different(&self, distinct: &Samples<'_>, short: &[u32]) -> Result<NeighborLists> {
        let most = (LONGEST * (self.neighbors + 1)).min(distinct.len() - 1);
        let mut known = (self.neighbors + 1).min(most);
        let mut lists = self.search.search(distinct, known, self.monitor)?;
        loop {
            let open = short.par_iter().filter(|&&group| self.is_open(group, distinct, &lists)).count();
            if known == most || open <= distinct.len() / ONE_IN || open * distinct.len() <= FEW_PAIRS {
                return Ok(lists);
            }
            known = (2 * known).min(most);
            let longer = self.search.search(distinct, known, self.monitor)?;
            if longer.recall() != Recall::Exact && lists.recall() == Recall::Exact {
                // A search may be approximate where longer lists would take too long: exact ones are not given up for it.
                return Ok(lists);
            }
            lists = longer;
        }
    }

    /// Whether the neighbors of a group include some at the distance at which its list ends, so that others at this distance may be missing.
    fn is_open(&self, group: u32, distinct: &Samples<'_>, lists: &NeighborLists) -> bool {
        let (others, squared) = (lists.of(group as usize), lists.squared_distances_of(group as usize));
        let nearer = squared.partition_point(|&squared| squared < farthest(lists, group));
        let members: usize = others[..nearer].iter().map(|&other| self.members(other).len()).sum();
        may_miss(lists, distinct) && members < self.missing(group)
    }

    fn members(&self, group: u32) -> &[u32] {
        self.equal.members(group as usize)
    }

    /// How many neighbors the members of a group find only outside of it.
    fn missing(&self, group: u32) -> usize {
        (self.neighbors + 1).saturating_sub(self.members(group).len())
    }

    /// Puts the neighbors within each group, and says how many of the true ones they are.
    fn put_equals(&self, rows: &mut [Row]) -> Result<Vec<Recall>> {
        let groups = (0..self.equal.count()).map(|group| self.equal.members(group));
        let several = groups.filter(|members| members.len() > 1);
        let (small, large): (Vec<_>, Vec<_>) = several.partition(|members| members.len() <= SMALL);
        let quiet = Cancelling(self.monitor);
        let of_small = small.par_iter().map(|&members| -> Result<_> {
            let (inputs, neighbors) = (self.inputs.rows(members)?, self.neighbors.min(members.len() - 1));
            let found = nearest_between(&inputs, &inputs, 0, neighbors, &quiet)?;
            Ok((members, neighbors, found.indices))
        });
        for (members, neighbors, found) in of_small.collect::<Result<Vec<_>>>()? {
            for (&p, found) in members.iter().zip(found.chunks_exact(neighbors)) {
                rows[p as usize] = found.iter().flatten().map(|&at| (0.0, members[at as usize])).collect();
            }
        }
        let mut recalls = Vec::with_capacity(large.len());
        for members in large {
            let inputs = self.inputs.rows(members)?;
            let lists = self.search.search(&inputs, self.neighbors.min(members.len() - 1), self.monitor)?;
            recalls.push(lists.recall());
            for (at, &p) in members.iter().enumerate() {
                rows[p as usize] = lists.of(at).iter().map(|&at| (0.0, members[at as usize])).collect();
            }
        }
        Ok(recalls)
    }

    /// What the members of a group lack, from the lists of the different outputs.
    fn completion(&self, group: u32, distinct: &Samples<'_>, lists: &NeighborLists) -> Completion {
        let near = lists.of(group as usize).iter().zip(lists.squared_distances_of(group as usize));
        let near: Vec<(u32, f64)> = near.map(|(&other, &squared)| (other, squared)).collect();
        let mut completion = Completion {
            group,
            whole: Vec::new(),
            last: Shell { squared: 0.0, groups: Vec::new() },
            wanted: self.missing(group),
        };
        let mut shells = near.chunk_by(|a, b| a.1 == b.1).peekable();
        while let Some(shell) = shells.next() {
            let squared = shell[0].1;
            let mut groups: Vec<u32> = shell.iter().map(|&(other, _)| other).collect();
            if shells.peek().is_none() && may_miss(lists, distinct) {
                groups = groups_at(distinct, group, squared);
            }
            groups.sort_unstable();
            let members: usize = groups.iter().map(|&other| self.members(other).len()).sum();
            let shell = Shell { squared, groups };
            if members >= completion.wanted {
                completion.last = shell;
                break;
            }
            completion.wanted -= members;
            completion.whole.push(shell);
        }
        completion
    }

    /// Puts the neighbors outside of some groups.
    fn put_others(&self, mut completions: Vec<Completion>, rows: &mut [Row]) -> Result<()> {
        let whole = completions.par_iter().flat_map_iter(|completion| self.chosen_of_whole(completion));
        for (p, whole) in whole.collect::<Vec<_>>() {
            rows[p as usize].extend(whole);
        }
        // Those that choose among the same candidates do so together.
        completions.sort_by(|a, b| a.last.groups.cmp(&b.last.groups));
        let together: Vec<&[Completion]> =
            completions.chunk_by(|a, b| a.last.groups == b.last.groups).collect();
        let chosen = together.par_iter().map(|completions| {
            check_cancelled(self.monitor)?;
            self.chosen_of_last(completions)
        });
        for (p, last) in chosen.collect::<Result<Vec<_>>>()?.into_iter().flatten() {
            rows[p as usize].extend(last);
        }
        Ok(())
    }

    /// Those neighbors of the members of a group for which nothing has to be chosen, in their order.
    fn chosen_of_whole(&self, completion: &Completion) -> Vec<(u32, Row)> {
        let shells: Vec<(f64, Vec<u32>)> =
            completion.whole.iter().map(|shell| (shell.squared, self.candidates(shell))).collect();
        let of_shell = |p: u32, (squared, candidates): &(f64, Vec<u32>)| {
            let squared = *squared;
            self.nearest_inputs(p, candidates, usize::MAX).into_iter().map(move |q| (squared, q))
        };
        let row = |&p: &u32| (p, shells.iter().flat_map(|shell| of_shell(p, shell)).collect());
        self.members(completion.group).iter().map(row).collect()
    }

    fn candidates(&self, shell: &Shell) -> Vec<u32> {
        let mut candidates: Vec<u32> =
            shell.groups.iter().flat_map(|&group| self.members(group)).copied().collect();
        candidates.sort_unstable();
        candidates
    }

    /// The last neighbors of the members of some groups, whose last shells are made of the same groups.
    fn chosen_of_last(&self, completions: &[Completion]) -> Result<Vec<(u32, Row)>> {
        let candidates = self.candidates(&completions[0].last);
        let own = completions.iter().flat_map(|own| self.members(own.group).iter().map(move |&p| (own, p)));
        if candidates.len() <= FEW {
            let row = |(own, p): (&Completion, u32)| {
                let chosen = self.nearest_inputs(p, &candidates, own.wanted);
                (p, chosen.into_iter().map(|q| (own.last.squared, q)).collect())
            };
            return Ok(own.map(row).collect());
        }
        let own: Vec<(&Completion, u32)> = own.collect();
        let queries: Vec<u32> = own.iter().map(|&(_, p)| p).collect();
        let most = completions.iter().map(|own| own.wanted).fold(1, usize::max);
        let (queries, base) = (self.inputs.rows(&queries)?, self.inputs.rows(&candidates)?);
        // None of the queries is among the candidates.
        let apart = base.len() as i64;
        let found = nearest_between(&queries, &base, apart, most, &Cancelling(self.monitor))?.indices;
        let row = |(&(own, p), found): (&(&Completion, u32), &[Option<u32>])| {
            let found = found[..own.wanted].iter().flatten();
            (p, found.map(|&at| (own.last.squared, candidates[at as usize])).collect())
        };
        Ok(own.iter().zip(found.chunks_exact(most)).map(row).collect())
    }

    /// Those of some candidates whose inputs are nearest to that of `p`.
    fn nearest_inputs(&self, p: u32, candidates: &[u32], wanted: usize) -> Vec<u32> {
        let distance = |&q: &u32| (squared_distance_between(self.inputs, p as usize, q as usize), q);
        let mut by_input: Row = candidates.iter().map(distance).collect();
        by_input.sort_unstable_by(ordered);
        by_input.into_iter().take(wanted).map(|(_, q)| q).collect()
    }
}

/// The squared distance at which the list of a group ends.
fn farthest(lists: &NeighborLists, group: u32) -> f64 {
    lists.squared_distances_of(group as usize)[lists.neighbors() - 1]
}

/// Whether others may be as far away as the last of a list. An approximate search has found what it has found.
fn may_miss(lists: &NeighborLists, distinct: &Samples<'_>) -> bool {
    lists.neighbors() < distinct.len() - 1 && lists.recall() == Recall::Exact
}

/// All rows at exactly this distance of one of them.
fn groups_at(distinct: &Samples<'_>, group: u32, squared: f64) -> Vec<u32> {
    let is_there = |&other: &u32| {
        other != group && squared_distance_between(distinct, group as usize, other as usize) == squared
    };
    (0..distinct.len() as u32).filter(is_there).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::monitor::Silent;
    use crate::neighbors::ExactSearch;

    /// Remembers how long the lists were that it was asked for.
    #[derive(Default)]
    struct Asked(Mutex<Vec<usize>>);

    impl NeighborSearch for Asked {
        fn find(
            &self,
            samples: &Samples<'_>,
            neighbors: usize,
            monitor: &dyn Monitor,
        ) -> Result<NeighborLists> {
            self.0.lock().unwrap().push(neighbors);
            ExactSearch.find(samples, neighbors, monitor)
        }
    }

    /// Points of a grid, of which one comes twice: nearly every list of four ends among four equal distances.
    #[test]
    fn lists_that_end_among_equal_distances_become_longer() {
        const SIDE: u16 = 80;
        let grid = (0..SIDE * SIDE).chain([SIDE + 1]).map(|at| [f64::from(at % SIDE), f64::from(at / SIDE)]);
        let outputs: Vec<f64> = grid.flatten().collect();
        let len = outputs.len() / 2;
        let inputs: Vec<f64> = (0..len).map(|at| (at * at % 1009) as f64).collect();
        let (inputs, outputs) =
            (Samples::from_f64(len, 1, inputs).unwrap(), Samples::from_f64(len, 2, outputs).unwrap());
        let equal = EqualRows::of(&outputs).unwrap();
        let search = Asked::default();
        let (neighbors, monitor) = (6, &Silent);
        let tied = TiedSearch {
            outputs: &outputs,
            equal: &equal,
            inputs: &inputs,
            search: &search,
            neighbors,
            monitor,
        };
        let lists = tied.lists().unwrap();
        assert_eq!(*search.0.lock().unwrap(), [7, 14]);
        // Corners and edges too, and both of the point that comes twice.
        for p in (0..len).step_by(997).chain([1, SIDE as usize + 1, len - 1]) {
            let key = |q: usize| {
                (squared_distance_between(&outputs, p, q), squared_distance_between(&inputs, p, q), q)
            };
            let mut others: Vec<(f64, f64, usize)> = (0..len).filter(|&q| q != p).map(key).collect();
            others.sort_by(|a, b| a.partial_cmp(b).unwrap());
            let expected: Vec<u32> = others[..neighbors].iter().map(|&(.., q)| q as u32).collect();
            assert_eq!(lists.of(p), expected, "{p}");
        }
    }
}
