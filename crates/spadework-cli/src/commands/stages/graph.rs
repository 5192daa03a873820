//! `spadework graph`: arrays, or graphs of other programs, become the two graphs of a result.

use spadework_app::{GraphFormat, GraphStageRequest, StagedGraphs, json, make_graphs};

use crate::args_stages::GraphArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::render::counted;

pub(crate) fn run(args: &GraphArgs) -> Result<(), Failure> {
    let formats: Vec<GraphFormat> = args.graphs.save_graphs.iter().map(|&format| format.into()).collect();
    let request = GraphStageRequest {
        data: args.model.data(&args.corruption),
        params: args.model.scoring.params(),
        result: &args.out,
        formats: &formats,
        force: args.stage.force,
    };
    let staged = make_graphs(&request, &args.stage.terminal.console().monitor())?;
    match &staged.document {
        Some(document) if args.stage.terminal.json => Console::data(&json(document)),
        _ => Console::data(&to_text(&staged)),
    }
}

fn to_text(staged: &StagedGraphs) -> String {
    let graphs = &staged.graphs.graphs;
    let sides = [("input", graphs.input()), ("output", graphs.output())];
    let lines = sides.iter().zip(&staged.files).map(|((side, graph), file)| {
        let (samples, edges) = (counted(graph.nodes(), "sample"), counted(graph.edge_count(), "edge"));
        format!("{:<14}{samples}, {edges}, in {}\n", format!("{side} graph"), file.display())
    });
    lines.collect()
}
