//! The two sides of a model, loaded and checked once.
//!
//! [`Inputs::load`] reads the inputs, [`Inputs::view`] checks their numbers, [`Outputs::load`] reads the outputs or runs the model
//! for them, and [`Sides::new`] checks those and pairs the sides. Code that needs an array, its name, its shape or its digest later
//! gets it from the [`SideView`], so that nothing is read, checked or digested twice.

use std::time::{Duration, Instant};

use spadework::graph::{GraphKind, Weights};
use spadework::monitor::Stage;
use spadework::neighbors::SparseRows;
use spadework::samples::{Metric, Side, Standardize};
use spadework::threads::with_threads;
use spadework::{
    Error as CoreError, Graph, ManifoldPair, Monitor, PairedSamples, Samples, Silent, SpadeParams,
};
use spadework_document::score::{CorruptionDocument, DataDocument, ModelFileDocument, PlaceDocument};
use spadework_io::{Labels, LoadedGraph, load_announcing, load_graph, load_sparse};
use spadework_probe::{OutputKind, Task};

use crate::corruption;
use crate::data::{
    ArraySource, CorruptionRequest, GraphSource, InputSource, ModelData, OutputSource, is_model,
};
use crate::failure::{Failure, Subject};
use crate::labels::AboutSamples;
use crate::model_runner::ModelRunner;
use crate::observer::Session;
use crate::places::{file_name, here};
use crate::resume::Resuming;
use crate::side_view::{Array, SideView};
use crate::usage::{NeedsDense, Usage};
use crate::wording::{NoteCode, Voice};
use crate::{labels, notes, room};

/// The inputs of a model: an array, or a graph that is read or made once the number of samples is known.
#[derive(Debug)]
pub(crate) enum Inputs<'a> {
    Array {
        array: Array<'a>,
        corruption: Option<Box<CorruptionDocument>>,
    },
    Graph(&'a GraphSource<'a>),
    /// Sparse rows, of which only the graph is needed.
    Sparse(Box<SparseInputs<'a>>),
}

/// Rows that are never made dense, and how their neighbors are found.
#[derive(Debug)]
pub(crate) struct SparseInputs<'a> {
    name: &'a str,
    rows: SparseRows,
    params: SpadeParams,
}

impl<'a> Inputs<'a> {
    /// Loads an array, and corrupts it if requested.
    pub(crate) fn load(
        source: &'a InputSource<'a>,
        corruption: Option<CorruptionRequest>,
        params: &SpadeParams,
        session: &Session<'_>,
    ) -> Result<Self, Failure> {
        Self::load_for(None, source, corruption, params, session)
    }

    /// The same for work that needs the numbers of the inputs, which sparse rows do not give.
    pub(crate) fn load_for(
        needs_dense: Option<NeedsDense>,
        source: &'a InputSource<'a>,
        corruption: Option<CorruptionRequest>,
        params: &SpadeParams,
        session: &Session<'_>,
    ) -> Result<Self, Failure> {
        let array = match source {
            InputSource::Graph(_) if corruption.is_some() => return Err(Usage::CorruptionOfGraph.into()),
            InputSource::Graph(_) if matches!(params.graph, GraphKind::Pca(_)) => {
                return Err(Usage::ProjectionOfGraph.into());
            }
            InputSource::Graph(graph) => return Ok(Self::Graph(graph)),
            InputSource::Array(ArraySource::Rows(rows)) => {
                return Ok(Self::Array { array: Array::Rows(rows), corruption: None });
            }
            InputSource::Array(ArraySource::Named(name)) => {
                if let Some(rows) = load_sparse(name)? {
                    let needs_dense = needs_dense.or(corruption.map(|_| NeedsDense::Option("corruption")));
                    return Ok(Self::Sparse(Box::new(SparseInputs::new(name, rows, needs_dense, params)?)));
                }
                let monitor = session.monitor();
                with_threads(params.threads, || {
                    let announce = room::about_loading(name, session);
                    Ok::<_, Failure>(load_announcing(name, monitor, &announce)?)
                })?
            }
        };
        let Some(request) = corruption else {
            return Ok(Self::Array { array: Array::Dataset(array), corruption: None });
        };
        let (array, made) = corruption::apply(&array, request, params.seed, params.threads, session)?;
        Ok(Self::Array { array: Array::Dataset(array), corruption: Some(Box::new(made)) })
    }

    /// The array with its numbers checked; none if a graph is given instead.
    pub(crate) fn view(&self) -> Result<InputView<'_>, Failure> {
        Ok(match self {
            Inputs::Array { array, .. } => InputView::Array(SideView::of_array(array)?),
            Inputs::Graph(graph) => InputView::Graph(graph),
            Inputs::Sparse(rows) => InputView::Sparse(rows),
        })
    }

    /// What was done to the inputs.
    pub(crate) fn corruption(&self) -> Option<&CorruptionDocument> {
        match self {
            Inputs::Array { corruption, .. } => corruption.as_deref(),
            Inputs::Graph(_) | Inputs::Sparse(_) => None,
        }
    }
}

impl<'a> SparseInputs<'a> {
    fn new(
        name: &'a str,
        rows: SparseRows,
        needs_dense: Option<NeedsDense>,
        params: &SpadeParams,
    ) -> Result<Self, Failure> {
        let options = [
            (params.standardize != Standardize::None, "standardize"),
            (params.graph != GraphKind::Knn, "graph"),
            (params.weights != Weights::Unit, "weights"),
        ];
        let asked =
            options.into_iter().find(|(is_asked, _)| *is_asked).map(|(_, option)| NeedsDense::Option(option));
        if let Some(by) = needs_dense.or(asked) {
            return Err(Failure::from(Usage::SparseInputs { by }).about_place(name));
        }
        Ok(Self { name, rows, params: params.clone() })
    }

    /// The graph of the requested k. It may be in pieces, which inputs may be. A search among millions of rows takes long, so rows that
    /// do not go with the outputs are refused first.
    fn graph(&self, outputs: usize, session: &Session<'_>) -> Result<LoadedGraph, Failure> {
        let (name, rows, params) = (self.name, &self.rows, &self.params);
        if rows.len() != outputs {
            let error = CoreError::ShapeMismatch { input_rows: rows.len(), output_rows: outputs };
            return Err(Failure::from(error).about_place(name));
        }
        let (metric, neighbors) = (params.input_metric, params.neighbors);
        let monitor = Resuming::new(session, String::new);
        monitor.begin(Stage::NeighborsInput);
        let lists = with_threads(params.threads, || rows.neighbors(Side::Input, metric, neighbors, &monitor));
        let lists = lists.map_err(|cause| Failure::from(cause).about_place(name))?;
        session.note(
            NoteCode::SparseInputs,
            sparse_inputs(name, [rows.len(), rows.dim(), rows.entries()], params, session.voice()),
        );
        Ok(LoadedGraph { graph: Graph::from_neighbors(&lists, neighbors), loops: 0, zeros: 0 })
    }
}

/// What a reader must know about sparse inputs: the number of rows, the numbers per row, and how many of all numbers are not
/// 0.
pub fn sparse_inputs(
    name: &str,
    [rows, columns, entries]: [usize; 3],
    params: &SpadeParams,
    voice: Voice,
) -> String {
    let SpadeParams { neighbors, input_metric, .. } = params;
    format!(
        "{name}: {rows} sparse rows of {columns} numbers ({entries} of them not 0) are connected to their {neighbors} nearest by \
         {input_metric} distance; {} applies only to the outputs",
        voice.name("connectivity")
    )
}

/// Inputs that were checked, or the graph that is given instead of them.
#[derive(Debug)]
pub(crate) enum InputView<'s> {
    Array(SideView<'s>),
    Graph(&'s GraphSource<'s>),
    Sparse(&'s SparseInputs<'s>),
}

impl<'s> InputView<'s> {
    pub(crate) fn array(&self) -> Option<&SideView<'s>> {
        match self {
            InputView::Array(array) => Some(array),
            InputView::Graph(_) | InputView::Sparse(_) => None,
        }
    }

    /// The side itself; a graph is read or made now, over as many nodes as the outputs have.
    pub(crate) fn into_side(self, nodes: usize, session: &Session<'_>) -> Result<SideView<'s>, Failure> {
        match self {
            InputView::Array(array) => {
                array.check_length()?;
                Ok(array)
            }
            InputView::Sparse(sparse) => {
                Ok(SideView::of_graph(sparse.name, true, sparse.graph(nodes, session)?))
            }
            InputView::Graph(source) => {
                let (name, graph) = load_graph_source(source, Some(nodes), session)?;
                Ok(SideView::of_graph(name, matches!(source, GraphSource::File(_)), graph))
            }
        }
    }
}

/// A model file that was run for its outputs.
#[derive(Debug)]
pub(crate) struct ModelRun {
    document: ModelFileDocument,
    took: Duration,
}

/// The outputs of a model.
#[derive(Debug)]
pub(crate) enum Outputs<'a> {
    Array { array: Array<'a>, run: Option<Box<ModelRun>> },
    Graph { source: &'a GraphSource<'a>, graph: LoadedGraph },
}

impl<'a> Outputs<'a> {
    /// Loads an array or a graph, or runs the model.
    pub(crate) fn load(
        source: &'a OutputSource<'a>,
        inputs: Option<&SideView<'_>>,
        runner: &ModelRunner<'_>,
    ) -> Result<Self, Failure> {
        Ok(match source {
            OutputSource::Array(ArraySource::Rows(rows)) => {
                Self::Array { array: Array::Rows(rows), run: None }
            }
            OutputSource::Model(file) => Self::of_model(file, runner)?,
            OutputSource::Array(ArraySource::Named(file)) if is_model(file) => Self::of_model(file, runner)?,
            OutputSource::Array(ArraySource::Named(name)) => {
                let announce = room::about_loading(name, runner.session);
                let array = load_announcing(name, &Silent, &announce)?;
                Self::Array { array: Array::Dataset(array), run: None }
            }
            OutputSource::Graph(source) => {
                let nodes = inputs.and_then(|inputs| inputs.shape().first().copied());
                let (_, graph) = load_graph_source(source, nodes, runner.session)?;
                Self::Graph { source, graph }
            }
        })
    }

    fn of_model(file: &str, runner: &ModelRunner<'_>) -> Result<Self, Failure> {
        let began = Instant::now();
        let (outputs, document) = runner.run(file)?;
        let run = ModelRun { document, took: began.elapsed() };
        Ok(Self::Array { array: Array::Dataset(outputs), run: Some(Box::new(run)) })
    }

    /// The outputs with their numbers checked. There may be a single one, of a sample that is looked up among others.
    pub(crate) fn view(&self) -> Result<SideView<'_>, Failure> {
        match self {
            Outputs::Array { array, .. } => SideView::of_array(array),
            Outputs::Graph { source, graph } => {
                Ok(SideView::of_graph(source.name(), matches!(source, GraphSource::File(_)), graph.clone()))
            }
        }
    }

    /// The model that was run for them.
    pub(crate) fn model(&self) -> Option<&ModelFileDocument> {
        self.run().map(|run| &run.document)
    }

    /// How long that took; no time where no model was run.
    pub(crate) fn running(&self) -> Duration {
        self.run().map_or(Duration::ZERO, |run| run.took)
    }

    fn run(&self) -> Option<&ModelRun> {
        match self {
            Outputs::Array { run, .. } => run.as_deref(),
            Outputs::Graph { .. } => None,
        }
    }
}

/// Both sides of a model with the labels of its samples.
#[derive(Debug)]
pub(crate) struct Sides<'s> {
    pub(crate) input: SideView<'s>,
    pub(crate) output: SideView<'s>,
    pub(crate) pair: ManifoldPair<'s>,
    pub(crate) known: AboutSamples<'s>,
    /// What the outputs are; none if they are a graph.
    pub(crate) output_kind: Option<OutputKind>,
    /// The model that was run for the outputs.
    pub(crate) model: Option<&'s ModelFileDocument>,
    /// How long it was run.
    pub(crate) running: Duration,
    /// What was done to the inputs.
    pub(crate) corruption: Option<&'s CorruptionDocument>,
}

impl<'s> Sides<'s> {
    /// Pairs the sides of a model, whose outputs are compared by a metric.
    pub(crate) fn new(
        data: &'s ModelData<'_>,
        inputs: &'s Inputs<'_>,
        given: InputView<'s>,
        outputs: &'s Outputs<'_>,
        metric: Metric,
        session: &Session<'_>,
    ) -> Result<Self, Failure> {
        if outputs.model().is_none() {
            notes::about_corruption(inputs.corruption(), session);
        }
        let output = outputs.view()?;
        output.check_length()?;
        let input = given.into_side(output.manifold().len(), session)?;
        let pair = ManifoldPair::new(input.manifold().clone(), output.manifold().clone())
            .map_err(|error| with_files(error, &input, &output))?;
        let columns = output.samples().map(Samples::dim);
        let predicts_numbers = labels::predicts_numbers(data.task, columns);
        let mut known = AboutSamples::of_labels(data.labels.as_ref(), &input, predicts_numbers)?;
        known.load_ids(data.ids, pair.len(), session)?;
        // A softmax in the model itself has been noted.
        let ends_in_softmax = outputs.model().is_some_and(|model| model.softmax);
        if let Some(outputs) = output.samples().filter(|_| !ends_in_softmax) {
            notes::about_outputs(outputs, "", session);
        }
        let label_ids = known.labels.as_ref().map(Labels::ids);
        let output_kind =
            output.samples().map(|outputs| OutputKind::of(data.task, outputs, label_ids, metric));
        Ok(Self {
            input,
            output,
            pair,
            known,
            output_kind,
            model: outputs.model(),
            running: outputs.running(),
            corruption: inputs.corruption(),
        })
    }

    /// The labels' numbers.
    pub(crate) fn label_ids(&self) -> Option<&[i64]> {
        self.known.labels.as_ref().map(Labels::ids)
    }

    /// Says where labels do not fit the outputs.
    pub(crate) fn check_labels(&self, task: Task, session: &Session<'_>) -> Result<(), Failure> {
        let (Some(kind), Some(outputs)) = (self.output_kind, self.output.samples()) else {
            return Ok(());
        };
        let checked =
            labels::check_classes(self.known.labels.as_ref(), kind, outputs.dim(), (task, ""), session);
        let place = self.known.labels_name.unwrap_or(self.input.name());
        checked.map_err(|failure| failure.about_place(place))
    }

    /// A failure with the name of the array at fault.
    pub(crate) fn naming_array(&self, failure: Failure) -> Failure {
        failure.naming_array(self.input.file_name(), |_| self.output.file_name())
    }

    /// The samples of both sides; none if a side is a graph.
    pub(crate) fn paired(&self) -> Result<Option<PairedSamples<'_>>, Failure> {
        let Some((inputs, outputs)) = self.input.samples().zip(self.output.samples()) else {
            return Ok(None);
        };
        Ok(Some(PairedSamples::new(inputs.view(), outputs.view())?))
    }

    /// What the model is called: its file, or the array of its outputs; arrays in memory have no name.
    pub(crate) fn model_name(&self) -> Option<String> {
        match self.model {
            Some(model) => Some(file_name(&model.file)),
            None => self.output.is_file().then(|| file_name(self.output.name())),
        }
    }

    /// Where the labels are, named or with the inputs.
    pub(crate) fn labels_place(&self) -> Option<PlaceDocument> {
        match (self.known.labels_name, self.input.labels()) {
            (Some(labels), _) => Some(here(labels)),
            (None, Some(_)) => Some(here(self.input.name())),
            (None, None) => None,
        }
    }

    /// The arrays as a result remembers them; none if a side is a graph.
    pub(crate) fn document(&self) -> Option<DataDocument> {
        let (inputs, outputs) = self.input.document().zip(self.output.document())?;
        Some(DataDocument {
            inputs,
            outputs,
            labels: self.known.labels_name.map(here),
            ids: self.known.ids_name.map(here),
        })
    }
}

/// Loads the sides of a model and works with them. `needs_dense` is what needs the numbers of the inputs.
pub(crate) fn loaded<T>(
    needs_dense: Option<NeedsDense>,
    data: &ModelData<'_>,
    params: &SpadeParams,
    session: &Session<'_>,
    work: impl FnOnce(&Sides<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let inputs = Inputs::load_for(needs_dense, &data.inputs, data.corruption, params, session)?;
    let work_on_inputs = || {
        let given = inputs.view()?;
        let runner = ModelRunner::new(&data.run, params, given.array(), session);
        let outputs = Outputs::load(&data.outputs, given.array(), &runner)?;
        work(&Sides::new(data, &inputs, given, &outputs, params.output_metric, session)?)
    };
    let made = work_on_inputs();
    if made.is_err() {
        // Numbers of two versions of a file can be wrong in any way: this is the reason.
        spadework_io::check_mapped_files()?;
    }
    made
}

/// The same for work that writes nothing: a failure names the array at fault, and files that changed meanwhile are refused.
pub(crate) fn with_sides<T>(
    data: &ModelData<'_>,
    params: &SpadeParams,
    session: &Session<'_>,
    work: impl FnOnce(&Sides<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    loaded(None, data, params, session, |sides| {
        let made = work(sides).map_err(|failure| sides.naming_array(failure))?;
        spadework_io::check_mapped_files()?;
        Ok(made)
    })
}

/// A mismatch of the pair concerns both files; a side without shape one of them. Arrays in memory are named by the error itself.
fn with_files(error: CoreError, input: &SideView<'_>, output: &SideView<'_>) -> Failure {
    if !(input.is_file() && output.is_file()) {
        return error.into();
    }
    let place = match &error {
        CoreError::AllEqual { side, .. } | CoreError::GivenDisconnected { side, .. } => match side {
            Side::Input => input.name().to_owned(),
            Side::Output => output.name().to_owned(),
        },
        _ => format!("{} and {}", input.name(), output.name()),
    };
    Failure::from(error).about(Subject::Place(place))
}

/// Loads a graph; a list of edges need not name every one of its `nodes`.
fn load_graph_source<'a>(
    source: &'a GraphSource<'_>,
    nodes: Option<usize>,
    session: &Session<'_>,
) -> Result<(&'a str, LoadedGraph), Failure> {
    let name = source.name();
    let loaded = match source {
        GraphSource::File(path) => load_graph(path, nodes)?,
        GraphSource::Loaded { graph, .. } => graph.clone(),
    };
    for (count, what) in [(loaded.loops, "on the diagonal"), (loaded.zeros, "of weight 0")] {
        if count > 0 {
            let entries = match count {
                1 => format!("1 entry {what} is not an edge and was"),
                _ => format!("{count} entries {what} are not edges and were"),
            };
            session.note(NoteCode::EntriesLeftOut, format!("{name}: {entries} left out"));
        }
    }
    Ok((name, loaded))
}
