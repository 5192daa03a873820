//! `spadework sweep`: the score over k.

use spadework::SpadeParams;
use spadework::pipeline::{Spectrum, Sweep, sweep};
use spadework_document::sweep::SweepDocument;
use spadework_io::output::{Column, write_bytes, write_npy};
use spadework_report::{sweep_charts, sweep_page};

use crate::args::TableFormat;
use crate::args_data::CorruptionArgs;
use crate::args_many::{Range, SweepArgs};
use crate::console::Console;
use crate::failure::Failure;
use crate::models::LoadedModels;
use crate::pages::{Places, this_call};
use crate::render::json;
use crate::run::{ResultFolder, tell_of_given_pieces, tell_what_was_missed};
use crate::stored::command_line;
use crate::{render_many, tables};

pub(crate) fn run(args: &SweepArgs) -> Result<(), Failure> {
    let Range(neighbors) = &args.neighbors;
    let params: SpadeParams = args.method.params(neighbors[0]);
    params.check()?;
    if params.spectrum != Spectrum::Leading {
        return Err(Failure::usage(
            "--eigenpairs all makes edge and node scores, but a sweep has model scores alone",
        ));
    }
    let folder = ResultFolder::from_args(&args.output, &[])?;
    let places = Places::from_args(&args.page)?;
    let console = Console::new(&args.output);
    let loaded = LoadedModels::from_args(&args.models, &args.method, &CorruptionArgs::default(), console)?;
    let models = loaded.set()?;
    loaded.tell_what_outputs_look_like(&models, console);
    let found = sweep(&models, neighbors, &params, &console.monitor())
        .map_err(|error| Failure::of_evaluation(error, &params))?;
    tell_what_was_done(&found, console);
    let mut document = SweepDocument::new(&found, &params, models.len());
    let files = document.models.iter().filter_map(|name| Some((name.clone(), loaded.file(name)?.clone())));
    document.files = files.collect();
    if let Some(folder) = folder {
        document.command = Some(command_line());
        write(&folder, &document)?;
        folder.commit()?;
    }
    places.write(|| sweep_page(&document, &this_call()), || Ok(sweep_charts(&document)))?;
    if args.output.json {
        Console::data(&json(&document))
    } else {
        Console::data(&render_many::sweep(&document))
    }
}

fn tell_what_was_done(sweep: &Sweep, console: Console) {
    if let Some(recall) = sweep.input_recall {
        tell_what_was_missed("inputs", recall, console);
    } else {
        // The graph is the same for every k.
        let scores = sweep.points.iter().find_map(|point| point.scores.as_ref().ok());
        tell_of_given_pieces(scores.map_or(1, |scores| scores.input.components_found), console);
    }
    for (name, &recall) in sweep.models.iter().zip(&sweep.output_recalls) {
        tell_what_was_missed(&format!("outputs of `{name}`"), recall, console);
    }
}

/// result.json, and a table with a row for every k and model.
fn write(folder: &ResultFolder<'_>, document: &SweepDocument) -> Result<(), Failure> {
    let (path, formats) = (folder.path(), folder.tables());
    write_bytes(&path.join("result.json"), json(document).as_bytes())?;
    let cells: Vec<_> = document
        .points
        .iter()
        .flat_map(|point| document.models.iter().enumerate().map(move |(at, name)| (point, at, name)))
        .collect();
    let score = |of: fn(&spadework_document::sweep::PointScore) -> f64| -> Vec<f64> {
        cells.iter().map(|(point, at, _)| point.scores.get(*at).map_or(f64::NAN, of)).collect()
    };
    let neighbors: Vec<i64> = cells.iter().map(|(point, ..)| point.neighbors as i64).collect();
    let used: Vec<f64> =
        cells.iter().map(|(point, ..)| point.used.map_or(f64::NAN, |used| used as f64)).collect();
    let names: Vec<String> = cells.iter().map(|(.., name)| (*name).clone()).collect();
    let (scores, lower, upper) = (
        score(|score| score.model_score),
        score(|score| score.enclosure.lower),
        score(|score| score.enclosure.upper),
    );
    let columns = [
        ("neighbors", Column::I64(&neighbors)),
        ("used", Column::F64(&used)),
        ("name", Column::Utf8(&names)),
        ("model_score", Column::F64(&scores)),
        ("enclosure_lower", Column::F64(&lower)),
        ("enclosure_upper", Column::F64(&upper)),
    ];
    tables::write(path, "sweep", formats, &columns)?;
    if formats.contains(&TableFormat::Npy) {
        let shape = [document.points.len(), document.models.len()];
        write_npy(&path.join("scores.npy"), &shape, scores.as_slice())?;
    }
    Ok(())
}
