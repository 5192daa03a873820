//! Fragility: which samples an attack would break first, estimated without gradients.
//!
//! An attack succeeds if it moves a sample so far that its margin over another class is used up. How far that is depends on
//! the margin and on the slope of the outputs. The **reach** of sample p with class c is
//!
//! ```text
//! reach(p) = min_j (y_c(p) − y_j(p)) / (s_cj^½ · ℓ_p^¼)
//! s_cj = mean over the input edges (p,q) of |(y_c − y_j)(p) − (y_c − y_j)(q)| / ‖x_p − x_q‖
//! ℓ_p  = mean over the neighbors q of p of ‖y_p − y_q‖ / ‖x_p − x_q‖
//! ```
//!
//! s_cj shows which two classes are easily exchanged, and ℓ_p where in the data the outputs are steep. With exponents that add up to 1,
//! the reach would be a distance at the input. But edges between samples underestimate the slope, because an attacker uses other
//! directions. The exponents and the signals were chosen once, over networks of several sources, and are the same for all networks. Node
//! scores and the labels of neighbors did not improve the ranking. `docs/what-the-scores-mean.md` has the figures. If there are no
//! margins, the node score replaces the reach. For embeddings, the samples that keep the smallest share of their neighbors come first;
//! among equal shares, those whose former neighbors are now farthest away (`docs/how-to/embeddings.md` has the figures).
//!
//! If samples were probed, the reach is multiplied by the share of the margin that the worst probe left. For samples that
//! were not probed, it is multiplied by the median of these shares.

use rayon::prelude::*;

use spadework::error::{Error, Result};
use spadework::graph::Graph;
use spadework::neighbors::squared_distances_between;
use spadework::pipeline::SpadeReport;
use spadework::samples::{Geometry, Samples, Side};
use spadework::scores::agreement::mean_ranks;
use spadework::scores::{NodeScores, SampleOverlaps, Spread, largest};
use spadework::threads::with_threads;

use crate::accuracy::{are_classes, predictions};
use crate::margins::lead_of;
use crate::task::Task;

/// Exponent of the slope between two classes.
const CLASS_EXPONENT: f64 = 0.5;
/// Exponent of the slope around a sample.
const LOCAL_EXPONENT: f64 = 0.25;
/// Changes of a lead that are summed at most; with many outputs some edges stand for all.
const MOST_CHANGES: usize = 1 << 30;
/// Outputs that may be classes: beyond, the slopes between any two of them would fill the memory.
const MOST_CLASSES: usize = 2048;
/// Edges that are taken in any case.
const LEAST_EDGES: usize = 1000;
/// Part of its reach that a sample keeps which was not probed, at least.
const LEAST_PART: f64 = 1e-9;

/// What is known about the samples in addition to their graph and node scores. Each part may be missing.
#[derive(Debug, Clone, Copy, Default)]
pub struct SampleSignals<'a> {
    /// The inputs: without them edges have no length, and the slope around a sample is left out.
    pub inputs: Option<&'a Samples<'a>>,
    /// The outputs, one number per class: without them, or with one number per sample or more than 2,048, there are no
    /// margins.
    pub outputs: Option<&'a Samples<'a>>,
    /// The class of every sample. Without labels that are classes of the outputs ([`accuracy`](crate::accuracy())), the
    /// predicted class is used.
    pub labels: Option<&'a [i64]>,
    /// The smallest margin of every sample over its probes, of the same class, in the unit of the outputs; `None` if a
    /// sample was not probed.
    pub probe_margins: Option<&'a [Option<f64>]>,
    /// What the outputs are; used by [`SampleFacts`](crate::SampleFacts).
    pub task: Task,
}

/// What a fragility was made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FragilityBasis {
    /// Node scores, because there were no margins.
    NodeScores,
    /// The share of its neighbors that a sample keeps, and among equal shares how far away its former neighbors are now: for
    /// embeddings.
    Neighborhoods,
    /// The reach.
    Reach,
    /// The reach and probes.
    ProbedReach,
}

spadework::words! { written FragilityBasis {
    NodeScores = "node scores",
    Neighborhoods = "neighborhood overlap and distances",
    Reach = "margins and slopes",
    ProbedReach = "margins, slopes and probes",
} }

/// How fragile every sample is compared with the others, from 0 to 1: the share of the samples that are less fragile, where equally
/// fragile samples count half.
#[derive(Debug, Clone, PartialEq)]
pub struct Fragility {
    basis: FragilityBasis,
    values: Vec<f64>,
}

impl Fragility {
    /// Ranks the samples of an input graph by these signals.
    ///
    /// # Errors
    /// When something does not have one entry per sample, or a probed margin is not finite.
    ///
    /// ```
    /// use spadework::graph::generators;
    /// use spadework::Samples;
    /// use spadework::scores::{EdgeScores, NodeScores, SpectralEmbedding};
    /// use spadework_probe::{Fragility, SampleSignals};
    /// let line = generators::path(4);
    /// let embedding = SpectralEmbedding::from_rows(1, vec![0.0, 1.0, 2.0, 3.0]);
    /// let nodes = NodeScores::from_edges(&line, &EdgeScores::from_embedding(&line, &embedding));
    /// let inputs = Samples::from_f64(4, 1, vec![0.0, 1.0, 2.0, 3.0])?;
    /// let logits = Samples::from_f64(4, 2, vec![3.0, 0.0, 2.0, 0.5, 1.0, 1.5, 0.0, 2.5])?;
    /// let signals = SampleSignals { inputs: Some(&inputs), outputs: Some(&logits), ..SampleSignals::default() };
    /// let fragility = Fragility::of(&line, &nodes, &signals)?;
    /// // The third sample is nearest to the boundary.
    /// assert_eq!(fragility.ranking(), [2, 1, 3, 0]);
    /// assert_eq!(fragility.values(), [0.125, 0.625, 0.875, 0.375]);
    /// # Ok::<(), spadework::Error>(())
    /// ```
    pub fn of(graph: &Graph, node_scores: &NodeScores, signals: &SampleSignals<'_>) -> Result<Self> {
        signals.check(graph.nodes())?;
        let may_be_classes = |outputs: &&Samples<'_>| (2..=MOST_CLASSES).contains(&outputs.dim());
        let Some(outputs) = signals.outputs.filter(may_be_classes) else {
            return Ok(Self::ranked(FragilityBasis::NodeScores, node_scores.scores()));
        };
        let classes: Vec<usize> = match signals.labels {
            Some(labels) if are_classes(outputs, labels)? => {
                labels.iter().map(|&label| label as usize).collect()
            }
            _ => predictions(outputs),
        };
        // Squares of tiny numbers would be lost.
        let enlarged = |side, samples| Geometry::default().place(side, samples);
        let inputs = signals.inputs.map(|inputs| enlarged(Side::Input, inputs.view())).transpose()?;
        let leads = Leads::new(graph, inputs.as_ref(), &enlarged(Side::Output, outputs.view())?);
        let mut reach: Vec<f64> =
            classes.par_iter().enumerate().map(|(p, &class)| leads.reach(p, class)).collect();
        let basis = if let Some(probed) = signals.probe_margins {
            // In the unit of the outputs, as those of the probes are.
            let row = |p: usize| outputs.values().doubles(outputs.place(p));
            let margins: Vec<f64> =
                classes.iter().enumerate().map(|(p, &class)| lead_of(&row(p), class)).collect();
            shorten(&mut reach, &margins, probed);
            FragilityBasis::ProbedReach
        } else {
            FragilityBasis::Reach
        };
        let fragile: Vec<f64> = reach.iter().map(|reach| -reach).collect();
        Ok(Self::ranked(basis, &fragile))
    }

    /// Ranks the samples of a report, on the threads it was scored with.
    ///
    /// # Errors
    /// As [`Fragility::of`].
    pub fn of_report(report: &SpadeReport, signals: &SampleSignals<'_>) -> Result<Self> {
        let params = &report.diagnostics.params;
        with_threads(params.threads, || {
            // Edges are as long as the search has found them.
            let geometry = params.geometry(Side::Input);
            let inputs = signals.inputs.map(Samples::view);
            let inputs = inputs.map(|inputs| geometry.place(Side::Input, inputs)).transpose()?;
            let signals = SampleSignals { inputs: inputs.as_ref(), ..*signals };
            Self::of(report.graphs.input(), &report.node_scores, &signals)
        })
    }

    /// Ranks the samples of an embedding: those that keep the smallest share of their neighbors first. Among equal shares, the sample with the
    /// largest number in `of_equal_shares` comes first ([`distances_of_former_neighbors`](spadework::scores::distances_of_former_neighbors)). A
    /// sample without neighbors comes last.
    ///
    /// # Panics
    /// When there is not one number per sample.
    ///
    /// ```
    /// use spadework::graph::Graph;
    /// use spadework::scores::SampleOverlaps;
    /// use spadework_probe::Fragility;
    /// let line = Graph::from_edges(4, &[(0, 1), (1, 2), (2, 3)])?;
    /// let other = Graph::from_edges(4, &[(0, 1), (0, 2), (2, 3)])?;
    /// // Shares 1, 1/2, 1/2 and 1.
    /// let overlaps = SampleOverlaps::between(&line, &other);
    /// let fragility = Fragility::of_neighborhoods(&overlaps, &[0.1, 0.2, 0.3, 0.4]);
    /// assert_eq!(fragility.ranking(), [2, 1, 3, 0]);
    /// # Ok::<(), spadework::Error>(())
    /// ```
    pub fn of_neighborhoods(overlaps: &SampleOverlaps, of_equal_shares: &[f64]) -> Self {
        let shares = overlaps.shares();
        assert_eq!(shares.len(), of_equal_shares.len(), "one number per sample");
        let nan_last = |number: f64| if number.is_nan() { f64::NEG_INFINITY } else { number };
        let lost: Vec<f64> = shares.iter().map(|&share| nan_last(-share)).collect();
        let others: Vec<f64> = of_equal_shares.iter().map(|&number| nan_last(number)).collect();
        // Ranks of different shares are at least 1 apart, and those of the others stay below that.
        let within = mean_ranks(&others).into_iter().map(|rank| rank / (2.0 * others.len() as f64));
        let both: Vec<f64> =
            mean_ranks(&lost).into_iter().zip(within).map(|(rank, part)| rank + part).collect();
        Self::ranked(FragilityBasis::Neighborhoods, &both)
    }

    /// Larger numbers are more fragile.
    fn ranked(basis: FragilityBasis, numbers: &[f64]) -> Self {
        let samples = numbers.len() as f64;
        Self { basis, values: mean_ranks(numbers).into_iter().map(|rank| (rank - 0.5) / samples).collect() }
    }

    /// What it was made of.
    pub fn basis(&self) -> FragilityBasis {
        self.basis
    }

    /// The fragility of every sample, between 0 and 1.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// All samples, most fragile first, ties to the lower index.
    pub fn ranking(&self) -> Vec<usize> {
        largest(&self.values, self.values.len())
    }
}

impl SampleSignals<'_> {
    fn check(&self, nodes: usize) -> Result<()> {
        let once = |what, got| {
            if got == nodes { Ok(()) } else { Err(Error::StoredShape { what, expected: nodes, got }) }
        };
        once("inputs", self.inputs.map_or(nodes, Samples::len))?;
        once("outputs", self.outputs.map_or(nodes, Samples::len))?;
        if let Some(labels) = self.labels.filter(|labels| labels.len() != nodes) {
            return Err(Error::LabelCount { samples: nodes, labels: labels.len() });
        }
        let probed = self.probe_margins.unwrap_or_default();
        once("probed margins", self.probe_margins.map_or(nodes, <[Option<f64>]>::len))?;
        let wrong = |(row, margin): (usize, &Option<f64>)| {
            margin.filter(|margin| !margin.is_finite()).map(|value| (row, value))
        };
        match probed.iter().enumerate().find_map(wrong) {
            Some((row, value)) => Err(Error::NonFinite { row, column: 0, value }),
            None => Ok(()),
        }
    }
}

/// Multiplies every reach by the part of the margin that the worst probe left. Samples that are wrong already have nothing left
/// to lose.
fn shorten(reach: &mut [f64], margins: &[f64], probed: &[Option<f64>]) {
    let part = |(&margin, &probed): (&f64, &Option<f64>)| {
        Some(probed?.min(margin) / margin).filter(|_| margin > 0.0)
    };
    let parts: Vec<Option<f64>> = margins.iter().zip(probed).map(part).collect();
    let typical =
        Spread::of(&parts.iter().copied().flatten().collect::<Vec<_>>()).map_or(1.0, |parts| parts.median);
    // Where most of those probed are lost, the others keep the order of their reach all the same.
    let typical = typical.max(LEAST_PART);
    for ((reach, margin), part) in reach.iter_mut().zip(margins).zip(parts) {
        if *margin > 0.0 {
            *reach = shortened(*reach, part.unwrap_or(typical));
        }
    }
}

/// Outputs, and how steep they are.
struct Leads {
    dim: usize,
    outputs: Vec<f64>,
    /// s_cj^½ at c·dim + j.
    class_scales: Vec<f64>,
    /// ℓ_p^¼; 1 where edges have no length.
    local_scales: Vec<f64>,
}

impl Leads {
    fn new(graph: &Graph, inputs: Option<&Samples<'_>>, outputs: &Samples<'_>) -> Self {
        let dim = outputs.dim();
        let outputs = outputs.values().all_doubles().into_owned();
        let edges = Edges::new(graph, inputs);
        let mut leads =
            Self { dim, outputs, class_scales: Vec::new(), local_scales: vec![1.0; graph.nodes()] };
        leads.class_scales =
            leads.class_slopes(&edges).into_iter().map(|slope| slope.powf(CLASS_EXPONENT)).collect();
        if inputs.is_some() {
            let slopes = leads.local_slopes(&edges, graph.nodes());
            leads.local_scales = slopes.into_iter().map(|slope| slope.powf(LOCAL_EXPONENT)).collect();
        }
        leads
    }

    fn row(&self, sample: usize) -> &[f64] {
        &self.outputs[sample * self.dim..(sample + 1) * self.dim]
    }

    /// s_cj, at c·dim + j.
    fn class_slopes(&self, edges: &Edges) -> Vec<f64> {
        let dim = self.dim;
        let most = (MOST_CHANGES / (dim * dim)).max(LEAST_EDGES);
        let step = edges.ends.len().div_ceil(most).max(1);
        let mut sums = vec![0.0; dim * dim];
        let mut change = vec![0.0; dim];
        let mut counted = 0.0;
        for (&(p, q), &length) in edges.ends.iter().zip(&edges.lengths).step_by(step) {
            for ((change, p), q) in change.iter_mut().zip(self.row(p)).zip(self.row(q)) {
                *change = (p - q) / length;
            }
            for (of_class, sums) in change.iter().zip(sums.chunks_exact_mut(dim)) {
                for (sum, of_other) in sums.iter_mut().zip(&change) {
                    *sum += (of_class - of_other).abs();
                }
            }
            counted += 1.0;
        }
        for sum in &mut sums {
            *sum /= f64::max(counted, 1.0);
        }
        sums
    }

    /// ℓ_p; the mean of all where a sample has no edge of a length.
    fn local_slopes(&self, edges: &Edges, nodes: usize) -> Vec<f64> {
        let (mut sums, mut counts) = (vec![0.0; nodes], vec![0.0; nodes]);
        for (&(p, q), length) in edges.ends.iter().zip(&edges.lengths) {
            let squares = self.row(p).iter().zip(self.row(q)).map(|(p, q)| (p - q) * (p - q));
            let slope = squares.sum::<f64>().sqrt() / length;
            for end in [p, q] {
                sums[end] += slope;
                counts[end] += 1.0;
            }
        }
        let mean = sums.iter().sum::<f64>() / f64::max(counts.iter().sum(), 1.0);
        let slope = |(&sum, &count): (&f64, &f64)| if count > 0.0 { sum / count } else { mean };
        sums.iter().zip(&counts).map(slope).collect()
    }

    /// The leads of a sample's class over every other.
    fn leads(&self, sample: usize, class: usize) -> impl Iterator<Item = (usize, f64)> {
        let row = self.row(sample);
        row.iter()
            .enumerate()
            .filter(move |&(other, _)| other != class)
            .map(move |(other, value)| (other, row[class] - value))
    }

    fn reach(&self, sample: usize, class: usize) -> f64 {
        let scales = &self.class_scales[class * self.dim..(class + 1) * self.dim];
        let scaled = self.leads(sample, class).map(|(other, lead)| over(lead, scales[other]));
        over(scaled.fold(f64::INFINITY, f64::min), self.local_scales[sample])
    }
}

/// A lead over a slope; no lead is none however flat the outputs are.
fn over(lead: f64, scale: f64) -> f64 {
    if lead == 0.0 { 0.0 } else { lead / scale }
}

/// What is left of a reach. 0 wins over infinity; a sample that probes break by much lies farther beyond than one they break by
/// little, and the one with the larger reach less far.
fn shortened(reach: f64, part: f64) -> f64 {
    if part > 0.0 {
        reach * part
    } else if part == 0.0 {
        0.0
    } else {
        part / reach
    }
}

/// The edges of the input graph between samples that differ, with their lengths.
struct Edges {
    ends: Vec<(usize, usize)>,
    lengths: Vec<f64>,
}

impl Edges {
    /// Without inputs every edge has the length 1.
    fn new(graph: &Graph, inputs: Option<&Samples<'_>>) -> Self {
        let all: Vec<(usize, usize)> = graph.edges().map(|(p, q, _)| (p as usize, q as usize)).collect();
        let Some(inputs) = inputs else { return Self { lengths: vec![1.0; all.len()], ends: all } };
        let squared = squared_distances_between(inputs, &all);
        // Copies lie at no distance, and say nothing about a slope.
        let apart = all.into_iter().zip(squared).filter(|&(_, squared)| squared > 0.0);
        let (ends, lengths) = apart.map(|(ends, squared)| (ends, squared.sqrt())).unzip();
        Self { ends, lengths }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::margins::Margins;
    use spadework::graph::generators;

    fn nodes(scores: &[f64]) -> NodeScores {
        NodeScores::from_scores(scores.to_vec())
    }

    fn samples(dim: usize, values: &[f64]) -> Samples<'static> {
        Samples::from_f64(values.len() / dim, dim, values.to_vec()).unwrap()
    }

    /// The definition, edge by edge and class by class, on a small graph with lengths that differ.
    #[test]
    fn the_reach_is_what_its_definition_says() {
        let edges = [(0_u32, 1_u32), (1, 2), (2, 3), (0, 3), (1, 3)];
        let graph = Graph::from_edges(4, &edges).unwrap();
        let x = [[0.0, 0.0], [3.0, 4.0], [3.0, 5.0], [0.0, 2.0]];
        let y = [[2.0, 0.5, 1.0], [0.0, 3.0, 2.5], [1.0, -1.0, 0.75], [0.25, 0.0, 4.0]];
        let (inputs, outputs) = (samples(2, x.as_flattened()), samples(3, y.as_flattened()));
        let leads = Leads::new(&graph, Some(&inputs), &outputs);
        let length = |p: usize, q: usize| f64::hypot(x[p][0] - x[q][0], x[p][1] - x[q][1]);
        for p in 0..4 {
            let class = predictions(&outputs)[p];
            let slopes: Vec<f64> = edges
                .iter()
                .map(|&(a, b)| (a as usize, b as usize))
                .filter(|&(a, b)| a == p || b == p)
                .map(|(a, b)| {
                    let change = (0..3).map(|j| (y[a][j] - y[b][j]).powi(2)).sum::<f64>().sqrt();
                    change / length(a, b)
                })
                .collect();
            let local = slopes.iter().sum::<f64>() / slopes.len() as f64;
            let of_class = |j: usize| {
                let change = |&(a, b): &(u32, u32)| {
                    let (a, b) = (a as usize, b as usize);
                    ((y[a][class] - y[a][j]) - (y[b][class] - y[b][j])) / length(a, b)
                };
                let mean = edges.iter().map(|edge| change(edge).abs()).sum::<f64>() / edges.len() as f64;
                (y[p][class] - y[p][j]) / mean.sqrt() / local.sqrt().sqrt()
            };
            let expected = (0..3).filter(|&j| j != class).map(of_class).fold(f64::INFINITY, f64::min);
            // Some dozen roundings of numbers of size 1.
            assert!((leads.reach(p, class) - expected).abs() < 1e-13, "{p} {expected}");
        }
    }

    /// Two classes: s is the same for all, and so is ℓ on evenly spaced samples with evenly spaced outputs. What is left is
    /// the margin.
    #[test]
    fn where_slopes_are_equal_margins_decide() {
        let ring = generators::cycle(9);
        let turned = |degrees: i32| -> Samples<'static> {
            let point = |i: i32| <[f64; 2]>::from(f64::from(40 * i + degrees).to_radians().sin_cos());
            samples(2, &(0..9).flat_map(point).collect::<Vec<_>>())
        };
        let (inputs, outputs) = (turned(0), turned(7));
        let signals =
            SampleSignals { inputs: Some(&inputs), outputs: Some(&outputs), ..SampleSignals::default() };
        let found = Fragility::of(&ring, &nodes(&[0.0; 9]), &signals).unwrap();
        let margins = Margins::of(&outputs, None).unwrap().unwrap();
        assert_eq!(found.basis(), FragilityBasis::Reach);
        assert_eq!(found.ranking(), margins.ranking());
    }

    #[test]
    fn wrong_samples_are_the_most_fragile() {
        let line = generators::path(3);
        let outputs = samples(2, &[3.0, 0.0, 0.0, 0.5, 2.0, 0.0]);
        let signals =
            SampleSignals { outputs: Some(&outputs), labels: Some(&[1, 1, 0]), ..SampleSignals::default() };
        let found = Fragility::of(&line, &nodes(&[0.0; 3]), &signals).unwrap();
        assert_eq!(found.ranking(), [0, 1, 2]);
    }

    /// Probes that leave a tenth of one lead and all of the others put that sample first.
    #[test]
    fn probes_shorten_the_reach() {
        let line = generators::path(3);
        let outputs = samples(2, &[3.0, 0.0, 2.0, 0.0, 1.0, 0.0]);
        let plain = SampleSignals { outputs: Some(&outputs), ..SampleSignals::default() };
        let of = |signals: &SampleSignals<'_>| Fragility::of(&line, &nodes(&[0.0; 3]), signals);
        assert_eq!(of(&plain).unwrap().ranking(), [2, 1, 0]);
        let probed = |margins: &[Option<f64>]| of(&SampleSignals { probe_margins: Some(margins), ..plain });
        let found = probed(&[Some(0.3), Some(2.0), Some(1.0)]).unwrap();
        assert_eq!((found.basis(), found.ranking()), (FragilityBasis::ProbedReach, vec![0, 2, 1]));
        // Leads of 0.6 and 1 are left, parts of 0.2 and 0.5; the last keeps what lies between, 0.35 of its lead of 1.
        assert_eq!(probed(&[Some(0.6), Some(1.0), None]).unwrap().ranking(), [2, 0, 1]);
        // Most are lost: of these the larger lead is less so, and one that was not probed holds longer than they.
        assert_eq!(probed(&[Some(-0.3), Some(-0.2), None]).unwrap().ranking(), [1, 0, 2]);
        let error = probed(&[Some(0.3), Some(f64::NAN), Some(1.0)]).unwrap_err();
        assert!(matches!(error, Error::NonFinite { row: 1, .. }));
    }

    #[test]
    fn without_leads_node_scores_decide() {
        let line = generators::path(3);
        let outputs = samples(1, &[3.0, 0.0, 2.0]);
        let signals = SampleSignals { outputs: Some(&outputs), ..SampleSignals::default() };
        let found = Fragility::of(&line, &nodes(&[0.5, 2.0, 0.5]), &signals).unwrap();
        assert_eq!(
            (found.basis(), found.values()),
            (FragilityBasis::NodeScores, &[1.0 / 3.0, 5.0 / 6.0, 1.0 / 3.0][..])
        );
    }

    /// Copies lie at no distance, and constant outputs have no slope; neither may make a number that is none.
    #[test]
    fn copies_and_constants_do_no_harm() {
        let line = generators::path(4);
        let inputs = samples(1, &[1.0, 1.0, 1.0, 2.0]);
        let outputs = samples(2, &[1.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0]);
        let signals =
            SampleSignals { inputs: Some(&inputs), outputs: Some(&outputs), ..SampleSignals::default() };
        let found = Fragility::of(&line, &nodes(&[0.0; 4]), &signals).unwrap();
        let leads = Leads::new(&line, Some(&inputs), &outputs);
        assert!((0..4).all(|p| !leads.reach(p, 0).is_nan()));
        assert_eq!(found.ranking()[0], 0);
    }

    #[test]
    fn everything_is_there_once_a_sample() {
        let line = generators::path(3);
        let short = samples(2, &[3.0, 0.0, 2.0, 0.0]);
        let of = |signals: SampleSignals<'_>| Fragility::of(&line, &nodes(&[0.0; 3]), &signals).unwrap_err();
        let wrong = |what| Error::StoredShape { what, expected: 3, got: 2 };
        assert_eq!(of(SampleSignals { inputs: Some(&short), ..SampleSignals::default() }), wrong("inputs"));
        assert_eq!(of(SampleSignals { outputs: Some(&short), ..SampleSignals::default() }), wrong("outputs"));
        let margins = Some(&[Some(1.0), None][..]);
        assert_eq!(
            of(SampleSignals { probe_margins: margins, ..SampleSignals::default() }),
            wrong("probed margins")
        );
        let error = of(SampleSignals { labels: Some(&[0]), ..SampleSignals::default() });
        assert_eq!(error, Error::LabelCount { samples: 3, labels: 1 });
    }
}
