//! `spadework predict`: the outputs of a model file.

use spadework::samples::Values;
use spadework_app::{ArraySource, PredictRequest, json, predict};
use spadework_document::predict::{PredictDocument, SCHEMA};
use spadework_io::output::{OutputFile, write_npy};

use crate::args_model::PredictArgs;
use crate::console::Console;
use crate::failure::Failure;

pub(crate) fn run(args: &PredictArgs) -> Result<(), Failure> {
    if args.output.extension().is_none_or(|ending| !ending.eq_ignore_ascii_case("npy")) {
        return Err(Failure::usage(format!("--output must end in .npy, got {}", args.output.display())));
    }
    // Opened and given up again: a place that cannot be written is found out before the work begins.
    drop(OutputFile::create(&args.output)?);
    let request = PredictRequest {
        model: &args.model,
        inputs: ArraySource::Named(&args.inputs),
        run: args.run.options(),
        outputs: &[],
        threads: args.threads,
    };
    let predicted = predict(&request, &args.terminal.console().monitor())?;
    let output = &predicted.outputs[0];
    let samples = output.samples()?;
    let Values::F32(values) = samples.values() else { unreachable!("a model gives single precision") };
    write_npy(&args.output, output.shape(), &**values)?;
    let document = PredictDocument {
        schema: SCHEMA,
        out: args.output.display().to_string(),
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
