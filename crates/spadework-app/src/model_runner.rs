//! Model files, run on the inputs.

use std::num::NonZeroUsize;

use spadework::threads::with_threads;
use spadework_document::score::ModelFileDocument;
use spadework_io::Dataset;
use spadework_model::{Normalization, OnnxModel, Prepared, RunOptions};

use crate::failure::Failure;
use crate::observer::Session;
use crate::places::working_folder;
use crate::side_view::SideView;
use crate::usage::Usage;
use crate::wording::{NoteCode, Voice};

/// How models are run, wherever one is named.
pub(crate) struct ModelRunner<'a> {
    pub(crate) options: &'a RunOptions,
    pub(crate) threads: Option<NonZeroUsize>,
    /// What a model is run on; none where a graph is given instead of the inputs.
    pub(crate) inputs: Option<&'a SideView<'a>>,
    pub(crate) session: &'a Session<'a>,
}

impl<'a> ModelRunner<'a> {
    /// The outputs of a model file, and what a result says of it.
    pub(crate) fn run(&self, file: &str) -> Result<(Dataset, ModelFileDocument), Failure> {
        self.model_inputs(file)?;
        self.run_model(&OnnxModel::open(file)?)
    }

    /// The same of a model that was read.
    pub(crate) fn run_model(&self, model: &OnnxModel) -> Result<(Dataset, ModelFileDocument), Failure> {
        let file = model.name();
        let inputs = self.model_inputs(file)?;
        let output = model.output(self.options)?.to_owned();
        let softmax = note_softmax(model, &output, self.session);
        let sample = inputs.sample_shape();
        let prepared = model.prepare(sample, &[&output], self.options)?;
        if prepared.moves_channels() {
            self.session.note(
                NoteCode::ChannelsMoved,
                format!(
                    "{file}: the channels of the inputs are moved to where the model wants them (samples of shape {sample:?})"
                ),
            );
        }
        let Some(samples) = inputs.samples() else { return Err(on_graph(file)) };
        let monitor = self.session.monitor();
        let mut outputs =
            with_threads(self.threads, || Ok::<_, spadework::Error>(prepared.run(samples, monitor)))??;
        let document = document(model, output, softmax, self.options);
        Ok((outputs.swap_remove(0), document))
    }

    /// A model file made ready for other samples of the inputs' shape, a few at a time. What it is like has been noted when it
    /// was run.
    pub(crate) fn prepare(&self, file: &str) -> Result<Prepared, Failure> {
        let inputs = self.model_inputs(file)?;
        let model = OnnxModel::open(file)?;
        let output = model.output(self.options)?;
        let options = RunOptions { few_at_a_time: true, ..self.options.clone() };
        Ok(model.prepare(inputs.sample_shape(), &[output], &options)?)
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
            "{file}: output `{output}` ends in a softmax (node `{}`): scores are meant for the values before it, which \
             --before-softmax takes",
            node.name
        ),
        Voice::Python => format!(
            "{file}: the output ends in a softmax: scores are meant for the values before it (before_softmax=True)"
        ),
    };
    session.note(NoteCode::SoftmaxOutput, message);
    true
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
) -> ModelFileDocument {
    ModelFileDocument {
        file: model.name().to_owned(),
        folder: working_folder(),
        digest: model.digest().to_owned(),
        output,
        softmax,
        onnxruntime: options.onnxruntime.as_ref().map(|library| library.display().to_string()),
        layout: options.layout.map(|layout| layout.to_string()),
        normalize: options.normalization.as_ref().map(Normalization::numbers),
    }
}
