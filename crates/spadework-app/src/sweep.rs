//! The score of one or more models over k.

use spadework::SpadeParams;
use spadework::pipeline::{Spectrum, Sweep, sweep as sweep_models};
use spadework_document::Note;
use spadework_document::sweep::{PointDocument, PointScore, SweepDocument};
use spadework_io::output::write_npy;
use spadework_report::{Origin, sweep_charts, sweep_page};

use crate::data::ModelsData;
use crate::failure::Failure;
use crate::models::{ModelOutputs, ModelSides};
use crate::notes;
use crate::observer::{Observer, Session};
use crate::pages::PageRequest;
use crate::result_folder::{FolderRequest, ResultFolder};
use crate::sides::Inputs;
use crate::tables::{TableFormat, TableOf};
use crate::usage::{NeedsDense, Usage};

/// A request for a sweep.
#[derive(Debug, Clone)]
pub struct SweepRequest<'a> {
    /// What the models are scored on.
    pub data: ModelsData<'a>,
    /// Every k, ascending.
    pub neighbors: Vec<usize>,
    /// How they are scored, except for k.
    pub params: SpadeParams,
    /// A folder for the result.
    pub folder: Option<FolderRequest<'a>>,
    /// A page and figures.
    pub page: PageRequest<'a>,
    /// What the page and the document say about where they come from.
    pub origin: Origin,
}

/// The scores of models over k.
#[derive(Debug)]
pub struct Swept {
    /// The scores, and how they were computed.
    pub sweep: Sweep,
    /// All of it as a document.
    pub document: SweepDocument,
}

impl Swept {
    /// What a reader of the result must know.
    pub fn notes(&self) -> &[Note] {
        &self.document.made.notes
    }
}

/// Scores one or more models for every k.
///
/// # Errors
/// When the request makes no sense, its files cannot be read or written, or no k has an answer.
pub fn sweep(request: &SweepRequest<'_>, observer: &dyn Observer) -> Result<Swept, Failure> {
    request.check()?;
    let folder = ResultFolder::open(request.folder, &request.page)?;
    let session = Session::new(observer);

    let SweepRequest { data, params, neighbors, .. } = request;
    let inputs = Inputs::load_for(Some(NeedsDense::Sweep), &data.inputs, data.corruption, params, &session)?;
    let given = inputs.view()?;
    let outputs = ModelOutputs::load(data, &inputs, &given, params, &session)?;
    let sides = ModelSides::new(data, given, &outputs, params.output_metric, &session)?;
    let most = neighbors.iter().copied().max().unwrap_or(params.neighbors);
    sides.about_memory(&params.clone().with_neighbors(most), &session);

    let sweep = sweep_models(&sides.set, neighbors, params, session.monitor())
        .map_err(|error| sides.naming_array(Failure::of_evaluation(error, params)))?;
    note_graphs(&sweep, &session);

    let mut document = SweepDocument::new(&sweep, params, sides.set.len());
    let names = document.models.iter().enumerate();
    let files = names.filter_map(|(at, name)| Some((name.clone(), sides.file(at)?.clone())));
    document.files = files.collect();
    spadework_io::check_mapped_files()?;
    document.made.notes = session.notes();
    if folder.is_some() {
        document.made.command.clone_from(&request.origin.command);
    }
    let write = |folder: ResultFolder<'_>| {
        write(&folder, &document)?;
        folder.commit()
    };
    let _lock = folder.map(write).transpose()?;
    request.page.write(|| sweep_page(&document, &request.origin), || sweep_charts(&document))?;
    Ok(Swept { sweep, document })
}

impl SweepRequest<'_> {
    fn check(&self) -> Result<(), Failure> {
        self.params.check()?;
        if self.params.spectrum != Spectrum::Leading {
            return Err(Usage::FullSpectrumOfSweep.into());
        }
        self.data.check()
    }
}

fn note_graphs(sweep: &Sweep, session: &Session<'_>) {
    if let Some(recall) = sweep.input_recall {
        notes::about_search("inputs", recall, session);
    } else {
        // The graph is the same for every k.
        let scores = sweep.points.iter().find_map(|point| point.scores.as_ref().ok());
        notes::about_given_graph(scores.map_or(1, |scores| scores.input.components_found), session);
    }
    for (name, &recall) in sweep.models.iter().zip(&sweep.output_recalls) {
        notes::about_search(&format!("outputs of `{name}`"), recall, session);
    }
}

/// result.json, and a table with a row for every k and model.
fn write(folder: &ResultFolder<'_>, document: &SweepDocument) -> Result<(), Failure> {
    let (path, formats) = (folder.path(), folder.tables());
    folder.write_document(document)?;
    let cells: Vec<_> = document
        .points
        .iter()
        .flat_map(|point| document.models.iter().enumerate().map(move |(at, name)| (point, at, name)))
        .collect();
    let score = |&(point, at, _): &(&PointDocument, usize, &String), of: fn(&PointScore) -> f64| {
        point.scores.get(at).map(of)
    };
    TableOf::rows(&cells)
        .counts("neighbors", |(point, ..)| point.neighbors)
        .numbers("used", |(point, ..)| point.used.map(|used| used as f64))
        .words("name", |(.., name)| (*name).clone())
        .numbers("model_score", |cell| score(cell, |score| score.spectrum.model_score))
        .numbers("numerical_bounds_lower", |cell| score(cell, |score| score.spectrum.numerical_bounds.lower))
        .numbers("numerical_bounds_upper", |cell| {
            score(cell, |score| score.spectrum.numerical_bounds.upper.unwrap_or(f64::NAN))
        })
        .write(path, "sweep", formats)?;
    if formats.contains(&TableFormat::Npy) {
        let shape = [document.points.len(), document.models.len()];
        let scores =
            cells.iter().map(|cell| score(cell, |score| score.spectrum.model_score).unwrap_or(f64::NAN));
        write_npy(&path.join("scores.npy"), &shape, scores.collect::<Vec<f64>>().as_slice())?;
    }
    Ok(())
}
