//! `spadework distortion`: how far the model pulls neighbors apart, the sparsest cut, and the bounds of both.

mod text;

use std::num::NonZeroUsize;

use spadework::pipeline::DistortionParams;
use spadework_app::{DistortionRequest, distortion, json};

use crate::args_data::CorruptionArgs;
use crate::args_distances::DistortionArgs;
use crate::console::Console;
use crate::failure::Failure;

pub(crate) fn run(args: &DistortionArgs) -> Result<(), Failure> {
    let mut measured = DistortionParams::default();
    measured.top = args.top.map(NonZeroUsize::get);
    measured.pairs.clone_from(&args.pairs);
    measured.all_edges = args.all_edges.then_some(args.model.scoring.method.general.sketch_error);
    let request = DistortionRequest {
        data: args.model.data(&CorruptionArgs::default()),
        params: args.model.scoring.params(),
        distortion: measured,
        folder: args.out.as_deref(),
    };
    let distorted = distortion(&request, &args.terminal.console().monitor())?;
    let document = &distorted.document;
    Console::data(&if args.terminal.json { json(document) } else { text::render(document) })
}
