//! How does λ_1 grow with the number of samples, with k and with the dimension, and has it a limit?

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use spadework::graph::ConnectedGraph;
use spadework::graph::generators::{cycle, path};
use spadework::{GraphPair, Samples};

use super::{NEIGHBORS, model_score, rows, scored, with_range};
use crate::data::Which;
use crate::failure::Failure;
use crate::levels::{Level, Levels};
use crate::plots::{curves, places};
use crate::record::Findings;
use crate::run::Run;
use crate::statistics::mean;
use crate::table::Table;

/// Outputs of the maps of clouds, and units of their hidden layer.
const OUTPUTS: usize = 10;
const HIDDEN: usize = 64;
/// Weights are drawn with this deviation over the root of their inputs: such networks fold what they get.
const GAIN: f64 = 3.0;

/// λ_1 with the k of its graphs, of several networks or draws.
type Scores = Vec<(f64, usize)>;

fn draws(run: &Run) -> usize {
    run.options().seeds.unwrap_or(run.size(5, 2))
}

fn sizes(run: &Run) -> Vec<usize> {
    run.size(vec![500, 1000, 2000, 5000, 10_000], vec![100, 200, 400])
}

fn neighbors(run: &Run) -> Vec<usize> {
    run.size(vec![5, 10, 20, 30, 50], vec![5, 10])
}

fn dimensions(run: &Run) -> Vec<usize> {
    run.size(vec![2, 4, 8, 16, 32, 64], vec![2, 8])
}

fn cloud_sizes(run: &Run) -> Vec<usize> {
    run.size(vec![1000, 2000, 5000], vec![100, 200])
}

pub(super) fn settings(run: &Run) -> Value {
    json!({
        "draws": draws(run), "samples": sizes(run), "neighbors": neighbors(run), "dimensions": dimensions(run),
        "cloud_samples": cloud_sizes(run), "hidden": HIDDEN, "outputs": OUTPUTS, "gain": GAIN,
    })
}

pub(super) fn tell(run: &Run, findings: &mut Findings) -> Result<(), Failure> {
    for which in Which::ALL {
        let levels = Levels::load(run, which)?;
        levels.introduce(findings)?;
        with_samples(run, &levels, findings)?;
        with_neighbors(run, &levels, findings)?;
    }
    with_dimension(run, findings)?;
    without_limit(run, findings)
}

/// λ_1 of random subsets, each of which contains the smaller ones of its draw.
fn with_samples(run: &Run, levels: &Levels, findings: &mut Findings) -> Result<(), Failure> {
    let sizes: Vec<usize> = sizes(run).into_iter().filter(|&size| size <= levels.images.len()).collect();
    let name = format!("questions/samples {}", levels.title());
    let settings = json!({ "levels": levels.settings(), "growth": settings(run), "seed": run.seed() });
    // By size, by draw, then by level: λ_1 and k.
    let found: Option<Vec<Vec<Scores>>> = run.part(&name, &settings, || {
        let mut by_size = vec![Vec::new(); sizes.len()];
        for draw in 0..draws(run) as u64 {
            let mut order: Vec<usize> = (0..levels.images.len()).collect();
            order.shuffle(&mut ChaCha8Rng::seed_from_u64(run.seed() + draw));
            for (&size, of_size) in sizes.iter().zip(&mut by_size) {
                // All samples are the same samples in every draw.
                if size < levels.images.len() || draw == 0 {
                    of_size.push(of_subset(run, levels, &order[..size])?);
                }
            }
        }
        Ok(by_size)
    })?;
    let Some(found) = found else { return Ok(()) };
    let header =
        ["n".to_owned(), "draws".to_owned()].into_iter().chain(levels.by_epsilon.iter().map(Level::name));
    let caption = format!(
        "Growth with n, {}: λ_1 of random samples at k = {NEIGHBORS}, mean and range over draws. Every draw contains the smaller ones.",
        levels.title()
    );
    let mut table = Table::new(caption, header);
    let mut means = Vec::new();
    for (&size, draws) in sizes.iter().zip(&found) {
        let of_level = |level: usize| draws.iter().map(|scores| scores[level].0).collect::<Vec<f64>>();
        let cells = (0..levels.by_epsilon.len()).map(|level| with_range(&of_level(level), 1));
        table.row([json!(size), json!(draws.len())].into_iter().chain(cells).collect());
        means.push(
            (0..levels.by_epsilon.len()).map(|level| mean(&of_level(level)).unwrap_or(f64::NAN)).collect(),
        );
        let used = draws.iter().flatten().map(|score| score.1).max().unwrap_or(NEIGHBORS);
        findings.graph(format!("growth, {}, n = {size} (the largest)", levels.title()), NEIGHBORS, used);
    }
    let (names, axes) = (levels.by_epsilon.iter().map(Level::name), ["samples, n", "model score"]);
    let name = if levels.which == Which::Mnist { "growth-mnist" } else { "growth-cifar10" };
    let title = format!("Model score over n, {}", levels.title());
    findings.charts.push(curves(name, &title, axes, names, &places(&sizes), &means));
    findings.tables.push(table);
    Ok(())
}

fn of_subset(run: &Run, levels: &Levels, chosen: &[usize]) -> Result<Scores, Failure> {
    let examples = &levels.images.examples;
    let inputs = rows(examples.samples(), examples.size(), chosen);
    let mut found = Vec::new();
    for level in &levels.by_epsilon {
        let dim = level.outputs.len() / levels.images.len();
        let outputs = rows(&level.outputs, dim, chosen);
        let inputs = Samples::from_f32(chosen.len(), examples.size(), inputs.as_slice())?;
        found.push(scored(run, inputs, Samples::from_f32(chosen.len(), dim, outputs)?, NEIGHBORS)?);
    }
    Ok(found)
}

fn with_neighbors(run: &Run, levels: &Levels, findings: &mut Findings) -> Result<(), Failure> {
    let neighbors = neighbors(run);
    let Some(points) = levels.eigenvalues(run, &neighbors, 1)? else { return Ok(()) };
    levels.record_graphs(&neighbors, &points, findings);
    let header =
        ["k", "k used"].map(str::to_owned).into_iter().chain(levels.by_epsilon.iter().map(Level::name));
    let caption = format!("Growth with k, {}: λ_1 of {} samples.", levels.title(), levels.images.len());
    let mut table = Table::new(caption, header);
    for (k, point) in neighbors.iter().zip(&points) {
        let scores = point.scores().into_iter().map(Value::from);
        table.row([json!(k), json!(point.used)].into_iter().chain(scores).collect());
    }
    findings.tables.push(table);
    Ok(())
}

/// Clouds of normal points through random networks of one hidden layer.
fn with_dimension(run: &Run, findings: &mut Findings) -> Result<(), Failure> {
    let (dimensions, sizes) = (dimensions(run), cloud_sizes(run));
    let mut table = Table::new(
        format!(
            "Growth with the dimension: λ_1 of normal points in d dimensions and the {OUTPUTS} outputs of a random network of {HIDDEN} tanh \
             units, k = {NEIGHBORS}; mean and range over {} draws of points and network.",
            draws(run)
        ),
        std::iter::once("d".to_owned()).chain(sizes.iter().map(|size| format!("n = {size}"))),
    );
    let mut means = Vec::new();
    for &dimension in &dimensions {
        let settings = json!({ "growth": settings(run), "dimension": dimension, "seed": run.seed() });
        let found: Option<Vec<Scores>> =
            run.part(&format!("questions/cloud {dimension}"), &settings, || {
                sizes.iter().map(|&size| of_clouds(run, dimension, size)).collect()
            })?;
        let Some(found) = found else { return Ok(()) };
        let of_size = |scores: &Scores| scores.iter().map(|score| score.0).collect::<Vec<f64>>();
        let cells = found.iter().map(|scores| with_range(&of_size(scores), 1));
        table.row(std::iter::once(json!(dimension)).chain(cells).collect());
        means.push(found.iter().map(|scores| mean(&of_size(scores)).unwrap_or(f64::NAN)).collect());
        for (size, scores) in sizes.iter().zip(&found) {
            let used = scores.iter().map(|score| score.1).max().unwrap_or(NEIGHBORS);
            findings.graph(format!("cloud, d = {dimension}, n = {size} (the largest)"), NEIGHBORS, used);
        }
    }
    let names = sizes.iter().map(|size| format!("n = {size}"));
    let axes = ["dimension, d", "model score"];
    findings.charts.push(curves(
        "growth-dimension",
        "Model score of random networks",
        axes,
        names,
        &places(&dimensions),
        &means,
    ));
    findings.tables.push(table);
    Ok(())
}

fn of_clouds(run: &Run, dimension: usize, size: usize) -> Result<Scores, Failure> {
    let draw = |draw: u64| {
        let mut rng = ChaCha8Rng::seed_from_u64(run.seed() + draw);
        let points: Vec<f32> = (0..size * dimension).map(|_| normal(&mut rng) as f32).collect();
        let mut layer = |inputs: usize, outputs: usize| -> Vec<f64> {
            (0..inputs * outputs).map(|_| GAIN * normal(&mut rng) / (inputs as f64).sqrt()).collect()
        };
        let (first, second) = (layer(dimension, HIDDEN), layer(HIDDEN, OUTPUTS));
        let outputs: Vec<f32> =
            points.chunks(dimension).flat_map(|point| through(point, &first, &second)).collect();
        let inputs = Samples::from_f32(size, dimension, points)?;
        scored(run, inputs, Samples::from_f32(size, OUTPUTS, outputs)?, NEIGHBORS)
    };
    (0..draws(run) as u64).map(draw).collect()
}

/// The outputs of one point.
fn through(point: &[f32], first: &[f64], second: &[f64]) -> Vec<f32> {
    let product = |row: &[f64], values: &mut dyn Iterator<Item = f64>| -> f64 {
        row.iter().zip(values).map(|(weight, value)| weight * value).sum()
    };
    let hidden: Vec<f64> = first
        .chunks(point.len())
        .map(|row| product(row, &mut point.iter().map(|&x| f64::from(x))).tanh())
        .collect();
    second.chunks(HIDDEN).map(|row| product(row, &mut hidden.iter().copied()) as f32).collect()
}

/// Standard normal, by the method of Box and Muller.
pub(super) fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let (radius, angle) = (1.0 - rng.random::<f64>(), rng.random::<f64>());
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

/// A cycle whose output tears one edge: λ_1 is n, so there is no limit. L_X = L_Y + the edge that was torn, whose resistance along the path is
/// n − 1.
fn without_limit(run: &Run, findings: &mut Findings) -> Result<(), Failure> {
    let mut table = Table::new(
        "No limit: λ_1 of a cycle of n samples whose outputs lie on a path. It is n by proof; this is what the solver finds.",
        ["n", "λ_1"],
    );
    for size in [10, 100, 1000] {
        let settings = json!({ "size": size, "seed": run.seed() });
        let score = run.part(&format!("questions/torn cycle {size}"), &settings, || torn(run, size))?;
        table.row(vec![json!(size), json!(score)]);
    }
    findings.tables.push(table);
    Ok(())
}

fn torn(run: &Run, size: usize) -> Result<f64, Failure> {
    let output = ConnectedGraph::new(path(size))
        .map_err(|_| Failure::Usage("expected a connected path".to_owned()))?;
    model_score(run, &GraphPair::new(cycle(size), output)?)
}
