//! The score over k (the paper's § 5.5), of one model or several. Each side is searched once, at the largest k: the
//! lists for a smaller k are prefixes of those.

use std::time::{Duration, Instant};

use super::graphs::ModelSides;
use super::models::ModelSet;
use super::params::SpadeParams;
use super::report::SolvedSpectrum;
use super::steps::solved;
use crate::eigen::Enclosure;
use crate::error::{Error, Result};
use crate::graph::SideConnection;
use crate::monitor::Monitor;
use crate::neighbors::Recall;
use crate::threads::with_threads;

/// Scores of models over k.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Sweep {
    /// Names of the models, in the order given.
    pub models: Vec<String>,
    /// One point for every k, ascending.
    pub points: Vec<SweepPoint>,
    /// The recall of the neighbors among the inputs; `None` if their graph was given.
    pub input_recall: Option<Recall>,
    /// The same among the outputs of every model.
    pub output_recalls: Vec<Recall>,
    /// Time of the neighbor searches.
    pub searching: Duration,
    /// Time of all of it.
    pub total: Duration,
}

/// One k of a sweep.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SweepPoint {
    /// k.
    pub neighbors: usize,
    /// The scores; or, under [`Connectivity::Error`](crate::graph::Connectivity::Error), why there are none.
    pub scores: Result<SweepScores>,
}

/// The scores of all models at one k.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SweepScores {
    /// Neighbors used, k' ≥ k; the same for all models.
    pub used: usize,
    /// What the input graph needed.
    pub input: SideConnection,
    /// Each model, in the order given.
    pub models: Vec<SweepScore>,
}

/// One model at one k.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SweepScore {
    /// λ_1 ≥ … ≥ λ_r; the first is the model score.
    pub eigenvalues: Vec<f64>,
    /// Relative residual of each.
    pub residuals: Vec<f64>,
    /// Bounds of the model score.
    pub enclosure: Enclosure,
    /// What the output graph needed.
    pub output: SideConnection,
}

impl SweepScore {
    /// λ_1.
    pub fn model_score(&self) -> f64 {
        self.eigenvalues[0]
    }
}

impl SweepScores {
    /// Positions of the models, most robust (smallest score) first; ties in the order given.
    pub fn ranking(&self) -> Vec<usize> {
        let mut ranking: Vec<usize> = (0..self.models.len()).collect();
        ranking.sort_by(|&a, &b| self.models[a].model_score().total_cmp(&self.models[b].model_score()));
        ranking
    }
}

/// A range of k over which the models keep their order.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StableRange {
    /// The smallest k.
    pub from: usize,
    /// The largest k.
    pub to: usize,
    /// How many values of k of the sweep are in the range.
    pub points: usize,
    /// Positions of the models, most robust first.
    pub ranking: Vec<usize>,
}

impl Sweep {
    /// The longest run of k with one ranking; of two runs of equal length, the one with the larger k. A k without
    /// scores ends a run. `None` for fewer than two models.
    pub fn stable_range(&self) -> Option<StableRange> {
        if self.models.len() < 2 {
            return None;
        }
        let ranking = |point: &SweepPoint| point.scores.as_ref().ok().map(SweepScores::ranking);
        let runs = self.points.chunk_by(|a, b| ranking(a) == ranking(b));
        let ranges = runs.filter_map(|run| {
            let ranking = ranking(&run[0])?;
            let (from, to) = (run[0].neighbors, run[run.len() - 1].neighbors);
            Some(StableRange { from, to, points: run.len(), ranking })
        });
        // The last of equally long ones.
        ranges.max_by_key(|range| range.points)
    }
}

/// Scores one or more models for every k of `neighbors`, ascending; `params.neighbors` is not used.
///
/// Under [`Connectivity::Grow`](crate::graph::Connectivity::Grow), all models at one k share the smallest k' ≥ k that connects every graph. An input
/// graph that was given stays as it is for every k. At that k', each score is that of [`evaluate`](crate::pipeline::evaluate), bit by bit if the
/// search is exact. (An approximate search runs once, for the largest k; `evaluate` would search for k'.)
///
/// # Errors
/// When `neighbors` is empty or does not ascend, and as [`evaluate`](crate::pipeline::evaluate). A k refused by
/// [`Connectivity::Error`](crate::graph::Connectivity::Error) is a point without scores. If every k is refused, so is the sweep.
pub fn sweep(
    models: &ModelSet<'_>,
    neighbors: &[usize],
    params: &SpadeParams,
    monitor: &dyn Monitor,
) -> Result<Sweep> {
    let mut previous = 0;
    for &next in neighbors {
        if next <= previous {
            return Err(Error::SweepOrder { previous, next });
        }
        previous = next;
    }
    let params = SpadeParams { neighbors: previous, ..params.clone() };
    params.check_for(models.len())?;
    with_threads(params.threads, || sweep_here(models, neighbors, &params, monitor))
}

/// The sweep in the current thread pool; `params` has the largest k.
fn sweep_here(
    models: &ModelSet<'_>,
    neighbors: &[usize],
    params: &SpadeParams,
    monitor: &dyn Monitor,
) -> Result<Sweep> {
    let began = Instant::now();
    let mut sides = ModelSides::of_models(models, params, monitor)?;
    let mut points: Vec<SweepPoint> = Vec::with_capacity(neighbors.len());
    for &k in neighbors {
        let scores = match scores_at(&mut sides, models, k, params, &points, monitor) {
            Err(error) if !is_refusal(&error) => return Err(error),
            scores => scores,
        };
        points.push(SweepPoint { neighbors: k, scores });
    }
    if points.iter().all(|point| point.scores.is_err())
        && let Some(SweepPoint { scores: Err(error), .. }) = points.pop()
    {
        return Err(error);
    }
    let mut recalls = sides.recalls();
    Ok(Sweep {
        models: models.models().iter().map(|model| model.name.clone()).collect(),
        points,
        input_recall: models.inputs().samples().and_then(|_| recalls.next()),
        output_recalls: recalls.collect(),
        searching: sides.searching(),
        total: began.elapsed(),
    })
}

/// Whether this k has no score under the policy, though another may.
fn is_refusal(error: &Error) -> bool {
    match error {
        Error::Disconnected { .. } => true,
        Error::InModel { cause, .. } => is_refusal(cause),
        _ => false,
    }
}

fn scores_at(
    sides: &mut ModelSides<'_>,
    models: &ModelSet<'_>,
    neighbors: usize,
    params: &SpadeParams,
    before: &[SweepPoint],
    monitor: &dyn Monitor,
) -> Result<SweepScores> {
    let made = sides.make(neighbors, params, monitor)?;
    // Where several k grow to the same k', the graphs are the same too.
    let same =
        before.iter().filter_map(|point| point.scores.as_ref().ok()).find(|known| known.used == made.used());
    let mut scores = Vec::with_capacity(models.models().len());
    for (at, (output, model)) in made.outputs().zip(models.models()).enumerate() {
        if let Some(known) = same {
            scores.push(SweepScore { output: output.connection, ..known.models[at].clone() });
            continue;
        }
        let graphs = made.of_model(at, params)?.graphs;
        let SolvedSpectrum { eigenpairs, enclosure, .. } =
            solved(&graphs, params, monitor).map_err(|error| error.in_model(&model.name))?;
        scores.push(SweepScore {
            eigenvalues: eigenpairs.values().to_vec(),
            residuals: eigenpairs.residuals().to_vec(),
            enclosure,
            output: output.connection,
        });
    }
    Ok(SweepScores { used: made.used(), input: made.input().connection, models: scores })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eigen::EnclosureMethod;

    fn point(neighbors: usize, scores: &[f64]) -> SweepPoint {
        let connection = SideConnection::default();
        let of = |&score: &f64| SweepScore {
            eigenvalues: vec![score],
            residuals: vec![0.0],
            enclosure: Enclosure {
                lower: score,
                upper: score,
                method: EnclosureMethod::Dense,
                probability: 1.0,
            },
            output: connection,
        };
        let models = scores.iter().map(of).collect();
        SweepPoint { neighbors, scores: Ok(SweepScores { used: neighbors, input: connection, models }) }
    }

    fn sweep_of(points: Vec<SweepPoint>) -> Sweep {
        let models = vec!["a".to_owned(), "b".to_owned()];
        Sweep {
            models,
            points,
            input_recall: Some(Recall::Exact),
            output_recalls: vec![Recall::Exact; 2],
            searching: Duration::ZERO,
            total: Duration::ZERO,
        }
    }

    #[test]
    fn the_longest_run_of_one_ranking() {
        let points =
            vec![point(5, &[1.0, 2.0]), point(6, &[2.0, 1.0]), point(7, &[2.0, 1.5]), point(9, &[3.0, 3.0])];
        let expected = StableRange { from: 6, to: 7, points: 2, ranking: vec![1, 0] };
        assert_eq!(sweep_of(points).stable_range(), Some(expected));
    }

    #[test]
    fn a_refused_k_ends_a_run_and_ties_go_to_larger_k() {
        let refused = SweepPoint { neighbors: 6, scores: Err(Error::NoNeighbors) };
        let points = vec![point(5, &[1.0, 2.0]), refused, point(7, &[1.0, 2.0])];
        let expected = StableRange { from: 7, to: 7, points: 1, ranking: vec![0, 1] };
        assert_eq!(sweep_of(points).stable_range(), Some(expected));
    }
}
