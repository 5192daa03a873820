//! The files between stages come back as they were, bit by bit, and what is not whole is not taken for whole.

use std::fs;
use std::path::Path;

use spadework::eigen::GeneralizedEigenpairs;
use spadework::graph::Weights;
use spadework::pipeline::{KeepNothing, ModelGraphs, graphs_of, scores_of, spectrum_of};
use spadework::{ManifoldPair, Samples, Silent, SpadeParams, evaluate};
use spadework_document::stages::{EigenStage, GraphStage, Recipe};

use super::files::{
    eigenpairs_file, graph_files, read_eigenpairs, read_graphs, write_eigenpairs, write_graphs,
};

/// A spiral in, its angle and its radius bent out.
fn sides() -> [Samples<'static>; 2] {
    let angle = |i: usize| (i as f64).sqrt();
    let inputs: Vec<f64> =
        (0..300).flat_map(|i| [angle(i) * angle(i).cos(), angle(i) * angle(i).sin()]).collect();
    let outputs: Vec<f64> = (0..300).flat_map(|i| [angle(i), (3.0 * angle(i)).sin()]).collect();
    [Samples::from_f64(300, 2, inputs).unwrap(), Samples::from_f64(300, 2, outputs).unwrap()]
}

fn params() -> SpadeParams {
    SpadeParams::default().with_neighbors(6).with_weights(Weights::Gaussian)
}

#[test]
fn stages_through_files_are_the_whole_bit_by_bit() {
    let [inputs, outputs] = sides();
    let pair = ManifoldPair::new(&inputs, &outputs).unwrap();
    let sparse = "sparse:density=2".parse().unwrap();
    for params in [params(), params().with_graph(sparse)] {
        let whole = evaluate(&pair, &params, &Silent).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let ModelGraphs { graphs, diagnostics, .. } =
            graphs_of(&pair, &params, &KeepNothing, &Silent).unwrap();
        write_graphs(folder.path(), &graphs, &GraphStage::new(Recipe::new(), &diagnostics)).unwrap();
        let read = read_graphs(folder.path()).unwrap().unwrap();
        assert_eq!((&read.input, &read.output), (graphs.input(), graphs.output()));
        let mut diagnostics = read.stage.unwrap().diagnostics().unwrap();

        let spectrum = spectrum_of(&graphs, &params, &KeepNothing, &Silent).unwrap();
        let stage = EigenStage::new(Recipe::new(), &spectrum, params.tolerance, params.seed);
        write_eigenpairs(folder.path(), &spectrum, &stage).unwrap();
        let read = read_eigenpairs(folder.path()).unwrap().unwrap();
        let pairs = GeneralizedEigenpairs::restore(&graphs, read.eigenpairs).unwrap();
        let spectrum = read.stage.unwrap().spectrum(pairs).unwrap();

        diagnostics.params = params;
        let report = scores_of(ModelGraphs::new(graphs, diagnostics), spectrum, &Silent).unwrap();
        assert_eq!(report.model_score, whole.model_score);
        assert_eq!(report.enclosure, whole.enclosure);
        assert_eq!(report.eigenpairs.vectors(), whole.eigenpairs.vectors());
        assert_eq!(report.eigenpairs.residuals(), whole.eigenpairs.residuals());
        assert_eq!(report.eigenpairs.info(), whole.eigenpairs.info());
        assert_eq!(report.edge_scores, whole.edge_scores);
        assert_eq!(report.node_scores, whole.node_scores);
        let without_times = |mut diagnostics: spadework::pipeline::Diagnostics| {
            diagnostics.timings = spadework::pipeline::Timings::default();
            diagnostics
        };
        assert_eq!(without_times(report.diagnostics), without_times(whole.diagnostics));
    }
}

fn staged_graphs(folder: &Path, recipe: Recipe) {
    let [inputs, outputs] = sides();
    let pair = ManifoldPair::new(&inputs, &outputs).unwrap();
    let ModelGraphs { graphs, diagnostics, .. } = graphs_of(&pair, &params(), &KeepNothing, &Silent).unwrap();
    write_graphs(folder, &graphs, &GraphStage::new(recipe, &diagnostics)).unwrap();
}

#[test]
fn a_part_of_a_file_is_no_file() {
    let folder = tempfile::tempdir().unwrap();
    staged_graphs(folder.path(), Recipe::new());
    let [_, output] = graph_files(folder.path());
    let whole = fs::read(&output).unwrap();
    for length in [0, 1, 30, whole.len() / 2, whole.len() - 1] {
        fs::write(&output, &whole[..length]).unwrap();
        let error = read_graphs(folder.path()).unwrap_err().to_string();
        assert!(error.contains("output_graph.npz"), "{length} bytes: {error}");
    }
    // A bit that fell over is found by the checksum of its member.
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    fs::write(&output, &flipped).unwrap();
    assert!(read_graphs(folder.path()).is_err());
    fs::remove_file(&output).unwrap();
    assert!(read_graphs(folder.path()).unwrap().is_none());
}

#[test]
fn graphs_of_two_makings_are_not_mixed() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    staged_graphs(folder.path(), Recipe::new().with("neighbors", 6));
    staged_graphs(other.path(), Recipe::new().with("neighbors", 7));
    fs::copy(&graph_files(other.path())[1], &graph_files(folder.path())[1]).unwrap();
    let error = read_graphs(folder.path()).unwrap_err().to_string();
    assert!(error.contains("must be made together") && error.contains("neighbors 7, not 6"), "{error}");
}

#[test]
fn what_is_no_document_of_ours_is_named() {
    let folder = tempfile::tempdir().unwrap();
    staged_graphs(folder.path(), Recipe::new());
    fs::copy(&graph_files(folder.path())[0], eigenpairs_file(folder.path())).unwrap();
    let error = read_eigenpairs(folder.path()).unwrap_err().to_string();
    assert!(error.contains("and stage `eigen`, got `spadework.stage/3` and `graph`"), "{error}");
}
