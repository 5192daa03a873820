//! What models are ranked by: the best number that a call allows, and which models it can and cannot
//! distinguish.
//!
//! The order of the evidence is that of `docs/what-the-scores-mean.md`: the robust accuracy that probes estimate, then the best index
//! of arrays alone that all models have ([`best_of_arrays`]), then the SPADE score. Models are compared pair by pair on the same samples. Two
//! models share a rank if the 95 % interval of their difference contains 0.

use std::fmt;
use std::str::FromStr;

use spadework::error::UnknownWord;
use spadework::pipeline::{Comparison, Intervals};
use spadework_document::comparison::{CompareDocument, DisagreementDocument};
use spadework_probe::SampleFacts;
use spadework_probe::intervals::{Difference, paired_shares};

use crate::failure::Failure;
use crate::probing::ModelProbes;
use crate::usage::Usage;

/// What models are to be ranked by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RankBy {
    /// The best evidence available.
    #[default]
    Auto,
    /// This number.
    Evidence(Evidence),
}

/// A number that models can be ranked by, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// The robust accuracy that probes estimate; larger is more robust.
    RobustAccuracy,
    /// How much outputs change between neighboring inputs; smaller is more robust.
    Unevenness,
    /// The share of input neighbors that stay neighbors; larger is more robust.
    Overlap,
    /// λ_1; smaller is more robust.
    ModelScore,
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Evidence::RobustAccuracy => "robust-accuracy",
            Evidence::Unevenness => "unevenness",
            Evidence::Overlap => "overlap",
            Evidence::ModelScore => "model-score",
        })
    }
}

impl RankBy {
    const WORDS: [(&'static str, Self); 5] = [
        ("auto", Self::Auto),
        ("robust-accuracy", Self::Evidence(Evidence::RobustAccuracy)),
        ("unevenness", Self::Evidence(Evidence::Unevenness)),
        ("overlap", Self::Evidence(Evidence::Overlap)),
        ("model-score", Self::Evidence(Evidence::ModelScore)),
    ];
}

impl FromStr for RankBy {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        let found = Self::WORDS.into_iter().find(|(known, _)| *known == word);
        found
            .map(|(_, by)| by)
            .ok_or(UnknownWord::new("auto, robust-accuracy, unevenness, overlap or model-score"))
    }
}

/// Of the indices that all models have, the one that tracks robustness best if no model can be run: outputs that are no
/// classes have a neighborhood overlap only. One place, so that a better one can take over.
fn best_of_arrays(facts: &[SampleFacts]) -> Evidence {
    if facts.iter().all(|facts| facts.unevenness.is_some()) {
        Evidence::Unevenness
    } else {
        Evidence::Overlap
    }
}

/// What is known about compared models, in the order of the comparison.
pub struct Known<'a> {
    comparison: &'a Comparison,
    facts: &'a [SampleFacts],
    /// Whether every probed sample is expected to survive, by model; none unless every model was probed by a search, on
    /// the same samples.
    robust: Option<Vec<Vec<bool>>>,
    /// Subsamples of the SPADE score, where there are some.
    subsamples: Option<&'a Intervals>,
}

impl<'a> Known<'a> {
    /// Gathers it; `probes` may be empty, `labels` are those of all samples.
    ///
    /// # Errors
    /// When there is not one label per sample.
    pub fn new(
        comparison: &'a Comparison,
        facts: &'a [SampleFacts],
        probes: &[Option<ModelProbes>],
        labels: Option<&[i64]>,
        subsamples: Option<&'a Intervals>,
    ) -> Result<Self, Failure> {
        let outcomes = |probes: &Option<ModelProbes>| -> Result<Option<Vec<bool>>, Failure> {
            let Some(probes) = probes else { return Ok(None) };
            let outcomes = probes.probed.outcomes(labels)?;
            Ok(outcomes.into_iter().map(|outcome| outcome.robust).collect())
        };
        let robust = probes.iter().map(outcomes).collect::<Result<Option<Vec<_>>, _>>()?;
        let robust = robust.filter(|models| models.len() == comparison.models.len());
        Ok(Self { comparison, facts, robust, subsamples })
    }

    /// Ranks the models.
    ///
    /// # Errors
    /// When they are to be ranked by robust accuracy or unevenness, and some of them have none.
    pub fn ranked(&self, by: RankBy) -> Result<Ranking, Failure> {
        let by = match by {
            RankBy::Auto if self.robust.is_some() => Evidence::RobustAccuracy,
            RankBy::Auto => best_of_arrays(self.facts),
            RankBy::Evidence(Evidence::RobustAccuracy) if self.robust.is_none() => {
                return Err(Usage::RankedWithoutProbes.into());
            }
            RankBy::Evidence(Evidence::Unevenness) => self.all_uneven()?,
            RankBy::Evidence(evidence) => evidence,
        };
        let values = self.values(by);
        let mut order: Vec<usize> = (0..values.len()).collect();
        // Stable: equal numbers stay in the order of the SPADE score.
        order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
        let pairs = self.pairs(by, &order);
        let ranks = ranks(order.len(), &pairs);
        let disagreement = self.disagreement(by, &order, &pairs);
        Ok(Ranking { by, order, ranks, pairs, disagreement })
    }

    /// Refuses a ranking by unevenness of models that have none.
    fn all_uneven(&self) -> Result<Evidence, Failure> {
        let mut models = self.comparison.models.iter().zip(self.facts);
        match models.find(|(_, facts)| facts.unevenness.is_none()) {
            Some((model, _)) => Err(Usage::RankedWithoutClasses { model: model.name.clone() }.into()),
            None => Ok(Evidence::Unevenness),
        }
    }

    /// The number of every model, with a sign that makes larger more robust; empty if some have none.
    fn values(&self, by: Evidence) -> Vec<f64> {
        match (by, &self.robust) {
            (Evidence::RobustAccuracy, Some(models)) => {
                models.iter().map(|samples| samples.iter().filter(|&&holds| holds).count() as f64).collect()
            }
            (Evidence::RobustAccuracy, None) => Vec::new(),
            (Evidence::Unevenness, _) => {
                let value = |facts: &SampleFacts| Some(-facts.unevenness.as_ref()?.estimate().estimate);
                self.facts.iter().map(value).collect::<Option<Vec<f64>>>().unwrap_or_default()
            }
            (Evidence::Overlap, _) => {
                self.facts.iter().map(|facts| facts.overlap.estimate().estimate).collect()
            }
            (Evidence::ModelScore, _) => {
                self.comparison.models.iter().map(|model| -model.report.model_score.0).collect()
            }
        }
    }

    fn pairs(&self, by: Evidence, order: &[usize]) -> Vec<RankedPair> {
        let positions = (0..order.len()).flat_map(|a| (a + 1..order.len()).map(move |b| (a, b)));
        let pair = |(a, b): (usize, usize)| {
            let (first, second) = (order[a], order[b]);
            let difference = self.difference(by, first, second);
            let apart = match &difference {
                Some(found) => found.lower > 0.0 || found.upper < 0.0,
                None => self.scores_are_apart(first, second),
            };
            RankedPair { a, b, difference, apart }
        };
        positions.map(pair).collect()
    }

    /// How much more robust one model is than another, paired on the same samples; none of SPADE scores, which are not means of samples.
    fn difference(&self, by: Evidence, model: usize, other: usize) -> Option<Difference> {
        match (by, &self.robust) {
            (Evidence::RobustAccuracy, Some(robust)) => Some(paired_shares(&robust[other], &robust[model])),
            (Evidence::Unevenness, _) => {
                let [one, other] = [model, other].map(|at| self.facts[at].unevenness.as_ref());
                Some(one?.advantage_over(other?))
            }
            (Evidence::Overlap, _) => Some(self.facts[model].overlap.less(&self.facts[other].overlap)),
            _ => None,
        }
    }

    /// Whether SPADE scores keep their order in 97.5 % of the subsamples; without any, whether their numerical bounds do.
    fn scores_are_apart(&self, model: usize, other: usize) -> bool {
        /// One of both tails of a 95 % interval.
        const IN_ORDER: f64 = 0.975;
        let models = &self.comparison.models;
        match self.subsamples {
            Some(subsamples) => {
                subsamples.part_in_order(models[model].given, models[other].given) >= IN_ORDER
            }
            None => models[model].report.enclosure.upper < models[other].report.enclosure.lower,
        }
    }

    /// Which of the other numbers put pairs that are apart the other way around.
    fn disagreement(&self, by: Evidence, order: &[usize], pairs: &[RankedPair]) -> Vec<Disagreement> {
        let others =
            [Evidence::RobustAccuracy, Evidence::Unevenness, Evidence::Overlap, Evidence::ModelScore];
        let others = others.into_iter().filter(|&other| other != by);
        let apart: Vec<&RankedPair> = pairs.iter().filter(|pair| pair.apart).collect();
        let found = others.filter_map(|other| {
            let values = self.values(other);
            let value = |at: usize| values.get(order[at]);
            let turned = apart.iter().filter(|pair| value(pair.a) < value(pair.b));
            let turned: Vec<_> = turned.collect();
            let first = turned.first()?;
            Some(Disagreement { by: other, pairs: turned.len(), of: apart.len(), first: [first.a, first.b] })
        });
        found.collect()
    }
}

/// One more than the models that are more robust for certain, never less than that of a model before.
fn ranks(models: usize, pairs: &[RankedPair]) -> Vec<usize> {
    let mut ranks = vec![1; models];
    for pair in pairs.iter().filter(|pair| pair.apart) {
        ranks[pair.b] += 1;
    }
    for at in 1..models {
        ranks[at] = ranks[at].max(ranks[at - 1]);
    }
    ranks
}

/// Ranked models.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    /// What they are ranked by.
    pub by: Evidence,
    /// Positions in the comparison, most robust first.
    pub order: Vec<usize>,
    /// The rank of each, in that order.
    ranks: Vec<usize>,
    pairs: Vec<RankedPair>,
    disagreement: Vec<Disagreement>,
}

/// Two models by their places in a ranking, a < b.
#[derive(Debug, Clone, PartialEq)]
struct RankedPair {
    a: usize,
    b: usize,
    difference: Option<Difference>,
    apart: bool,
}

#[derive(Debug, Clone, PartialEq)]
struct Disagreement {
    by: Evidence,
    pairs: usize,
    of: usize,
    first: [usize; 2],
}

impl Ranking {
    /// Sorts a list from the order of the comparison into the order of the ranking.
    pub fn sorted<T>(&self, list: Vec<T>) -> Vec<T> {
        let mut list: Vec<Option<T>> = list.into_iter().map(Some).collect();
        self.order.iter().filter_map(|&from| list.get_mut(from)?.take()).collect()
    }

    /// Writes the ranking into the document of a reordered comparison.
    pub fn tell(&self, document: &mut CompareDocument) {
        document.ranked_by = self.by.to_string();
        for (model, &rank) in document.models.iter_mut().zip(&self.ranks) {
            model.rank = rank;
        }
        for (pair, ranked) in document.agreement.iter_mut().zip(&self.pairs) {
            pair.apart = ranked.apart;
            pair.difference = ranked.difference.map(Into::into);
        }
        let name = |at: usize| document.models[at].name.clone();
        let told = self.disagreement.iter().map(|found| DisagreementDocument {
            by: found.by.to_string(),
            pairs: found.pairs,
            of: found.of,
            first: found.first.map(name),
        });
        document.disagreement = told.collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(a: usize, b: usize, apart: bool) -> RankedPair {
        RankedPair { a, b, difference: None, apart }
    }

    /// The first two cannot be distinguished, nor the last two; the first is ahead of the third.
    #[test]
    fn models_that_cannot_be_told_apart_share_a_rank() {
        assert_eq!(ranks(3, &[pair(0, 1, false), pair(0, 2, true), pair(1, 2, true)]), [1, 1, 3]);
        assert_eq!(ranks(3, &[pair(0, 1, false), pair(0, 2, true), pair(1, 2, false)]), [1, 1, 2]);
        assert_eq!(ranks(3, &[pair(0, 1, true), pair(0, 2, true), pair(1, 2, true)]), [1, 2, 3]);
        // A model that is behind nobody for certain does not come before one that is.
        assert_eq!(ranks(3, &[pair(0, 1, true), pair(0, 2, false), pair(1, 2, false)]), [1, 2, 2]);
    }
}
