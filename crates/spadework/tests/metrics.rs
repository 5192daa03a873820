//! Every metric against scikit-learn's neighbors (`scripts/make_metric_fixtures.py`), and through the whole method.

use half::{bf16, f16};
use serde_json::Value;
use spadework::graph::{Connectivity, GraphKind, Weights};
use spadework::neighbors::{
    ApproximateSearch, AutomaticSearch, BruteForce, ExactSearch, NeighborSearch, ProductSearch, TreeSearch,
    nearest_between,
};
use spadework::pipeline::{AverageIndices, Reference, intervals, score_layers, sweep};
use spadework::samples::{Geometry, Metric, Side, Standardize, Values};
use spadework::{
    Error, Model, ModelSet, PairedSamples, Samples, Silent, SpadeParams, SpadeReport, compare, evaluate,
};

fn cases() -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/metrics/neighbors.json");
    let text = std::fs::read_to_string(path).expect("the fixtures are there");
    serde_json::from_str(&text).expect("a list")
}

fn rows(json: &Value) -> (usize, Vec<f64>) {
    let rows = json.as_array().expect("rows");
    let numbers =
        rows.iter().flat_map(|row| row.as_array().expect("a row")).map(|v| v.as_f64().expect("a number"));
    (rows.len(), numbers.collect())
}

fn in_f64(json: &Value) -> Samples<'static> {
    let (len, values) = rows(json);
    Samples::from_f64(len, values.len() / len, values).expect("finite rows")
}

fn in_f32(json: &Value) -> Samples<'static> {
    let (len, values) = rows(json);
    let values: Vec<f32> = values.iter().map(|&value| value as f32).collect();
    Samples::from_f32(len, values.len() / len, values).expect("finite rows")
}

fn geometry(case: &Value) -> Geometry {
    let word = |key: &str| case[key].as_str().expect("a word").to_owned();
    Geometry::new(word("metric").parse().expect("a metric"), word("standardize").parse().expect("a way"))
}

/// Squared distances beside those of scikit-learn: bit by bit where both are exact.
fn check_distances(case: &Value, found: &[f64], expected: &[f64], about: &str) {
    for (&found, &expected) in found.iter().zip(expected) {
        match geometry(case).metric {
            // 1 − cos is half the squared distance of unit rows.
            Metric::Cosine => {
                assert!((found / 2.0 - expected).abs() < 1e-14, "{about}: {found} and {expected}");
            }
            _ if case["exact"] == true => assert_eq!(found, expected * expected, "{about}"),
            _ => {
                assert!(
                    (found.sqrt() - expected).abs() < 1e-12 * expected,
                    "{about}: {found} and {expected}"
                );
            }
        }
    }
}

#[test]
fn neighbors_are_those_of_scikit_learn_by_every_search() {
    let searches: [(&str, &dyn NeighborSearch); 6] = [
        ("exact", &ExactSearch),
        ("products", &ProductSearch),
        ("tree", &TreeSearch),
        ("approximate", &ApproximateSearch::default()),
        ("automatic", &AutomaticSearch::default()),
        ("brute force", &BruteForce),
    ];
    for case in cases() {
        let (_, neighbors) = rows(&case["neighbors"]);
        let (len, distances) = rows(&case["distances"]);
        let k = neighbors.len() / len;
        for samples in [in_f64(&case["samples"]), in_f32(&case["samples"])] {
            let placed = geometry(&case).place(Side::Input, samples).unwrap();
            for (name, search) in searches {
                let about = format!("{}, {name}", case["name"]);
                let lists = search.search(&placed, k, &Silent).unwrap();
                for p in 0..len {
                    let expected = neighbors[p * k..(p + 1) * k].iter().map(|&q| q as u32);
                    assert!(lists.of(p).iter().copied().eq(expected), "{about}, sample {p}");
                    check_distances(
                        &case,
                        lists.squared_distances_of(p),
                        &distances[p * k..(p + 1) * k],
                        &about,
                    );
                }
            }
        }
    }
}

#[test]
fn new_samples_have_the_neighbors_of_scikit_learn() {
    for case in cases() {
        let (samples, new) = (in_f64(&case["samples"]), in_f32(&case["new"]));
        let fitted = geometry(&case).fit(Side::Input, &samples).unwrap();
        let (base, queries) = (fitted.place(samples).unwrap(), fitted.place(new).unwrap());
        let (_, neighbors) = rows(&case["new_neighbors"]);
        let (len, distances) = rows(&case["new_distances"]);
        // No query is a sample of the base.
        let found = nearest_between(&queries, &base, 1000, neighbors.len() / len, &Silent).unwrap();
        let indices = found.indices.iter().map(|q| f64::from(q.expect("enough samples")));
        assert!(indices.eq(neighbors), "{}", case["name"]);
        check_distances(&case, &found.squared_distances, &distances, &case["name"].to_string());
    }
}

/// The same numbers between −128 and 127 in every narrow type, and bytes.
fn in_narrow_types(len: usize, dim: usize) -> Vec<Samples<'static>> {
    let numbers =
        || (0..len * dim).map(|at| (at * at * 31 + at * 7 + at / dim * 5) % 251).map(|at| at as i16 - 125);
    [
        Values::U8(numbers().map(|number| (number + 125) as u8).collect()),
        Values::I8(numbers().map(|number| number as i8).collect()),
        Values::I16(numbers().map(|number| 99 * number).collect()),
        Values::F16(numbers().map(|number| f16::from_f32(0.01 * f32::from(number))).collect()),
        Values::Bf16(numbers().map(|number| bf16::from_f32(0.7 * f32::from(number))).collect()),
    ]
    .map(|values| Samples::new(len, dim, values).unwrap())
    .into()
}

#[test]
fn narrow_types_have_the_neighbors_of_their_copies_in_double_precision() {
    let k = 5;
    // The longer rows are those that are compared by sums over blocks where distances are Euclidean.
    for (len, dim) in [(400, 50), (60, 96 * 96)] {
        for samples in in_narrow_types(len, dim) {
            let copy = Samples::from_f64(len, dim, samples.values().all_doubles().into_owned()).unwrap();
            for (metric, standardize) in METRICS
                .iter()
                .flat_map(|&metric| [(metric, Standardize::None), (metric, Standardize::Standard)])
            {
                let placed =
                    |samples| Geometry::new(metric, standardize).place(Side::Input, samples).unwrap();
                let (narrow, copy) = (placed(samples.view()), placed(copy.view()));
                let expected = BruteForce.search(&copy, k, &Silent).unwrap();
                let about = format!("{metric}, {standardize}, {len} × {dim}");
                for search in [&ExactSearch as &dyn NeighborSearch, &ProductSearch, &TreeSearch, &BruteForce]
                {
                    assert_eq!(search.search(&narrow, k, &Silent).unwrap(), expected, "{about}");
                }
                for base in [&narrow, &copy] {
                    let found = nearest_between(&narrow, base, 0, k, &Silent).unwrap();
                    let indices: Vec<u32> = found.indices.iter().flatten().copied().collect();
                    assert_eq!(
                        indices,
                        (0..len).flat_map(|p| expected.of(p).to_vec()).collect::<Vec<_>>(),
                        "{about}"
                    );
                }
            }
        }
    }
}

const METRICS: [Metric; 4] = [Metric::Euclidean, Metric::Cosine, Metric::Manhattan, Metric::Chebyshev];

/// Rows of many lengths, and a smooth map of their directions.
fn rays(len: usize) -> (Vec<f64>, Vec<f64>) {
    let angle = |i: usize| (i as f64 * 0.618_034).fract() * 6.0;
    let length = |i: usize| 0.5 + (i as f64 * 0.414_214).fract() * 8.0;
    let input = |i: usize| {
        let (angle, length) = (angle(i), length(i));
        [length * angle.cos(), length * angle.sin(), length * (2.0 * angle).cos(), length * 0.3]
    };
    let output = |i: usize| [angle(i).sin() + 2.0, (3.0 * angle(i)).cos(), 0.25 * angle(i)];
    ((0..len).flat_map(input).collect(), (0..len).flat_map(output).collect())
}

fn sides(len: usize) -> PairedSamples<'static> {
    let (inputs, outputs) = rays(len);
    PairedSamples::new(
        Samples::from_f64(len, 4, inputs).unwrap(),
        Samples::from_f64(len, 3, outputs).unwrap(),
    )
    .unwrap()
}

fn unit_rows(samples: &Samples<'_>) -> Samples<'static> {
    let Values::F64(values) = samples.values() else { panic!("double precision") };
    let unit = values.chunks(samples.dim()).flat_map(|row| {
        let length = row.iter().map(|value| value * value).sum::<f64>().sqrt();
        row.iter().map(move |value| value / length)
    });
    Samples::from_f64(samples.len(), samples.dim(), unit.collect::<Vec<_>>()).unwrap()
}

fn assert_same(a: &SpadeReport, b: &SpadeReport, about: &str) {
    assert_eq!(a.graphs.input(), b.graphs.input(), "{about}: input graphs");
    assert_eq!(a.graphs.output(), b.graphs.output(), "{about}: output graphs");
    assert_eq!(a.model_score, b.model_score, "{about}: model scores");
    assert_eq!(a.node_scores.scores(), b.node_scores.scores(), "{about}: node scores");
}

#[test]
fn cosine_is_euclidean_on_unit_rows() {
    let raw = sides(400);
    let unit = PairedSamples::new(unit_rows(raw.input()), unit_rows(raw.output())).unwrap();
    for graph in ["knn", "mutual", "pca:2", "cknn:1.1", "sparse:density=2"] {
        for (weights, connectivity) in
            [(Weights::Unit, Connectivity::Bridge), (Weights::Gaussian, Connectivity::Grow)]
        {
            let plain = SpadeParams::default()
                .with_neighbors(5)
                .with_graph(graph.parse().unwrap())
                .with_weights(weights)
                .with_connectivity(connectivity);
            let cosine = plain.clone().with_input_metric(Metric::Cosine).with_output_metric(Metric::Cosine);
            let by_angle = evaluate(&raw, &cosine, &Silent).unwrap();
            assert_same(&by_angle, &evaluate(&unit, &plain, &Silent).unwrap(), graph);
            assert_eq!(by_angle.diagnostics.params, cosine);
        }
    }
}

/// The same distance on both sides.
fn by(metric: Metric) -> SpadeParams {
    SpadeParams::default().with_neighbors(6).with_input_metric(metric).with_output_metric(metric)
}

/// 300 samples, and for each metric its parameters and what `evaluate` gives.
fn evaluated(standardize: Standardize) -> (PairedSamples<'static>, Vec<(SpadeParams, SpadeReport)>) {
    let pair = sides(300);
    let all = METRICS.map(|metric| {
        let params = by(metric).with_standardize(standardize);
        let report = evaluate(&pair, &params, &Silent).unwrap();
        (params, report)
    });
    (pair, all.to_vec())
}

/// `evaluate` is what all others are compared with: each searches in a place of its own.
#[test]
fn every_way_through_the_pipeline_takes_the_same_distances() {
    let (pair, all) = evaluated(Standardize::Standard);
    for (params, expected) in all {
        let about = params.input_metric.to_string();
        let model = |name: &str| Model { name: name.to_owned(), outputs: pair.output().view() };
        let twice = ModelSet::new(pair.input().view(), vec![model("a"), model("b")]).unwrap();
        assert_same(&compare(&twice, &params, &Silent).unwrap().models[1].report, &expected, &about);
        let set = ModelSet::new(pair.input().view(), vec![model("model")]).unwrap();
        let swept = sweep(&set, &[6], &params, &Silent).unwrap();
        assert_eq!(swept.points[0].scores.as_ref().unwrap().models[0].model_score(), expected.model_score.0);
        let outputs = |_| Ok(pair.output().view());
        let layers = score_layers::<Error>(pair.input(), 1, outputs, &params, &Silent).unwrap();
        assert_eq!(layers.layers[0].as_ref().unwrap().model_score, expected.model_score, "{about}");
        // Half-samples of standardized columns are standardized once.
        let scores = [expected.model_score.0];
        let placed = params.placed_pair(&pair).unwrap();
        let of_placed = ModelSet::from(placed);
        let interval = intervals(&set, &scores, 3, &params, &Silent).unwrap();
        assert_eq!(
            interval,
            intervals(&of_placed, &scores, 3, &params.for_placed(), &Silent).unwrap(),
            "{about}"
        );
        assert!(AverageIndices::of(&expected, Some(&pair), &Silent).unwrap().neighborhoods.is_some());
    }
}

#[test]
fn a_known_sample_keeps_its_score_under_every_metric() {
    let (pair, all) = evaluated(Standardize::Robust);
    for (params, report) in all {
        let metric = params.input_metric;
        let used = params.with_neighbors(report.diagnostics.connection.used);
        let eigenvalues = report.eigenpairs.values().to_vec();
        let reference =
            Reference::new(pair.clone(), eigenvalues, report.embedding.clone(), &used, &Silent).unwrap();
        let (inputs, outputs) =
            (pair.input().rows(&[3, 200]).unwrap(), pair.output().rows(&[3, 200]).unwrap());
        let found = reference.score(&inputs, &outputs, &Silent).unwrap();
        assert_eq!(found.known, 2, "{metric}");
        for (new, old) in found.node_scores.scores().iter().zip([3, 200]) {
            let old = report.node_scores.scores()[old];
            assert!((new - old).abs() < 1e-3 * old, "{metric}: {new} and {old}");
        }
    }
}

#[test]
fn bad_input_is_named() {
    let pair = sides(50);
    let params = SpadeParams::default().with_neighbors(5);
    let of = |input: Samples<'static>, params: &SpadeParams| {
        evaluate(&PairedSamples::new(input, pair.output().view()).unwrap(), params, &Silent).unwrap_err()
    };
    let (mut values, _) = rays(50);
    values[40..44].fill(0.0);
    let zero =
        of(Samples::from_f64(50, 4, values).unwrap(), &params.clone().with_input_metric(Metric::Cosine));
    assert_eq!(
        zero.to_string(),
        "cosine distances need rows that are not zero, but 1 of the inputs is (row 10, counted from 0); remove them or choose \
         another metric"
    );
    let mostly =
        (0..200).map(|i| if i % 4 == 0 { f64::from(i) } else { f64::from(i / 190) }).collect::<Vec<_>>();
    let robust =
        of(Samples::from_f64(50, 4, mostly).unwrap(), &params.clone().with_standardize(Standardize::Robust));
    assert!(matches!(robust, Error::NoSpread { count: 3, .. }), "{robust}");
    let projected =
        params.with_graph("pca:2".parse::<GraphKind>().unwrap()).with_input_metric(Metric::Manhattan);
    assert!(matches!(projected.check(), Err(Error::ProjectedMetric { .. })));
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let pair = sides(300);
    for metric in METRICS {
        let params =
            SpadeParams::default().with_neighbors(6).with_input_metric(metric).with_output_metric(metric);
        let by = |threads: usize| {
            evaluate(&pair, &params.clone().with_threads(std::num::NonZeroUsize::new(threads)), &Silent)
                .unwrap()
        };
        assert_same(&by(1), &by(3), &metric.to_string());
    }
}
