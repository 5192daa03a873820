//! The result of a sweep as a document: what `sweep --json` prints.
//!
//! The fields and their names are an interface: they change only with the number in [`SCHEMA`].

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use spadework::SpadeParams;
use spadework::graph::SideConnection;
use spadework::pipeline::{Sweep, SweepPoint, SweepScore, SweepScores};
use std::collections::BTreeMap;

use crate::parts::{MadeDocument, MethodDocument, SpectrumDocument};
use crate::score::{ModelFileDocument, SearchDocument};
use crate::stored::StoredDocument;

/// Name and version of the layout.
pub const SCHEMA: &str = "spadework.sweep/3";

/// Scores of models over k.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweepDocument {
    /// Name and version of the layout.
    pub schema: String,
    /// Names of the models, in the order given.
    pub models: Vec<String>,
    /// The files of those that were run, with their names; outputs that were given as arrays have none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, ModelFileDocument>,
    /// One point for every k, ascending.
    pub points: Vec<PointDocument>,
    /// The longest range of k over which the models keep their order; only with several models.
    pub stable: Option<StableDocument>,
    /// Every k at which a graph was not connected.
    pub disconnected: Vec<usize>,
    /// Number of samples.
    pub samples: usize,
    /// How it was scored, as fields of the document itself.
    #[serde(flatten)]
    pub method: MethodDocument,
    /// How the neighbors of the inputs were searched; absent if their graph was given.
    pub input_search: Option<SearchDocument>,
    /// How the neighbors of the outputs of every model were searched.
    pub output_searches: Vec<SearchDocument>,
    /// Request, notes and version, as fields of the document itself.
    #[serde(flatten)]
    pub made: MadeDocument,
    /// Wall-clock seconds.
    pub timings: SweepTimings,
}

/// One k.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PointDocument {
    /// Neighbors per sample, k.
    pub neighbors: usize,
    /// Neighbors used; larger if the policy `grow` increased them. Absent if this k was refused.
    pub used: Option<usize>,
    /// Components of the input graph with k neighbors, or of the graph given.
    pub input_components: Option<usize>,
    /// Bridges added to the input graph.
    pub input_bridges: Option<usize>,
    /// The models in the order given; empty if this k was refused.
    pub scores: Vec<PointScore>,
    /// Names of the models, most robust first.
    pub ranking: Vec<String>,
    /// Why there is no score under the policy `error`.
    pub refused: Option<String>,
}

/// One model at one k.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PointScore {
    /// The model's name.
    pub name: String,
    /// The SPADE score, as fields of the point itself.
    #[serde(flatten)]
    pub spectrum: SpectrumDocument,
    /// Components of the output graph with k neighbors.
    pub output_components: usize,
    /// Bridges added to the output graph.
    pub output_bridges: usize,
}

/// A range of k over which the models keep their order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StableDocument {
    /// The smallest k.
    pub from: usize,
    /// The largest k.
    pub to: usize,
    /// How many of the k swept lie in it.
    pub points: usize,
    /// Names of the models, most robust first.
    pub ranking: Vec<String>,
}

/// An order of models that holds for most k.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsualOrder {
    /// Names of the models, most robust first.
    pub ranking: Vec<String>,
    /// At how many k it holds.
    pub points: usize,
    /// How many k have scores.
    pub of: usize,
}

/// Wall-clock seconds of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SweepTimings {
    /// All neighbor searches.
    pub neighbors_s: f64,
    /// All of it, reading and writing files not counted.
    pub total_s: f64,
}

impl StoredDocument for SweepDocument {
    const SCHEMA: &'static str = SCHEMA;
}

impl SweepDocument {
    /// The document of a sweep of `samples` samples.
    pub fn new(sweep: &Sweep, params: &SpadeParams, samples: usize) -> Self {
        let named = |ranking: &[usize]| -> Vec<String> {
            ranking.iter().map(|&model| sweep.models[model].clone()).collect()
        };
        let stable = sweep.stable_range().map(|range| StableDocument {
            from: range.from,
            to: range.to,
            points: range.points,
            ranking: named(&range.ranking),
        });
        Self {
            schema: SCHEMA.to_owned(),
            models: sweep.models.clone(),
            files: BTreeMap::new(),
            points: sweep.points.iter().map(|point| PointDocument::new(point, &sweep.models)).collect(),
            stable,
            disconnected: disconnected(sweep),
            samples,
            method: params.into(),
            input_search: sweep.input_recall.map(SearchDocument::from),
            output_searches: sweep.output_recalls.iter().map(|&recall| recall.into()).collect(),
            timings: SweepTimings {
                neighbors_s: sweep.searching.as_secs_f64(),
                total_s: sweep.total.as_secs_f64(),
            },
            made: params.into(),
        }
    }

    /// The order that the models have at more than half of the k that have scores; absent if no order holds for most k.
    pub fn usual_order(&self) -> Option<UsualOrder> {
        let mut counts = BTreeMap::<&[String], usize>::new();
        for point in self.scored() {
            *counts.entry(&point.ranking).or_default() += 1;
        }
        let of = self.scored().count();
        let (ranking, points) = counts.into_iter().max_by_key(|&(_, count)| count)?;
        (2 * points > of).then(|| UsualOrder { ranking: ranking.to_vec(), points, of })
    }

    /// Pairs of models of which the first is more robust by its score at every k that has scores.
    pub fn pairs_everywhere(&self) -> Vec<(&str, &str)> {
        let place = |point: &PointDocument, name: &str| point.ranking.iter().position(|other| other == name);
        let holds = |a: &str, b: &str| {
            self.scored().next().is_some() && self.scored().all(|point| place(point, a) < place(point, b))
        };
        let all = self.models.iter().flat_map(|a| self.models.iter().map(move |b| (a.as_str(), b.as_str())));
        all.filter(|(a, b)| a != b && holds(a, b)).collect()
    }

    fn scored(&self) -> impl Iterator<Item = &PointDocument> {
        self.points.iter().filter(|point| !point.ranking.is_empty())
    }
}

fn disconnected(sweep: &Sweep) -> Vec<usize> {
    let fell_apart = |mended: SideConnection| mended.components_found > 1;
    // The pieces of a given graph have nothing to do with k.
    let inputs_fell_apart = |mended: SideConnection| sweep.input_recall.is_some() && fell_apart(mended);
    let is_disconnected = |point: &&SweepPoint| match &point.scores {
        Err(_) => true,
        Ok(scores) => {
            inputs_fell_apart(scores.input) || scores.models.iter().any(|model| fell_apart(model.output))
        }
    };
    sweep.points.iter().filter(is_disconnected).map(|point| point.neighbors).collect()
}

impl PointDocument {
    fn new(point: &SweepPoint, names: &[String]) -> Self {
        let scores = point.scores.as_ref();
        let ranking = scores.map(SweepScores::ranking).unwrap_or_default();
        let models = scores.map_or(&[][..], |scores| &scores.models);
        Self {
            neighbors: point.neighbors,
            used: scores.ok().map(|scores| scores.used),
            input_components: scores.ok().map(|scores| scores.input.components_found),
            input_bridges: scores.ok().map(|scores| scores.input.bridges),
            scores: models.iter().zip(names).map(|(score, name)| PointScore::new(score, name)).collect(),
            ranking: ranking.into_iter().map(|model| names[model].clone()).collect(),
            refused: scores.err().map(ToString::to_string),
        }
    }
}

impl PointScore {
    fn new(score: &SweepScore, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            spectrum: SpectrumDocument::new(&score.eigenvalues, &score.residuals, score.enclosure),
            output_components: score.output.components_found,
            output_bridges: score.output.bridges,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::RequestDocument;

    fn document(rankings: &[&[&str]]) -> SweepDocument {
        let point = |(k, ranking): (usize, &&[&str])| serde_json::json!({"neighbors": k, "scores": [], "ranking": ranking});
        let points: Vec<_> = rankings.iter().enumerate().map(point).collect();
        let request = RequestDocument::from(&SpadeParams::default());
        serde_json::from_value(serde_json::json!({
            "schema": SCHEMA, "models": ["a", "b", "c"], "points": points, "disconnected": [], "samples": 9, "graph": "",
            "weights": "", "output_searches": [], "connectivity": "", "eigenpairs": 2, "tolerance": 0.0, "seed": 0,
            "request": request, "notes": [], "timings": {"neighbors_s": 0.0, "total_s": 0.0}, "version": ""
        }))
        .unwrap()
    }

    #[test]
    fn an_order_must_hold_for_most_k() {
        let most = document(&[&["a", "b", "c"], &["a", "c", "b"], &["a", "b", "c"]]);
        let order = most.usual_order().unwrap();
        assert_eq!((order.points, order.of, order.ranking.concat().as_str()), (2, 3, "abc"));
        assert_eq!(most.pairs_everywhere(), [("a", "b"), ("a", "c")]);
        // Half is not most, and a k without scores says nothing.
        let half = document(&[&["a", "b", "c"], &["c", "a", "b"], &[]]);
        assert_eq!(half.usual_order(), None);
        assert_eq!(half.pairs_everywhere(), [("a", "b")]);
        assert_eq!((document(&[]).usual_order(), document(&[]).pairs_everywhere()), (None, Vec::new()));
    }
}
