//! `spadework score`: one model.

use crate::args::ScoreArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::render;
use crate::run::{ResultFolder, Scored};

pub(crate) fn run(args: &ScoreArgs) -> Result<(), Failure> {
    let folder = ResultFolder::from_args(&args.output)?;
    let scored = Scored::from_args(&args.model, Console::new(&args.output))?;
    let document = scored.document(args.top)?;
    if let Some(folder) = folder {
        folder.write(&scored, &document)?;
        folder.commit()?;
    }
    if args.output.json {
        Console::data(&format!("{}\n", document.to_json()))
    } else {
        Console::data(&render::score(&document))
    }
}
