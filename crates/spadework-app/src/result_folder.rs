//! The folder of a result: `result.json` and the tables.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;

use spadework::error::Readable;
use spadework::pipeline::SpadeReport;
use spadework::scores::LabelPairScore;
use spadework_document::score::{LabelDocument, ScoreDocument};
use spadework_io::output::{
    Column, FolderLock, OutputDir, write_bytes, write_graph, write_npy, write_parquet,
};
use spadework_io::{Labels, read_regular};
use spadework_probe::{Probed, SampleFacts, Varied};

use crate::failure::Failure;
use crate::labels::word;
use crate::pages::PageRequest;
use crate::tables::{TableFormat, TableOf, csv_field};
use crate::{json, labels, probing, script};

/// A folder for a result.
#[derive(Debug, Clone, Copy)]
pub struct FolderRequest<'a> {
    /// Where it is.
    pub path: &'a Path,
    /// Formats of the tables.
    pub tables: &'a [TableFormat],
    /// Formats in which both graphs are written.
    pub graphs: &'a [GraphFormat],
}

/// Formats of graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GraphFormat {
    /// Edges as text.
    Csv,
    /// A SciPy matrix.
    Npz,
    /// PETSc's binary layout.
    Petsc,
}

impl GraphFormat {
    /// The ending of such a file.
    pub fn ending(self) -> &'static str {
        match self {
            GraphFormat::Csv => "csv",
            GraphFormat::Npz => "npz",
            GraphFormat::Petsc => "petsc",
        }
    }
}

/// A folder that is being filled. It is created before the work begins, so that a place that cannot be written is found early,
/// and its files have their names once it is whole.
#[derive(Debug)]
pub(crate) struct ResultFolder<'a> {
    folder: OutputDir,
    request: FolderRequest<'a>,
}

impl<'a> ResultFolder<'a> {
    pub(crate) fn create(request: FolderRequest<'a>) -> Result<Self, Failure> {
        Ok(Self { folder: OutputDir::create(request.path)?, request })
    }

    /// Opens the places where a result goes, before anything is read.
    pub(crate) fn open(
        request: Option<FolderRequest<'a>>,
        page: &PageRequest<'_>,
    ) -> Result<Option<Self>, Failure> {
        let folder = request.map(Self::create).transpose()?;
        page.check()?;
        Ok(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Formats of the tables.
    pub(crate) fn tables(&self) -> &'a [TableFormat] {
        self.request.tables
    }

    /// Writes the document.
    pub(crate) fn write_document(&self, document: &impl serde::Serialize) -> Result<(), Failure> {
        Ok(write_bytes(&self.path().join("result.json"), json(document).as_bytes())?)
    }

    /// Gives the finished files their place. Tables of an earlier result that this one does not have are removed: they would be read as
    /// a part of it. The folder stays locked until what is returned is dropped: pages and figures may go there too.
    pub(crate) fn commit(self) -> Result<FolderLock, Failure> {
        let stale = earlier_tables(self.request.path);
        Ok(self.folder.commit_without(&stale)?)
    }

    /// Writes the document and all tables of a scored model.
    pub(crate) fn write_score(
        &self,
        document: &ScoreDocument,
        scored: &ScoredSamples<'_>,
    ) -> Result<(), Failure> {
        self.write_document(document)?;
        self.write_embedding(scored.report)?;
        if let Some(labels) = scored.labels {
            self.write_labels(labels, &document.label_scores)?;
            self.write_label_pairs(labels, &document.label_pairs)?;
        }
        for format in self.tables() {
            match format {
                TableFormat::Csv => self.write_csv(scored)?,
                TableFormat::Parquet => self.write_parquet(scored)?,
                TableFormat::Npy => self.write_npy(scored)?,
            }
        }
        for format in self.request.graphs {
            let file = |side: &str| self.path().join(format!("{side}_graph.{}", format.ending()));
            write_graph(&file("input"), scored.report.graphs.input())?;
            write_graph(&file("output"), scored.report.graphs.output())?;
        }
        Ok(())
    }

    fn write_labels(&self, labels: &Labels, scores: &[LabelDocument]) -> Result<(), Failure> {
        TableOf::rows(scores)
            .words("label", |score| word(labels, score.label))
            .numbers("score", |score| score.score)
            .counts("samples", |score| score.samples)
            .numbers("overlap", |score| score.overlap.map(|overlap| overlap.estimate))
            .write(self.path(), "labels", self.tables())
    }

    fn write_label_pairs(&self, labels: &Labels, pairs: &[LabelPairScore]) -> Result<(), Failure> {
        TableOf::rows(pairs)
            .words("a", |pair| word(labels, pair.a))
            .words("b", |pair| word(labels, pair.b))
            .numbers("score", |pair| pair.score)
            .counts("edges", |pair| pair.edges)
            .write(self.path(), "label_pairs", self.tables())
    }

    fn write_csv(&self, scored: &ScoredSamples<'_>) -> Result<(), Failure> {
        let table = NodeTable::of(scored)?;
        let mut nodes = table.header();
        for (index, rank) in scored.ranks().into_iter().enumerate() {
            nodes.push_str(&table.row(index, rank));
        }
        let mut edges = String::from("p,q,score\n");
        let edge_scores = &scored.report.edge_scores;
        for ((p, q), score) in edge_scores.edges().iter().zip(edge_scores.scores()) {
            edges.push_str(&format!("{p},{q},{}\n", Readable(*score)));
        }
        write_bytes(&self.path().join("nodes.csv"), nodes.as_bytes())?;
        write_bytes(&self.path().join("edges.csv"), edges.as_bytes())?;
        Ok(())
    }

    fn write_parquet(&self, scored: &ScoredSamples<'_>) -> Result<(), Failure> {
        let ScoredSamples { report, facts, .. } = scored;
        let scores = report.node_scores.scores();
        let indices: Vec<i64> = (0..scores.len() as i64).collect();
        let ranks: Vec<i64> = scored.ranks().into_iter().map(|rank| rank as i64).collect();
        let words: Option<Vec<String>> =
            scored.labels.map(|labels| (0..scores.len()).map(|index| labels::text(labels, index)).collect());
        let mut nodes = vec![("index", Column::I64(&indices))];
        if let Some(ids) = scored.ids {
            nodes.push(("id", Column::Utf8(ids)));
        }
        if let Some(words) = &words {
            nodes.push(("label", Column::Utf8(words)));
        }
        // NaN, an empty field of CSV, where there are none.
        let no_margins = || vec![f64::NAN; scores.len()];
        let margins = facts.margins.as_ref().map_or_else(no_margins, |margins| margins.values().to_vec());
        nodes.extend([
            ("score", Column::F64(scores)),
            ("rank", Column::I64(&ranks)),
            ("margin", Column::F64(&margins)),
            ("fragility", Column::F64(facts.fragility.values())),
        ]);
        let more = scored.more_columns()?;
        nodes.extend(more.iter().map(|(name, column)| (*name, Column::F64(column))));
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

    fn write_npy(&self, scored: &ScoredSamples<'_>) -> Result<(), Failure> {
        let ScoredSamples { report, facts, .. } = scored;
        let (nodes, edges) = (report.graphs.nodes(), report.edge_scores.len());
        let ends: Vec<i64> =
            report.edge_scores.edges().iter().flat_map(|&(p, q)| [i64::from(p), i64::from(q)]).collect();
        let file = |name: &str| self.path().join(name);
        write_npy(&file("node_scores.npy"), &[nodes], report.node_scores.scores())?;
        write_npy(&file("fragility.npy"), &[nodes], facts.fragility.values())?;
        write_npy(&file("overlap.npy"), &[nodes], facts.overlap.samples().shares())?;
        if let Some(margins) = &facts.margins {
            write_npy(&file("margins.npy"), &[nodes], margins.values())?;
        }
        write_npy(&file("edges.npy"), &[edges, 2], ends.as_slice())?;
        write_npy(&file("edge_scores.npy"), &[edges], report.edge_scores.scores())?;
        Ok(())
    }

    /// What new samples are measured by.
    fn write_embedding(&self, report: &SpadeReport) -> Result<(), Failure> {
        let shape = [report.graphs.nodes(), report.embedding.dim()];
        Ok(write_npy(&self.path().join("embedding.npy"), &shape, report.embedding.values())?)
    }
}

/// Tables of results as CSV, and how their first lines begin; as Parquet they have the same names.
const TABLES: [(&str, &str); 9] = [
    ("nodes", "index,"),
    ("edges", "p,q,score"),
    ("labels", "label,score,samples"),
    ("label_pairs", "a,b,score,edges"),
    ("models", "rank,name,"),
    ("agreement", "a,b,top,"),
    ("layers", "depth,"),
    ("sweep", "neighbors,"),
    ("selected", "index,"),
];

/// Arrays of results.
const ARRAYS: [&str; 8] = [
    "node_scores.npy",
    "fragility.npy",
    "overlap.npy",
    "margins.npy",
    "edges.npy",
    "edge_scores.npy",
    "embedding.npy",
    "scores.npy",
];

/// Tables and arrays of an earlier result in a folder, by their names. Where there is no result of ours, nothing is taken for a part of
/// one; nor is a table of other columns, which somebody else has put there. Graphs and eigenpairs stay: stages take them up.
fn earlier_tables(folder: &Path) -> Vec<String> {
    let result = read_regular(&folder.join("result.json")).unwrap_or_default();
    let schema = serde_json::from_slice::<serde_json::Value>(&result).ok();
    let schema = schema.as_ref().and_then(|result| result.get("schema")?.as_str());
    if !schema.is_some_and(|schema| schema.starts_with("spadework.")) {
        return Vec::new();
    }
    let is_ours = |name: &str, begins: &str| {
        let path = folder.join(name);
        // A pipe would be waited for.
        if !fs::metadata(&path).is_ok_and(|there| there.is_file()) {
            return false;
        }
        let mut line = String::new();
        let read = fs::File::open(&path).and_then(|file| BufReader::new(file).read_line(&mut line));
        read.is_ok() && line.starts_with(begins)
    };
    let csv = TABLES.iter().map(|(name, begins)| (format!("{name}.csv"), begins));
    let csv = csv.filter(|(name, begins)| is_ours(name, begins)).map(|(name, _)| name);
    let parquet = TABLES.iter().map(|(name, _)| format!("{name}.parquet"));
    csv.chain(parquet).chain(ARRAYS.iter().map(|&name| name.to_owned())).collect()
}

/// What is known of the samples of a scored model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScoredSamples<'a> {
    pub(crate) report: &'a SpadeReport,
    pub(crate) labels: Option<&'a Labels>,
    pub(crate) ids: Option<&'a [String]>,
    pub(crate) facts: &'a SampleFacts,
    pub(crate) probed: Option<&'a Probed>,
    pub(crate) varied: Option<&'a Varied>,
}

impl ScoredSamples<'_> {
    /// The rank of every sample, from 1 for the most fragile: by fragility for classifiers and embeddings, which is the order of the node scores
    /// for everything else.
    fn ranks(&self) -> Vec<usize> {
        let ranking = self.facts.fragility.ranking();
        let mut ranks = vec![0; ranking.len()];
        for (at, index) in ranking.into_iter().enumerate() {
            ranks[index] = at + 1;
        }
        ranks
    }

    /// Columns after the fragility, one number per sample, NaN if there is none: those that a later `check` compares, and what
    /// probes have shown.
    pub(crate) fn more_columns(&self) -> Result<Vec<(&'static str, Vec<f64>)>, Failure> {
        let overlap = self.facts.overlap.samples().shares().to_vec();
        let mut columns = vec![("overlap", overlap)];
        if let Some(correct) = &self.facts.correct {
            columns.push(("correct", correct.iter().map(|&is| f64::from(u8::from(is))).collect()));
        }
        if let Some(probed) = self.probed {
            columns.extend(probing::columns(probed, self.labels.map(Labels::ids))?);
        }
        if let Some(varied) = self.varied {
            columns.extend(script::columns(varied, self.labels.map(Labels::ids))?);
        }
        Ok(columns)
    }
}

/// The table of samples as CSV, row by row.
pub(crate) struct NodeTable<'a> {
    scored: &'a ScoredSamples<'a>,
    more: Vec<(&'static str, Vec<f64>)>,
}

impl<'a> NodeTable<'a> {
    pub(crate) fn of(scored: &'a ScoredSamples<'a>) -> Result<Self, Failure> {
        Ok(Self { scored, more: scored.more_columns()? })
    }

    pub(crate) fn header(&self) -> String {
        let more: String = self.more.iter().map(|(name, _)| format!(",{name}")).collect();
        let id = if self.scored.ids.is_some() { ",id" } else { "" };
        format!("index{id},label,score,rank,margin,fragility{more}\n")
    }

    pub(crate) fn row(&self, index: usize, rank: usize) -> String {
        let ScoredSamples { report, labels, facts, .. } = self.scored;
        let label = labels.map(|labels| csv_field(&labels::text(labels, index))).unwrap_or_default();
        let score = Readable(report.node_scores.scores()[index]);
        let margin =
            optional_field(facts.margins.as_ref().map_or(f64::NAN, |margins| margins.values()[index]));
        let fragility = Readable(facts.fragility.values()[index]);
        let more: String = self.more.iter().map(|(_, column)| optional_field(column[index])).collect();
        let id = self.scored.ids.map_or_else(String::new, |ids| format!(",{}", csv_field(&ids[index])));
        format!("{index}{id},{label},{score},{rank}{margin},{fragility}{more}\n")
    }
}

/// A comma and a number, or nothing after it where there is none.
fn optional_field(value: f64) -> String {
    if value.is_nan() { ",".to_owned() } else { format!(",{}", Readable(value)) }
}
