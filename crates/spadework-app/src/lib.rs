//! The application behind the command and the Python package: takes a request and returns a result.
//!
//! A request contains arrays, graphs and models, as files or in memory, and says what to compute. Its function loads them,
//! evaluates, computes the facts of the samples, writes files, and returns a result: the report of the core, the facts of the
//! samples, and the document that `--json` prints. Read [`score`] first; the other requests follow the same path with different
//! work in the middle.
//!
//! - *Notes* are what a reader of a result must know. They go to the [`Observer`] immediately, and into the document.
//! - A [`Failure`] has a [`Kind`], its cause as a value, and a [`Hint`].
//! - A [`Voice`] chooses between the terms of the command (`--search exact`) and those of Python (`search="exact"`).
//!
//! The command parses and prints; Python converts arrays and raises exceptions. Neither computes anything itself.
#![forbid(unsafe_code)]

mod check;
mod compare;
mod constructions;
mod corruption;
mod data;
mod distortion;
mod embed;
mod failure;
mod kept_probes;
mod labels;
mod layers;
mod model_runner;
mod models;
mod moved;
mod new_samples;
mod notes;
mod observer;
mod pages;
mod parts;
mod places;
mod plan;
mod predict;
mod probe_alone;
mod probing;
mod ranking;
mod report;
mod result_folder;
mod resume;
mod room;
mod score;
mod script;
mod select;
mod side_view;
mod sides;
mod stages;
mod store;
mod stored;
mod suspicions;
mod sweep;
mod tables;
mod usage;
mod verdict;
mod wording;

pub use check::{BaselineRequest, CheckRequest, Checked, Limits, check, gate_lines};
pub use compare::{CompareRequest, Compared, compare};
pub use constructions::{GraphsRequest, graphs};
pub use corruption::corrupted;
pub use data::{
    ArraySource, CorruptionRequest, GraphSource, IdSource, InputSource, LabelSource, ModelData, ModelsData,
    OutputSource, Rows, is_model,
};
pub use distortion::{Distorted, DistortionRequest, distortion};
pub use embed::{EmbedRequest, Embedded, Embedding, EmbeddingFormat, embed};
pub use failure::{Cause, Failure, Kind, Subject};
pub use kept_probes::KeptProbes;
pub use layers::{LayersRequest, layers};
pub use moved::{Moved, MovedRequest, moved};
pub use new_samples::{NewSamplesRequest, NewlyScored, ReferenceSource, score_new_samples};
pub use observer::Observer;
pub use pages::PageRequest;
pub use places::{folder_of, working_folder};
pub use plan::plan;
pub use predict::{PredictRequest, Predicted, predict};
pub use probe_alone::{ProbeModelRequest, ProbedAlone, ProbedModel, probe};
pub use probing::{ModelProbes, ProbeBudget, ProbeRequest, grid_of};
pub use ranking::{Evidence, Known, RankBy, Ranking};
pub use report::{ReportRequest, ScorePageRequest, page_of_document, page_of_score, report};
pub use result_folder::{FolderRequest, GraphFormat};
pub use score::{Extras, Probes, ScoreRequest, Scored, score};
pub use script::{ScriptProbes, ScriptRequest};
pub use select::{By, SelectRequest, Selected, select};
pub use sides::sparse_inputs;
pub use stages::{
    EigenStageRequest, GraphStageRequest, ScoresStageRequest, StagedEigenpairs, StagedGraphs, StagedScores,
    find_eigenpairs, make_graphs, make_scores,
};
pub use sweep::{SweepRequest, Swept, sweep};
pub use tables::{TableFormat, csv_field, markdown_field};
pub use usage::{NeedsDense, OtherStage, Usage};
pub use verdict::verdict;
pub use wording::{Hint, NoteCode, Voice};

use serde::Serialize;

/// A document as it is printed and written: indented JSON with a line feed at its end.
///
/// # Panics
/// Never: every field of a document can be written.
pub fn json(document: &impl Serialize) -> String {
    serde_json::to_string_pretty(document).expect("numbers and words can be written as JSON") + "\n"
}

/// A text from a file, without control characters, because a label must not move the cursor.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        assert_eq!(csv_field("cat"), "cat");
        assert_eq!(csv_field("=cmd|' /C calc'!A0"), "'=cmd|' /C calc'!A0");
        assert_eq!(csv_field("@SUM(1,2)"), "\"'@SUM(1,2)\"");
        assert_eq!(["-1", "+2.5e3", "a=b"].map(csv_field), ["-1", "+2.5e3", "a=b"]);
        assert_eq!(csv_field("a,\"b\""), "\"a,\"\"b\"\"\"");
    }

    #[test]
    fn labels_cannot_move_the_cursor() {
        assert_eq!(printable("a\u{1b}[2Jb"), "a\u{fffd}[2Jb");
    }
}
