//! One network of the list: what attacks, probes and graphs say of it, each a part that is kept.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spadework::pipeline::{INDEX_EDGES, INDEX_ROWS};
use spadework_nn::Frozen;

use super::NetLine;
use super::probes::{self, OfSize, Plan, Plans, Squared};
use super::refit::Searched;
use super::samples::{self, FromSamples};
use super::selected::{self, Selected};
use crate::data::{CLASSES, Images};
use crate::failure::Failure;
use crate::networks::AttackPlan;
use crate::run::{Run, Timed};
use crate::weakest;

/// What every network of one data set is measured on.
pub(super) struct MeasuredOn<'a> {
    pub(super) run: &'a Run,
    /// What graphs are made of.
    pub(super) test: &'a Images,
    /// The first of these, which are attacked and probed.
    pub(super) attacked: Images,
    /// The sizes of attacks, as probes get them.
    pub(super) sizes: Vec<&'static str>,
    /// An attack a size.
    pub(super) attacks: Vec<AttackPlan>,
}

/// A network with its evidence.
#[derive(Debug)]
pub(super) struct Net {
    pub(super) name: String,
    pub(super) line: NetLine,
    pub(super) evidence: Evidence,
}

/// What was measured of one network.
#[derive(Debug)]
pub(super) struct Evidence {
    of_samples: Timed<FromSamples>,
    selected: Timed<Selected>,
    /// By size.
    attacks: Vec<Outcomes>,
    /// By size, whether an image is right, and no longer so after the attack or a search.
    broken: Vec<Vec<bool>>,
    probes: Vec<OfSize>,
}

/// What a number cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cost {
    /// How often the network was run for it, gradients included.
    pub(super) runs: u64,
    /// Wall time of the part that it comes from, with all else that this part measures.
    pub(super) seconds: f64,
}

impl Cost {
    fn and(self, other: Self) -> Self {
        Self { runs: self.runs + other.runs, seconds: self.seconds + other.seconds }
    }
}

/// An index, or a score of the attacked images, with what it cost.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known<T> {
    pub(super) value: T,
    pub(super) cost: Cost,
}

/// What an attack did to the images.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Outcomes {
    /// Whether an image is classified rightly before the attack.
    right: Vec<bool>,
    /// Whether it is right, and no longer so after it.
    broken: Vec<bool>,
    /// The smallest margin of every image that the attack has seen.
    lowest: Vec<f64>,
}

impl Outcomes {
    /// What the attack or one of the searches broke, whose smallest margins are these: all are upper bounds of robust accuracy.
    fn or_searched(&self, searches: [&[f64]; 2]) -> Vec<bool> {
        let lost = |at: usize| searches.iter().any(|lowest| lowest[at] <= 0.0);
        let of_image = |(at, (&right, &broken)): (usize, (&bool, &bool))| broken || right && lost(at);
        self.right.iter().zip(&self.broken).enumerate().map(of_image).collect()
    }

    /// The share of images that are right and not among the broken ones.
    fn left(&self, broken: &[bool]) -> f64 {
        let hold = self.right.iter().zip(broken).filter(|&(&right, &broken)| right && !broken).count();
        hold as f64 / self.right.len() as f64
    }
}

impl Evidence {
    /// An index at the size of an attack, in the order of [`super::all_indices`].
    pub(super) fn index(&self, index: usize, size: usize) -> Known<Option<f64>> {
        let of_probes = index.checked_sub(samples::INDICES.len());
        match of_probes {
            None => Known { value: self.of_samples.value.indices[index], cost: self.cost_of_samples() },
            Some(at) if at < probes::INDICES.len() => {
                let probes = &self.probes[size];
                Known { value: probes.index(at), cost: probes.cost(at) }
            }
            Some(_) => {
                let Timed { value, seconds } = &self.selected;
                let of_scores = Cost { runs: value.gradients, seconds: *seconds };
                Known { value: value.index(), cost: self.cost_of_samples().and(of_scores) }
            }
        }
    }

    /// The k of its graphs.
    pub(super) fn neighbors_used(&self) -> usize {
        self.of_samples.value.neighbors_used
    }

    fn cost_of_samples(&self) -> Cost {
        Cost { runs: self.of_samples.value.runs, seconds: self.of_samples.seconds }
    }

    /// The share of images that hold against the attack and both searches.
    pub(super) fn robust(&self, size: usize) -> f64 {
        self.attacks[size].left(&self.broken[size])
    }

    /// The share of images that hold against the attack.
    pub(super) fn robust_to_attack(&self, size: usize) -> f64 {
        self.attacks[size].left(&self.attacks[size].broken)
    }

    /// The share of images that hold against the long search.
    pub(super) fn robust_to_search(&self, size: usize) -> f64 {
        self.probes[size].long.value.held
    }

    /// The estimate of a search with the ends of its interval and what it cost.
    pub(super) fn estimate(&self, size: usize) -> Option<Known<[f64; 3]>> {
        let search = &self.probes[size].search;
        let [lower, upper] = search.value.interval?;
        Some(Known { value: [search.value.robust_accuracy?, lower, upper], cost: search.cost() })
    }

    /// What an estimate follows from, for weights that are fitted here.
    pub(super) fn searched(&self, size: usize, source: &str) -> Searched {
        let shown = self.of_right(size, &self.probes[size].search.value.shown);
        Searched {
            source: source.to_owned(),
            truth: self.robust(size),
            images: self.attacks[size].right.len(),
            shown: shown.into_iter().flatten().collect(),
        }
    }

    /// The number of images that were attacked.
    pub(super) fn attacked(&self) -> usize {
        self.attacks[0].right.len()
    }

    /// The share of its margin that an attack and that a search leaves of every image that is right; 0 where it is lost.
    pub(super) fn left(&self, size: usize) -> Vec<[f64; 2]> {
        let margins = self.of_samples.value.scores[samples::MARGIN].iter().map(|score| -score);
        let lowest = self.attacks[size].lowest.iter().zip(&self.probes[size].search.value.lowest);
        let share = |lowest: f64, margin: f64| if margin > 0.0 { (lowest / margin).max(0.0) } else { 0.0 };
        let left: Vec<[f64; 2]> = lowest
            .zip(margins)
            .map(|((&attack, &search), margin)| [share(attack, margin), share(search, margin)])
            .collect();
        self.of_right(size, &left)
    }

    /// Of the images that are right before an attack, whether it or a search breaks them.
    pub(super) fn broken(&self, size: usize) -> Vec<bool> {
        self.of_right(size, &self.broken[size])
    }

    /// Scores of the same images, in the order of [`super::all_scores`].
    pub(super) fn scores(&self, size: usize) -> Vec<Known<Vec<f64>>> {
        let FromSamples { scores, by_size, .. } = &self.of_samples.value;
        let OfSize { search, blocks, .. } = &self.probes[size];
        let all = self.cost_of_samples();
        // Margins need no graph, and so no other images.
        let alone = Cost { runs: self.attacked() as u64, ..all };
        let plain = (0..scores.len()).map(|score| if score == samples::MARGIN { alone } else { all });
        let probed = [search.cost(), all.and(search.cost()), all.and(blocks.cost())];
        let known = |(score, cost): (&Vec<f64>, Cost)| Known { value: self.of_right(size, score), cost };
        scores.iter().chain(&by_size[size]).zip(plain.chain(probed)).map(known).collect()
    }

    fn of_right<T: Copy>(&self, size: usize, values: &[T]) -> Vec<T> {
        let right = &self.attacks[size].right;
        values.iter().zip(right).filter(|&(_, &right)| right).map(|(&value, _)| value).collect()
    }
}

impl MeasuredOn<'_> {
    /// A network with its evidence; `None` where the time is over, a reason where the file cannot be used.
    pub(super) fn net(&self, list: &Path, line: &NetLine) -> Result<Option<Net>, String> {
        let path = list.parent().unwrap_or(Path::new("")).join(&line.file);
        let model = Frozen::load(&path, self.run.compute()).map_err(|error| error.to_string())?;
        let size = self.test.examples.size();
        if model.input_size() != size {
            return Err(format!("takes {} values, got {size}", model.input_size()));
        }
        if model.classes() != CLASSES {
            return Err(format!("tells {} classes apart, got images of {CLASSES}", model.classes()));
        }
        // Folders above the list would lead out of the folder of the parts.
        let within = line.file.components().filter(|part| matches!(part, Component::Normal(_)));
        let name = within.collect::<PathBuf>().with_extension("").display().to_string();
        let on = json!({ "contents": contents(&path), "images": self.attacked.described() });
        let evidence = self.evidence(&name, &on, &model);
        // A network that cannot be measured is no reason to lose the others.
        let evidence = evidence.map_err(|failure| failure.to_string())?;
        Ok(evidence.map(|evidence| Net { name, line: line.clone(), evidence }))
    }

    /// `on` is what every part depends on: the network and the images.
    fn evidence(&self, name: &str, on: &Value, model: &Frozen) -> Result<Option<Evidence>, Failure> {
        let Some(attacks) = self.attacks(name, on, model)? else { return Ok(None) };
        let Some(probes) = self.probes(name, on, model)? else { return Ok(None) };
        let plans: Vec<Value> = self.plans().flat_map(|plans| plans.settings()).collect();
        let settings = json!({
            "on": on, "test": self.test.described(), "seed": self.run.seed(), "probes": plans,
            "indices": samples::INDICES, "samples": super::all_scores(), "eigenpairs": samples::EIGENPAIRS,
            "edges": INDEX_EDGES, "rows": INDEX_ROWS,
        });
        let of_samples = self.run.timed(&format!("validity/{name}/graphs"), &settings, || {
            samples::measure(self.run, model, self.test, self.attacked.len(), &probes)
        })?;
        let Some(of_samples) = of_samples else { return Ok(None) };
        let settings = json!({
            "on": on, "test": self.test.described(), "clever": weakest::settings(self.run),
            "count": selected::count(self.run), "seed": self.run.seed(),
        });
        let node_scores = &of_samples.value.scores[samples::NODE_SCORE];
        let selected = self.run.timed(&format!("validity/{name}/clever"), &settings, || {
            Selected::measure(self.run, model, &self.attacked, node_scores)
        })?;
        let lost = |(attack, OfSize { search, long, .. }): (&Outcomes, &OfSize)| {
            attack.or_searched([&search.value.lowest, &long.value.lowest])
        };
        let broken = attacks.iter().zip(&probes).map(lost).collect();
        Ok(selected.map(|selected| Evidence { of_samples, selected, attacks, broken, probes }))
    }

    /// `None` where the time is over, as in what follows.
    fn attacks(&self, name: &str, on: &Value, model: &Frozen) -> Result<Option<Vec<Outcomes>>, Failure> {
        let attack = |(size, plan): (&&str, &AttackPlan)| {
            let settings = json!({ "on": on, "attack": plan, "series": "auto", "seed": self.run.seed() });
            let part = format!("validity/{name}/attack {}", size.replace('/', "-"));
            self.run.part(&part, &settings, || self.outcomes(model, plan))
        };
        self.sizes.iter().zip(&self.attacks).map(attack).collect()
    }

    fn probes(&self, name: &str, on: &Value, model: &Frozen) -> Result<Option<Vec<OfSize>>, Failure> {
        let probe = |plan: &Plan| {
            let settings = json!({ "on": on, "probes": plan.settings() });
            let part = format!("validity/{name}/{}", plan.name());
            self.run.timed(&part, &settings, || plan.run(self.run, model, &self.attacked))
        };
        let square = |plan: &AttackPlan| {
            let settings = json!({ "on": on, "epsilon": plan.epsilon, "copies": probes::described(self.run), "seed": self.run.seed() });
            let part = format!("validity/{name}/square {}", plan.epsilon);
            self.run.timed(&part, &settings, || Squared::run(self.run, model, &self.attacked, plan.epsilon))
        };
        let all_kinds = |(plans, plan): (Plans, &AttackPlan)| {
            let Some(search) = probe(&plans.search)? else { return Ok(None) };
            let Some(pixels) = probe(&plans.pixels)? else { return Ok(None) };
            let Some(square) = square(plan)? else { return Ok(None) };
            let Some(blocks) = probe(&plans.blocks)? else { return Ok(None) };
            Ok(probe(&plans.long)?.map(|long| OfSize { search, pixels, blocks, long, square }))
        };
        self.plans().zip(&self.attacks).map(all_kinds).collect()
    }

    /// The probes of every size.
    fn plans(&self) -> impl Iterator<Item = Plans> {
        self.sizes.iter().map(|size| Plans::new(self.run, size, &self.attacked))
    }

    fn outcomes(&self, model: &Frozen, plan: &AttackPlan) -> Result<Outcomes, Failure> {
        let report = plan.run_auto(self.run, model, &self.attacked.examples)?;
        let right = report.outcomes.iter().map(spadework_nn::attack::Outcome::clean).collect();
        let broken = report.outcomes.iter().map(|outcome| outcome.broken.is_some()).collect();
        // JSON has no word for a margin that is no number, and such an image is not right.
        let lowest = |margin: f32| if margin.is_nan() { 0.0 } else { f64::from(margin) };
        let lowest = report.outcomes.iter().map(|outcome| lowest(outcome.margin)).collect();
        Ok(Outcomes { right, broken, lowest })
    }
}

/// Tells a file that was replaced by another of the same name.
pub(in crate::tables) fn contents(path: &Path) -> Option<String> {
    let mut hasher = DefaultHasher::new();
    fs::read(path).ok()?.hash(&mut hasher);
    Some(format!("{:016x}", hasher.finish()))
}

#[cfg(test)]
mod tests {
    use super::super::probes::Probing;
    use super::*;

    /// Two images survive, the last of them by what search and pilots have shown.
    fn probing(evaluations: u64) -> Timed<Probing> {
        let value = Probing {
            held: 0.5,
            robust_accuracy: Some(0.25),
            interval: Some([0.125, 0.375]),
            stability: 0.125,
            margin_ratio: None,
            lowest: vec![0.0, 0.0, 11.0, 43.0],
            shown: vec![None, Some([-0.25, 0.5]), Some([-0.5, 0.25]), None],
            evaluations,
        };
        Timed { value, seconds: evaluations as f64 / 10.0 }
    }

    /// Four images: the second is wrong as it is, the last is broken.
    fn evidence() -> Evidence {
        let score = |number: f64| [0.0, 1.0, 2.0, 3.0].map(|image| number + image).to_vec();
        let mut scores: Vec<Vec<f64>> =
            (0..samples::SCORES.len()).map(|at| score(10.0 * at as f64)).collect();
        scores[samples::MARGIN] = vec![-40.0, -41.0, -44.0, -43.0];
        Evidence {
            of_samples: Timed {
                value: FromSamples {
                    indices: vec![Some(1.0); samples::INDICES.len()],
                    scores,
                    by_size: vec![vec![score(100.0), score(200.0), score(300.0)]],
                    neighbors_used: 10,
                    runs: 1000,
                },
                seconds: 2.0,
            },
            selected: Timed { value: Selected::of(&[0.25, 0.5], 64), seconds: 4.0 },
            attacks: vec![Outcomes {
                right: vec![true, false, true, true],
                broken: vec![false, false, false, true],
                lowest: vec![10.0, -1.0, 22.0, -2.0],
            }],
            broken: vec![vec![false, false, false, true]],
            probes: vec![OfSize {
                search: probing(70),
                pixels: probing(5),
                blocks: probing(7),
                long: probing(560),
                square: Timed { value: Squared { survived: 0.75, evaluations: 80 }, seconds: 8.0 },
            }],
        }
    }

    #[test]
    fn wrong_images_count_as_lost_but_have_no_scores() {
        let evidence = evidence();
        assert_eq!(evidence.robust(0), 0.5);
        assert_eq!(evidence.broken(0), [false, false, true]);
        let scores = evidence.scores(0);
        assert_eq!(scores.len(), super::super::all_scores().len());
        assert_eq!(scores[samples::MARGIN].value, [-40.0, -44.0, -43.0]);
        assert_eq!(scores.last().unwrap().value, [300.0, 302.0, 303.0]);
    }

    /// The search breaks the first and takes three quarters of the third, the attack leaves a quarter and a half of these.
    #[test]
    fn shares_of_margins_are_those_of_right_images() {
        assert_eq!(evidence().left(0), [[0.25, 0.0], [0.5, 0.25], [0.0, 1.0]]);
    }

    #[test]
    fn weights_are_fitted_to_right_images_that_survived() {
        let searched = evidence().searched(0, "source");
        assert_eq!((searched.source.as_str(), searched.truth, searched.images), ("source", 0.5, 4));
        assert_eq!(searched.shown, [[-0.5, 0.25]]);
    }

    /// The first survives the attack and not the search, the third neither the long search; the second is wrong as it is.
    #[test]
    fn the_truth_is_what_the_attack_and_both_searches_leave() {
        let mut evidence = evidence();
        let searches = [[-0.1, -0.1, 0.1, 0.1], [0.1, -0.1, 0.0, 0.1]];
        evidence.broken = vec![evidence.attacks[0].or_searched([&searches[0], &searches[1]])];
        assert_eq!(evidence.broken, [[true, false, true, true]]);
        assert_eq!(evidence.broken(0), [true, true, true]);
        assert_eq!(
            (evidence.robust(0), evidence.robust_to_attack(0), evidence.robust_to_search(0)),
            (0.0, 0.5, 0.5)
        );
    }

    #[test]
    fn everything_has_its_cost() {
        let evidence = evidence();
        let costs = |cost: Cost| (cost.runs, cost.seconds);
        let of_scores: Vec<(u64, f64)> = evidence.scores(0).iter().map(|score| costs(score.cost)).collect();
        let mut expected = vec![(1000, 2.0); samples::SCORES.len()];
        expected[samples::MARGIN].0 = 4;
        expected.extend([(70, 7.0), (1070, 9.0), (1007, 2.7)]);
        assert_eq!(of_scores, expected);
        let first_of_probes = samples::INDICES.len();
        let known: Vec<(Option<f64>, (u64, f64))> = (first_of_probes - 1
            ..super::super::all_indices().count())
            .map(|index| evidence.index(index, 0))
            .map(|known| (known.value, costs(known.cost)))
            .collect();
        let of_search = [Some(0.25), Some(0.5), Some(0.125)].map(|value| (value, (70, 7.0)));
        assert_eq!(known[0], (Some(1.0), (1000, 2.0)));
        assert_eq!(known[1..4], of_search);
        assert_eq!(known[4..7], [(None, (5, 0.5)), (None, (7, 0.7)), (Some(0.75), (80, 8.0))]);
        assert_eq!(known[7..], [(Some(0.375), (1064, 6.0))]);
        let estimate = evidence.estimate(0).unwrap();
        assert_eq!((estimate.value, costs(estimate.cost)), ([0.25, 0.125, 0.375], (70, 7.0)));
    }

    /// A number that is none must come back as none, or every call would compute the part again.
    #[test]
    fn what_is_kept_can_be_read() {
        let mut of_samples = evidence().of_samples.value;
        of_samples.indices[0] = None;
        let text = serde_json::to_string(&of_samples).unwrap();
        let read: FromSamples = serde_json::from_str(&text).unwrap();
        assert_eq!(read.indices, of_samples.indices);
    }
}
