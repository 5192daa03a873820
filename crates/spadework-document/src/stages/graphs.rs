//! The graphs of both sides, made together: `grow` takes one k for both.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use spadework::error::UnknownWord;
use spadework::graph::{Connection, SideConnection};
use spadework::neighbors::Recall;
use spadework::pipeline::{Construction, Diagnostics, Timings};

use super::{Recipe, SCHEMA, StageDocument, duration};
use crate::parts::SourcesDocument;
use crate::request::RequestDocument;
use crate::score::{NeighborsDocument, PlaceDocument, TimingsDocument};

const STAGE: &str = "graph";

/// How both graphs were made: the document inside each of the two files.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GraphStage {
    /// Name and version of the layout.
    pub schema: String,
    /// `graph`.
    pub stage: String,
    /// What they were made from.
    pub made_from: Recipe,
    /// Neighbors per sample, k.
    pub neighbors: NeighborsDocument,
    /// The parameters requested; those of later stages are not used.
    pub request: RequestDocument,
    /// The input side.
    pub input: SideFacts,
    /// The output side.
    pub output: SideFacts,
    /// What was scored, as fields of the document itself.
    #[serde(flatten)]
    pub sources: SourcesDocument,
    /// Where the labels of the samples are, whether they were named or came with the inputs.
    pub labels: Option<PlaceDocument>,
    /// Wall-clock seconds; those of later stages are 0.
    pub timings: TimingsDocument,
}

/// What it took to make one graph.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SideFacts {
    /// Numbers per sample; 0 if a graph was given.
    pub dim: usize,
    /// How it was connected.
    #[serde(flatten)]
    pub connection: SideConnection,
    /// How it was made of its samples.
    #[serde(flatten)]
    pub construction: Construction,
    /// Samples with so many exact copies that only the index decides which of them are neighbors.
    pub decided_by_index: usize,
    /// Samples with so many exact copies that their distance at the input decides which of them are neighbors.
    pub decided_by_inputs: usize,
    /// What decides which of equally near outputs are neighbors: `inputs` or `index`; absent if no two outputs are equal.
    pub ties: Option<String>,
    /// How many of the true neighbors were found, if that was measured; all if it is absent.
    pub recall: Option<RecallFacts>,
}

/// What an approximate search found of the true neighbors of some rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecallFacts {
    /// Rows that were compared.
    pub rows: usize,
    /// True neighbors found.
    pub found: usize,
    /// True neighbors.
    pub of: usize,
}

impl StageDocument for GraphStage {
    const STAGE: &'static str = STAGE;
}

impl GraphStage {
    /// How graphs were made that come with these diagnostics. Data, model, corruption and labels are the
    /// caller's to tell.
    pub fn new(made_from: Recipe, diagnostics: &Diagnostics) -> Self {
        let Diagnostics { params, connection, .. } = diagnostics;
        let side =
            |dim, connection: SideConnection, made: Construction, decided_by_index, recall| SideFacts {
                dim,
                connection,
                construction: made,
                decided_by_index,
                decided_by_inputs: 0,
                ties: None,
                recall: match recall {
                    Recall::Exact => None,
                    Recall::Sampled { rows, found, of } => Some(RecallFacts { rows, found, of }),
                },
            };
        Self {
            schema: SCHEMA.to_owned(),
            stage: STAGE.to_owned(),
            made_from,
            neighbors: NeighborsDocument { requested: connection.requested, used: connection.used },
            request: params.into(),
            input: side(
                diagnostics.input_dim,
                connection.input,
                diagnostics.input_graph,
                diagnostics.inputs_decided_by_index,
                diagnostics.input_recall,
            ),
            output: SideFacts {
                decided_by_inputs: diagnostics.outputs_decided_by_inputs,
                ties: diagnostics.ties.map(|ties| ties.to_string()),
                ..side(
                    diagnostics.output_dim,
                    connection.output,
                    diagnostics.output_graph,
                    diagnostics.outputs_decided_by_index,
                    diagnostics.output_recall,
                )
            },
            sources: SourcesDocument::default(),
            labels: None,
            timings: diagnostics.timings.into(),
        }
    }

    /// The diagnostics that graphs of this document come with.
    ///
    /// # Errors
    /// When the document holds a word that this version does not know.
    pub fn diagnostics(&self) -> Result<Diagnostics, UnknownWord> {
        let NeighborsDocument { requested, used } = self.neighbors;
        let params = self.request.params()?;
        let mut connection = Connection::default();
        connection.policy = params.connectivity;
        (connection.requested, connection.used) = (requested, used);
        (connection.input, connection.output) = (self.input.connection, self.output.connection);
        let mut timings = Timings::default();
        timings.neighbors_input = duration(self.timings.neighbors_input_s);
        timings.neighbors_output = duration(self.timings.neighbors_output_s);
        timings.graphs = duration(self.timings.graphs_s);
        let mut diagnostics = Diagnostics::default();
        (diagnostics.input_dim, diagnostics.output_dim) = (self.input.dim, self.output.dim);
        diagnostics.input_graph = self.input.construction;
        diagnostics.output_graph = self.output.construction;
        diagnostics.connection = connection;
        diagnostics.inputs_decided_by_index = self.input.decided_by_index;
        diagnostics.outputs_decided_by_index = self.output.decided_by_index;
        diagnostics.outputs_decided_by_inputs = self.output.decided_by_inputs;
        diagnostics.ties = self.output.ties.as_deref().map(str::parse).transpose()?;
        (diagnostics.input_recall, diagnostics.output_recall) = (self.input.recall(), self.output.recall());
        diagnostics.timings = timings;
        diagnostics.params = params;
        Ok(diagnostics)
    }
}

impl SideFacts {
    fn recall(&self) -> Recall {
        match self.recall {
            None => Recall::Exact,
            Some(RecallFacts { rows, found, of }) => Recall::Sampled { rows, found, of },
        }
    }
}
