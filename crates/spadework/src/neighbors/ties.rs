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
    NeighborLists, NeighborSearch, Recall, check_neighbors, nearest_between, ordered,
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
    copies + outputs.len() * (SAMPLE + neighbors.min(outputs.len()) * NEIGHBOR)
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
            let known = (self.neighbors + 1).min(distinct.len() - 1);
            let lists = self.search.search(&distinct, known, self.monitor)?;
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
            let may_go_on = shells.peek().is_none() && lists.neighbors() < distinct.len() - 1;
            // An approximate search has found what it has found.
            if may_go_on && lists.recall() == Recall::Exact {
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

/// All rows at exactly this distance of one of them.
fn groups_at(distinct: &Samples<'_>, group: u32, squared: f64) -> Vec<u32> {
    let is_there = |&other: &u32| {
        other != group && squared_distance_between(distinct, group as usize, other as usize) == squared
    };
    (0..distinct.len() as u32).filter(is_there).collect()
}
