//! The reference cases of `tests/fixtures`, made by SciPy alone; `scripts/make_oracle_fixtures.py` documents the fields.

use std::path::Path;

use serde_json::Value;
use spadework::graph::Connectivity;
use spadework::{Graph, GraphPair, PairedSamples, Samples};

use super::pair;

/// One reference case.
pub(crate) struct Fixture {
    pub(crate) name: String,
    pub(crate) samples: usize,
    pub(crate) neighbors: usize,
    pub(crate) neighbors_used: usize,
    pub(crate) connectivity: Connectivity,
    pub(crate) eigenpairs: usize,
    pub(crate) labels: Vec<i64>,
    pub(crate) input: FixtureSide,
    pub(crate) output: FixtureSide,
    pub(crate) eigenvalues: Vec<f64>,
    pub(crate) next_eigenvalue: f64,
    pub(crate) edge_scores: Vec<f64>,
    pub(crate) node_scores: Vec<f64>,
    /// Label, mean node score, samples.
    pub(crate) label_scores: Vec<(i64, f64, usize)>,
    pub(crate) eigenvalue_sum: f64,
    pub(crate) resistance_sum: f64,
    pub(crate) reverse_score: f64,
    pub(crate) riemannian_distance: f64,
}

/// What a fixture says about inputs or outputs.
pub(crate) struct FixtureSide {
    pub(crate) dim: usize,
    pub(crate) values: Vec<f64>,
    pub(crate) components: usize,
    pub(crate) neighbors: Vec<Vec<u32>>,
    pub(crate) bridges: Vec<(u32, u32)>,
    pub(crate) edges: Vec<(u32, u32)>,
}

impl Fixture {
    fn from_json(json: &Value) -> Self {
        Self {
            name: json["name"].as_str().expect("a name").to_owned(),
            samples: integer(&json["samples"]),
            neighbors: integer(&json["neighbors"]),
            neighbors_used: integer(&json["neighbors_used"]),
            connectivity: json["connectivity"].as_str().expect("a word").parse().expect("a policy"),
            eigenpairs: integer(&json["eigenpairs"]),
            labels: list(&json["labels"], |v| v.as_i64().expect("an integer")),
            input: FixtureSide::from_json(json, "input"),
            output: FixtureSide::from_json(json, "output"),
            eigenvalues: list(&json["eigenvalues"], number),
            next_eigenvalue: number(&json["next_eigenvalue"]),
            edge_scores: list(&json["edge_scores"], number),
            node_scores: list(&json["node_scores"], number),
            label_scores: list(&json["label_scores"], |v| {
                (v[0].as_i64().expect("a label"), number(&v[1]), integer(&v[2]))
            }),
            eigenvalue_sum: number(&json["eigenvalue_sum"]),
            resistance_sum: number(&json["resistance_sum"]),
            reverse_score: number(&json["reverse_score"]),
            riemannian_distance: number(&json["riemannian_distance"]),
        }
    }

    /// The graphs as the fixture gives them, so that the spectral part is tested apart from the searches.
    pub(crate) fn graphs(&self) -> GraphPair {
        pair(self.input.graph(self.samples), self.output.graph(self.samples))
    }

    /// Inputs and outputs in double precision.
    pub(crate) fn paired(&self) -> PairedSamples<'_> {
        PairedSamples::new(self.input.in_f64(self.samples), self.output.in_f64(self.samples)).expect("a pair")
    }
}

impl FixtureSide {
    fn from_json(json: &Value, side: &str) -> Self {
        let field = |name: &str| &json[format!("{side}_{name}")];
        let edge = |v: &Value| (integer(&v[0]) as u32, integer(&v[1]) as u32);
        Self {
            dim: integer(field("dim")),
            values: list(&json[format!("{side}s")], |row| list(row, number)).concat(),
            components: integer(field("components")),
            neighbors: list(field("neighbors"), |row| list(row, |v| integer(v) as u32)),
            bridges: list(field("bridges"), edge),
            edges: list(field("edges"), edge),
        }
    }

    pub(crate) fn graph(&self, nodes: usize) -> Graph {
        Graph::from_edges(nodes, &self.edges).expect("edges of a graph")
    }

    pub(crate) fn in_f64(&self, samples: usize) -> Samples<'_> {
        Samples::from_f64(samples, self.dim, self.values.as_slice()).expect("finite")
    }

    /// The same samples in single precision; the coordinates are chosen to be exact in it.
    pub(crate) fn in_f32(&self, samples: usize) -> Samples<'static> {
        let values: Vec<f32> = self.values.iter().map(|&v| v as f32).collect();
        assert!(
            values.iter().zip(&self.values).all(|(&a, &b)| f64::from(a) == b),
            "exact in single precision"
        );
        Samples::from_f32(samples, self.dim, values).expect("finite")
    }
}

/// Every fixture there is, by name.
pub(crate) fn all() -> Vec<Fixture> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .expect("the folder of fixtures")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    paths.sort();
    assert!(paths.len() >= 5, "fixtures are missing");
    paths.iter().map(|path| Fixture::from_json(&parse(path))).collect()
}

fn parse(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).expect("readable");
    serde_json::from_str(&text).expect("JSON")
}

fn list<T>(json: &Value, item: impl FnMut(&Value) -> T) -> Vec<T> {
    json.as_array().expect("a list").iter().map(item).collect()
}

fn integer(json: &Value) -> usize {
    json.as_u64().expect("an integer") as usize
}

fn number(json: &Value) -> f64 {
    json.as_f64().expect("a number")
}
