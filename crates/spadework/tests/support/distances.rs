//! The reference distances of `tests/fixtures/distances`, made by SciPy alone; `scripts/make_distance_fixtures.py`
//! documents the fields.

use std::path::Path;

use serde_json::Value;
use spadework::{Graph, GraphPair};

use super::pair;

/// One case: two graphs, and what SciPy says about them.
pub(crate) struct DistanceFixture {
    pub(crate) name: String,
    pub(crate) graphs: GraphPair,
    json: Value,
}

impl DistanceFixture {
    fn from_json(json: Value) -> Self {
        let nodes = json["samples"].as_u64().expect("a number") as usize;
        let graph = |field: &str| {
            let edge = |e: &Value| (whole(&e[0]), whole(&e[1]), e[2].as_f64().expect("a weight"));
            let edges: Vec<_> = json[field].as_array().expect("edges").iter().map(edge).collect();
            if edges.iter().all(|edge| edge.2 == 1.0) {
                let unit: Vec<_> = edges.iter().map(|&(p, q, _)| (p, q)).collect();
                return Graph::from_edges(nodes, &unit).expect("edges of a graph");
            }
            Graph::from_weighted_edges(nodes, &edges).expect("edges of a graph")
        };
        let name = json["name"].as_str().expect("a name").to_owned();
        Self { name, graphs: pair(graph("input_edges"), graph("output_edges")), json }
    }

    pub(crate) fn number(&self, field: &str) -> f64 {
        self.json[field].as_f64().expect("a number")
    }

    pub(crate) fn numbers(&self, field: &str) -> Vec<f64> {
        self.json[field].as_array().expect("a list").iter().map(|v| v.as_f64().expect("a number")).collect()
    }

    /// The nodes from which hops were counted, and the hops to every node.
    pub(crate) fn hops(&self, field: &str) -> Vec<(u32, Vec<u32>)> {
        let rows = self.json[field].as_array().expect("rows").iter();
        let row = |row: &Value| row.as_array().expect("a row").iter().map(whole).collect();
        let sources = self.json["sources"].as_array().expect("sources").iter().map(whole);
        sources.zip(rows.map(row)).collect()
    }

    /// The pair of largest distortion and its value.
    pub(crate) fn largest_distortion(&self) -> (u32, u32, f64) {
        let worst = &self.json["largest_distortion"];
        (whole(&worst[0]), whole(&worst[1]), worst[2].as_f64().expect("a number"))
    }

    /// The edges of the input graph, in the order of the fields that have one number per edge.
    pub(crate) fn edges(&self) -> Vec<(u32, u32)> {
        self.graphs.input().edges().map(|(p, q, _)| (p, q)).collect()
    }
}

fn whole(json: &Value) -> u32 {
    json.as_u64().expect("an integer") as u32
}

/// Every case there is.
pub(crate) fn all() -> Vec<DistanceFixture> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/distances");
    let names = ["clusters_tanh_weighted", "disconnected_bridge_weighted", "swiss_roll_linear"];
    let read = |name: &str| {
        let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).expect("a fixture");
        DistanceFixture::from_json(serde_json::from_str(&text).expect("JSON"))
    };
    names.map(read).into()
}
