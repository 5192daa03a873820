//! Indices against scikit-learn, dense linear algebra and SciPy; `scripts/make_index_fixtures.py` documents the fields.

use crate::support::{Stopped, assert_relative, pair};
use serde_json::Value;
use spadework::graph::generators::{cycle, path};
use spadework::pipeline::AverageIndices;
use spadework::scores::Spread;
use spadework::{Error, Graph, PairedSamples, Samples, Silent, SpadeParams, SpadeReport, evaluate};

struct Fixture(Value);

impl Fixture {
    fn read() -> Self {
        let text = include_str!("fixtures/indices/spiral.json");
        Self(serde_json::from_str(text).expect("JSON"))
    }

    fn numbers(&self, field: &str) -> Vec<f64> {
        self.0[field].as_array().expect("a list").iter().map(|v| v.as_f64().expect("a number")).collect()
    }

    fn number(&self, field: &str) -> f64 {
        self.0[field].as_f64().expect("a number")
    }

    fn samples(&self, field: &str) -> Samples<'static> {
        let rows = self.0[field].as_array().expect("rows");
        let row = |row: &Value| {
            row.as_array().expect("a row").iter().map(|v| v.as_f64().expect("a number") as f32).collect()
        };
        let rows: Vec<Vec<f32>> = rows.iter().map(row).collect();
        Samples::from_f32(rows.len(), rows[0].len(), rows.concat()).expect("finite")
    }

    fn scored(&self) -> (PairedSamples<'static>, SpadeReport) {
        let samples = PairedSamples::new(self.samples("inputs"), self.samples("outputs")).expect("a pair");
        let params = SpadeParams::default().with_neighbors(self.number("neighbors") as usize);
        let report = evaluate(&samples, &params, &Silent).expect("scores");
        (samples, report)
    }
}

fn listed(spread: Spread) -> [f64; 8] {
    let Spread { mean, least, p5, p25, median, p75, p95, largest, .. } = spread;
    [mean, least, p5, p25, median, p75, p95, largest]
}

#[test]
fn indices_are_those_of_others() {
    let fixture = Fixture::read();
    let (samples, report) = fixture.scored();
    let found = AverageIndices::of(&report, Some(&samples), &Silent).unwrap();
    assert_eq!(found.edges as f64, fixture.number("edges"), "fewer edges than are drawn: all of them");
    // Sums of whole numbers and one scale on both sides.
    let ranked = found.neighborhoods.unwrap();
    assert_relative(ranked.trustworthiness, fixture.number("trustworthiness"), 1e-14, "trustworthiness");
    assert_relative(ranked.continuity, fixture.number("continuity"), 1e-14, "continuity");
    assert_eq!(ranked.rows, samples.len());
    for (found, expected) in listed(found.geodesic).into_iter().zip(fixture.numbers("geodesic")) {
        assert_relative(found, expected, 1e-14, "hops");
    }
    // Twice the error that resistances promise, since a distortion is a ratio of two.
    for (found, expected) in listed(found.resistance.unwrap()).into_iter().zip(fixture.numbers("resistance"))
    {
        assert_relative(found, expected, 2e-10, "resistance");
    }
}

/// A normal deviate beyond 4 standard errors is a matter of 1 in 16,000, and the seed is fixed.
#[test]
fn the_mean_eigenvalue_is_the_trace_within_its_error() {
    let fixture = Fixture::read();
    let (_, report) = fixture.scored();
    let found = AverageIndices::of(&report, None, &Silent).unwrap();
    let mean = found.mean_eigenvalue;
    let off = (mean.value - fixture.number("mean_eigenvalue")).abs();
    assert!(off < 4.0 * mean.standard_error, "{mean:?}");
    assert!(mean.standard_error < 0.1 * mean.value, "{mean:?}");
    assert_eq!((mean.vectors, found.neighborhoods), (64, None));
}

/// λ_1 = n and all other eigenvalues are 1, so that their mean is (n + n − 2)/(n − 1) = 2.
#[test]
fn a_ring_cut_open_has_a_mean_eigenvalue_of_two() {
    let report = evaluate(pair(cycle(80), path(80)), &SpadeParams::default(), &Silent).unwrap();
    let mean = AverageIndices::of(&report, None, &Silent).unwrap().mean_eigenvalue;
    assert!((mean.value - 2.0).abs() < 4.0 * mean.standard_error, "{mean:?}");
}

#[test]
fn a_given_graph_in_pieces_has_no_resistances() {
    let pieces = Graph::from_edges(6, &[(0, 1), (1, 2), (0, 2), (3, 4), (4, 5)]).unwrap();
    let report = evaluate(pair(pieces, path(6)), &SpadeParams::default(), &Silent).unwrap();
    let found = AverageIndices::of(&report, None, &Silent).unwrap();
    assert_eq!((found.resistance, found.edges), (None, 5));
    assert_eq!(found.geodesic.largest, 2.0);
}

#[test]
fn threads_do_not_matter_and_seeds_do() {
    let fixture = Fixture::read();
    let (samples, mut report) = fixture.scored();
    let mut of = |threads: usize, seed: u64| {
        report.diagnostics.params.threads = std::num::NonZeroUsize::new(threads);
        report.diagnostics.params.seed = seed;
        AverageIndices::of(&report, Some(&samples), &Silent).unwrap()
    };
    assert_eq!(of(1, 7), of(3, 7));
    assert_ne!(of(1, 7).mean_eigenvalue, of(1, 8).mean_eigenvalue);
}

#[test]
fn a_caller_can_stop_it() {
    let (samples, report) = Fixture::read().scored();
    assert_eq!(AverageIndices::of(&report, Some(&samples), &Stopped), Err(Error::Cancelled));
}
