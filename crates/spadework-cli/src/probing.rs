//! Probes of models, as `score` and `compare` have them.

use spadework::threads::with_threads;
use spadework::{Samples, SpadeParams, evaluate};
use spadework_document::probe::{ProbeDocument, ProbedGraphDocument, grid_of as grid_of_image};
use spadework_io::corrupt::ImageShape;
use spadework_io::{Dataset, Labels};
use spadework_model::{Layout, Prepared, RunOptions};
use spadework_probe::{
    ChannelOrder, Error as ProbeError, Grid, Probe, ProbeKind, ProbeParams, Probed, probe_model,
    probed_manifold,
};

use crate::args_probe::ProbeArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::model_runner::Runner;

/// How models are probed, where that was asked for.
pub(crate) struct Probing<'a> {
    runner: Runner<'a>,
    inputs: &'a Dataset,
    probe: ProbeParams,
    /// How samples and copies are scored together, where asked for.
    graph: Option<SpadeParams>,
}

/// What the probes of a model have shown.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) probed: Probed,
    pub(crate) document: ProbeDocument,
}

impl ProbeArgs {
    /// Says at once what cannot be done, before anything is loaded.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let Some(probe) = self.probe else { return Ok(()) };
        self.params(probe).check().map_err(|error| match &error {
            ProbeError::ProbeCount { name: "samples", .. } => Failure::from(error).about("--probe-samples"),
            _ => Failure::from(error).about("--probes"),
        })?;
        if self.probe_graph && probe.kind() == ProbeKind::Search {
            return Err(Failure::from(ProbeError::ProbedManifold)
                .about("--probe-graph")
                .with_hint("name a kind of noise, e.g. --probe linf:0.1:pixel"));
        }
        Ok(())
    }

    /// Says before the work begins that a model has too few outputs.
    pub(crate) fn check_outputs(&self, file: &str, outputs: usize) -> Result<(), Failure> {
        if self.probe.is_some() && outputs < 2 {
            return Err(Failure::from(ProbeError::NoMargin { outputs }).about(file));
        }
        Ok(())
    }

    fn params(&self, probe: Probe) -> ProbeParams {
        ProbeParams::new(probe)
            .with_probes(self.probes.map_or(probe.usual_count(), Into::into))
            .with_samples(self.probe_samples.get())
    }
}

impl<'a> Probing<'a> {
    /// None where no probe was asked for, or a graph is given in place of the inputs.
    pub(crate) fn from_args(
        args: &ProbeArgs,
        inputs: Option<&'a Dataset>,
        options: RunOptions,
        params: &SpadeParams,
        console: Console,
    ) -> Option<Self> {
        let (probe, inputs) = args.probe.zip(inputs)?;
        let probe =
            args.params(probe).with_grid(grid_of(inputs, probe, &options, console)).with_seed(params.seed);
        let runner = Runner { options, threads: params.threads, inputs: Some(inputs), console };
        let graph = args.probe_graph.then(|| params.clone());
        Some(Self { runner, inputs, probe, graph })
    }

    /// Probes the model in a file; `labels` are those of all inputs. `top` samples that changed are listed.
    pub(crate) fn run(&self, file: &str, labels: Option<&Labels>, top: usize) -> Result<Shown, Failure> {
        let inputs = self.inputs.few_samples()?;
        let prepared = self.runner.prepare(file)?;
        self.tell_what_it_costs(file, inputs.len());
        let monitor = self.runner.console.monitor();
        let model = |rows: &Samples<'_>| outputs(&prepared, rows);
        let probe = || match &self.graph {
            Some(_) => probed_manifold::<Failure, _>(&inputs, model, &self.probe, &monitor)
                .map(|(probed, manifold)| (probed, Some(manifold))),
            None => probe_model(&inputs, model, &self.probe, &monitor).map(|probed| (probed, None)),
        };
        let (probed, manifold) = with_threads(self.runner.threads, probe)?;
        let mut document = ProbeDocument::new(&probed, labels.map(Labels::ids), top)?;
        if let (Some(params), Some(manifold)) = (&self.graph, manifold) {
            let report = evaluate(&manifold, params, &monitor)
                .map_err(|error| Failure::of_evaluation(error, params).about("--probe-graph"))?;
            document.graph = Some(ProbedGraphDocument::new(&report));
        }
        Ok(Shown { probed, document })
    }

    fn tell_what_it_costs(&self, file: &str, inputs: usize) {
        let ProbeParams { probe, probes, samples, .. } = &self.probe;
        let samples = inputs.min(*samples);
        let most = self.probe.most_evaluations(inputs);
        self.runner.console.note(&format!(
            "{file}: {probe} runs the model up to {most} times: {samples} of {inputs} samples with {probes} copies each \
             (--probes, --probe-samples)"
        ));
    }
}

/// The outputs of a model for some rows. Only Ctrl-C is watched for: progress is that of the probes.
fn outputs(prepared: &Prepared, rows: &Samples<'_>) -> Result<Samples<'static>, Failure> {
    let mut outputs = prepared.run(rows, &Console::quiet().monitor())?;
    Ok(outputs.swap_remove(0).into_few_samples()?)
}

/// How the numbers of an input lie beside each other; none where they are no image.
fn grid_of(inputs: &Dataset, probe: Probe, options: &RunOptions, console: Console) -> Option<Grid> {
    let Ok(shape) = ImageShape::of(inputs) else {
        if matches!(probe.kind(), ProbeKind::Block { .. } | ProbeKind::Smooth { .. }) {
            console.note(&format!(
                "{}: the samples are no images, so that {probe} perturbs neighboring numbers alike",
                inputs.name()
            ));
        }
        return None;
    };
    let mut grid = grid_of_image(shape);
    // Of a row of numbers, the options know more than its length does.
    if ImageShape::is_guessed_for(inputs) && options.layout == Some(Layout::ChannelsLast) {
        grid.order = ChannelOrder::Last;
    }
    Some(grid)
}

/// Columns of the table of samples, a number an input, NaN for those that were not probed.
pub(crate) fn columns(probed: &Probed) -> Vec<(&'static str, Vec<f64>)> {
    let column = |value: &dyn Fn(&spadework_probe::ProbedSample) -> Option<f64>| {
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
    columns
}
