//! What a reader of a result must know in addition to its numbers.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hasher};

use spadework::Samples;
use spadework::graph::Weights;
use spadework::neighbors::{ApproximateSearch, Recall, Ties};
use spadework::pipeline::{Diagnostics, SUBSAMPLES};
use spadework_document::score::CorruptionDocument;

use crate::observer::Session;
use crate::printable;
use crate::wording::{NoteCode, Voice};

/// Sums of probabilities in single precision are off by less than this.
const SUM_SLACK: f64 = 1e-3;
/// Probabilities of single precision may be below 0 by rounding, as in −3.6e-7.
const LEAST_PROBABILITY: f64 = -1e-5;

/// Outputs that are probably not what the user meant: probabilities, labels or predictions instead of the values before the
/// softmax. `whose` goes in front, where there are several models.
pub(crate) fn about_outputs(outputs: &Samples<'_>, whose: &str, session: &Session<'_>) {
    about_probabilities(outputs, whose, session);
    let distinct = distinct_rows(outputs);
    if distinct < outputs.len() / 2 {
        session.note(
            NoteCode::RepeatedOutputs,
            format!(
                "{whose}the outputs have only {distinct} different rows among {}: are these labels or predictions?",
                outputs.len()
            ),
        );
    }
}

/// Outputs that are probably those of a softmax.
pub(crate) fn about_probabilities(outputs: &Samples<'_>, whose: &str, session: &Session<'_>) {
    if look_like_probabilities(outputs) {
        session.note(
            NoteCode::Probabilities,
            format!(
                "{whose}every row of the outputs is non-negative and sums to 1: these look like probabilities, and scores are \
                 meant for the values before the softmax. If there are none, pass the logarithms of the probabilities"
            ),
        );
    }
}

/// Labels that say hardly more about the outputs than guesses would. `whose` goes in front, where there are several models;
/// `was_run` where the outputs come from a model that was run here.
pub(crate) fn about_accuracy(
    accuracy: Option<f64>,
    classes: usize,
    whose: &str,
    was_run: bool,
    session: &Session<'_>,
) {
    /// As far above guesses as this, on the way to being always right.
    const BARELY: f64 = 0.1;
    let guessed = 1.0 / classes.max(1) as f64;
    if let Some(accuracy) = accuracy.filter(|part| *part < guessed + BARELY * (1.0 - guessed)) {
        let name = |argument| session.voice().name(argument);
        let advice = if was_run {
            format!(
                " If the model expects other inputs or has several outputs: {}, {}, {}",
                name("normalize"),
                name("input_layout"),
                name("output_name")
            )
        } else {
            String::new()
        };
        session.note(
            NoteCode::LowAccuracy,
            format!(
                "{whose}only {:.2} % of the samples have their largest output at their label: are the outputs classes, in the \
                 order of the labels?{advice}",
                100.0 * accuracy
            ),
        );
    }
}

/// Samples that share a name; `source` is what the user typed for the names.
pub(crate) fn about_ids(ids: &[String], source: &str, session: &Session<'_>) {
    let mut first = HashMap::new();
    let mut repeated = ids.iter().enumerate().filter_map(|(row, id)| {
        let earlier = *first.entry(id).or_insert(row);
        (earlier < row).then_some((id, earlier, row))
    });
    let Some((id, earlier, row)) = repeated.next() else { return };
    let others = repeated.count();
    let more = if others == 0 { String::new() } else { format!(", and {others} more samples share an id") };
    session.note(
        NoteCode::RepeatedIds,
        format!(
            "{source}: samples {earlier} and {row} (counted from 0) have the same id, {}{more}",
            printable(id)
        ),
    );
}

/// How the graphs of one model came about.
pub(crate) fn about_graphs(diagnostics: &Diagnostics, samples: usize, session: &Session<'_>) {
    let connection = &diagnostics.connection;
    let (input, output) = (connection.input, connection.output);
    if connection.used > connection.requested {
        session.note(
            NoteCode::NeighborsGrown,
            format!(
                "{} neighbors leave the graphs in {} input and {} output components; {} neighbors connect both graphs and \
                 are used. {}",
                connection.requested,
                input.components_found,
                output.components_found,
                connection.used,
                grown_means(connection.requested, connection.used, session)
            ),
        );
    }
    if input.bridges + output.bridges > 0 {
        session.note(
            NoteCode::Bridges,
            format!(
                "{} input and {} output bridges connect the components that {} neighbors leave",
                input.bridges, output.bridges, connection.requested
            ),
        );
    }
    about_search("inputs", diagnostics.input_recall, session);
    about_search("outputs", diagnostics.output_recall, session);
    if diagnostics.input_graph.given {
        about_given_graph(input.components_found, session);
    }
    let raised = [("input", diagnostics.input_graph), ("output", diagnostics.output_graph)];
    for (side, count) in raised.map(|(side, made)| (side, made.weights_raised)) {
        if count > 0 {
            session.note(
                NoteCode::WeightsRaised,
                format!(
                    "{count} {side} weights were below {0:e} and were raised to this value",
                    Weights::LEAST
                ),
            );
        }
    }
    about_copies(diagnostics, samples, session);
}

/// What a k that grew does to the numbers, and what else can be done.
pub(crate) fn grown_means(requested: usize, used: usize, session: &Session<'_>) -> String {
    format!(
        "SPADE scores with k = {used} describe larger neighborhoods and cannot be compared with those with k = {requested}; the overlap \
         uses k = {requested}. {} keeps k = {requested} and connects the components by their shortest edges",
        session.voice().argument("connectivity", "bridge")
    )
}

/// An input graph that was given in several pieces.
pub(crate) fn about_given_graph(components: usize, session: &Session<'_>) {
    if components > 1 {
        session.note(
            NoteCode::InputGraphInPieces,
            format!("the given input graph has {components} components; pairs between them are not scored"),
        );
    }
}

/// Samples whose neighbors are exact copies, chosen among more of them.
pub(crate) fn about_copies(diagnostics: &Diagnostics, samples: usize, session: &Session<'_>) {
    about_input_copies(diagnostics, samples, session);
    about_output_copies("outputs", diagnostics, samples, session);
}

/// The same of the inputs, which several models may share.
pub(crate) fn about_input_copies(diagnostics: &Diagnostics, samples: usize, session: &Session<'_>) {
    let Diagnostics { inputs_decided_by_index, connection, .. } = diagnostics;
    copies("inputs", *inputs_decided_by_index, samples, connection.requested, BY_INDEX, session);
}

/// The same of the outputs of one model; `which` names them.
pub(crate) fn about_output_copies(
    which: &str,
    diagnostics: &Diagnostics,
    samples: usize,
    session: &Session<'_>,
) {
    let Diagnostics { outputs_decided_by_inputs, outputs_decided_by_index, connection, .. } = diagnostics;
    let (count, what) = match diagnostics.ties {
        // The index still decides between samples that are copies on both sides; the note on the inputs counts them.
        Some(Ties::Inputs) => {
            (outputs_decided_by_inputs, "their distance at the input decides which of them are neighbors")
        }
        _ if diagnostics.params.ties == Ties::Inputs => (
            outputs_decided_by_index,
            "the index decides which of them are neighbors, because a graph of the inputs has no distances that could",
        ),
        _ => (outputs_decided_by_index, BY_INDEX),
    };
    copies(which, *count, samples, connection.requested, what, session);
}

/// What decides among copies on one side, and among those of outputs where that was asked for.
const BY_INDEX: &str = "the index decides which of them are neighbors";

fn copies(side: &str, count: usize, samples: usize, neighbors: usize, decides: &str, session: &Session<'_>) {
    if count > 0 {
        session.note(
            NoteCode::ExactCopies,
            format!("{count} of {samples} {side} have at least {neighbors} exact copies: {decides}"),
        );
    }
}

/// What an approximate search may have cost.
pub(crate) fn about_search(side: &str, recall: Recall, session: &Session<'_>) {
    let Recall::Sampled { rows, .. } = recall else { return };
    let short = if recall.share() < ApproximateSearch::RECALL {
        format!(", below the target of {}: do not trust this score", ApproximateSearch::RECALL)
    } else {
        String::new()
    };
    let exact = match session.voice() {
        Voice::Command => "`--search exact`".to_owned(),
        Voice::Python => session.voice().argument("search", "exact"),
    };
    session.note(
        NoteCode::ApproximateSearch,
        format!(
            "the neighbors of the {side} were searched approximately: recall {:.4}, measured on {rows} rows{short}. A few \
             missing neighbors can change the SPADE score by several percent (5.6 % was seen at recall 0.998); {exact} \
             misses none",
            recall.share()
        ),
    );
}

/// Subsamples that were hard to connect.
pub(crate) fn about_subsamples(grown: usize, neighbors: usize, session: &Session<'_>) {
    if grown > 0 {
        session.note(
            NoteCode::SubsamplesGrown,
            format!(
                "{grown} of {SUBSAMPLES} subsamples needed more than {neighbors} neighbors to be connected: the interval is \
                 less certain"
            ),
        );
    }
}

/// Reminds of what outputs must be that come from a file; those of a model that is run here are right anyway.
pub(crate) fn about_corruption(corruption: Option<&CorruptionDocument>, session: &Session<'_>) {
    if let Some(CorruptionDocument { kind, severity, seed, .. }) = corruption {
        session.note(
            NoteCode::CorruptedInputs,
            format!(
                "the inputs are corrupted ({kind}:{severity}, seed {seed}); the outputs must be those of the same images, as \
                 `spadework corrupt` writes them"
            ),
        );
    }
}

/// Whether every row is non-negative, up to rounding, and sums to 1.
fn look_like_probabilities(samples: &Samples<'_>) -> bool {
    samples.dim() > 1
        && (0..samples.len()).all(|p| {
            let row = samples.values().doubles(samples.place(p));
            is_distribution(row.iter().copied())
        })
}

fn is_distribution(row: impl Iterator<Item = f64> + Clone) -> bool {
    row.clone().all(|value| value >= LEAST_PROBABILITY) && (row.sum::<f64>() - 1.0).abs() <= SUM_SLACK
}

/// Number of different rows. Rows are distinguished by a hash of 64 bits, so that none has to be kept: enough for a note.
fn distinct_rows(samples: &Samples<'_>) -> usize {
    let hash = |p: usize| {
        let mut hasher = DefaultHasher::new();
        for value in samples.values().doubles(samples.place(p)).iter() {
            hasher.write_u64(value.to_bits());
        }
        hasher.finish()
    };
    (0..samples.len()).map(hash).collect::<HashSet<u64>>().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_probabilities_from_logits() {
        let of = |values: [f32; 4]| Samples::from_f32(2, 2, values.to_vec()).unwrap();
        assert!(look_like_probabilities(&of([0.25, 0.75, 1.0, 0.0])));
        assert!(look_like_probabilities(&of([0.25, 0.75, 1.0, -3.6e-7])));
        assert!(!look_like_probabilities(&of([0.25, 0.75, 1.5, -0.5])));
        assert!(!look_like_probabilities(&of([0.25, 0.75, 1.0, 0.1])));
        let column = Samples::from_f32(2, 1, vec![1.0, 1.0]).unwrap();
        assert!(!look_like_probabilities(&column));
    }

    #[test]
    fn counts_different_rows() {
        let samples = Samples::from_f64(4, 1, vec![1.0, 2.0, 1.0, 2.0]).unwrap();
        assert_eq!(distinct_rows(&samples), 2);
        let samples = Samples::from_f32(4, 2, vec![1.0, 2.0, 2.0, 1.0, 1.0, 2.0, 0.0, 3.0]).unwrap();
        assert_eq!(distinct_rows(&samples), 3);
    }
}
