//! `spadework solvers`: the eigensolvers side by side (the paper's Table 6).

use std::time::Instant;

use serde::Serialize;
use spadework::eigen::{EigenMethod, EigenParams, EigenProblem};
use spadework::monitor::Stage;
use spadework::threads::with_threads;
use spadework::{Error as CoreError, GraphPair, Monitor};

use crate::args_distances::SolversArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::render::{json, number, number_short, table};
use crate::run::Made;

/// Up to this many samples a dense decomposition is the reference, and one of the solvers.
const MOST_DENSE_SAMPLES: usize = 1000;
/// Residual of the reference beyond that; the error of its eigenvalue is at most this, and as a rule about its square.
const REFERENCE_TOLERANCE: f64 = 1e-10;

#[derive(Debug, Serialize)]
struct SolversDocument {
    schema: &'static str,
    samples: usize,
    neighbors: usize,
    eigenpairs: usize,
    tolerance: f64,
    seed: u64,
    reference: ReferenceDocument,
    solvers: Vec<SolverDocument>,
    version: &'static str,
}

#[derive(Debug, Serialize)]
struct ReferenceDocument {
    solver: String,
    /// None for the dense one.
    #[serde(skip_serializing_if = "Option::is_none")]
    tolerance: Option<f64>,
    eigenvalue: f64,
}

#[derive(Debug, Serialize)]
struct SolverDocument {
    /// The one asked for.
    solver: String,
    /// The one that took its place, where there are too few samples for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    replaced_by: Option<String>,
    eigenvalue: f64,
    /// |λ − reference| / reference.
    error: f64,
    /// Largest relative residual of the eigenpairs.
    residual: f64,
    iterations: usize,
    /// Preconditioner and eigenpairs.
    seconds: f64,
}

pub(crate) fn run(args: &SolversArgs) -> Result<(), Failure> {
    let console = args.terminal.console();
    let made = Made::from_args(&args.model, console)?;
    let monitor = console.monitor();
    let document = with_threads(args.model.method.general.threads, || compare(&made, &monitor))?;
    drop(monitor);
    Console::data(&if args.terminal.json { json(&document) } else { to_text(&document) })
}

fn compare(made: &Made, monitor: &dyn Monitor) -> Result<SolversDocument, CoreError> {
    let Made { graphs, diagnostics, .. } = made;
    let params = &diagnostics.params;
    let samples = graphs.nodes();
    let eigen = |method: EigenMethod, tolerance: f64| {
        EigenParams::default()
            .with_eigenpairs(params.eigenpairs)
            .with_tolerance(tolerance)
            .with_seed(params.seed)
            .with_method(method)
    };
    let dense = samples <= MOST_DENSE_SAMPLES;
    let (reference, tight) = if dense {
        (EigenMethod::Dense, params.tolerance)
    } else {
        (EigenMethod::Davidson, REFERENCE_TOLERANCE.min(params.tolerance))
    };
    let exact = timed(graphs, &eigen(reference, tight), None, monitor)?;
    let methods = [EigenMethod::Davidson, EigenMethod::Power].into_iter().chain(dense.then_some(reference));
    let measured = |method| timed(graphs, &eigen(method, params.tolerance), Some(exact.eigenvalue), monitor);
    Ok(SolversDocument {
        schema: "spadework.solvers/1",
        samples,
        neighbors: diagnostics.connection.used,
        eigenpairs: params.eigenpairs,
        tolerance: params.tolerance,
        seed: params.seed,
        solvers: methods.map(measured).collect::<Result<_, _>>()?,
        reference: ReferenceDocument {
            solver: exact.solver,
            tolerance: (!dense).then_some(tight),
            eigenvalue: exact.eigenvalue,
        },
        version: env!("CARGO_PKG_VERSION"),
    })
}

fn timed(
    graphs: &GraphPair,
    params: &EigenParams,
    reference: Option<f64>,
    monitor: &dyn Monitor,
) -> Result<SolverDocument, CoreError> {
    monitor.begin(Stage::Eigenpairs);
    let began = Instant::now();
    let pairs = EigenProblem::new(graphs, params.seed).dominant_eigenpairs(params, monitor)?;
    let seconds = began.elapsed().as_secs_f64();
    let eigenvalue = pairs.values()[0];
    let used = pairs.info().method;
    Ok(SolverDocument {
        solver: params.method.to_string(),
        replaced_by: (used != params.method).then(|| used.to_string()),
        eigenvalue,
        error: reference.map_or(0.0, |reference| (eigenvalue / reference - 1.0).abs()),
        residual: pairs.residuals().iter().copied().fold(0.0, f64::max),
        iterations: pairs.info().iterations,
        seconds,
    })
}

fn to_text(document: &SolversDocument) -> String {
    let SolversDocument { samples, neighbors, eigenpairs, tolerance, reference, .. } = document;
    let graphs = match neighbors {
        0 => "graphs given".to_owned(),
        _ => format!("{neighbors} neighbors"),
    };
    let accuracy =
        reference.tolerance.map_or_else(String::new, |tolerance| format!(" at a residual of {tolerance:e}"));
    let rows = document.solvers.iter().map(|solver| {
        vec![
            solver.solver.clone(),
            format!("{:.8}", solver.eigenvalue),
            number_short(solver.error),
            number_short(solver.residual),
            solver.iterations.to_string(),
            format!("{:.3}", solver.seconds),
            solver.replaced_by.as_ref().map_or_else(String::new, |used| format!("too few samples: {used}")),
        ]
    });
    let heading = ["solver", "model score", "error", "residual", "iterations", "seconds", ""];
    format!(
        "samples       {samples}, {graphs}\n\
         asked for     {eigenpairs} eigenpairs with a residual of {tolerance:e}\n\
         reference     {} ({}{accuracy})\n\n{}",
        number(reference.eigenvalue),
        reference.solver,
        table(&heading, rows)
    )
}
