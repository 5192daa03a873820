//! Model files in place of outputs: run on the inputs, and told of.

use std::num::NonZeroUsize;

use spadework::threads::with_threads;
use spadework_document::result::ModelFileDocument;
use spadework_io::{Dataset, load};
use spadework_model::{Normalization, OnnxModel, Prepared, RunOptions};

use crate::console::Console;
use crate::failure::Failure;
use crate::stored::working_folder;

/// How a model is run, wherever one is named.
pub(crate) struct Runner<'a> {
    pub(crate) options: RunOptions,
    pub(crate) threads: Option<NonZeroUsize>,
    /// What the model is run on; none where a graph is given in place of the inputs.
    pub(crate) inputs: Option<&'a Dataset>,
    pub(crate) console: Console,
}

/// Outputs, and the model file they come from where it was run here.
#[derive(Debug)]
pub(crate) struct Outputs {
    pub(crate) data: Dataset,
    pub(crate) model: Option<ModelFileDocument>,
}

/// Whether an argument names a model rather than an array.
pub(crate) fn is_model(argument: &str) -> bool {
    let ending = ".onnx";
    argument.len() > ending.len()
        && argument.get(argument.len() - ending.len()..).is_some_and(|end| end.eq_ignore_ascii_case(ending))
}

impl Runner<'_> {
    /// The outputs by the two options that name them: a model, or else an array or a model by its ending; none where neither
    /// is given.
    pub(crate) fn chosen(
        &self,
        model: Option<&str>,
        outputs: Option<&str>,
    ) -> Result<Option<Outputs>, Failure> {
        match (model, outputs) {
            (Some(file), _) => self.run(file).map(Some),
            (None, Some(argument)) => self.outputs(argument).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// The outputs that an argument names: an array, or a model by its ending.
    pub(crate) fn outputs(&self, argument: &str) -> Result<Outputs, Failure> {
        if is_model(argument) {
            return self.run(argument);
        }
        Ok(Outputs { data: load(argument)?, model: None })
    }

    /// The outputs of a model file.
    pub(crate) fn run(&self, file: &str) -> Result<Outputs, Failure> {
        self.model_inputs(file)?;
        self.run_model(&OnnxModel::open(file)?)
    }

    /// The outputs of a model that was read.
    pub(crate) fn run_model(&self, model: &OnnxModel) -> Result<Outputs, Failure> {
        let file = model.name();
        let inputs = self.model_inputs(file)?;
        let output = model.output(&self.options)?.to_owned();
        let softmax = model.outline().softmax_before(&output).map(|(node, _)| node.name.clone());
        if let Some(node) = &softmax {
            self.console.note(&format!(
                "{file}: output `{output}` ends in a softmax (node `{node}`): scores are meant for the values before it, \
                 which --before-softmax takes"
            ));
        }
        let sample = sample_shape(inputs);
        let prepared = model.prepare(sample, &[&output], &self.options)?;
        if prepared.moves_channels() {
            self.console.note(&format!(
                "{file}: the channels of the inputs are moved to where the model wants them (samples of shape {sample:?})"
            ));
        }
        let monitor = self.console.monitor();
        let samples = inputs.few_samples()?;
        let mut outputs = with_threads(self.threads, || Ok::<_, Failure>(prepared.run(&samples, &monitor)?))?;
        let document = document(model, output, softmax.is_some(), &self.options);
        Ok(Outputs { data: outputs.swap_remove(0), model: Some(document) })
    }

    /// A model file made ready for other samples of the inputs' shape, a few at a time. Of what it is like has been told when it
    /// was run.
    pub(crate) fn prepare(&self, file: &str) -> Result<Prepared, Failure> {
        let inputs = self.model_inputs(file)?;
        let model = OnnxModel::open(file)?;
        let output = model.output(&self.options)?;
        let options = RunOptions { few_at_a_time: true, ..self.options.clone() };
        Ok(model.prepare(sample_shape(inputs), &[output], &options)?)
    }

    /// What a model is run on.
    fn model_inputs(&self, file: &str) -> Result<&Dataset, Failure> {
        self.inputs.ok_or_else(|| {
            Failure::usage(format!(
                "{file}: a model is run on the inputs, but a graph is given in their place"
            ))
        })
    }
}

/// The shape of one sample; one number a sample is a shape too.
pub(crate) fn sample_shape(inputs: &Dataset) -> &[usize] {
    match inputs.shape() {
        [] | [_] => &[1],
        [_, sample @ ..] => sample,
    }
}

/// What a result says of the model that was run.
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
