//! Model files, run on the inputs.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use spadework::threads::with_threads;
use spadework::{Samples, Silent, SpadeParams};
use spadework_document::score::ModelFileDocument;
use spadework_io::Dataset;
use spadework_model::{ByLibrary, Normalization, OnnxModel, OutputPoint, Prepared, RunOptions};

use crate::failure::Failure;
use crate::observer::Session;
use crate::places::working_folder;
use crate::resume::Resuming;
use crate::side_view::SideView;
use crate::usage::Usage;
use crate::wording::{NoteCode, Voice};

/// How models are run, wherever one is named.
pub(crate) struct ModelRunner<'a> {
    pub(crate) options: &'a RunOptions,
    pub(crate) threads: Option<NonZeroUsize>,
    /// What a model is run on; none if a graph is given instead of the inputs.
    pub(crate) inputs: Option<&'a SideView<'a>>,
    pub(crate) session: &'a Session<'a>,
}

impl<'a> ModelRunner<'a> {
    /// Runs models on the inputs given.
    pub(crate) fn new(
        options: &'a RunOptions,
        params: &SpadeParams,
        inputs: Option<&'a SideView<'a>>,
        session: &'a Session<'a>,
    ) -> Self {
        Self { options, threads: params.threads, inputs, session }
    }

    /// The outputs of a model file, and what a result says of it.
    pub(crate) fn run(&self, file: &str) -> Result<(Dataset, ModelFileDocument), Failure> {
        self.model_inputs(file)?;
        self.run_model(&*self.session.model(file)?)
    }

    /// The same of a model that was read.
    pub(crate) fn run_model(&self, model: &OnnxModel) -> Result<(Dataset, ModelFileDocument), Failure> {
        let file = model.name();
        let inputs = self.model_inputs(file)?;
        let output = model.output(self.options)?.to_owned();
        let softmax = note_softmax(model, &output, self.session);
        let sample = inputs.sample_shape();
        let prepared = model.prepare(sample, &[&output], self.options)?;
        note_output(model, &output, self.options, self.session);
        note_library(file, &prepared, self.session);
        if prepared.moves_channels() {
            self.session.note(
                NoteCode::ChannelsMoved,
                format!(
                    "{file}: the channels of the inputs are moved to where the model expects them (samples of shape {sample:?})"
                ),
            );
        }
        let Some(samples) = inputs.samples() else { return Err(on_graph(file)) };
        let monitor = self.resuming(model, sample);
        let mut outputs =
            with_threads(self.threads, || Ok::<_, spadework::Error>(prepared.run(samples, &monitor)))??;
        check_alone(file, &prepared, samples, &outputs)?;
        let outputs = outputs.swap_remove(0);
        let document = document(model, output, softmax, self.options, prepared.library());
        Ok((outputs, document))
    }

    /// A model file made ready for other samples of the inputs' shape, a few at a time. What it is like has been noted when it
    /// was run. With it comes the monitor for work that depends on it.
    pub(crate) fn prepare(&self, file: &str) -> Result<(Prepared, Resuming<'_>), Failure> {
        let inputs = self.model_inputs(file)?;
        let model = self.session.model(file)?;
        let output = model.output(self.options)?;
        let options = RunOptions { few_at_a_time: true, ..self.options.clone() };
        let prepared = model.prepare(inputs.sample_shape(), &[output], &options)?;
        Ok((prepared, self.resuming(&model, inputs.sample_shape())))
    }

    /// The monitor for work that depends on a model and on how it is run.
    fn resuming(&self, model: &OnnxModel, sample: &[usize]) -> Resuming<'_> {
        Resuming::new(self.session, || format!("{} {sample:?} {:?}", model.content_digest(), self.options))
    }

    /// What a model is run on.
    fn model_inputs(&self, file: &str) -> Result<&'a SideView<'a>, Failure> {
        self.inputs.ok_or_else(|| on_graph(file))
    }
}

/// Whether an output ends in a softmax, which is noted.
pub(crate) fn note_softmax(model: &OnnxModel, output: &str, session: &Session<'_>) -> bool {
    let Some((node, _)) = model.outline().softmax_before(output) else { return false };
    let file = model.name();
    let message = match session.voice() {
        Voice::Command => format!(
            "{file}: output `{output}` ends in a softmax (node `{}`): scores are meant for the values before it; take them \
             with --before-softmax",
            node.name
        ),
        Voice::Python => format!(
            "{file}: the output ends in a softmax: scores are meant for the values before it (before_softmax=True)"
        ),
    };
    session.note(NoteCode::SoftmaxOutput, message);
    true
}

/// Says which output is taken where nobody named one and it is not the first.
pub(crate) fn note_output(model: &OnnxModel, output: &str, options: &RunOptions, session: &Session<'_>) {
    let first = model.outline().outputs.first().map_or("", |port| port.name.as_str());
    if options.output_name.is_none() && options.point == OutputPoint::Output && output != first {
        let file = model.name();
        session.note(
            NoteCode::OutputChosen,
            format!("{file}: `{output}` is used, because the first output, `{first}`, does not have floating-point numbers"),
        );
    }
}

/// Says that a library runs a model where nobody asked for it.
pub(crate) fn note_library(file: &str, prepared: &Prepared, session: &Session<'_>) {
    if let Some(ByLibrary { library, refusal: Some(refusal), .. }) = prepared.library() {
        let message = format!("{file}: run by onnxruntime ({}), since {refusal}", library.display());
        session.note(NoteCode::OnnxRuntime, message);
    }
}

/// Runs some samples by themselves: an operator along the axis of the batch (a mean, a running sum) gives outputs of the right shape
/// that depend on the other samples.
pub(crate) fn check_alone(
    file: &str,
    prepared: &Prepared,
    samples: &Samples<'_>,
    outputs: &[Dataset],
) -> Result<(), Failure> {
    /// Batches of other sizes are multiplied in another order; a mean over samples changes far more.
    const TOLERANCE: f64 = 1e-3;
    // The first sample of a batch is the one that a running sum leaves alone.
    let few = [1, samples.len() / 2, samples.len() - 1].into_iter().filter(|&sample| sample < samples.len());
    let few: BTreeSet<usize> = few.collect();
    let together = outputs.iter().map(Dataset::samples).collect::<Result<Vec<_>, _>>()?;
    for sample in few.iter().copied().filter(|_| samples.len() > 1) {
        let alone = prepared.run(&samples.rows(&[sample as u32])?, &Silent)?;
        for (alone, together) in alone.iter().zip(&together) {
            let (alone, expected) = (row(&alone.samples()?, 0), row(together, sample));
            let size = few
                .iter()
                .flat_map(|&one| row(together, one))
                .fold(0.0, |size: f64, value| size.max(value.abs()));
            let differ = |(a, b): (&f64, &f64)| (a - b).abs() > TOLERANCE * size;
            if alone.len() != expected.len() || alone.iter().zip(&expected).any(differ) {
                return Err(Usage::MixedBatch { file: file.to_owned(), sample }.into());
            }
        }
    }
    Ok(())
}

/// The numbers of one sample.
fn row(samples: &Samples<'_>, at: usize) -> Vec<f64> {
    samples.values().doubles(samples.place(at)).into_owned()
}

fn on_graph(file: &str) -> Failure {
    Usage::ModelOnGraph { file: file.to_owned() }.into()
}

/// What a result says of a model that was run.
pub(crate) fn document(
    model: &OnnxModel,
    output: String,
    softmax: bool,
    options: &RunOptions,
    by: Option<&ByLibrary>,
) -> ModelFileDocument {
    ModelFileDocument {
        file: model.name().to_owned(),
        folder: working_folder(),
        digest: model.digest().to_owned(),
        output,
        softmax,
        onnxruntime: by.map(|by| by.library.display().to_string()),
        layout: options.layout.map(|layout| layout.to_string()),
        normalize: options.normalization.as_ref().map(Normalization::numbers),
    }
}
