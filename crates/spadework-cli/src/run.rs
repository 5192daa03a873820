//! What `score`, `select` and `check` have in common: load, evaluate, write.

use std::cell::OnceCell;
use std::fmt::Display;
use std::path::Path;

use spadework::scores::{SampleFacts, SampleSignals};
use spadework::{
    ApproximateSearch, Diagnostics, Error as CoreError, GraphPair, Manifold, ManifoldPair, ModelSet,
    PairedSamples, Recall, Samples, SpadeParams, SpadeReport, Weights, evaluate_manifolds, graphs_of,
};
use spadework_io::beside::BesideDocument;
use spadework_io::output::{
    Column, CsvTable, OutputDir, optional_field, write_bytes, write_graph, write_npy, write_parquet,
};
use spadework_io::result::{
    CorruptionDocument, DataDocument, ModelFileDocument, PlaceDocument, ScoreDocument,
};
use spadework_io::stages::GraphStage;
use spadework_io::{Dataset, Labels, load_labels};

use crate::args::{By, ModelArgs, OutputArgs, TableFormat};
use crate::args_data::CorruptionArgs;
use crate::args_graphs::GraphFormat;
use crate::args_probe::ProbeArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::looks;
use crate::probing::{self, Probing, Shown};
use crate::render::{json, percent};
use crate::sides::Sides;
use crate::stages::{StageFolder, evaluate_in_stages};
use crate::stored::{command_line, remembered, working_folder};
use crate::tables;

/// A scored model with its labels.
#[derive(Debug)]
pub(crate) struct Scored {
    pub(crate) report: SpadeReport,
    pub(crate) labels: Option<Labels>,
    /// Found when somebody asks for them, and by probes, where there are some by then.
    facts: OnceCell<SampleFacts>,
    /// None where a graph was given, or where they are not found any more.
    inputs: Option<Dataset>,
    /// Likewise.
    outputs: Option<Dataset>,
    /// The model that was run for the outputs.
    pub(crate) model: Option<ModelFileDocument>,
    /// What was done to the inputs.
    corruption: Option<CorruptionDocument>,
    /// What the user typed for the labels.
    labels_argument: Option<String>,
    /// What an earlier stage said of the arrays.
    data: Option<DataDocument>,
    /// What perturbed copies have shown, where asked for.
    probes: Option<Shown>,
}

impl Scored {
    /// Loads and evaluates what the arguments name.
    pub(crate) fn from_args(model: &ModelArgs, console: Console) -> Result<Self, Failure> {
        Self::from_corrupted(model, &CorruptionArgs::default(), console)
    }

    /// Loads what the arguments name, corrupts the inputs where asked for, and evaluates.
    pub(crate) fn from_corrupted(
        model: &ModelArgs,
        corruption: &CorruptionArgs,
        console: Console,
    ) -> Result<Self, Failure> {
        Self::in_stages(model, corruption, None, None, console)
    }

    /// The same with what each stage finds kept in a folder, where there is one, and not found again. What is to be probed later
    /// is looked at before the work begins.
    pub(crate) fn in_stages(
        model: &ModelArgs,
        corruption: &CorruptionArgs,
        probe: Option<&ProbeArgs>,
        stages: Option<&StageFolder>,
        console: Console,
    ) -> Result<Self, Failure> {
        let (report, Files { sides, labels }) =
            with_files_of(model, corruption, console, |pair, params, sides| {
                if let (Some(probe), Some(model), Manifold::Samples(outputs)) =
                    (probe, &sides.model, pair.output())
                {
                    probe.check_outputs(&model.file, outputs.dim())?;
                }
                match stages {
                    Some(stages) => evaluate_in_stages(pair, params, stages),
                    None => evaluate_manifolds(pair, params, &console.monitor())
                        .map_err(|error| Failure::of_evaluation(error, params)),
                }
            })?;
        tell_what_was_done(&report.diagnostics, report.graphs.nodes(), console);
        let (corruption, labels_argument) = (sides.corruption.clone(), model.labels.clone());
        let (model, (inputs, outputs)) = (sides.model.clone(), sides.into_datasets());
        Ok(Self {
            facts: OnceCell::new(),
            report,
            labels,
            inputs,
            outputs,
            model,
            corruption,
            labels_argument,
            data: None,
            probes: None,
        })
    }

    /// A model that was scored stage by stage; `stage` is what its graphs say of themselves, `arrays` what they were made of,
    /// where that is still there.
    pub(crate) fn from_stages(
        report: SpadeReport,
        labels: Option<Labels>,
        stage: Option<&GraphStage>,
        arrays: Option<(Dataset, Dataset)>,
    ) -> Self {
        let (inputs, outputs) = arrays.unzip();
        let corruption = stage.and_then(|stage| stage.corruption.clone());
        let model = stage.and_then(|stage| stage.model.clone());
        let data = stage.and_then(|stage| stage.data.clone());
        Self {
            facts: OnceCell::new(),
            report,
            labels,
            inputs,
            outputs,
            model,
            corruption,
            labels_argument: None,
            data,
            probes: None,
        }
    }

    /// Probes the model that was run, where asked for; `top` is how many of the samples that changed are listed.
    pub(crate) fn probe(
        &mut self,
        probe: &ProbeArgs,
        model: &ModelArgs,
        top: usize,
        console: Console,
    ) -> Result<(), Failure> {
        let options = model.network.run.options();
        let probing = Probing::from_args(probe, self.inputs.as_ref(), options, &model.params(), console);
        if let (Some(probing), Some(file)) = (probing, &self.model) {
            self.probes = Some(probing.run(&file.file, self.labels.as_ref(), top)?);
        }
        Ok(())
    }

    /// The document with the `top` most fragile samples and edges. One that goes into a folder also says what was scored,
    /// so that new samples can be measured by it.
    pub(crate) fn document(
        &self,
        top: usize,
        folder: Option<&ResultFolder<'_>>,
    ) -> Result<ScoreDocument, Failure> {
        let mut document = ScoreDocument::new(&self.report, self.labels.as_ref(), top)?;
        document.set_facts(self.facts()?);
        document.beside.probe = self.probes.as_ref().map(|probes| probes.document.clone());
        document.model.clone_from(&self.model);
        document.corruption.clone_from(&self.corruption);
        if folder.is_some() {
            document.command = Some(command_line());
            document.data.clone_from(&self.data);
        }
        if let (Some(_), None, Some((inputs, outputs))) = (folder, &self.data, self.arrays()) {
            let place = |array| PlaceDocument { array, folder: working_folder() };
            let labels = self.labels_argument.clone().map(place);
            document.data =
                Some(DataDocument { inputs: remembered(inputs)?, outputs: remembered(outputs)?, labels });
        }
        Ok(document)
    }

    /// Accuracy, margins and fragility.
    pub(crate) fn facts(&self) -> Result<&SampleFacts, Failure> {
        if let Some(found) = self.facts.get() {
            return Ok(found);
        }
        let inputs = self.inputs.as_ref().map(Dataset::samples).transpose()?;
        let outputs = self.outputs.as_ref().map(Dataset::samples).transpose()?;
        let probe_margins = self.probes.as_ref().map(|probes| probes.probed.lowest_margins());
        let signals = SampleSignals {
            inputs: inputs.as_ref(),
            outputs: outputs.as_ref(),
            labels: self.labels.as_ref().map(Labels::ids),
            probe_margins: probe_margins.as_deref(),
        };
        let found = SampleFacts::of(&self.report, &signals)?;
        Ok(self.facts.get_or_init(|| found))
    }

    /// All samples, most fragile first.
    pub(crate) fn ranking(&self, by: By) -> Result<Vec<usize>, Failure> {
        match (by, &self.facts()?.margins) {
            (By::Node, _) => {
                let top = self.report.node_scores.top(self.report.graphs.nodes());
                Ok(top.into_iter().map(|node| node.index).collect())
            }
            (By::Fragility, _) => Ok(self.facts()?.fragility.ranking()),
            (By::Margin, Some(margins)) => Ok(margins.ranking()),
            (By::Margin, None) => Err(Failure::usage(
                "--by margin needs --outputs or --model with at least two numbers a sample, one a class",
            )),
        }
    }

    /// Columns that probes add to the table of samples.
    fn probe_columns(&self) -> Vec<(&'static str, Vec<f64>)> {
        self.probes.as_ref().map(|probes| probing::columns(&probes.probed)).unwrap_or_default()
    }

    /// Inputs and outputs, where neither is a graph.
    pub(crate) fn arrays(&self) -> Option<(&Dataset, &Dataset)> {
        self.inputs.as_ref().zip(self.outputs.as_ref())
    }

    /// The samples that were scored; none where a side is a graph.
    pub(crate) fn paired(&self) -> Result<Option<PairedSamples<'_>>, Failure> {
        let Some((inputs, outputs)) = self.arrays() else { return Ok(None) };
        Ok(Some(PairedSamples::new(inputs.samples()?, outputs.samples()?)?))
    }

    /// The scored model as the only one of a set; none where a side is a graph.
    pub(crate) fn as_set(&self) -> Result<Option<ModelSet<'_>>, Failure> {
        Ok(self.paired()?.map(Into::into))
    }
}

/// The graphs of a model, for what needs no scores.
pub(crate) struct Made {
    pub(crate) graphs: GraphPair,
    pub(crate) diagnostics: Diagnostics,
    pub(crate) labels: Option<Labels>,
}

impl Made {
    /// Loads what the arguments name and makes its graphs.
    pub(crate) fn from_args(model: &ModelArgs, console: Console) -> Result<Self, Failure> {
        let ((graphs, diagnostics), files) =
            with_files_of(model, &CorruptionArgs::default(), console, |pair, params, _| {
                graphs_of(pair, params, &console.monitor())
                    .map_err(|error| Failure::of_evaluation(error, params))
            })?;
        tell_what_was_done(&diagnostics, graphs.nodes(), console);
        Ok(Self { graphs, diagnostics, labels: files.labels })
    }
}

/// What was loaded.
pub(crate) struct Files<'a> {
    sides: Sides<'a>,
    labels: Option<Labels>,
}

/// Loads what the arguments name and does some work with it.
pub(crate) fn with_files_of<'a, T>(
    model: &'a ModelArgs,
    corruption: &CorruptionArgs,
    console: Console,
    work: impl FnOnce(&ManifoldPair<'_>, &SpadeParams, &Sides<'a>) -> Result<T, Failure>,
) -> Result<(T, Files<'a>), Failure> {
    let params = model.params();
    params.check()?;
    let sides = Sides::load(model, corruption, console)?;
    let labels = labels_of(model, &sides)?;
    let (inputs, outputs) = (sides.input.samples()?, sides.output.samples()?);
    let pair = sides.pair(inputs.as_ref(), outputs.as_ref())?;
    if let Some(labels) = &labels {
        check_label_count(labels, pair.len(), model.labels.as_deref().unwrap_or(sides.input.name()))?;
    }
    // Of a softmax in the model itself has been told.
    let ends_in_softmax = sides.model.as_ref().is_some_and(|model| model.softmax);
    if let Some(outputs) = outputs.as_ref().filter(|_| !ends_in_softmax) {
        tell_what_outputs_look_like(outputs, "", console);
    }
    let done = work(&pair, &params, &sides)?;
    drop(pair);
    drop((inputs, outputs));
    Ok((done, Files { sides, labels }))
}

/// One label a sample; `source` is what the user typed for them.
pub(crate) fn check_label_count(labels: &Labels, samples: usize, source: &str) -> Result<(), Failure> {
    if labels.len() == samples {
        return Ok(());
    }
    let error = CoreError::LabelCount { samples, labels: labels.len() };
    Err(Failure::usage(format!("{source}: {error}")))
}

fn labels_of(model: &ModelArgs, sides: &Sides<'_>) -> Result<Option<Labels>, Failure> {
    match &model.labels {
        Some(argument) => Ok(Some(load_labels(argument)?)),
        None => Ok(sides.input.labels().cloned()),
    }
}

/// Outputs that are probably not what the user meant: probabilities, labels or predictions in place of the values before
/// the softmax. `whose` goes in front, where there are several models.
pub(crate) fn tell_what_outputs_look_like(outputs: &Samples<'_>, whose: &str, console: Console) {
    if !console.takes_notes() {
        return;
    }
    if looks::like_probabilities(outputs) {
        console.note(&format!(
            "{whose}every row of the outputs is non-negative and sums to 1: these look like probabilities, and scores are \
             meant for the values before the softmax"
        ));
    }
    let distinct = looks::distinct_rows(outputs);
    if distinct < outputs.len() / 2 {
        console.note(&format!(
            "{whose}the outputs have only {distinct} different rows among {}: are these labels or predictions?",
            outputs.len()
        ));
    }
}

/// Labels that say hardly more about the outputs than guesses would. `whose` goes in front, where there are several models.
pub(crate) fn tell_of_guesses(beside: &BesideDocument, classes: usize, whose: &str, console: Console) {
    /// As far above guesses as this, on the way to being always right.
    const BARELY: f64 = 0.1;
    let guessed = 1.0 / classes.max(1) as f64;
    if let Some(accuracy) = beside.accuracy.filter(|part| *part < guessed + BARELY * (1.0 - guessed)) {
        console.note(&format!(
            "{whose}only {} of the samples have their largest output at their label: are the outputs classes, in the order of \
             the labels?",
            percent(accuracy)
        ));
    }
}

/// What a reader of the score must know, beside the score.
pub(crate) fn tell_what_was_done(diagnostics: &Diagnostics, samples: usize, console: Console) {
    let connection = &diagnostics.connection;
    let (input, output) = (connection.input, connection.output);
    if connection.used > connection.requested {
        console.note(&format!(
            "{} neighbors leave {} input and {} output components; {} neighbors connect both graphs and are used",
            connection.requested, input.components_found, output.components_found, connection.used
        ));
    }
    if input.bridges + output.bridges > 0 {
        console.note(&format!(
            "{} input and {} output bridges join what {} neighbors leave apart",
            input.bridges, output.bridges, connection.requested
        ));
    }
    tell_what_was_missed("inputs", diagnostics.input_recall, console);
    tell_what_was_missed("outputs", diagnostics.output_recall, console);
    if diagnostics.input_graph.given {
        tell_of_given_pieces(input.components_found, console);
    }
    let raised = [("input", diagnostics.input_graph), ("output", diagnostics.output_graph)];
    for (side, count) in raised.map(|(side, made)| (side, made.weights_raised)) {
        if count > 0 {
            console
                .note(&format!("{count} {side} weights are below {0:e} and taken as {0:e}", Weights::LEAST));
        }
    }
    tell_of_copies(diagnostics, samples, console);
}

/// An input graph that was given in several pieces.
pub(crate) fn tell_of_given_pieces(components: usize, console: Console) {
    if components > 1 {
        console.note(&format!(
            "the input graph given has {components} components; no edge between them is scored"
        ));
    }
}

/// Samples whose neighbors are exact copies, chosen among more of them.
pub(crate) fn tell_of_copies(diagnostics: &Diagnostics, samples: usize, console: Console) {
    let decided =
        [("inputs", diagnostics.inputs_decided_by_index), ("outputs", diagnostics.outputs_decided_by_index)];
    for (side, count) in decided.into_iter().filter(|&(_, count)| count > 0) {
        console.note(&format!(
            "{count} of {samples} {side} have at least {} exact copies: which of them are neighbors is decided by index",
            diagnostics.connection.requested
        ));
    }
}

/// What an approximate search may have cost.
pub(crate) fn tell_what_was_missed(side: &str, recall: Recall, console: Console) {
    if let Recall::Sampled { rows, .. } = recall {
        let short = if recall.share() < ApproximateSearch::RECALL {
            format!(", below the {} that it aims at: do not trust this score", ApproximateSearch::RECALL)
        } else {
            String::new()
        };
        console.note(&format!(
            "the neighbors of the {side} were searched approximately: recall {:.4}, measured on {rows} rows{short}. A few \
             missing neighbors can move the model score by percents (5.6 % has been seen at recall 0.998); `--search exact` leaves \
             none out",
            recall.share()
        ));
    }
}

/// A folder for the results, made before the work begins so that a place that cannot be written is found out early.
#[derive(Debug)]
pub(crate) struct ResultFolder<'a> {
    folder: OutputDir,
    tables: &'a [TableFormat],
    graphs: &'a [GraphFormat],
}

impl<'a> ResultFolder<'a> {
    /// The folder of `--out`, where it was given, and the formats in which graphs go into it.
    pub(crate) fn from_args(
        args: &'a OutputArgs,
        graphs: &'a [GraphFormat],
    ) -> Result<Option<Self>, Failure> {
        args.out.as_deref().map(|path| Self::create(path, &args.tables, graphs)).transpose()
    }

    /// A folder at this place, with tables and graphs in these formats.
    pub(crate) fn create(
        path: &Path,
        tables: &'a [TableFormat],
        graphs: &'a [GraphFormat],
    ) -> Result<Self, Failure> {
        Ok(Self { folder: OutputDir::create(path)?, tables, graphs })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes the document and the tables of nodes and edges.
    pub(crate) fn write(&self, scored: &Scored, document: &ScoreDocument) -> Result<(), Failure> {
        write_bytes(&self.path().join("result.json"), json(document).as_bytes())?;
        self.write_embedding(scored)?;
        self.write_labels(scored, document)?;
        for format in self.tables {
            match format {
                TableFormat::Csv => self.write_csv(scored)?,
                TableFormat::Parquet => self.write_parquet(scored)?,
                TableFormat::Npy => self.write_npy(scored)?,
            }
        }
        for format in self.graphs {
            let file = |side: &str| self.path().join(format!("{side}_graph.{}", format.ending()));
            write_graph(&file("input"), scored.report.graphs.input())?;
            write_graph(&file("output"), scored.report.graphs.output())?;
        }
        Ok(())
    }

    /// Formats of the tables.
    pub(crate) fn tables(&self) -> &'a [TableFormat] {
        self.tables
    }

    /// Gives the finished files their place.
    pub(crate) fn commit(self) -> Result<(), Failure> {
        Ok(self.folder.commit()?)
    }

    fn write_csv(&self, scored: &Scored) -> Result<(), Failure> {
        let report = &scored.report;
        let table = NodeTable::of(scored)?;
        let nodes = table.text(report.node_scores.ranks().into_iter().enumerate());
        let mut edges = CsvTable::new(["p", "q", "score"]);
        for ((p, q), score) in report.edge_scores.edges().iter().zip(report.edge_scores.scores()) {
            edges.row([p as &dyn Display, q, score]);
        }
        write_bytes(&self.path().join("nodes.csv"), nodes.as_bytes())?;
        write_bytes(&self.path().join("edges.csv"), edges.into_text().as_bytes())?;
        Ok(())
    }

    fn write_parquet(&self, scored: &Scored) -> Result<(), Failure> {
        let report = &scored.report;
        let scores = report.node_scores.scores();
        let indices: Vec<i64> = (0..scores.len() as i64).collect();
        let ranks: Vec<i64> = report.node_scores.ranks().into_iter().map(|rank| rank as i64).collect();
        let labels: Option<Vec<String>> = scored
            .labels
            .as_ref()
            .map(|labels| (0..scores.len()).map(|index| label_text(labels, index)).collect());
        let mut nodes = vec![("index", Column::I64(&indices))];
        if let Some(labels) = &labels {
            nodes.push(("label", Column::Utf8(labels)));
        }
        // NaN, an empty field of CSV, where there are none.
        let no_margins = || vec![f64::NAN; scores.len()];
        let facts = scored.facts()?;
        let margins = facts.margins.as_ref().map_or_else(no_margins, |margins| margins.values().to_vec());
        nodes.extend([
            ("score", Column::F64(scores)),
            ("rank", Column::I64(&ranks)),
            ("margin", Column::F64(&margins)),
            ("fragility", Column::F64(facts.fragility.values())),
        ]);
        let probes = scored.probe_columns();
        nodes.extend(probes.iter().map(|(name, column)| (*name, Column::F64(column))));
        write_parquet(&self.path().join("nodes.parquet"), &nodes)?;
        let end = |pick: fn(&(u32, u32)) -> u32| -> Vec<i64> {
            report.edge_scores.edges().iter().map(|edge| i64::from(pick(edge))).collect()
        };
        let (p, q) = (end(|edge| edge.0), end(|edge| edge.1));
        let edges = [
            ("p", Column::I64(&p)),
            ("q", Column::I64(&q)),
            ("score", Column::F64(report.edge_scores.scores())),
        ];
        write_parquet(&self.path().join("edges.parquet"), &edges)?;
        Ok(())
    }

    fn write_npy(&self, scored: &Scored) -> Result<(), Failure> {
        let report = &scored.report;
        let (nodes, edges) = (report.graphs.nodes(), report.edge_scores.len());
        let ends: Vec<i64> =
            report.edge_scores.edges().iter().flat_map(|&(p, q)| [i64::from(p), i64::from(q)]).collect();
        let file = |name: &str| self.path().join(name);
        write_npy(&file("node_scores.npy"), &[nodes], report.node_scores.scores())?;
        let facts = scored.facts()?;
        write_npy(&file("fragility.npy"), &[nodes], facts.fragility.values())?;
        if let Some(margins) = &facts.margins {
            write_npy(&file("margins.npy"), &[nodes], margins.values())?;
        }
        write_npy(&file("edges.npy"), &[edges, 2], ends.as_slice())?;
        write_npy(&file("edge_scores.npy"), &[edges], report.edge_scores.scores())?;
        Ok(())
    }

    /// What new samples are measured by.
    fn write_embedding(&self, scored: &Scored) -> Result<(), Failure> {
        let embedding = &scored.report.embedding;
        let shape = [scored.report.graphs.nodes(), embedding.dim()];
        Ok(write_npy(&self.path().join("embedding.npy"), &shape, embedding.values())?)
    }

    /// Labels and pairs of labels, where there are labels.
    fn write_labels(&self, scored: &Scored, document: &ScoreDocument) -> Result<(), Failure> {
        let Some(labels) = &scored.labels else { return Ok(()) };
        let formats = self.tables;
        tables::write_labels(self.path(), formats, labels, &document.label_scores)?;
        tables::write_label_pairs(self.path(), formats, labels, &document.label_pairs)
    }
}

/// The table of samples as CSV.
pub(crate) struct NodeTable<'a> {
    scored: &'a Scored,
    facts: &'a SampleFacts,
    probes: Vec<(&'static str, Vec<f64>)>,
}

impl<'a> NodeTable<'a> {
    pub(crate) fn of(scored: &'a Scored) -> Result<Self, Failure> {
        Ok(Self { scored, facts: scored.facts()?, probes: scored.probe_columns() })
    }

    /// Rows for these samples, each with its rank.
    pub(crate) fn text(&self, samples: impl IntoIterator<Item = (usize, usize)>) -> String {
        let columns = ["index", "label", "score", "rank", "margin", "fragility"];
        let mut table = CsvTable::new(columns.into_iter().chain(self.probes.iter().map(|(name, _)| *name)));
        for (index, rank) in samples {
            table.row(self.fields(index, rank));
        }
        table.into_text()
    }

    fn fields(&self, index: usize, rank: usize) -> Vec<String> {
        let Self { scored: Scored { report, labels, .. }, facts, probes } = self;
        let mut fields = vec![
            index.to_string(),
            optional_field(labels.as_ref().map(|labels| label_text(labels, index))),
            report.node_scores.scores()[index].to_string(),
            rank.to_string(),
            tables::number_field(facts.margins.as_ref().map_or(f64::NAN, |margins| margins.values()[index])),
            facts.fragility.values()[index].to_string(),
        ];
        fields.extend(probes.iter().map(|(_, column)| tables::number_field(column[index])));
        fields
    }
}

/// A sample's label in words: the name of its class where it has one, its number otherwise.
pub(crate) fn label_text(labels: &Labels, index: usize) -> String {
    let id = labels.ids()[index];
    labels.class_name(id).map_or_else(|| id.to_string(), str::to_owned)
}
