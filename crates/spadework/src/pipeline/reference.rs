//! New samples against a scored model: node scores without scoring everything again.
//!
//! A new sample u = (x, y) joins the reference graphs as a node of its own. Its neighbors on each side are the k nearest
//! reference samples, and those that would have u among their own k nearest: the union rule, as in the graphs. The entries
//! of v for the reference samples do not change, so row u of L_X v = λ L_Y v gives the entry of every eigenvector at u:
//!
//! ```text
//! v(u) = ( λ Σ_{q ∈ N_Y(u)} v(q) − Σ_{q ∈ N_X(u)} v(q) ) / ( λ |N_Y(u)| − |N_X(u)| )
//! ```
//!
//! (This is Nyström's extension for this pencil.) For large λ, it is the mean over the output neighbors. The node score of u
//! is the mean of ‖V(u) − V(q)‖² over its input neighbors, as for every sample. A new sample that equals a reference sample
//! in input and output takes its place, so the two are not neighbors. Its neighbors, entries and score are those of the
//! reference sample, up to the residual of the eigenpairs.

use std::sync::Arc;

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::graphs::{SearchedOutputs, searched_inputs};
use super::params::SpadeParams;
use crate::error::{Error, Result};
use crate::graph::{GraphKind, SideSamples, Weights};
use crate::kernels::arch;
use crate::monitor::{Monitor, Stage, check_cancelled};
use crate::neighbors::{
    Element, NeighborLists, RowSource, TiedNeighbor, squared_by, squared_distance_between, with_both_rows,
};
use crate::samples::{FittedGeometry, Norm, PairedSamples, Samples, Side};
use crate::scores::{EdgeScores, NodeScores, SpectralEmbedding};
use crate::threads::with_threads;

/// The row equation is used where λ|N_Y| is at least this many times |N_X|: what neighbors' entries are off by is then
/// multiplied by at most 3. Elsewhere (a hub of the input graph, λ hardly above 1) the mean over the output neighbors
/// takes its place.
const LEAST_DOMINANCE: f64 = 2.0;

/// A scored model that new samples are scored against.
#[derive(Debug)]
pub struct Reference<'a> {
    /// In place.
    samples: PairedSamples<'a>,
    /// How new samples come to their places, inputs and outputs.
    geometries: [FittedGeometry; 2],
    params: SpadeParams,
    eigenvalues: Vec<f64>,
    embedding: SpectralEmbedding,
    input_reach: Vec<TiedNeighbor>,
    output_reach: Vec<TiedNeighbor>,
    /// Whether inputs decide between equally near outputs.
    inputs_decide: bool,
    /// Node scores of the reference, ascending.
    ascending: Vec<f64>,
}

/// What [`Reference::score`] finds.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct NewScores {
    /// The scores of the new samples.
    pub node_scores: NodeScores,
    /// Their rows of the embedding.
    pub embedding: SpectralEmbedding,
    /// For every new sample, the share of the reference samples with a lower score, 0 to 1.
    pub quantiles: Vec<f64>,
    /// New samples that equal a reference sample in input and output.
    pub known: usize,
    /// How many entries of eigenvectors at new samples are means over output neighbors, because the row equation does not
    /// determine them well. There are `r` entries per new sample.
    pub averaged: usize,
    /// New samples whose inputs are far from the reference, ascending: farther from their nearest reference sample than any
    /// reference sample is from its k-th neighbor. Their scores are extrapolated.
    pub far_inputs: Vec<usize>,
    /// The same by their outputs.
    pub far_outputs: Vec<usize>,
}

impl<'a> Reference<'a> {
    /// Prepares a scored model: its samples, and the eigenvalues and the embedding of its report. Only these parameters
    /// matter: k (the k used), the metrics, the search and the threads. The graphs must be kNN graphs with unit weights.
    ///
    /// Finds the distance of every reference sample to its k-th neighbor, which takes one neighbor search per side.
    ///
    /// # Errors
    /// When k or the embedding does not fit the samples, the graphs are of another kind, or the monitor stops the search.
    pub fn new(
        samples: PairedSamples<'a>,
        eigenvalues: Vec<f64>,
        embedding: SpectralEmbedding,
        params: &SpadeParams,
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        let (rows, columns) = (samples.len(), eigenvalues.len());
        if embedding.dim() != columns || embedding.values().len() != rows * columns {
            return Err(Error::WrongLength { rows, columns, got: embedding.values().len() });
        }
        let (graph, weights) = (params.graph, params.weights);
        if (graph, weights) != (GraphKind::Knn, Weights::Unit) {
            let (graph, weights) = (graph.to_string(), weights.to_string());
            return Err(Error::ReferenceGraphs { graph, weights });
        }
        let (input, output) = samples.into_sides();
        let geometries = [
            params.geometry(Side::Input).fit(Side::Input, &input)?,
            params.geometry(Side::Output).fit(Side::Output, &output)?,
        ];
        let samples = PairedSamples::new(geometries[0].place(input)?, geometries[1].place(output)?)?;
        // New samples are compared with these as they are.
        for side in [samples.input(), samples.output()] {
            if side.enlarged().is_some() {
                return Err(Error::TooSmallReference);
            }
        }
        let (graph, inputs, outputs, inputs_decide) = with_threads(params.threads, || -> Result<_> {
            // They are in place already.
            let given = |samples| SideSamples::Given(Arc::new(samples));
            let (inputs, outputs) = (given(samples.input().view()), given(samples.output().view()));
            let input = searched_inputs(inputs.clone(), params, None, monitor)?;
            let dim = samples.output().dim();
            let output = SearchedOutputs::search(dim, outputs, Some(&inputs), params, None, monitor)?;
            let inputs_decide = output.inputs_decided();
            let graph = input.graph(params.neighbors);
            Ok((graph, input.into_lists(), output.side.into_lists(), inputs_decide))
        })?;
        let edges = EdgeScores::from_embedding(&graph, &embedding);
        let mut ascending = NodeScores::from_edges(&graph, &edges).scores().to_vec();
        ascending.sort_unstable_by(f64::total_cmp);
        let deciding = Some(samples.input()).filter(|_| inputs_decide);
        let (input_reach, output_reach) = (reach(&inputs, None), reach(&outputs, deciding));
        Ok(Self {
            samples,
            geometries,
            params: params.clone(),
            eigenvalues,
            embedding,
            input_reach,
            output_reach,
            inputs_decide,
            ascending,
        })
    }

    /// Number of reference samples.
    #[expect(clippy::len_without_is_empty, reason = "samples are never empty")]
    pub fn len(&self) -> usize {
        self.samples.len()
    }

    /// Scores new samples, each by itself: they are not neighbors of each other.
    ///
    /// # Errors
    /// When the numbers per sample are not those of the reference, numbers of rows differ, or the monitor stops the run.
    ///
    /// # Complexity
    /// O(m n d) for m new samples.
    pub fn score(
        &self,
        inputs: &Samples<'_>,
        outputs: &Samples<'_>,
        monitor: &dyn Monitor,
    ) -> Result<NewScores> {
        if inputs.len() != outputs.len() {
            return Err(Error::ShapeMismatch { input_rows: inputs.len(), output_rows: outputs.len() });
        }
        check_dims(Side::Input, self.samples.input(), inputs)?;
        check_dims(Side::Output, self.samples.output(), outputs)?;
        let [input_place, output_place] = &self.geometries;
        let (inputs, outputs) = (&input_place.place(inputs.view())?, &output_place.place(outputs.view())?);
        monitor.begin(Stage::NewSamples);
        let k = self.params.neighbors;
        let (known, input, output) = with_threads(self.params.threads, || {
            let known = self.known(inputs, outputs, monitor)?;
            let new = |reference, reach, new, decides: &Decides<'_>| {
                neighbors_of_new(reference, reach, k, new, &known, decides, monitor)
            };
            let at_input = self.inputs_decide.then(|| squared_distances(self.samples.input(), inputs));
            let by_input = |q: usize, u: usize| at_input.as_ref().map_or(0.0, |squared| squared(q, u));
            let input = new(self.samples.input(), &self.input_reach, inputs, &|_, _| 0.0)?;
            let output = new(self.samples.output(), &self.output_reach, outputs, &by_input)?;
            Ok((known, input, output))
        })?;
        let mut averaged = 0;
        let mut values = Vec::with_capacity(inputs.len() * self.eigenvalues.len());
        let mut scores = Vec::with_capacity(inputs.len());
        for (near, reached) in input.iter().zip(&output) {
            let near = &near.neighbors;
            let row = self.row(near, &reached.neighbors, &mut averaged);
            let distance = |&q: &u32| {
                row.iter().zip(self.embedding.row(q as usize)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>()
            };
            scores.push(near.iter().map(distance).sum::<f64>() / near.len() as f64);
            values.extend(row);
        }
        Ok(NewScores {
            quantiles: scores.iter().map(|&score| self.quantile(score)).collect(),
            node_scores: NodeScores::from_scores(scores),
            embedding: SpectralEmbedding::from_rows(self.eigenvalues.len(), values),
            known: known.iter().flatten().count(),
            averaged,
            far_inputs: far(&input, &self.input_reach),
            far_outputs: far(&output, &self.output_reach),
        })
    }

    /// Row u of L_X v = λ L_Y v solved for v(u), for every eigenpair; the factor √λ of the embedding goes through.
    fn row(&self, input: &[u32], output: &[u32], averaged: &mut usize) -> Vec<f64> {
        let sum = |neighbors: &[u32], i: usize| {
            neighbors.iter().map(|&q| self.embedding.row(q as usize)[i]).sum::<f64>()
        };
        let (input_degree, output_degree) = (input.len() as f64, output.len() as f64);
        let entry = |(i, &value): (usize, &f64)| {
            if value * output_degree < LEAST_DOMINANCE * input_degree {
                *averaged += 1;
                return sum(output, i) / output_degree;
            }
            (value * sum(output, i) - sum(input, i)) / (value * output_degree - input_degree)
        };
        self.eigenvalues.iter().enumerate().map(entry).collect()
    }

    fn quantile(&self, score: f64) -> f64 {
        self.ascending.partition_point(|&other| other < score) as f64 / self.ascending.len() as f64
    }

    /// For every new sample, the first reference sample that it equals in input and output.
    fn known(
        &self,
        inputs: &Samples<'_>,
        outputs: &Samples<'_>,
        monitor: &dyn Monitor,
    ) -> Result<Vec<Option<u32>>> {
        let same_output = equal_rows(self.samples.output(), outputs);
        let same_input = equal_rows(self.samples.input(), inputs);
        (0..inputs.len())
            .into_par_iter()
            .map(|u| {
                check_cancelled(monitor)?;
                Ok((0..self.len()).find(|&q| same_output(q, u) && same_input(q, u)).map(|q| q as u32))
            })
            .collect()
    }
}

/// The k-th neighbor of every sample; `deciding` are the inputs where they decide between equally near outputs.
fn reach(lists: &NeighborLists, deciding: Option<&Samples<'_>>) -> Vec<TiedNeighbor> {
    let last = lists.neighbors() - 1;
    let farthest = |p: usize| {
        let index = lists.of(p)[last];
        let decides = deciding.map_or(0.0, |inputs| squared_distance_between(inputs, p, index as usize));
        TiedNeighbor { squared: lists.squared_distances_of(p)[last], decides, index }
    };
    (0..lists.len()).map(farthest).collect()
}

/// The new samples whose nearest reference sample is farther away than any k-th neighbor within the reference.
fn far(new: &[NewNeighbors], reach: &[TiedNeighbor]) -> Vec<usize> {
    let farthest = reach.iter().map(|kth| kth.squared).fold(0.0, f64::max);
    new.iter().enumerate().filter(|(_, near)| near.nearest > farthest).map(|(u, _)| u).collect()
}

fn check_dims(side: Side, reference: &Samples<'_>, new: &Samples<'_>) -> Result<()> {
    if reference.dim() == new.dim() {
        return Ok(());
    }
    Err(Error::ReferenceDim { side, expected: reference.dim(), got: new.dim() })
}

/// Tells whether row q of the reference is row u of the new samples.
fn equal_rows<'s>(
    reference: &'s Samples<'_>,
    new: &'s Samples<'_>,
) -> Box<dyn Fn(usize, usize) -> bool + Sync + 's> {
    with_both_rows!(reference, new, (a, b) => Box::new(move |q, u| a.row(q) == b.row(u)))
}

/// The squared distance of row q of the reference from row u of the new samples.
fn squared_distances<'s>(
    reference: &'s Samples<'_>,
    new: &'s Samples<'_>,
) -> Box<dyn Fn(usize, usize) -> f64 + Sync + 's> {
    let norm = reference.norm();
    with_both_rows!(reference, new, (a, b) => Box::new(move |q, u| squared_by(norm, &a.row(q), &b.row(u))))
}

/// What decides between equally near reference samples: asked by reference sample and new sample, the smaller comes first.
type Decides<'d> = dyn Fn(usize, usize) -> f64 + Sync + 'd;

/// A new sample on one side.
struct NewNeighbors {
    /// Its neighbors, ascending.
    neighbors: Vec<u32>,
    /// Squared distance to the nearest.
    nearest: f64,
}

/// The neighbors on one side of every new sample.
fn neighbors_of_new(
    reference: &Samples<'_>,
    reach: &[TiedNeighbor],
    neighbors: usize,
    new: &Samples<'_>,
    known: &[Option<u32>],
    decides: &Decides<'_>,
    monitor: &dyn Monitor,
) -> Result<Vec<NewNeighbors>> {
    let norm = reference.norm();
    let found = Joined { norm, reach, neighbors, known, decides };
    with_both_rows!(reference, new, (a, b) => found.each_new_sample(a, b, monitor))
}

/// What joins new samples to the reference on one side.
#[derive(Clone, Copy)]
struct Joined<'a> {
    norm: Norm,
    reach: &'a [TiedNeighbor],
    neighbors: usize,
    known: &'a [Option<u32>],
    decides: &'a Decides<'a>,
}

impl Joined<'_> {
    fn each_new_sample<R: RowSource>(
        self,
        reference: R,
        new: R,
        monitor: &dyn Monitor,
    ) -> Result<Vec<NewNeighbors>> {
        self.known
            .par_iter()
            .enumerate()
            .map(|(u, &own)| {
                check_cancelled(monitor)?;
                Ok(arch().dispatch(Joining { side: self, reference, row: &new.row(u), new: u, own }))
            })
            .collect()
    }
}

/// The k nearest reference samples of a new one, and those that have it among their own k nearest. The new sample has
/// the index of the reference sample it equals, or the last: a newcomer loses every tie.
struct Joining<'a, R: RowSource> {
    side: Joined<'a>,
    reference: R,
    row: &'a [R::Item],
    /// The position of the new sample.
    new: usize,
    own: Option<u32>,
}

impl<R: RowSource> WithSimd for Joining<'_, R> {
    type Output = NewNeighbors;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> NewNeighbors {
        let Self { side: Joined { norm, reach, neighbors, decides, .. }, reference, row, new, own } = self;
        let index = own.unwrap_or(u32::MAX);
        let mut nearest: Vec<TiedNeighbor> = Vec::with_capacity(neighbors + 1);
        let mut chosen_by = Vec::new();
        for (q, reach) in reach.iter().enumerate() {
            if own == Some(q as u32) {
                continue;
            }
            let other = reference.row(q);
            let farthest =
                if nearest.len() < neighbors { f64::INFINITY } else { nearest[neighbors - 1].squared };
            let at_least = R::Item::least_squared_by(norm, simd, row, &other);
            if at_least > farthest && at_least > reach.squared {
                continue;
            }
            let squared = squared_by(norm, row, &other);
            if squared > farthest && squared > reach.squared {
                continue;
            }
            let candidate = TiedNeighbor { squared, decides: decides(q, new), index: q as u32 };
            if (TiedNeighbor { index, ..candidate }).order(reach).is_le() {
                chosen_by.push(q as u32);
            }
            let at = nearest.partition_point(|nearer| nearer.order(&candidate).is_lt());
            if at < neighbors {
                nearest.insert(at, candidate);
                nearest.truncate(neighbors);
            }
        }
        // There are more reference samples than neighbors, so there is a nearest one.
        let least = nearest[0].squared;
        let mut all: Vec<u32> = nearest.into_iter().map(|near| near.index).chain(chosen_by).collect();
        all.sort_unstable();
        all.dedup();
        NewNeighbors { neighbors: all, nearest: least }
    }
}
