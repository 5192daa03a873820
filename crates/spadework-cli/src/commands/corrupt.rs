//! `spadework corrupt`: images with noise, blur, fog and the like.

use spadework::samples::Values;
use spadework_app::{CorruptionRequest, corrupted};
use spadework_document::corrupt::{CorruptDocument, SCHEMA};
use spadework_document::score::CorruptionDocument;
use spadework_io::corrupt::{Corruption, change};
use spadework_io::load;
use spadework_io::output::write_npy;

use crate::args_data::CorruptArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::render::{json, number_short};

pub(crate) fn run(args: &CorruptArgs) -> Result<(), Failure> {
    if args.output.extension().is_none_or(|ending| ending != "npy") {
        return Err(Failure::usage(format!("--output must end in .npy, got {}", args.output.display())));
    }
    let console = args.terminal.console();
    let inputs = load(&args.inputs)?;
    let corruption = Corruption { kind: args.kind, severity: args.severity };
    let request = CorruptionRequest { corruption, shape: args.shape };
    let (corrupted, corruption) = corrupted(&inputs, request, args.seed, args.threads, &console.monitor())?;
    let samples = corrupted.samples()?;
    let Values::F32(values) = samples.values() else {
        return Err(Failure::usage("corrupted images must have single precision"));
    };
    write_npy(&args.output, corrupted.shape(), values.as_ref())?;
    let change = change(&inputs, &corrupted)?;
    if inputs.labels().is_some() {
        console.note(&format!("the file has no labels; pass --labels {} with it", args.inputs));
    }
    let document = CorruptDocument {
        schema: SCHEMA,
        inputs: args.inputs.clone(),
        out: args.output.display().to_string(),
        samples: samples.len(),
        corruption,
        mean_change: change.mean,
        largest_change: change.largest,
        version: env!("CARGO_PKG_VERSION"),
    };
    Console::data(&if args.terminal.json { json(&document) } else { to_text(&document) })
}

fn to_text(document: &CorruptDocument) -> String {
    let CorruptDocument { out, samples, corruption, mean_change, largest_change, .. } = document;
    let CorruptionDocument { kind, severity, seed, shape } = corruption;
    format!(
        "{out}: {samples} images of {shape}, {kind} of severity {severity}, seed {seed}\n\
         values change by {} on average, by {} at most\n",
        number_short(*mean_change),
        number_short(*largest_change)
    )
}
