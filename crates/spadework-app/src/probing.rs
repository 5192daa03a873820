//! Probes of models: how their outputs change on perturbed samples.

use std::sync::Arc;

use spadework::threads::with_threads;
use spadework::{Error as CoreError, Monitor, Samples, SpadeParams};
use spadework_document::probe::{OutputChangeDocument, ProbeDocument, SpreadOf};
use spadework_io::Labels;
use spadework_io::corrupt::{Channels, ImageShape};
use spadework_model::{Layout, Prepared, RunOptions};
use spadework_probe::{
    ChannelOrder, Error as ProbeError, Grid, OutputKind, Probe, ProbeKind, ProbeParams, Probed, ProbedSample,
    Variant, broken_variants, probe_model, probe_regressor, spread,
};

use crate::failure::{Failure, Subject};
use crate::model_runner::ModelRunner;
use crate::observer::Session;
use crate::resume::Resuming;
use crate::side_view::SideView;
use crate::usage::Usage;
use crate::wording::NoteCode;

/// How a model is probed.
#[derive(Debug, Clone)]
pub struct ProbeRequest {
    /// Size and kind of the perturbations.
    pub probe: Probe,
    /// How many times the radius every column of the inputs may move; all alike if `None`.
    pub radii: Option<Arc<[f64]>>,
    /// The category that every column of the inputs belongs to, 0 for none; no categories if `None`.
    pub categories: Option<Arc<[usize]>>,
    /// How much is probed. A search ends early as soon as more probes could change the estimate by at most the precision.
    pub budget: ProbeBudget,
}

/// How much is probed.
#[derive(Debug, Clone, Copy)]
pub struct ProbeBudget {
    /// Probes or variants per sample; the usual number by default.
    pub probes: Option<usize>,
    /// Samples to probe, at most.
    pub samples: usize,
    /// The remaining uncertainty of the result at which probing ends early; the usual one by
    /// default.
    pub precision: Option<f64>,
}

impl ProbeRequest {
    /// Refuses what cannot be done before anything is loaded.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let of_samples = ProbeParams::new(self.probe).with_samples(self.budget.samples);
        of_samples.check().map_err(|error| Failure::from(error).about(Subject::Argument("probe_samples")))?;
        self.params().check().map_err(|error| {
            let argument = if matches!(error, ProbeError::Precision { .. }) { "precision" } else { "probes" };
            Failure::from(error).about(Subject::Argument(argument))
        })
    }

    pub(crate) fn params(&self) -> ProbeParams {
        let ProbeBudget { probes, samples, precision } = self.budget;
        let usual = ProbeParams::new(self.probe)
            .with_radii(self.radii.clone())
            .with_categories(self.categories.clone())
            .with_samples(samples)
            .with_precision(precision);
        match probes {
            Some(probes) => usual.with_probes(probes),
            None => usual,
        }
    }
}

/// Refuses outputs that probes say nothing about, before the work begins.
pub(crate) fn check_outputs(file: &str, kind: OutputKind) -> Result<(), Failure> {
    match kind {
        OutputKind::Embedding => Err(Failure::from(Usage::ProbedEmbedding).about_place(file)),
        OutputKind::Classes | OutputKind::TwoClasses { .. } | OutputKind::Numbers => Ok(()),
    }
}

/// Results of the probes of a model.
#[derive(Debug, Clone)]
pub struct ModelProbes {
    /// Every probed sample.
    pub probed: Probed,
    /// What the document of a result says about them.
    pub document: ProbeDocument,
}

/// How the models of a request are probed.
pub(crate) struct Prober<'a> {
    runner: ModelRunner<'a>,
    inputs: &'a Samples<'a>,
    params: ProbeParams,
}

impl<'a> Prober<'a> {
    /// None where a graph is given instead of the inputs.
    pub(crate) fn new(
        request: &ProbeRequest,
        inputs: &'a SideView<'a>,
        options: &'a RunOptions,
        params: &SpadeParams,
        session: &'a Session<'a>,
    ) -> Option<Self> {
        let grid = grid_of_inputs(inputs, request.probe, options, session);
        let runner = ModelRunner { options, threads: params.threads, inputs: Some(inputs), session };
        let params = request.params().with_grid(grid).with_seed(params.seed);
        Some(Self { runner, inputs: inputs.samples()?, params })
    }

    /// Makes the model in a file ready to be probed.
    pub(crate) fn of_file(&'a self, file: &'a str) -> Result<FileProber<'a>, Failure> {
        let (prepared, monitor) = self.runner.prepare(file)?;
        Ok(FileProber { prober: self, file, prepared, monitor })
    }

    /// Says how often the model is run at most, with so many pilots.
    fn mention_cost(&self, file: &str, most: u64, pilots: usize) {
        let ProbeParams { probe, probes, samples, .. } = &self.params;
        let inputs = self.inputs.len();
        let samples = inputs.min(*samples);
        let pilot_probes = self.params.pilot_probes(self.inputs.dim());
        let of_pilots = if pilots > 0 && pilot_probes > *probes {
            format!(", {pilots} of them with {pilot_probes}")
        } else {
            String::new()
        };
        self.runner.session.mention(
            NoteCode::ProbeCost,
            format!(
                "{file}: {probe} runs the model up to {most} times: {samples} of {inputs} samples with {probes} probes \
                 each{of_pilots} (--probes, --probe-samples)"
            ),
        );
    }
}

/// A model file that is ready to be probed.
pub(crate) struct FileProber<'a> {
    prober: &'a Prober<'a>,
    file: &'a str,
    prepared: Prepared,
    monitor: Resuming<'a>,
}

impl FileProber<'_> {
    /// Probes a classifier whose outputs are of that kind; `labels` are those of all inputs. `top` samples that changed are listed.
    pub(crate) fn run(
        &self,
        kind: OutputKind,
        labels: Option<&Labels>,
        top: usize,
    ) -> Result<ModelProbes, Failure> {
        let Prober { runner, inputs, params } = self.prober;
        let (most, pilots) = (
            params.most_evaluations(inputs.len(), inputs.dim()),
            params.most_pilots(inputs.len(), inputs.dim()),
        );
        self.prober.mention_cost(self.file, most, pilots);
        let probe =
            || probe_model::<Failure, _>(inputs, |rows| self.classes(kind, rows), params, &self.monitor);
        let probed = with_threads(runner.threads, probe)?;
        let labels = labels.map(|labels| kind.labels(labels.ids()));
        let document = ProbeDocument::new(&probed, labels.as_deref(), top)?;
        Ok(ModelProbes { probed, document })
    }

    /// Probes a regressor: how far its outputs, which are `known` of all inputs, can be moved, in units of the targets' spread, or of
    /// the outputs' where that is not known.
    pub(crate) fn move_outputs(
        &self,
        known: &Samples<'_>,
        target_spread: Option<f64>,
        top: usize,
    ) -> Result<OutputChangeDocument, Failure> {
        let (unit, of) = unit_of_changes(target_spread, known);
        let Prober { runner, inputs, params } = self.prober;
        self.prober.mention_cost(self.file, params.most_regressor_evaluations(inputs.len()), 0);
        let model = |rows: &Samples<'_>| outputs(&self.prepared, rows, &self.monitor);
        let probe = || probe_regressor::<Failure, _>(inputs, unit, model, params, &self.monitor);
        Ok(OutputChangeDocument::new(&with_threads(runner.threads, probe)?, of, top))
    }

    /// The probes that broke some of the samples.
    pub(crate) fn broken(&self, kind: OutputKind, samples: &[usize]) -> Result<Vec<Variant>, Failure> {
        if samples.is_empty() {
            return Ok(Vec::new());
        }
        let Prober { runner, inputs, params } = self.prober;
        let model = |rows: &Samples<'_>| self.classes(kind, rows);
        let find = || broken_variants::<Failure, _>(inputs, samples, model, params, &self.monitor);
        with_threads(runner.threads, find)
    }

    /// The outputs for some rows, with one column per class.
    fn classes(&self, kind: OutputKind, rows: &Samples<'_>) -> Result<Samples<'static>, Failure> {
        Ok(kind.into_classes(outputs(&self.prepared, rows, &self.monitor)?)?)
    }
}

/// The unit of a regressor's changes: the spread of the targets, or of the outputs that are known where that is not.
pub(crate) fn unit_of_changes(target_spread: Option<f64>, known: &Samples<'_>) -> (f64, SpreadOf) {
    match target_spread {
        Some(targets) => (targets, SpreadOf::Targets),
        None => (spread(known), SpreadOf::Outputs),
    }
}

/// The outputs of a model for some rows. It stops with the probes; the progress is theirs.
pub(crate) fn outputs(
    prepared: &Prepared,
    rows: &Samples<'_>,
    monitor: &dyn Monitor,
) -> Result<Samples<'static>, Failure> {
    let mut outputs = prepared.run(rows, &StopsWith(monitor))?;
    Ok(outputs.swap_remove(0).into_samples()?)
}

/// Stops with another monitor, and tells it nothing.
struct StopsWith<'a>(&'a dyn Monitor);

impl Monitor for StopsWith<'_> {
    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}

/// How the numbers of an input lie next to each other; none if they are not an image.
fn grid_of_inputs(
    inputs: &SideView<'_>,
    probe: Probe,
    options: &RunOptions,
    session: &Session<'_>,
) -> Option<Grid> {
    let Some(shape) = ImageShape::of_extents(inputs.sample_shape()) else {
        if matches!(probe.kind(), ProbeKind::Block { .. } | ProbeKind::Smooth { .. }) {
            session.note(
                NoteCode::NoImages,
                format!(
                    "{}: the samples are not images, so {probe} perturbs neighboring numbers together",
                    inputs.name()
                ),
            );
        }
        return None;
    };
    let mut grid = grid_of(shape);
    // Of a row of numbers, the options know more than its length does.
    if inputs.sample_shape().len() == 1 && options.layout == Some(Layout::ChannelsLast) {
        grid.order = ChannelOrder::Last;
    }
    Some(grid)
}

/// The numbers of an image, as probes see them.
pub fn grid_of(shape: ImageShape) -> Grid {
    let ImageShape { channels, height, width, order, .. } = shape;
    let order = match order {
        Channels::First => ChannelOrder::First,
        Channels::Last => ChannelOrder::Last,
    };
    Grid { channels, height, width, order }
}

/// Columns of the table of samples, a number per input, NaN for those that were not probed.
///
/// `labels` are those of all inputs.
pub(crate) fn columns(
    probed: &Probed,
    labels: Option<&[i64]>,
) -> Result<Vec<(&'static str, Vec<f64>)>, CoreError> {
    let column = |value: &dyn Fn(&ProbedSample) -> Option<f64>| {
        let mut column = vec![f64::NAN; probed.inputs()];
        for sample in &probed.samples {
            column[sample.index] = value(sample).unwrap_or(f64::NAN);
        }
        column
    };
    let mut columns = vec![
        ("probe_margin", column(&|sample| Some(sample.lowest))),
        ("stability", column(&|sample| Some(sample.stability()))),
    ];
    if probed.params.probe.kind() != ProbeKind::Search {
        columns.push(("probe_change", column(&|sample| Some(sample.scatter?.change))));
        columns.push(("probe_kept", column(&|sample| Some(sample.scatter?.kept))));
    }
    columns.extend(outcome_columns(probed, labels)?);
    Ok(columns)
}

/// Whether samples survived, and whether the search would not have broken them either if it had gone on: 1, 0, or NaN if that
/// is not known.
fn outcome_columns(
    probed: &Probed,
    labels: Option<&[i64]>,
) -> Result<Vec<(&'static str, Vec<f64>)>, CoreError> {
    let mut survived = vec![f64::NAN; probed.inputs()];
    let mut robust = survived.clone();
    for outcome in probed.outcomes(labels)? {
        survived[outcome.index] = f64::from(u8::from(outcome.survived));
        robust[outcome.index] = outcome.robust.map_or(f64::NAN, |is| f64::from(u8::from(is)));
    }
    let mut columns = vec![("survived", survived)];
    if probed.params.probe.kind() == ProbeKind::Search {
        columns.push(("robust", robust));
    }
    Ok(columns)
}
