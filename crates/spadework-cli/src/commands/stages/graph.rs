//! `spadework graph`: arrays, or graphs of other programs, become the two graphs of a result.

use spadework_document::result::{DataDocument, PlaceDocument};
use spadework_document::stages::{GraphStage, graph_files};
use spadework_io::output::write_graph;

use crate::args_stages::GraphArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::render::{counted, json};
use crate::run::{tell_what_was_done, with_files_of};
use crate::sides::{SideFile, Sides};
use crate::stages::{MadeStage, StageFolder};
use crate::stored::{remembered, working_folder};

pub(crate) fn run(args: &GraphArgs) -> Result<(), Failure> {
    let console = args.terminal.console();
    let folder = StageFolder::of_result(&args.out, args.replace.force, console);
    let (made, _) = with_files_of(&args.model, &args.corruption, console, |pair, params, sides| {
        folder.graphs(pair, params, |stage| complete(stage, sides, args.model.labels.as_deref()))
    })?;
    tell_what_was_done(&made.diagnostics, made.graphs.nodes(), console);
    for format in &args.save_graphs {
        let file = |side: &str| args.out.join(format!("{side}_graph.{}", format.ending()));
        write_graph(&file("input"), made.graphs.input())?;
        write_graph(&file("output"), made.graphs.output())?;
    }
    match &made.stage {
        Some(stage) if args.terminal.json => Console::data(&json(stage)),
        _ => Console::data(&text(&made, &folder)),
    }
}

/// What later stages must know of the files.
fn complete(stage: &mut GraphStage, sides: &Sides<'_>, labels: Option<&str>) -> Result<(), Failure> {
    let place = |array: &str| PlaceDocument { array: array.to_owned(), folder: working_folder() };
    stage.model.clone_from(&sides.model);
    stage.corruption.clone_from(&sides.corruption);
    stage.labels = match (labels, sides.input.labels()) {
        (Some(labels), _) => Some(place(labels)),
        (None, Some(_)) => Some(place(sides.input.name())),
        (None, None) => None,
    };
    if let (SideFile::Array(inputs), SideFile::Array(outputs)) = (&sides.input, &sides.output) {
        let (inputs, outputs) = (remembered(inputs)?, remembered(outputs)?);
        stage.data = Some(DataDocument { inputs, outputs, labels: labels.map(place) });
    }
    Ok(())
}

fn text(made: &MadeStage, folder: &StageFolder) -> String {
    let graphs = [("input", made.graphs.input()), ("output", made.graphs.output())];
    let lines = graphs.iter().zip(graph_files(folder.path())).map(|((side, graph), file)| {
        let (samples, edges) = (counted(graph.nodes(), "sample"), counted(graph.edge_count(), "edge"));
        format!("{:<14}{samples}, {edges}, in {}\n", format!("{side} graph"), file.display())
    });
    lines.collect()
}
