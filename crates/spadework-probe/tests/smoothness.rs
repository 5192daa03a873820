//! Agreement and roughness against NumPy and SciPy; `scripts/make_index_fixtures.py` documents the fields.

use serde_json::Value;
use spadework::{PairedSamples, Samples, Silent, SpadeParams, evaluate};
use spadework_probe::{SampleFacts, SampleSignals};

struct Fixture(Value);

impl Fixture {
    fn read() -> Self {
        Self(serde_json::from_str(include_str!("fixtures/smoothness.json")).expect("JSON"))
    }

    fn number(&self, field: &str) -> f64 {
        self.0[field].as_f64().expect("a number")
    }

    fn samples(&self, field: &str) -> Samples<'static> {
        let numbers = |row: &Value| -> Vec<f32> {
            row.as_array().expect("a row").iter().map(|v| v.as_f64().expect("a number") as f32).collect()
        };
        let rows: Vec<Vec<f32>> = self.0[field].as_array().expect("rows").iter().map(numbers).collect();
        Samples::from_f32(rows.len(), rows[0].len(), rows.concat()).expect("finite")
    }
}

#[test]
fn smoothness_is_that_of_others() {
    let fixture = Fixture::read();
    let (inputs, outputs) = (fixture.samples("inputs"), fixture.samples("outputs"));
    let params = SpadeParams::default().with_neighbors(fixture.number("neighbors") as usize);
    let pair = PairedSamples::new(inputs.clone(), outputs.clone()).expect("a pair");
    let report = evaluate(&pair, &params, &Silent).expect("scores");
    let signals = SampleSignals { outputs: Some(&outputs), ..SampleSignals::default() };
    let facts = SampleFacts::of(&report, &signals).unwrap();
    let found = facts.smoothness.expect("classes");
    assert_eq!(found.agreement, fixture.number("agreement"), "a ratio of the same whole numbers");
    let (roughness, expected) = (found.roughness.unwrap(), fixture.number("roughness"));
    assert!((roughness - expected).abs() < 1e-12 * expected, "{roughness} for {expected}");
    let unevenness = facts.unevenness.expect("classes").estimate();
    assert_eq!(unevenness.estimate, roughness + (1.0 - found.agreement));
    assert!(unevenness.lower < unevenness.estimate && unevenness.estimate < unevenness.upper);
}

/// Labels that no output stands for say that the outputs are an embedding, whose largest number is no class.
#[test]
fn outputs_that_are_no_classes_have_no_smoothness() {
    let fixture = Fixture::read();
    let (inputs, outputs) = (fixture.samples("inputs"), fixture.samples("outputs"));
    let pair = PairedSamples::new(inputs, outputs.clone()).expect("a pair");
    let report = evaluate(&pair, &SpadeParams::default().with_neighbors(5), &Silent).expect("scores");
    let labels = vec![7; outputs.len()];
    let signals =
        SampleSignals { outputs: Some(&outputs), labels: Some(&labels), ..SampleSignals::default() };
    let facts = SampleFacts::of(&report, &signals).unwrap();
    assert_eq!((facts.smoothness, facts.unevenness), (None, None));
}

/// Squares of tiny outputs would be lost, and of tiny distances between inputs.
#[test]
fn data_of_any_size_give_the_same_facts() {
    let x = |i: i32| f64::from(i).sqrt();
    let facts = |factor: f64| {
        let inputs = (0..300).flat_map(|i| [x(i).cos() * x(i) * factor, x(i).sin() * x(i) * factor]);
        let outputs = (0..300).flat_map(|i| [x(i).sin() * factor, x(i).cos() * factor, 0.5 * factor]);
        let inputs = Samples::from_f64(300, 2, inputs.collect::<Vec<_>>()).unwrap();
        let outputs = Samples::from_f64(300, 3, outputs.collect::<Vec<_>>()).unwrap();
        let pair = PairedSamples::new(inputs.clone(), outputs.clone()).unwrap();
        let report = evaluate(&pair, &SpadeParams::default().with_neighbors(6), &Silent).unwrap();
        let margins: Vec<Option<f64>> = (0..300).map(|i| (i % 3 == 0).then_some(0.01 * factor)).collect();
        let signals = SampleSignals {
            inputs: Some(&inputs),
            outputs: Some(&outputs),
            probe_margins: Some(&margins),
            ..SampleSignals::default()
        };
        let facts = SampleFacts::of(&report, &signals).unwrap();
        (facts.smoothness.unwrap(), facts.unevenness.unwrap().estimate(), facts.fragility)
    };
    let usual = facts(1.0);
    assert!(usual.0.roughness.unwrap() > 0.0);
    for exponent in [-600, -900] {
        assert_eq!(facts(2.0_f64.powi(exponent)), usual, "2^{exponent}");
    }
}
