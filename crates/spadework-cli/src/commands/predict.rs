//! `spadework predict`: the outputs of a model file.

use serde::Serialize;
use spadework_document::result::ModelFileDocument;
use spadework_io::load;
use spadework_io::output::{OutputFile, write_npy};
use spadework_probe::accuracy;

use crate::args_model::PredictArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::model_runner::{Outputs, Runner};
use crate::render::json;

#[derive(Debug, Serialize)]
struct PredictDocument<'a> {
    schema: &'static str,
    out: String,
    shape: &'a [usize],
    model: Option<&'a ModelFileDocument>,
    /// Part of the samples whose largest output is that of their label, where the inputs come with labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    accuracy: Option<f64>,
    version: &'static str,
}

pub(crate) fn run(args: &PredictArgs) -> Result<(), Failure> {
    if args.out.extension().is_none_or(|ending| !ending.eq_ignore_ascii_case("npy")) {
        return Err(Failure::usage(format!("--out must end in .npy, got {}", args.out.display())));
    }
    // Opened and given up again: a place that cannot be written is found out before the work begins.
    drop(OutputFile::create(&args.out)?);
    let console = args.terminal.console();
    let inputs = load(&args.inputs)?;
    let runner =
        Runner { options: args.run.options(), threads: args.threads, inputs: Some(&inputs), console };
    let Outputs { data, model } = runner.run(&args.model)?;
    let samples = data.few_samples()?;
    let spadework::samples::Values::F32(values) = samples.values() else {
        unreachable!("a model gives single precision")
    };
    write_npy(&args.out, data.shape(), &**values)?;
    let accuracy = match inputs.labels() {
        Some(labels) => accuracy(&samples, labels.ids())?,
        None => None,
    };
    let document = PredictDocument {
        schema: "spadework.predict/1",
        out: args.out.display().to_string(),
        shape: data.shape(),
        model: model.as_ref(),
        accuracy,
        version: env!("CARGO_PKG_VERSION"),
    };
    Console::data(&if args.terminal.json { json(&document) } else { to_text(&document) })
}

fn to_text(document: &PredictDocument<'_>) -> String {
    let output =
        document.model.map(|model| format!("`{}` of {}", model.output, model.file)).unwrap_or_default();
    let accuracy =
        document.accuracy.map(|part| format!("accuracy  {:.2} %\n", 100.0 * part)).unwrap_or_default();
    format!("{}: shape {:?}, {output}\n{accuracy}", document.out, document.shape)
}
