//! `spadework predict`: the outputs of a model file.

use serde::Serialize;
use spadework::samples::Values;
use spadework_app::{ArraySource, PredictRequest, json, predict};
use spadework_document::Note;
use spadework_document::score::ModelFileDocument;
use spadework_io::output::{OutputFile, write_npy};

use crate::args_model::PredictArgs;
use crate::console::Console;
use crate::failure::Failure;

#[derive(Debug, Serialize)]
struct PredictDocument<'a> {
    schema: &'static str,
    out: String,
    shape: &'a [usize],
    model: &'a ModelFileDocument,
    /// Part of the samples whose largest output is that of their label, where the inputs come with labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    accuracy: Option<f64>,
    notes: &'a [Note],
    version: &'static str,
}

pub(crate) fn run(args: &PredictArgs) -> Result<(), Failure> {
    if args.out.extension().is_none_or(|ending| !ending.eq_ignore_ascii_case("npy")) {
        return Err(Failure::usage(format!("--out must end in .npy, got {}", args.out.display())));
    }
    // Opened and given up again: a place that cannot be written is found out before the work begins.
    drop(OutputFile::create(&args.out)?);
    let request = PredictRequest {
        model: &args.model,
        inputs: ArraySource::Named(&args.inputs),
        run: args.run.options(),
        outputs: &[],
        threads: args.threads,
    };
    let predicted = predict(&request, &args.terminal.console().monitor())?;
    let output = &predicted.outputs[0];
    let samples = output.few_samples()?;
    let Values::F32(values) = samples.values() else { unreachable!("a model gives single precision") };
    write_npy(&args.out, output.shape(), &**values)?;
    let document = PredictDocument {
        schema: "spadework.predict/2",
        out: args.out.display().to_string(),
        shape: output.shape(),
        model: &predicted.model,
        accuracy: predicted.accuracy,
        notes: &predicted.notes,
        version: env!("CARGO_PKG_VERSION"),
    };
    Console::data(&if args.terminal.json { json(&document) } else { to_text(&document) })
}

fn to_text(document: &PredictDocument<'_>) -> String {
    let output = format!("`{}` of {}", document.model.output, document.model.file);
    let accuracy =
        document.accuracy.map(|part| format!("accuracy  {:.2} %\n", 100.0 * part)).unwrap_or_default();
    format!("{}: shape {:?}, {output}\n{accuracy}", document.out, document.shape)
}
