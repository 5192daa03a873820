//! The spectrum of one model among several, which a killed run need not find again.

use super::params::SpadeParams;
use super::report::{ModelGraphs, SolvedSpectrum, SpadeReport};
use super::steps::{scores_step, solved};
use crate::checkpoint::{Identity, Resumable, StateReader, StateWriter, Work};
use crate::eigen::{
    EigenInfo, EigenMethod, Enclosure, EnclosureMethod, GeneralizedEigenpairs, StoredEigenpairs,
};
use crate::error::Result;
use crate::graph::GraphPair;
use crate::monitor::{Monitor, check_cancelled};

/// The words for them are in no state: their places are.
const METHODS: [EigenMethod; 5] =
    [EigenMethod::Auto, EigenMethod::Dense, EigenMethod::Davidson, EigenMethod::Power, EigenMethod::Given];
const BOUNDS: [EnclosureMethod; 4] =
    [EnclosureMethod::None, EnclosureMethod::Dense, EnclosureMethod::Residual, EnclosureMethod::Inertia];

impl Identity for GraphPair {
    fn feed(&self, take: &mut dyn FnMut(&[u8])) {
        self.input().feed(take);
        self.output().feed(take);
    }
}

/// Steps (b) and (c) of one model among several, on the threads of the caller.
pub(super) fn report_of(graphs: ModelGraphs, monitor: &dyn Monitor) -> Result<SpadeReport> {
    let spectrum = resumed_spectrum(&graphs.graphs, &graphs.diagnostics.params, monitor)?;
    check_cancelled(monitor)?;
    scores_step(graphs, spectrum, monitor)
}

/// Step (b), unless an earlier run has kept its result. `score` keeps it as a stage instead, in a file that others read too.
fn resumed_spectrum(
    graphs: &GraphPair,
    params: &SpadeParams,
    monitor: &dyn Monitor,
) -> Result<SolvedSpectrum> {
    let parameters = format!("{:?}, {:?}", params.eigen_params(), params.certainty);
    let whole = Resumable::new(Work::new("eigenpairs", graphs, parameters), monitor.checkpoints());
    if let Some(known) = whole.stored().and_then(|state| of_state(&state, graphs)) {
        return Ok(known);
    }
    let spectrum = solved(graphs, params, monitor)?;
    whole.keep_result(|| to_state(&spectrum));
    Ok(spectrum)
}

fn to_state(SolvedSpectrum { eigenpairs, enclosure, .. }: &SolvedSpectrum) -> Vec<u8> {
    let info = eigenpairs.info();
    let method = METHODS.iter().position(|&method| method == info.method);
    let bounds = BOUNDS.iter().position(|&method| method == enclosure.method);
    let places = [method, bounds].map(|place| place.expect("every method has a place"));
    let mut state = StateWriter::default();
    state.counts([info.iterations, places[0], places[1]].into_iter().map(|count| count as u64));
    state.doubles(&[enclosure.lower, enclosure.upper, enclosure.probability]);
    state.doubles(eigenpairs.values());
    state.doubles(eigenpairs.residuals());
    eigenpairs.vectors().iter().for_each(|vector| state.doubles(vector));
    state.into_bytes()
}

/// None if the state is of something else.
fn of_state(state: &[u8], graphs: &GraphPair) -> Option<SolvedSpectrum> {
    let mut state = StateReader::new(state);
    let [iterations, method, bounds] = state.some_counts()?.map(usize::try_from);
    let [lower, upper, probability] = state.doubles()?.try_into().ok()?;
    let (values, residuals) = (state.doubles()?, state.doubles()?);
    let vectors = values.iter().map(|_| state.doubles()).collect::<Option<Vec<_>>>()?;
    if !state.is_at_end() {
        return None;
    }
    let info = EigenInfo::new(*METHODS.get(method.ok()?)?, iterations.ok()?);
    let stored = StoredEigenpairs { values, vectors, residuals, info };
    let eigenpairs = GeneralizedEigenpairs::restore(graphs, stored).ok()?;
    let enclosure = Enclosure::new(lower..=upper, *BOUNDS.get(bounds.ok()?)?, probability);
    Some(SolvedSpectrum::new(eigenpairs, enclosure))
}
