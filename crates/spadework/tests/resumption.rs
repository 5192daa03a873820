//! Work that was interrupted at any point goes on from what was kept, and ends with the same bits.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use crate::support::memory::Memory;
use spadework::eigen::Certainty;
use spadework::graph::Connectivity;
use spadework::laplacian::SketchParams;
use spadework::neighbors::{ApproximateSearch, NeighborSearch, SearchMethod, TreeSearch};
use spadework::pipeline::{Comparison, Model, ModelSet, compare, intervals};
use spadework::samples::Metric;
use spadework::scores::EdgeScores;
use spadework::{Error, ManifoldPair, PairedSamples, Samples, SpadeParams, evaluate};

/// 900 samples, of numbers that leave many pairs to look at; enough for several leaves.
fn samples(dim: usize) -> PairedSamples<'static> {
    let number = |at: usize| (at as f64 * 0.618_033_988_749_895).fract() * (1.0 + (at % dim) as f64 / 9.0);
    let inputs: Vec<f64> = (0..900 * dim).map(|at| number(at * at % 1_000_003)).collect();
    let outputs: Vec<f64> =
        inputs.chunks(dim).flat_map(|x| [(3.0 * x[0]).sin() + x[1], x[2] * x[3], x[4] - x[5]]).collect();
    PairedSamples::new(
        Samples::from_f64(900, dim, inputs).unwrap(),
        Samples::from_f64(900, 3, outputs).unwrap(),
    )
    .unwrap()
}

#[test]
fn searches_that_were_interrupted_give_the_same_lists() {
    let manhattan = SpadeParams::default().with_input_metric(Metric::Manhattan);
    let exact = SpadeParams::default().with_search(SearchMethod::Exact);
    for (name, params, dim) in
        [("products", exact.clone(), 64), ("every pair", manhattan, 20), ("tree", exact, 6)]
    {
        assert_resumes(name, &samples(dim), &params);
    }
}

/// However a run is interrupted, it ends as one that was not.
fn assert_resumes(name: &str, samples: &PairedSamples<'_>, params: &SpadeParams) {
    let pair: ManifoldPair<'_> = samples.into();
    let whole = evaluate(&pair, params, &spadework::Silent).unwrap();
    for (stop, every) in [(1, 1), (2, 3), (4, 1)] {
        let mut memory = Memory::stopping_after(stop, every);
        let mut interrupted = 0;
        // Interrupted twice, each time after some more parts.
        for next in [Some(stop + 1), None] {
            match evaluate(&pair, params, &memory) {
                Err(Error::Cancelled) => interrupted += 1,
                other => assert!(other.is_ok(), "{name}: {:?}", other.err()),
            }
            memory = memory.next(next);
        }
        let resumed = evaluate(&pair, params, &memory).unwrap();
        assert!(interrupted > 0 && memory.taken.load(Ordering::SeqCst) > 0, "{name}, {stop}, {every}");
        assert_eq!(resumed.model_score, whole.model_score, "{name}, {stop}, {every}");
        assert_eq!(resumed.graphs, whole.graphs, "{name}, {stop}, {every}");
        assert_eq!(resumed.node_scores, whole.node_scores, "{name}, {stop}, {every}");
    }
}

/// Four different outputs, of which one is that of most samples: inputs decide which of them are neighbors.
fn with_equal_outputs(samples: &PairedSamples<'_>, first: f64) -> PairedSamples<'static> {
    let (len, dim) = (samples.len(), samples.input().dim());
    let mut inputs = samples.input().values().all_doubles().repeat(2);
    for value in &mut inputs[len * dim..] {
        *value += first;
    }
    let outputs = inputs.chunks(dim).map(|row| if row[0] < 0.9 { 0.0 } else { (row[1] * 3.0).floor() + 1.0 });
    let outputs: Vec<f64> = outputs.collect();
    let side = |values: Vec<f64>| Samples::from_f64(2 * len, values.len() / (2 * len), values).unwrap();
    PairedSamples::new(side(inputs), side(outputs)).unwrap()
}

#[test]
fn choices_among_equal_outputs_go_on_too() {
    let exact =
        SpadeParams::default().with_search(SearchMethod::Exact).with_connectivity(Connectivity::Bridge);
    assert_resumes("equal outputs", &with_equal_outputs(&samples(64), 1e-3), &exact);
}

/// Lists that are kept whole are those of both sides: the same outputs with other inputs have other neighbors.
#[test]
fn lists_of_equal_outputs_are_those_of_their_inputs() {
    let (input, output) = with_equal_outputs(&samples(6), 1e-3).into_sides();
    let params = SpadeParams::default().with_connectivity(Connectivity::Bridge);
    let kept = Memory { every: usize::MAX, ..Memory::default() };
    evaluate(&PairedSamples::new(input.clone(), output.clone()).unwrap(), &params, &kept).unwrap();
    let backwards: Vec<f64> = input.values().all_doubles().iter().rev().copied().collect();
    let other = PairedSamples::new(Samples::from_f64(input.len(), 6, backwards).unwrap(), output).unwrap();
    let with_parts = evaluate(&other, &params, &kept.next(None)).unwrap();
    assert_eq!(with_parts.graphs, evaluate(&other, &params, &spadework::Silent).unwrap().graphs);
}

/// A search that keeps several parts.
struct LongSearch<'a> {
    name: &'static str,
    search: &'a dyn NeighborSearch,
    count: usize,
    dim: usize,
    /// The first number of the first sample.
    first: f64,
}

/// Trees keep lists place by place; approximate searches keep candidates after a tree and after a round, by short copies of the samples
/// and, where a sample far away leaves these too few digits, by the samples themselves.
#[test]
fn long_searches_that_were_interrupted_give_the_same_lists() {
    let approximate = ApproximateSearch::default();
    let cases = [
        LongSearch { name: "tree", search: &TreeSearch, count: 70_000, dim: 2, first: 1.0 },
        LongSearch { name: "short copies", search: &approximate, count: 4200, dim: 8, first: 1.0 },
        LongSearch { name: "far away", search: &approximate, count: 4200, dim: 8, first: 1e9 },
    ];
    for LongSearch { name, search, count, dim, first } in cases {
        let number = |at: usize| ((at as f64 * 0.618_033_988_749_895).fract() + at as f64 / 1e7).sin();
        let mut values: Vec<f64> = (0..count * dim).map(|at| number(at * at % 1_000_003)).collect();
        values[0] = first;
        let samples = Samples::from_f64(count, dim, values).unwrap();
        let whole = search.search(&samples, 10, &spadework::Silent).unwrap();
        let uninterrupted = Memory { every: 1, ..Memory::default() };
        search.search(&samples, 10, &uninterrupted).unwrap();
        // After the last part nothing is left to interrupt.
        let last = uninterrupted.kept.load(Ordering::SeqCst) - 1;
        assert!(last >= 2, "{name} keeps {} parts", last + 1);
        for stop in [1, 2, last] {
            let memory = Memory::stopping_after(stop, 1);
            assert_eq!(search.search(&samples, 10, &memory).unwrap_err(), Error::Cancelled, "{name}, {stop}");
            let memory = memory.next(None);
            let resumed = search.search(&samples, 10, &memory).unwrap();
            assert!(memory.taken.load(Ordering::SeqCst) > 0, "{name}, {stop}");
            assert_eq!(resumed.recall(), whole.recall(), "{name}, {stop}");
            for p in 0..count {
                let found = (resumed.of(p), resumed.squared_distances_of(p));
                assert_eq!(found, (whole.of(p), whole.squared_distances_of(p)), "{name}, {stop}: {p}");
            }
        }
    }
}

/// What is taken from a part is used: lists that are kept whole are not searched again.
#[test]
fn lists_that_are_kept_are_not_searched_again() {
    let (input, output) = samples(64).into_sides();
    let pair = ManifoldPair::new(&input, &output).unwrap();
    let params = SpadeParams::default();
    let first = Memory { every: usize::MAX, ..Memory::default() };
    let whole = evaluate(&pair, &params, &first).unwrap();
    let asked = first.asked.load(Ordering::SeqCst);
    let second = first.next(None);
    let again = evaluate(&pair, &params, &second).unwrap();
    assert_eq!(again.graphs, whole.graphs);
    assert!(asked > 0, "searches ask whether it is time to keep something");
    assert_eq!((second.asked.into_inner(), second.taken.into_inner()), (0, 2));
}

#[test]
fn parts_that_do_not_fit_are_left_alone() {
    let (input, output) = samples(64).into_sides();
    let pair = ManifoldPair::new(&input, &output).unwrap();
    let params = SpadeParams::default();
    let whole = evaluate(&pair, &params, &spadework::Silent).unwrap();
    let memory = Memory::stopping_after(2, 4);
    assert_eq!(evaluate(&pair, &params, &memory).unwrap_err(), Error::Cancelled);
    for cut in [0, 8, 5000] {
        let damaged = Memory { every: usize::MAX, ..Memory::default() };
        let parts = memory.parts.lock().unwrap().clone();
        *damaged.parts.lock().unwrap() = parts
            .into_iter()
            .map(|(key, mut state)| {
                state.truncate(state.len().saturating_sub(cut + 1));
                (key, state)
            })
            .collect();
        assert_eq!(evaluate(&pair, &params, &damaged).unwrap().graphs, whole.graphs, "{cut}");
    }
}

#[test]
fn subsamples_that_were_drawn_are_not_drawn_again() {
    let models = ModelSet::from(samples(8));
    let params = SpadeParams::default();
    let scores = [2.0];
    let whole = intervals(&models, &scores, 6, &params, &spadework::Silent).unwrap();
    let memory = Memory::stopping_after(3, 1);
    assert_eq!(intervals(&models, &scores, 6, &params, &memory).unwrap_err(), Error::Cancelled);
    let memory = memory.next(None);
    assert_eq!(intervals(&models, &scores, 6, &params, &memory).unwrap(), whole);
    // The other three.
    assert_eq!((memory.taken.into_inner(), memory.asked.into_inner()), (1, 3));
    // Those of other scores are others.
    let other = Memory::default();
    *other.parts.lock().unwrap() = memory.parts.into_inner().unwrap();
    intervals(&models, &[3.0], 6, &params, &other).unwrap();
    assert_eq!(other.taken.into_inner(), 0);
}

/// A comparison keeps the eigenpairs of every model and their bounds: many models together take long.
#[test]
fn eigenpairs_of_compared_models_are_not_found_again() {
    let (input, output) = samples(8).into_sides();
    let of_columns = |columns: std::ops::Range<usize>| {
        let rows = output.values().all_doubles();
        let values: Vec<f64> = rows.chunks(3).flat_map(|row| row[columns.clone()].to_vec()).collect();
        Samples::from_f64(900, columns.len(), values).unwrap()
    };
    let models = [("all", 0..3), ("first", 0..2), ("last", 1..3)];
    let models = models.map(|(name, columns)| Model { name: name.into(), outputs: of_columns(columns) });
    let models = ModelSet::new(input, models.into()).unwrap();
    for params in [SpadeParams::default(), SpadeParams::default().with_certainty(Certainty::Certified)] {
        let whole = compare(&models, &params, &spadework::Silent).unwrap();
        let alike = |compared: &Comparison, what: &str| {
            for (ours, theirs) in compared.models.iter().zip(&whole.models) {
                let (ours, theirs) = (&ours.report, &theirs.report);
                assert_eq!(ours.enclosure, theirs.enclosure, "{what}");
                assert_eq!(ours.eigenpairs.info(), theirs.eigenpairs.info(), "{what}");
                assert_eq!(ours.eigenpairs.vectors(), theirs.eigenpairs.vectors(), "{what}");
                assert_eq!(ours.eigenpairs.residuals(), theirs.eigenpairs.residuals(), "{what}");
                assert_eq!(ours.node_scores, theirs.node_scores, "{what}");
            }
        };
        // The lists of the inputs and of three outputs, and spectra.
        let memory = Memory::stopping_after(6, usize::MAX);
        assert_eq!(compare(&models, &params, &memory).unwrap_err(), Error::Cancelled);
        let memory = memory.next(None);
        alike(&compare(&models, &params, &memory).unwrap(), "resumed");
        let (taken, kept) = (memory.taken.load(Ordering::SeqCst), memory.kept.load(Ordering::SeqCst));
        assert!(taken > 4 && kept > 0, "{taken} parts taken, {kept} kept");
        let memory = memory.next(None);
        alike(&compare(&models, &params, &memory).unwrap(), "all of it was kept");
        let of_spectra = |parts: &HashMap<String, Vec<u8>>| {
            parts.keys().filter(|key| key.starts_with("eigenpairs ")).count()
        };
        let parts = memory.parts.into_inner().unwrap();
        assert_eq!(of_spectra(&parts), 3);
        // Those of other parameters are others, and what is not whole is not used.
        let other = Memory { every: usize::MAX, ..Memory::default() };
        other.parts.lock().unwrap().extend(
            parts
                .iter()
                .filter(|(key, _)| key.starts_with("eigenpairs "))
                .map(|(k, v)| (k.clone(), v.clone())),
        );
        compare(&models, &params.clone().with_tolerance(1e-7), &other).unwrap();
        assert_eq!(other.taken.into_inner(), 0);
        let damaged = Memory { every: usize::MAX, ..Memory::default() };
        let cut = |(key, mut state): (String, Vec<u8>)| {
            state.truncate(state.len() - 1);
            (key, state)
        };
        damaged.parts.lock().unwrap().extend(parts.into_iter().map(cut));
        alike(&compare(&models, &params, &damaged).unwrap(), "damaged");
    }
}

/// Scores of the whole spectrum are sums over random rows, which are added up in their order.
#[test]
fn projections_that_were_interrupted_give_the_same_scores() {
    let (input, output) = samples(8).into_sides();
    let pair = ManifoldPair::new(&input, &output).unwrap();
    let graphs = evaluate(&pair, &SpadeParams::default(), &spadework::Silent).unwrap().graphs;
    let params = SketchParams::default().with_error(0.9);
    let (whole, info) = EdgeScores::of_full_spectrum(&graphs, &params, &spadework::Silent).unwrap();
    // Four rows to a panel, sixteen panels to a batch.
    let batches = info.rows.unwrap().div_ceil(4).div_ceil(16);
    assert!(batches > 3, "{info:?}");
    for stop in 1..batches {
        let memory = Memory::stopping_after(stop, 1);
        let interrupted = EdgeScores::of_full_spectrum(&graphs, &params, &memory);
        assert_eq!(interrupted.unwrap_err(), Error::Cancelled);
        let memory = memory.next(None);
        let (resumed, _) = EdgeScores::of_full_spectrum(&graphs, &params, &memory).unwrap();
        assert_eq!(resumed.scores(), whole.scores(), "{stop}");
        // After the last batch, only the result is left to keep.
        assert_eq!((memory.taken.into_inner(), memory.asked.into_inner()), (1, batches - stop - 1));
        // Those of another seed are others.
        let other = Memory::default();
        *other.parts.lock().unwrap() = memory.parts.into_inner().unwrap();
        EdgeScores::of_full_spectrum(&graphs, &params.with_seed(1), &other).unwrap();
        assert_eq!(other.taken.into_inner(), 0);
    }
}
