//! Checks before a run begins whether the machine has enough memory for it.

use std::fs;

use spadework::error::size_in_words;
use spadework::neighbors::{
    SearchMethod, Ties, approximate_search_bytes, most_search_bytes, most_tied_bytes,
};
use spadework::pipeline::bytes_after_search;
use spadework::samples::{Metric, Side, Standardize};
use spadework::{Samples, SpadeParams};

use crate::failure::Failure;
use crate::observer::Session;
use crate::side_view::SideView;
use crate::wording::NoteCode;

/// Bytes that a run takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Needs {
    /// The numbers of the inputs.
    pub(crate) inputs: u64,
    /// The numbers of the outputs, those of all models.
    pub(crate) outputs: u64,
    /// The largest of the searches, at most, what it adds if the inputs decide between equal outputs, and copies of
    /// samples whose columns are standardized or whose rows are brought to one length.
    pub(crate) search: u64,
    /// Graphs, eigenvectors and scores, about.
    pub(crate) graphs: u64,
}

impl Needs {
    /// Those of `samples` samples, of which some are given: all of them, or a few that stand for the others. Every one of `outputs` is
    /// those of a model.
    pub(crate) fn of(
        inputs: &Samples<'_>,
        outputs: &[&Samples<'_>],
        samples: usize,
        params: &SpadeParams,
    ) -> Self {
        let arrays = outputs.iter().map(|&array| ArrayNeeds::of(array, samples, Side::Output, params));
        let tied = outputs.iter().map(|&array| match params.ties {
            Ties::Inputs => all(most_tied_bytes(inputs, array, params.neighbors), array, samples),
            Ties::Index => 0,
        });
        let tied = tied.max().unwrap_or(0);
        Self::of_arrays(ArrayNeeds::of(inputs, samples, Side::Input, params), arrays, samples, params)
            .with_search(tied)
    }

    fn of_arrays(
        inputs: ArrayNeeds,
        outputs: impl Iterator<Item = ArrayNeeds>,
        samples: usize,
        params: &SpadeParams,
    ) -> Self {
        let SpadeParams { neighbors, eigenpairs, .. } = *params;
        let mut needs = Self {
            inputs: inputs.values,
            outputs: 0,
            search: inputs.search,
            graphs: bytes_after_search(samples, neighbors, eigenpairs) as u64,
        };
        let mut copies = inputs.copy;
        // What is found of a model stays until all are.
        let vectors = samples * eigenpairs.min(samples) * size_of::<f64>();
        let found = bytes_after_search(samples, neighbors, 0).saturating_add(vectors);
        for (at, array) in outputs.enumerate() {
            needs.outputs += array.values;
            needs.search = needs.search.max(array.search);
            copies += array.copy;
            needs.graphs = needs.graphs.saturating_add(if at == 0 { 0 } else { found as u64 });
        }
        needs.with_search(copies)
    }

    fn with_search(self, more: u64) -> Self {
        Self { search: self.search.saturating_add(more), ..self }
    }

    /// All of it: the searches are over when the eigenvectors begin.
    pub(crate) fn total(&self) -> u64 {
        self.inputs.saturating_add(self.outputs).saturating_add(self.search.max(self.graphs))
    }
}

/// Bytes of all samples where some of them are given.
fn all(bytes: usize, given: &Samples<'_>, samples: usize) -> u64 {
    (bytes as u128 * samples as u128 / given.len() as u128) as u64
}

/// Bytes of one array.
#[derive(Debug, Clone, Copy)]
struct ArrayNeeds {
    /// Its numbers.
    values: u64,
    /// What a search among its rows takes in addition.
    search: u64,
    /// Numbers that are computed from its own before.
    copy: u64,
}

impl ArrayNeeds {
    fn of(given: &Samples<'_>, samples: usize, side: Side, params: &SpadeParams) -> Self {
        let geometry = params.geometry(side);
        let exact = most_search_bytes(given, samples, params.neighbors);
        // The other distances are searched exactly, whatever is asked.
        let approximate = match geometry.metric {
            Metric::Euclidean | Metric::Cosine => {
                approximate_search_bytes(samples, given.dim(), params.neighbors)
            }
            Metric::Manhattan | Metric::Chebyshev => exact,
        };
        let search = match params.search {
            SearchMethod::Exact => exact,
            SearchMethod::Approximate => approximate,
            SearchMethod::Auto => exact.max(approximate),
        };
        let is_copied = geometry.standardize != Standardize::None || geometry.metric == Metric::Cosine;
        let copy = if is_copied { samples * given.dim() * size_of::<f64>() } else { 0 };
        Self { values: all(given.values().bytes(), given, samples), search: search as u64, copy: copy as u64 }
    }
}

/// Says at the start where a run needs more memory than there is: of one input and the outputs of one or more models. A
/// run that finds no eigenpairs asks for none.
pub(crate) fn about_memory(
    input: &SideView<'_>,
    outputs: &[&SideView<'_>],
    params: &SpadeParams,
    session: &Session<'_>,
) {
    let arrays: Option<Vec<_>> = outputs.iter().map(|output| output.samples()).collect();
    let Some((inputs, arrays)) = input.samples().zip(arrays) else { return };
    let needs = Needs::of(inputs, &arrays, inputs.len(), params);
    // What is in memory already is not asked for again; of a mapped file it is not known how much is.
    let sides = [input].into_iter().chain(outputs.iter().copied());
    let loaded = sides.filter(|side| !side.is_mapped()).filter_map(SideView::samples);
    let in_memory = loaded.map(|samples| samples.values().bytes() as u64).sum();
    mention(&needs, in_memory, input.is_mapped(), session);
}

/// The same of the layers of a network, of which `held` bytes are in memory at a time. Each has so many numbers per sample.
pub(crate) fn about_layers(
    input: &SideView<'_>,
    dims: impl Iterator<Item = usize>,
    held: u64,
    params: &SpadeParams,
    session: &Session<'_>,
) -> Result<(), Failure> {
    let Some(inputs) = input.samples() else { return Ok(()) };
    let dims: Vec<usize> = dims.collect();
    let Some(&largest) = dims.iter().max() else { return Ok(()) };
    let samples = inputs.len();
    let bytes = |dim: usize| (samples * dim * size_of::<f32>()) as u64;
    // One row stands for all of them: how many numbers it has decides.
    let row = Samples::from_f32(1, largest, vec![0.0; largest])?;
    let outputs = ArrayNeeds {
        // A layer that is larger is held by itself.
        values: dims.iter().map(|&dim| bytes(dim)).sum::<u64>().min(held).max(bytes(largest)),
        ..ArrayNeeds::of(&row, samples, Side::Output, params)
    };
    let of_inputs = ArrayNeeds::of(inputs, samples, Side::Input, params);
    let needs = Needs::of_arrays(of_inputs, std::iter::once(outputs), samples, params);
    mention(&needs, if input.is_mapped() { 0 } else { needs.inputs }, input.is_mapped(), session);
    Ok(())
}

/// Says before an array is read where it takes more memory than there is: to be told how much it will take.
pub(crate) fn about_loading(name: &str, session: &Session<'_>) -> impl Fn(u64) {
    move |needed| {
        if let Some(available) = available_bytes().filter(|&available| needed > available) {
            session.mention(NoteCode::LittleMemory, shortage_of_array(name, needed, available));
        }
    }
}

fn shortage_of_array(name: &str, needed: u64, available: u64) -> String {
    format!(
        "{name}: its numbers take {} of memory, and {} are available: reading them may be stopped by the system; use fewer samples or \
         a machine with more memory, or save them as a NumPy file of rows (.npy), which is mapped instead of read",
        size_in_words(needed),
        size_in_words(available)
    )
}

/// Says where more is missing than is available.
fn mention(needs: &Needs, in_memory: u64, is_mapped: bool, session: &Session<'_>) {
    let Some(available) = available_bytes() else { return };
    let missing = needs.total().saturating_sub(in_memory);
    if missing > available {
        session.mention(NoteCode::LittleMemory, shortage(needs, missing, available, is_mapped));
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
    // The pages of files that were read count as used, but the system gives them back.
    let given_back = fs::read_to_string("/sys/fs/cgroup/memory.stat").map_or(0, |stat| given_back_in(&stat));
    let used = number("/sys/fs/cgroup/memory.current").map_or(0, |used| used.saturating_sub(given_back));
    Some(limit.map_or(machine, |limit| machine.min(limit.saturating_sub(used))))
}

fn available_in(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// Pages of files that nothing has used lately.
fn given_back_in(stat: &str) -> u64 {
    let bytes = stat.lines().find_map(|line| line.strip_prefix("inactive_file "));
    bytes.and_then(|bytes| bytes.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_files_are_given_back() {
        assert_eq!(given_back_in("anon 1024\nfile 4096\ninactive_file 2048\nactive_file 2048\n"), 2048);
        assert_eq!(given_back_in("anon 1024\n"), 0);
    }

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
        let of = |inputs: &Samples<'_>, samples| Needs::of(inputs, &[&single], samples, &params);
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
            Needs::of(&inputs, &[&outputs(different)], 100, &params).search
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

    /// The largest part of what eigenpairs take is the basis they are found in: three panels of four vectors for each of 2⌈(r + 2)/4⌉ + 4.
    #[test]
    fn more_eigenpairs_take_more() {
        let samples = Samples::from_f32(1000, 1, vec![0.5; 1000]).unwrap();
        let of = |eigenpairs| {
            let params = SpadeParams::default().with_eigenpairs(eigenpairs).with_ties(Ties::Index);
            Needs::of(&samples, &[&samples], 1_000_000, &params).graphs
        };
        assert_eq!(of(1), of(2));
        assert!(of(10) >= of(2) + 1_000_000 * (10 - 6) * 3 * 4 * 8);
        assert!(of(100) >= of(2) + 1_000_000 * (56 - 6) * 3 * 4 * 8);
    }

    /// A million samples of 128 numbers took 2,043 MiB with k = 10 and r = 2, 1,187 MiB of it while they were searched approximately
    /// (docs/benchmarks.md).
    #[test]
    fn a_million_samples_take_what_was_measured() {
        let inputs = Samples::from_f32(10, 128, (0_u16..1280).map(f32::from).collect::<Vec<f32>>()).unwrap();
        let outputs = Samples::from_f32(10, 10, (0_u16..100).map(f32::from).collect::<Vec<f32>>()).unwrap();
        let of = |search| {
            let params = SpadeParams::default().with_search(search);
            Needs::of(&inputs, &[&outputs], 1_000_000, &params)
        };
        let near = |planned: u64, measured: u64| {
            let planned = planned >> 20;
            assert!(planned.abs_diff(measured) * 8 < measured, "{planned} MiB, but {measured} were measured");
        };
        near(of(SearchMethod::Exact).total(), 2043);
        near(of(SearchMethod::Approximate).search, 1187);
        assert!(of(SearchMethod::Auto).search >= of(SearchMethod::Approximate).search);
    }

    #[test]
    fn models_that_are_compared_take_more_than_one() {
        let samples = Samples::from_f32(10, 4, (0_u16..40).map(f32::from).collect::<Vec<f32>>()).unwrap();
        let of = |models: usize| {
            Needs::of(&samples, &vec![&samples; models], 10_000, &SpadeParams::default().with_neighbors(3))
        };
        let (one, three) = (of(1), of(3));
        assert_eq!((three.outputs, three.search), (3 * one.outputs, one.search));
        assert!(three.graphs > one.graphs);
    }

    #[test]
    fn standardized_samples_are_copied_in_double_precision() {
        let bytes = Samples::from_u8(4, 100, vec![7; 400]).unwrap();
        let of = |params: &SpadeParams| Needs::of(&bytes, &[&bytes], 1000, params).search;
        let plain = SpadeParams::default().with_neighbors(2).with_ties(Ties::Index);
        let one = 1000 * 100 * 8;
        assert_eq!(of(&plain.clone().with_standardize(Standardize::Standard)), of(&plain) + one);
        assert_eq!(of(&plain.clone().with_output_metric(Metric::Cosine)), of(&plain) + one);
    }

    #[test]
    fn an_array_that_cannot_be_read_is_named() {
        let text = shortage_of_array("x.npz:x", 40 << 30, 8 << 30);
        assert!(
            text.starts_with("x.npz:x: ") && text.contains("40.0 GiB") && text.contains(".npy"),
            "{text}"
        );
    }
}
