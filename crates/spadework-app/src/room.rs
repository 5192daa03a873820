//! Checks before a run begins whether the machine has enough memory for it.

use std::fs;

use spadework::error::size_in_words;
use spadework::neighbors::{Ties, most_search_bytes, most_tied_bytes};
use spadework::pipeline::bytes_after_search;
use spadework::{Samples, SpadeParams};

use crate::observer::Session;
use crate::sides::Sides;
use crate::wording::NoteCode;

/// Bytes that a run takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Needs {
    /// The numbers of the inputs.
    pub(crate) inputs: u64,
    /// The numbers of the outputs.
    pub(crate) outputs: u64,
    /// The larger of the two searches, at most, and what it adds if the inputs decide between equal outputs.
    pub(crate) search: u64,
    /// Graphs, eigenvectors and scores, about.
    pub(crate) graphs: u64,
}

impl Needs {
    /// Those of `samples` samples, of which some are given: all of them, or a few that stand for the others.
    pub(crate) fn of(
        inputs: &Samples<'_>,
        outputs: &Samples<'_>,
        samples: usize,
        params: &SpadeParams,
    ) -> Self {
        let all = |bytes: usize, given: &Samples<'_>| {
            (bytes as u128 * samples as u128 / given.len() as u128) as u64
        };
        let search = |side: &Samples<'_>| all(most_search_bytes(side, params.neighbors), side);
        let tied = match params.ties {
            Ties::Inputs => all(most_tied_bytes(inputs, outputs, params.neighbors), outputs),
            Ties::Index => 0,
        };
        Self {
            inputs: all(inputs.values().bytes(), inputs),
            outputs: all(outputs.values().bytes(), outputs),
            search: search(inputs).max(search(outputs)) + tied,
            graphs: bytes_after_search(samples, params.neighbors) as u64,
        }
    }

    /// All of it: the searches are over when the eigenvectors begin.
    pub(crate) fn total(&self) -> u64 {
        self.inputs + self.outputs + self.search.max(self.graphs)
    }
}

/// Says at the start where a run needs more memory than there is.
pub(crate) fn about_memory(sides: &Sides<'_>, params: &SpadeParams, session: &Session<'_>) {
    let Some((inputs, outputs)) = sides.input.samples().zip(sides.output.samples()) else { return };
    let Some(available) = available_bytes() else { return };
    let needs = Needs::of(inputs, outputs, inputs.len(), params);
    // What is in memory already is not asked for again; of a mapped file it is not known how much is.
    let in_memory = if sides.input.is_mapped() { 0 } else { needs.inputs } + needs.outputs;
    let missing = needs.total() - in_memory;
    if missing > available {
        session
            .mention(NoteCode::LittleMemory, shortage(&needs, missing, available, sides.input.is_mapped()));
    }
}

fn shortage(needs: &Needs, missing: u64, available: u64, is_mapped: bool) -> String {
    let work = needs.search.max(needs.graphs);
    let what = if is_mapped && work <= available {
        "the inputs are mapped and will be read from the disk again and again, which is slow"
    } else {
        "the run may be stopped by the system"
    };
    format!(
        "this run needs about {} of memory, and {} are available: {what}; use fewer samples, numbers of a narrower type \
         (uint8, float16), or a machine with more memory",
        size_in_words(missing),
        size_in_words(available)
    )
}

/// What the machine can still give, or what is left of a container's limit where that is less; `None` if the system does not
/// tell.
pub(crate) fn available_bytes() -> Option<u64> {
    let machine = available_in(&fs::read_to_string("/proc/meminfo").ok()?)?;
    let number = |file: &str| fs::read_to_string(file).ok()?.trim().parse::<u64>().ok();
    // A limit of `max` is none.
    let limit = number("/sys/fs/cgroup/memory.max");
    let used = number("/sys/fs/cgroup/memory.current").unwrap_or(0);
    Some(limit.map_or(machine, |limit| machine.min(limit.saturating_sub(used))))
}

fn available_in(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_available_is_read() {
        let meminfo = "MemTotal:       24576000 kB\nMemFree:  100 kB\nMemAvailable:   20480000 kB\n";
        assert_eq!(available_in(meminfo), Some(20_480_000 * 1024));
        assert_eq!(available_in("MemTotal: 3 kB\n"), None);
    }

    #[test]
    fn bytes_take_a_quarter_of_single_precision() {
        let bytes = Samples::from_u8(4, 100, vec![7; 400]).unwrap();
        let single = Samples::from_f32(4, 100, vec![0.5; 400]).unwrap();
        let params = SpadeParams::default().with_neighbors(2);
        let of = |inputs: &Samples<'_>, samples| Needs::of(inputs, &single, samples, &params);
        assert_eq!((of(&bytes, 4).inputs, of(&single, 4).inputs), (400, 1600));
        // Few samples stand for many.
        assert_eq!(of(&bytes, 4000).inputs, 400_000);
        assert!(of(&bytes, 4000).search >= 1000 * of(&bytes, 4).search);
    }

    /// Rows of neighbors (16 bytes each), and copies of both sides.
    #[test]
    fn equal_outputs_take_more_where_the_inputs_decide() {
        let inputs = Samples::from_f32(100, 50, (0_u16..5000).map(f32::from).collect::<Vec<f32>>()).unwrap();
        let outputs = |different: u16| {
            let rows: Vec<f32> = (0..100).map(|row| f32::from(row % different)).collect();
            Samples::from_f32(100, 1, rows).unwrap()
        };
        let search = |different, ties| {
            let params = SpadeParams::default().with_neighbors(10).with_ties(ties);
            Needs::of(&inputs, &outputs(different), 100, &params).search
        };
        assert_eq!(search(100, Ties::Inputs), search(100, Ties::Index));
        assert_eq!(search(7, Ties::Index), search(100, Ties::Index));
        assert!(search(7, Ties::Inputs) > search(100, Ties::Index) + 100 * 10 * 16 + 100 * 50 * 4);
    }

    #[test]
    fn a_shortage_says_how_much_is_missing() {
        let needs = Needs { inputs: 40 << 30, outputs: 0, search: 1 << 30, graphs: 0 };
        let text = shortage(&needs, 41 << 30, 8 << 30, true);
        assert!(text.contains("about 41.0 GiB") && text.contains("8.0 GiB are available"), "{text}");
        assert!(text.contains("from the disk"), "{text}");
        assert!(shortage(&needs, 41 << 30, 1 << 29, true).contains("stopped by the system"));
    }
}
