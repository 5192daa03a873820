//! The outputs of a model file.

use std::num::NonZeroUsize;

use spadework::threads::with_threads;
use spadework_document::Note;
use spadework_document::score::ModelFileDocument;
use spadework_io::{Dataset, Labels, load_watched};
use spadework_model::{OnnxModel, RunOptions};
use spadework_probe::accuracy;

use crate::data::ArraySource;
use crate::failure::Failure;
use crate::model_runner::{check_alone, document, note_library, note_output, note_softmax};
use crate::observer::{Observer, Session};
use crate::side_view::{Array, SideView};
use crate::usage::Usage;
use crate::wording::NoteCode;

/// A request for outputs of a model.
#[derive(Debug, Clone)]
pub struct PredictRequest<'a> {
    /// The model file.
    pub model: &'a str,
    /// What it is run on.
    pub inputs: ArraySource<'a>,
    /// How it is run. Its `output_name` is used if no outputs are named.
    pub run: RunOptions,
    /// Outputs, nodes or values within the model.
    pub outputs: &'a [String],
    /// Threads to use; all cores if `None`.
    pub threads: Option<NonZeroUsize>,
}

/// The outputs of a model.
#[derive(Debug)]
pub struct Predicted {
    /// Every requested value.
    pub outputs: Vec<Dataset>,
    /// The model and how it was run; `output` is the first value.
    pub model: ModelFileDocument,
    /// Labels that come with the inputs.
    pub labels: Option<Labels>,
    /// Share of the samples whose largest output is that of their label, if the inputs come with labels.
    pub accuracy: Option<f64>,
    /// What a reader of the outputs must know.
    pub notes: Vec<Note>,
}

/// Runs a model.
///
/// # Errors
/// When the model or the inputs cannot be read, or the model does not fit them.
pub fn predict(request: &PredictRequest<'_>, observer: &dyn Observer) -> Result<Predicted, Failure> {
    let session = Session::new(observer);
    let array = match &request.inputs {
        ArraySource::Named(name) => Array::Dataset(load_watched(name, session.monitor())?),
        ArraySource::Rows(rows) => Array::Rows(rows),
    };
    let inputs = SideView::of_array(&array)?;
    let Some(samples) = inputs.samples() else { return Err(Usage::UnknownArrays.into()) };
    let model = OnnxModel::open(request.model)?;
    let values = values(request, &model)?;
    let softmax = note_softmax(&model, &values[0], &session);
    let taken: Vec<&str> = values.iter().map(String::as_str).collect();
    let sample = inputs.sample_shape();
    let prepared = model.prepare(sample, &taken, &request.run)?;
    if request.outputs.is_empty() {
        note_output(&model, &values[0], &request.run, &session);
    }
    note_library(model.name(), &prepared, &session);
    if prepared.moves_channels() {
        session.note(
            NoteCode::ChannelsMoved,
            format!(
                "{}: the channels of the inputs are moved to where the model expects them (samples of shape {sample:?})",
                model.name()
            ),
        );
    }
    let outputs =
        with_threads(request.threads, || prepared.run(samples, session.monitor()).map_err(Failure::from))?;
    check_alone(model.name(), &prepared, samples, &outputs)?;
    let accuracy = match inputs.labels() {
        Some(labels) => accuracy(&outputs[0].samples()?, labels.ids())?,
        None => None,
    };
    spadework_io::check_mapped_files()?;
    Ok(Predicted {
        model: document(&model, values[0].clone(), softmax, &request.run, prepared.library()),
        outputs,
        labels: inputs.labels().cloned(),
        accuracy,
        notes: session.notes(),
    })
}

/// The values to take: those named, or the one of the options.
fn values(request: &PredictRequest<'_>, model: &OnnxModel) -> Result<Vec<String>, Failure> {
    if request.outputs.is_empty() {
        return Ok(vec![model.output(&request.run)?.to_owned()]);
    }
    let value = |name: &String| {
        let options = RunOptions { output_name: Some(name.clone()), ..request.run.clone() };
        Ok(model.output(&options)?.to_owned())
    };
    request.outputs.iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resume::tests::{Quiet, Rewriting, mapped_array, turn};
    use crate::wording::Voice;

    #[test]
    fn inputs_that_change_meanwhile_are_refused() {
        let _turn = turn();
        let scene = tempfile::tempdir().unwrap();
        let path = scene.path().join("x.npy");
        mapped_array(&path, 5 << 16);
        let inputs = path.display().to_string();
        let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../spadework-model/tests/fixtures/onnx");
        let request = PredictRequest {
            model: &format!("{fixtures}/mlp.onnx"),
            inputs: ArraySource::Named(&inputs),
            run: RunOptions::default(),
            outputs: &[],
            threads: None,
        };
        assert_eq!(predict(&request, &Quiet).unwrap().outputs.len(), 1);
        let message = predict(&request, &Rewriting(&path)).unwrap_err().message(Voice::Command);
        assert!(message.contains("x.npy") && message.contains("was changed while it was read"), "{message}");
    }
}
