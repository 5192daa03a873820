//! An evaluation that keeps its steps is the evaluation that keeps nothing: one walk, bit by bit.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::paired;
use spadework::graph::GraphKind;
use spadework::monitor::Stage;
use spadework::pipeline::{
    Keeper, ModelGraphs, SolvedSpectrum, evaluate_with, graphs_of, scores_of, spectrum_of,
};
use spadework::{Error, GraphPair, ManifoldPair, Monitor, Silent, SpadeParams, SpadeReport, evaluate};

const SAMPLES: usize = 260;

/// Keeps the steps of one evaluation in memory.
#[derive(Default)]
struct Memory {
    graphs: Mutex<Option<ModelGraphs>>,
    spectrum: Mutex<Option<SolvedSpectrum>>,
    kept: AtomicUsize,
}

impl Keeper for Memory {
    type Error = Error;

    fn stored_graphs(&self, _: &ManifoldPair<'_>, _: &SpadeParams) -> Result<Option<ModelGraphs>, Error> {
        Ok(self.graphs.lock().unwrap().clone())
    }

    fn keep_graphs(&self, _: &ManifoldPair<'_>, _: &SpadeParams, made: &ModelGraphs) -> Result<(), Error> {
        self.kept.fetch_add(1, Ordering::Relaxed);
        *self.graphs.lock().unwrap() = Some(made.clone());
        Ok(())
    }

    fn stored_spectrum(&self, _: &GraphPair, _: &SpadeParams) -> Result<Option<SolvedSpectrum>, Error> {
        Ok(self.spectrum.lock().unwrap().clone())
    }

    fn keep_spectrum(&self, _: &GraphPair, _: &SpadeParams, solved: &SolvedSpectrum) -> Result<(), Error> {
        self.kept.fetch_add(1, Ordering::Relaxed);
        *self.spectrum.lock().unwrap() = Some(solved.clone());
        Ok(())
    }
}

/// Refuses to keep anything, as a full disk would.
struct Full;

impl Keeper for Full {
    type Error = Error;

    fn keep_graphs(&self, _: &ManifoldPair<'_>, _: &SpadeParams, _: &ModelGraphs) -> Result<(), Error> {
        Err(Error::Cancelled)
    }
}

/// Writes down which stages begin.
#[derive(Default)]
struct Stages(Mutex<Vec<Stage>>);

impl Monitor for Stages {
    fn begin(&self, stage: Stage) {
        self.0.lock().unwrap().push(stage);
    }
}

fn arrays() -> [Vec<f64>; 2] {
    let angle = |i: usize| (i as f64).sqrt();
    let inputs = (0..SAMPLES).flat_map(|i| [angle(i) * angle(i).cos(), angle(i) * angle(i).sin()]).collect();
    let outputs = (0..SAMPLES).flat_map(|i| [angle(i), (3.0 * angle(i)).sin()]).collect();
    [inputs, outputs]
}

fn assert_same(a: &SpadeReport, b: &SpadeReport) {
    assert_eq!(a.model_score, b.model_score);
    assert_eq!(a.enclosure, b.enclosure);
    assert_eq!(a.graphs, b.graphs);
    assert_eq!(a.eigenpairs.vectors(), b.eigenpairs.vectors());
    assert_eq!(a.edge_scores, b.edge_scores);
    assert_eq!(a.node_scores, b.node_scores);
    assert_eq!(a.diagnostics.connection, b.diagnostics.connection);
    assert_eq!(a.diagnostics.params, b.diagnostics.params);
}

#[test]
fn what_is_kept_is_taken_and_not_made_again() {
    let [inputs, outputs] = arrays();
    let samples = paired(SAMPLES, &inputs, &outputs);
    for params in
        [SpadeParams::default(), SpadeParams::default().with_neighbors(4).with_graph(GraphKind::Mutual)]
    {
        let whole = evaluate(&samples, &params, &Silent).unwrap();
        let (memory, sides) = (Memory::default(), ManifoldPair::from(&samples));
        let first = evaluate_with(&sides, &params, &memory, &Silent).unwrap();
        assert_same(&first, &whole);
        assert_eq!(memory.kept.load(Ordering::Relaxed), 2);

        let stages = Stages::default();
        let again = evaluate_with(&sides, &params, &memory, &stages).unwrap();
        assert_same(&again, &whole);
        assert_eq!(memory.kept.load(Ordering::Relaxed), 2);
        assert_eq!(stages.0.into_inner().unwrap(), [Stage::Scores]);

        // Step by step it is the same again.
        let graphs = graphs_of(&sides, &params, &memory, &Silent).unwrap();
        let spectrum = spectrum_of(&graphs.graphs, &params, &memory, &Silent).unwrap();
        assert_same(&scores_of(graphs, spectrum, &Silent).unwrap(), &whole);
    }
}

#[test]
fn a_keeper_that_fails_ends_the_evaluation() {
    let [inputs, outputs] = arrays();
    let samples = paired(SAMPLES, &inputs, &outputs);
    let failed = evaluate_with(&(&samples).into(), &SpadeParams::default(), &Full, &Silent);
    assert_eq!(failed.unwrap_err(), Error::Cancelled);
}
