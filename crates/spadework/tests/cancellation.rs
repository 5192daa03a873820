//! Stopping a run, and running out of iterations.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::support::fixtures;
use crate::support::{Stopped, paired, smooth_model};
use spadework::eigen::{Certainty, EigenMethod, EigenParams};
use spadework::graph::Connectivity;
use spadework::graph::generators::path;
use spadework::monitor::Stage;
use spadework::neighbors::{BruteForce, ExactSearch, NeighborSearch};
use spadework::{Error, Graph, Monitor, PairedSamples, Samples, Silent, SpadeParams, evaluate};

/// Enough samples for several blocks of a search and for the iterative method.
const SAMPLES: usize = 2500;

/// Cancels at the first progress within one stage, and keeps a record of what came after.
struct CancelIn {
    stage: Stage,
    begun: Mutex<Vec<Stage>>,
    cancelled: AtomicBool,
    /// Calls of `progress` once cancelled.
    late: AtomicUsize,
}

impl CancelIn {
    fn new(stage: Stage) -> Self {
        Self { stage, begun: Mutex::default(), cancelled: AtomicBool::new(false), late: AtomicUsize::new(0) }
    }

    fn begun(&self) -> Vec<Stage> {
        self.begun.lock().unwrap().clone()
    }
}

impl Monitor for CancelIn {
    fn begin(&self, stage: Stage) {
        self.begun.lock().unwrap().push(stage);
    }

    fn progress(&self, _done: u64, _total: u64) {
        if self.cancelled.load(Ordering::SeqCst) {
            self.late.fetch_add(1, Ordering::SeqCst);
        }
        if self.begun.lock().unwrap().last() == Some(&self.stage) {
            self.cancelled.store(true, Ordering::SeqCst);
        }
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::SeqCst)
    }
}

/// Remembers the stages and the progress of each.
#[derive(Default)]
struct Record(Mutex<Vec<(Stage, Steps)>>);

/// Steps done, and of how many.
type Steps = Vec<(u64, u64)>;

impl Monitor for Record {
    fn begin(&self, stage: Stage) {
        self.0.lock().unwrap().push((stage, Vec::new()));
    }

    fn progress(&self, done: u64, total: u64) {
        self.0.lock().unwrap().last_mut().expect("a stage has begun").1.push((done, total));
    }
}

#[test]
fn a_cancelled_stage_is_the_last_one() {
    let (inputs, outputs) = smooth_model(SAMPLES, 1);
    let samples = paired(SAMPLES, &inputs, &outputs);
    let stages = [Stage::NeighborsInput, Stage::NeighborsOutput, Stage::Eigenpairs, Stage::Enclosure];
    for (at, stage) in stages.into_iter().enumerate() {
        let monitor = CancelIn::new(stage);
        let error = evaluate(&samples, &SpadeParams::default(), &monitor).unwrap_err();
        assert_eq!(error, Error::Cancelled, "{stage}");
        assert_eq!(monitor.begun(), stages[..=at], "{stage}: no later stage begins");
        // A search asks once a tile, so only blocks that were in their last tile still report: at most one a thread.
        let late = monitor.late.load(Ordering::SeqCst);
        assert!(late <= rayon::current_num_threads(), "{stage}: {late} steps after the request");
    }
}

/// A factorization cannot be interrupted, but a request made during it must not end in a report.
#[test]
fn a_proof_can_be_cancelled() {
    let (inputs, outputs) = smooth_model(SAMPLES, 1);
    let monitor = CancelIn::new(Stage::Enclosure);
    let params = SpadeParams::default().with_certainty(Certainty::Certified);
    let result = evaluate(&paired(SAMPLES, &inputs, &outputs), &params, &monitor);
    assert_eq!(result.map(|report| report.model_score), Err(Error::Cancelled));
}

#[test]
fn cancelling_beforehand_costs_no_work() {
    let (inputs, outputs) = smooth_model(SAMPLES, 1);
    let samples = paired(SAMPLES, &inputs, &outputs);
    let began = Instant::now();
    assert_eq!(evaluate(&samples, &SpadeParams::default(), &Stopped).unwrap_err(), Error::Cancelled);
    // Preparing the rounded copy of 2,500 × 6 numbers takes microseconds; the whole run a good part of a second.
    assert!(began.elapsed() < Duration::from_secs(1));
    for search in [&ExactSearch as &dyn NeighborSearch, &BruteForce] {
        assert_eq!(search.search(samples.input(), 10, &Stopped).unwrap_err(), Error::Cancelled);
    }
}

/// The searches that `grow` repeats can be stopped like the first ones.
#[test]
fn growing_and_bridging_can_be_cancelled() {
    let far_apart: Vec<f64> = (0..SAMPLES).map(|i| i as f64 + if i % 2 == 0 { 0.0 } else { 1e9 }).collect();
    let line: Vec<f64> = (0..SAMPLES).map(|i| i as f64).collect();
    let samples = paired(SAMPLES, &line, &far_apart);
    for connectivity in [Connectivity::Grow, Connectivity::Bridge] {
        let monitor = CancelAfterSearches { searches: AtomicUsize::new(0) };
        let params = SpadeParams::default().with_connectivity(connectivity);
        assert_eq!(evaluate(&samples, &params, &monitor).unwrap_err(), Error::Cancelled, "{connectivity}");
    }
}

/// Cancels once both first searches are complete.
struct CancelAfterSearches {
    searches: AtomicUsize,
}

impl Monitor for CancelAfterSearches {
    fn progress(&self, done: u64, total: u64) {
        if done == total {
            self.searches.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn is_cancelled(&self) -> bool {
        self.searches.load(Ordering::SeqCst) >= 2
    }
}

#[test]
fn a_monitor_sees_every_stage_in_order_and_progress_to_the_end() {
    let (inputs, outputs) = smooth_model(SAMPLES, 1);
    let record = Record::default();
    evaluate(&paired(SAMPLES, &inputs, &outputs), &SpadeParams::default(), &record).unwrap();
    let record = record.0.into_inner().unwrap();
    let stages: Vec<Stage> = record.iter().map(|(stage, _)| *stage).collect();
    let all =
        [Stage::NeighborsInput, Stage::NeighborsOutput, Stage::Eigenpairs, Stage::Enclosure, Stage::Scores];
    assert_eq!(stages, all);
    for (stage, steps) in &record[..2] {
        let &(_, total) = steps.first().expect("a search reports its steps");
        assert!(total > 0 && steps.iter().all(|step| step.1 == total), "{stage}: one total");
        assert_eq!(steps.iter().map(|step| step.0).max(), Some(total), "{stage}: all steps are counted");
    }
    for (stage, steps) in &record[2..4] {
        assert!(!steps.is_empty(), "{stage} reports its steps");
    }
}

/// Not converging is an error that carries what was reached: one residual a pair, each a number.
#[test]
fn too_few_iterations_are_an_error_with_residuals() {
    let fixture = fixtures::all().into_iter().find(|fixture| fixture.name == "swiss_roll_linear").unwrap();
    let graphs = fixture.graphs();
    for eigenpairs in [1, 3, 5] {
        let params = EigenParams::default()
            .with_eigenpairs(eigenpairs)
            .with_max_iterations(1)
            .with_method(EigenMethod::Davidson);
        match spadework::eigen::dominant_eigenpairs(&graphs, &params).unwrap_err() {
            Error::NotConverged { iterations, residuals, tolerance, .. } => {
                assert_eq!((iterations, tolerance), (1, params.tolerance));
                assert_eq!(residuals.len(), eigenpairs);
                assert!(residuals.iter().any(|&residual| residual > tolerance), "{residuals:?}");
            }
            other => panic!("{other}"),
        }
    }
}

/// The residuals of the error are what the iteration had reached, not a placeholder.
#[test]
fn residuals_of_an_iteration_that_did_not_converge_are_finite() {
    let fixture = fixtures::all().into_iter().find(|fixture| fixture.name == "swiss_roll_linear").unwrap();
    let graphs = fixture.graphs();
    for max_iterations in [1, 3] {
        let params = EigenParams::default()
            .with_eigenpairs(3)
            .with_tolerance(1e-10)
            .with_max_iterations(max_iterations)
            .with_method(EigenMethod::Davidson);
        let Error::NotConverged { residuals, .. } =
            spadework::eigen::dominant_eigenpairs(&graphs, &params).unwrap_err()
        else {
            panic!("converged within {max_iterations} iterations")
        };
        assert!(
            residuals.iter().all(|residual| residual.is_finite()),
            "{max_iterations} iterations: {residuals:?}"
        );
    }
}

/// The tolerance is a promise of both methods: a pair that misses it is not returned. Here L_X has rank 1, so that λ_2 is
/// rounding noise and its relative residual is huge.
#[test]
fn pairs_that_miss_the_tolerance_are_not_returned() {
    let edge = Graph::from_edges(100, &[(0, 99)]).unwrap();
    let graphs = crate::support::pair(edge, path(100));
    for method in [EigenMethod::Dense, EigenMethod::Davidson] {
        let params = EigenParams::default().with_eigenpairs(2).with_method(method).with_max_iterations(50);
        if let Ok(pairs) = spadework::eigen::dominant_eigenpairs(&graphs, &params) {
            let met = pairs.residuals().iter().all(|&residual| residual <= params.tolerance);
            assert!(met, "{method:?} returned residuals {:?}", pairs.residuals());
        }
    }
}

/// `PairedSamples` borrow what they are made of; a cancelled run leaves them usable.
#[test]
fn a_cancelled_run_can_be_repeated() {
    let (inputs, outputs) = smooth_model(400, 2);
    let side = |values: Vec<f64>| Samples::from_f64(400, values.len() / 400, values).unwrap();
    let samples = PairedSamples::new(side(inputs), side(outputs)).unwrap();
    assert_eq!(evaluate(&samples, &SpadeParams::default(), &Stopped).unwrap_err(), Error::Cancelled);
    assert!(evaluate(&samples, &SpadeParams::default(), &Silent).is_ok());
}
