//! Probes: how much of its margin does a sample keep when it is moved a little?
//!
//! Graphs only see the samples and the directions between them; an attacker uses other directions. Probes look around
//! the samples: the model, which stays a black box, is run on probes x' of a sample x with ‖x' − x‖ ≤ ε, and the margin
//! m(x) = y_c − max_{j ≠ c} y_j of the class c = argmax y(x) is measured on each. Probes are either drawn at random
//! ([`ProbeKind::Pixel`], [`Block`](ProbeKind::Block), [`Smooth`](ProbeKind::Smooth)) or made by a search in which each
//! learns from those before ([`ProbeKind::Search`]). All probes stay in the range of the data: between 0 and 1 if all
//! inputs do, otherwise between the smallest and the largest number of the inputs.
//!
//! For a linear model, m(x') − m(x) = wᵀ(x' − x). Over random signs, its root mean square is ε‖w‖₂. It is never below
//! −ε‖w‖₁, which the search reaches once its blocks are single numbers.
//!
//! Read [`probe_model`] first, then `search.rs`; `docs/what-the-scores-mean.md` shows how well the numbers track accuracy
//! under attack.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rayon::prelude::*;
use spadework::monitor::{Monitor, Stage};
use spadework::random::{Purpose, drawn, stream};
use spadework::samples::Values;
use spadework::{Error as CoreError, PairedSamples, Samples};

use crate::accuracy::{predictions, right};
use crate::batch::{Batch, ProbedSample, Scatter, Variant};
use crate::black_box::{BlackBox, RunRows, at_least_two};
use crate::block_tree::BlockTree;
use crate::chances::Resisting;
use crate::columns::Columns;
use crate::copies::{Copies, MOST_COPIES};
use crate::descent::{Effort, Goal};
use crate::directions::Directions;
use crate::error::Error;
use crate::grid::Grid;
use crate::intervals::{Estimated, median};
use crate::journal::Journal;
use crate::kind::{Probe, ProbeKind, ProbeNorm};
use crate::margins::leads_of;
use crate::pilots::{pilot_probes, pilots_among};
use crate::range::Range;
use crate::search::Search;

/// The stage in which the model is run on probes.
pub const PROBES: Stage = Stage::Named("probes");

/// Rows that a model is given at once, at most.
const BATCH_ROWS: usize = 1 << 12;
/// Numbers that these have, at most: fewer rows of larger samples.
const BATCH_NUMBERS: usize = 1 << 24;

/// How a model is probed.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ProbeParams {
    /// How large the perturbations are, and of which kind.
    pub probe: Probe,
    /// Probes per sample, at most.
    pub probes: usize,
    /// Samples that are probed, drawn if there are more.
    pub samples: usize,
    /// A search ends early as soon as more probes could change the share of samples that resist by at most this.
    pub precision: Option<f64>,
    /// How the numbers of a sample are arranged; as in a row where `None`.
    pub grid: Option<Grid>,
    /// How many times the radius every column of the inputs may move, for L∞; 0 leaves it alone. All move alike if `None`.
    pub radii: Option<Arc<[f64]>>,
    /// The category that every column of the inputs belongs to, for L∞: the one-hot columns of the same number change together; 0 is none.
    pub categories: Option<Arc<[usize]>>,
    /// Seed of everything random.
    pub seed: u64,
}

spadework::with_methods! { ProbeParams {
    with_probes(probes: usize),
    with_samples(samples: usize),
    with_precision(precision: Option<f64>),
    with_grid(grid: Option<Grid>),
    with_radii(radii: Option<Arc<[f64]>>),
    with_categories(categories: Option<Arc<[usize]>>),
    with_seed(seed: u64),
} }

impl ProbeParams {
    /// How many samples are probed by default; the standard error of a share is then about 1.5 %.
    pub const SAMPLES: usize = 1000;

    /// The usual numbers for a probe.
    pub fn new(probe: Probe) -> Self {
        Self {
            probe,
            probes: probe.usual_count(),
            samples: Self::SAMPLES,
            precision: None,
            grid: None,
            radii: None,
            categories: None,
            seed: 0,
        }
    }

    /// The most runs of a regressor for this many inputs; a run takes one sample.
    pub fn most_regressor_evaluations(&self, inputs: usize) -> u64 {
        (inputs.min(self.samples) as u64).saturating_mul((self.probes as u64).saturating_add(1))
    }

    /// The most runs of a classifier for this many inputs of `dim` numbers; a run takes one sample. Pilots of a search
    /// have more probes than other samples.
    pub fn most_evaluations(&self, inputs: usize, dim: usize) -> u64 {
        let beyond = (self.pilot_probes(dim) - self.probes) as u64;
        let pilots = self.most_pilots(inputs, dim) as u64;
        self.most_regressor_evaluations(inputs).saturating_add(pilots.saturating_mul(beyond))
    }

    /// Maximum number of pilots of a search for this many inputs; 0 if probes are random.
    pub fn most_pilots(&self, inputs: usize, dim: usize) -> usize {
        let (samples, at_once) = (inputs.min(self.samples), samples_at_once(dim));
        match self.probe.kind() {
            ProbeKind::Search => samples / at_once * pilots_among(at_once) + pilots_among(samples % at_once),
            ProbeKind::Pixel | ProbeKind::Block { .. } | ProbeKind::Smooth { .. } => 0,
        }
    }

    /// Probes of a pilot, if inputs have `dim` numbers.
    pub fn pilot_probes(&self, dim: usize) -> usize {
        match self.probe.kind() {
            ProbeKind::Search => pilot_probes(self.probes, dim),
            ProbeKind::Pixel | ProbeKind::Block { .. } | ProbeKind::Smooth { .. } => self.probes,
        }
    }

    fn effort(&self, dim: usize, goal: Goal) -> Effort {
        let Self { probes, precision, .. } = *self;
        Effort { probes, pilot_probes: self.pilot_probes(dim), precision, norm: self.probe.norm(), goal }
    }

    /// Checks what can be checked without inputs: the numbers of probes and samples, and the precision.
    ///
    /// # Errors
    /// [`Error::ProbeCount`], [`Error::Precision`].
    pub fn check(&self) -> Result<(), Error> {
        for (name, count) in [("probes", self.probes), ("samples", self.samples)] {
            if count == 0 || count > MOST_COPIES {
                return Err(Error::ProbeCount { name, most: MOST_COPIES, got: count });
            }
        }
        match self.precision {
            Some(precision) if !(precision > 0.0 && precision < 1.0) => {
                Err(Error::Precision { got: precision })
            }
            _ => Ok(()),
        }
    }

    fn check_for(&self, dim: usize) -> Result<(), Error> {
        self.check()?;
        match self.grid {
            Some(grid) if grid.dim() != Some(dim) => {
                let Grid { channels, height, width, .. } = grid;
                Err(Error::ProbeGrid { channels, height, width, dim })
            }
            _ => Ok(()),
        }
    }

    /// Whether radii of columns go with the norm and with samples of so many numbers.
    fn check_radii(&self, dim: usize) -> Result<(), Error> {
        let Some(radii) = &self.radii else { return Ok(()) };
        if self.probe.norm() != ProbeNorm::Linf {
            return Err(Error::RadiiNorm { norm: self.probe.norm().to_string() });
        }
        if radii.len() != dim {
            return Err(Error::RadiiCount { dim, got: radii.len() });
        }
        match radii.iter().position(|radius| !(radius.is_finite() && *radius >= 0.0)) {
            Some(column) => Err(Error::Radius { column, got: radii[column] }),
            None => Ok(()),
        }
    }

    /// Whether categories go with the norm and with samples of so many numbers.
    fn check_categories(&self, dim: usize) -> Result<(), Error> {
        let Some(categories) = &self.categories else { return Ok(()) };
        if self.probe.norm() != ProbeNorm::Linf {
            return Err(Error::CategoriesNorm { norm: self.probe.norm().to_string() });
        }
        if categories.len() != dim {
            return Err(Error::CategoriesCount { dim, got: categories.len() });
        }
        Ok(())
    }

    pub(crate) fn copies(&self, inputs: &Samples<'_>) -> Result<Copies, Error> {
        self.check_radii(inputs.dim())?;
        self.check_categories(inputs.dim())?;
        let columns = Columns::of(self.probe, self.radii.as_deref(), self.categories.as_deref(), inputs)?;
        let range = match inputs.values() {
            Values::F32(values) => Range::of(values.iter().copied()),
            values => Range::of((0..values.len()).map(|at| values.get(at) as f32)),
        };
        let grid = self.grid.unwrap_or(Grid::line(inputs.dim()));
        Ok(Copies { probe: self.probe, grid, range, columns, seed: self.seed })
    }

    /// What the searches of all samples share; none if copies are random.
    fn search<E: From<Error>, M: RunRows<E>>(
        &self,
        inputs: &Samples<'_>,
        chosen: &[usize],
        guides: &[usize],
        clean: &CleanOutputs,
        copies: &Copies,
        model: &mut BlackBox<'_, M>,
    ) -> Result<Option<Search>, E> {
        match (self.probe.kind(), self.probe.norm()) {
            (ProbeKind::Search, ProbeNorm::Linf) => Ok(Some(Search::Corners)),
            (ProbeKind::Search, ProbeNorm::L2) => {
                let asked =
                    if guides == chosen { None } else { Some(CleanOutputs::of(inputs, guides, model)?) };
                let directions = asked.as_ref().unwrap_or(clean).directions(inputs, guides);
                Ok(Some(Search::Ball { tree: BlockTree::new(copies.grid, copies.seed), directions }))
            }
            (ProbeKind::Pixel | ProbeKind::Block { .. } | ProbeKind::Smooth { .. }, _) => Ok(None),
        }
    }

    /// The samples to probe out of this many inputs, ascending.
    pub fn chosen(&self, inputs: usize) -> Vec<usize> {
        drawn((0..inputs).collect(), self.samples, &mut stream(self.seed, Purpose::ProbedSamples))
    }
}

/// A probed model.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Probed {
    /// How it was probed.
    pub params: ProbeParams,
    /// The samples that were probed, in ascending order.
    pub samples: Vec<ProbedSample>,
    /// Rows that went through the model.
    pub evaluations: u64,
    /// Number of inputs that there were.
    inputs: usize,
    /// Numbers per output.
    classes: usize,
}

/// Results of the probes for the model as a whole.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ProbeSummary {
    /// The share of the probed samples that are right by their labels; none without labels that are indices of outputs.
    pub accuracy: Option<f64>,
    /// The share of the probed samples that are right (of any class, without labels) on every probe: an upper bound of
    /// the accuracy under the strongest attack of this size, on these samples.
    pub survived: f64,
    /// An estimate of that accuracy, after a search: the share of the probed samples that are right and are expected to
    /// survive a longer search ([`ProbedSample::chance`]). Of all numbers, it tracks accuracy under attack most closely.
    pub robust_accuracy: Option<f64>,
    /// The same with its 95 % interval, which covers the choice of the samples and the end of the search.
    pub estimated: Option<Estimated>,
    /// The mean share of the margin that the worst probe leaves; 0 for samples that are wrong or lose their class.
    pub stability: f64,
    /// The median of margin over root mean square change, for random probes; none after a search, or if it is infinite.
    pub margin_ratio: Option<f64>,
}

/// Results of the probes of one sample, for comparisons of models on the same samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProbeOutcome {
    /// Which sample of the inputs.
    pub index: usize,
    /// Whether it is right (of any class, without labels) and keeps its class on every probe.
    pub survived: bool,
    /// Whether it is among the samples with the largest chances of resisting the strongest attack; as many samples are
    /// counted as the estimate says. None after random probes.
    pub robust: Option<bool>,
}

impl Probed {
    /// Number of inputs, of which some were probed.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// The smallest margin of every input over its probes; `None` if it was not probed.
    pub fn lowest_margins(&self) -> Vec<Option<f64>> {
        let mut margins = vec![None; self.inputs];
        for sample in &self.samples {
            margins[sample.index] = Some(sample.lowest);
        }
        margins
    }

    /// The samples that are right (of any class, without labels) and lose their class on a probe, largest margin first;
    /// `labels` are those of all inputs.
    ///
    /// # Errors
    /// When there is not one label per input.
    pub fn changed(&self, labels: Option<&[i64]>) -> Result<Vec<ProbedSample>, CoreError> {
        let mut changed: Vec<ProbedSample> =
            self.right(labels)?.samples.into_iter().filter(|sample| !sample.holds()).copied().collect();
        changed.sort_by(|a, b| b.margin.total_cmp(&a.margin).then(a.index.cmp(&b.index)));
        Ok(changed)
    }

    /// The results for the model as a whole; `labels` are those of all inputs.
    ///
    /// # Errors
    /// When there is not one label per input.
    pub fn summary(&self, labels: Option<&[i64]>) -> Result<ProbeSummary, CoreError> {
        let Right { samples, is_labeled } = self.right(labels)?;
        let share = |part: f64| part / self.samples.len() as f64;
        let counted =
            |is: fn(&ProbedSample) -> bool| share(samples.iter().filter(|sample| is(sample)).count() as f64);
        let estimated = self.resisting(&samples).map(|resisting| resisting.estimated(self.samples.len()));
        let mut ratios: Vec<f64> = self.samples.iter().filter_map(ProbedSample::ratio).collect();
        Ok(ProbeSummary {
            accuracy: is_labeled.then(|| counted(|_| true)),
            survived: counted(ProbedSample::holds),
            robust_accuracy: estimated.map(|estimated| estimated.estimate),
            estimated,
            stability: share(samples.iter().map(|sample| sample.stability()).sum()),
            margin_ratio: median(&mut ratios).filter(|ratio| ratio.is_finite()),
        })
    }

    /// The outcome of every probed sample, in ascending order; `labels` are those of all inputs.
    ///
    /// # Errors
    /// When there is not one label per input.
    pub fn outcomes(&self, labels: Option<&[i64]>) -> Result<Vec<ProbeOutcome>, CoreError> {
        let right = self.right(labels)?.samples;
        let robust: Option<BTreeSet<usize>> = self.resisting(&right).map(|resisting| {
            let mut ranked = right.clone();
            let chance = |sample: &ProbedSample| sample.chance.map_or(0.0, |chance| chance.expected);
            ranked.sort_by(|a, b| chance(b).total_cmp(&chance(a)));
            ranked.iter().take(resisting.expected()).map(|sample| sample.index).collect()
        });
        let right: BTreeSet<usize> = right.iter().map(|sample| sample.index).collect();
        let outcome = |sample: &ProbedSample| ProbeOutcome {
            index: sample.index,
            survived: right.contains(&sample.index) && sample.holds(),
            robust: robust.as_ref().map(|robust| robust.contains(&sample.index)),
        };
        Ok(self.samples.iter().map(outcome).collect())
    }

    /// How many of these would resist; none after random probes, whatever the samples are.
    fn resisting(&self, samples: &[&ProbedSample]) -> Option<Resisting> {
        let is_search = self.samples.iter().all(|sample| sample.chance.is_some());
        if is_search { Resisting::of(samples.iter().copied()) } else { None }
    }

    /// The samples that are right, by labels that are classes.
    fn right(&self, labels: Option<&[i64]>) -> Result<Right<'_>, CoreError> {
        let predicted = || self.samples.iter().map(|sample| (sample.index, sample.class));
        let Some(is_right) = right(labels, self.inputs, self.classes, predicted)? else {
            return Ok(Right { samples: self.samples.iter().collect(), is_labeled: false });
        };
        let samples = self.samples.iter().zip(is_right).filter(|&(_, is_right)| is_right);
        Ok(Right { samples: samples.map(|(sample, _)| sample).collect(), is_labeled: true })
    }
}

/// Samples that are right: by their labels, or all where no labels say what is right.
struct Right<'a> {
    samples: Vec<&'a ProbedSample>,
    is_labeled: bool,
}

/// Probes a classifier: the margins of samples, and what perturbed versions of the samples leave of them.
///
/// The model is a black box that turns rows into outputs, one row each; it gets at most a few thousand rows at a time. Probes are
/// in single precision. They only depend on the seed and the index of the sample, so the result is the same for any number of
/// threads if the outputs of the model are.
///
/// # Errors
/// [`Error::ProbeCount`] and [`Error::ProbeGrid`] when the parameters do not fit, [`Error::NoMargin`] when the model has a
/// single output, [`Error::Core`] when it does not return one row per row or the monitor stops the run, and whatever the
/// model returns.
///
/// ```
/// use spadework::samples::Values;
/// use spadework::{Samples, Silent};
/// use spadework_probe::{Error, ProbeParams, probe_model};
/// // Two classes by the sign of x₁ + x₂; at a distance of 0.3 in every number, (0.2, 0.2) can be lost, (1, 1) cannot.
/// let model = |rows: &Samples<'_>| -> Result<Samples<'static>, Error> {
///     let Values::F32(x) = rows.values() else { unreachable!("probes are in single precision") };
///     let outputs: Vec<f32> = x.chunks_exact(2).flat_map(|x| [x[0] + x[1], -x[0] - x[1]]).collect();
///     Ok(Samples::from_f32(rows.len(), 2, outputs)?)
/// };
/// let inputs = Samples::from_f32(3, 2, vec![0.2, 0.2, 1.0, 1.0, -1.0, -1.0])?;
/// let params = ProbeParams::new("linf:0.3".parse().unwrap());
/// let probed = probe_model(&inputs, model, &params, &Silent)?;
/// assert_eq!(probed.samples.iter().map(|sample| sample.holds()).collect::<Vec<_>>(), [false, true, true]);
/// # Ok::<(), Error>(())
/// ```
pub fn probe_model<E: From<Error>, M: RunRows<E>>(
    inputs: &Samples<'_>,
    model: M,
    params: &ProbeParams,
    monitor: &dyn Monitor,
) -> Result<Probed, E> {
    params.check_for(inputs.dim())?;
    monitor.begin(PROBES);
    let chosen = params.chosen(inputs.len());
    probe_chosen(inputs, &chosen, &chosen, model, params, monitor, None).map(|(probed, _)| probed)
}

/// The first probe on which each of some samples loses its class, as [`probe_model`] found it with the same parameters; none for samples that
/// survive. Only the named samples are probed. But a search in L2 begins with directions from all probed samples, so these go through the model once
/// more. Any of the named samples may have been a pilot, so all are searched for as long as pilots are. So a sample may be lost here that survived
/// with fewer probes.
///
/// # Errors
/// As [`probe_model`]. Samples that do not exist are left out.
pub fn broken_variants<E: From<Error>, M: RunRows<E>>(
    inputs: &Samples<'_>,
    samples: &[usize],
    model: M,
    params: &ProbeParams,
    monitor: &dyn Monitor,
) -> Result<Vec<Variant>, E> {
    params.check_for(inputs.dim())?;
    let chosen: BTreeSet<usize> = samples.iter().copied().filter(|&sample| sample < inputs.len()).collect();
    let chosen: Vec<usize> = chosen.into_iter().collect();
    if chosen.is_empty() {
        return Ok(Vec::new());
    }
    let keep = Some(BTreeMap::new());
    // A search that ended early because all samples together were precise enough had broken these before.
    let (guides, params) = (params.chosen(inputs.len()), params.clone().with_precision(None));
    let (_, variants) = probe_chosen(inputs, &chosen, &guides, model, &params, monitor, keep)?;
    Ok(variants.unwrap_or_default().into_values().collect())
}

/// Probes the samples named, and keeps what broke them where `variants` is there to take it; `guides` are the samples that a search in L2
/// begins with.
fn probe_chosen<E: From<Error>, M: RunRows<E>>(
    inputs: &Samples<'_>,
    chosen: &[usize],
    guides: &[usize],
    model: M,
    params: &ProbeParams,
    monitor: &dyn Monitor,
    variants: Option<BTreeMap<usize, Variant>>,
) -> Result<(Probed, Option<BTreeMap<usize, Variant>>), E> {
    let copies = params.copies(inputs)?;
    let has_journal = variants.is_none();
    let goal = if has_journal { Goal::Chances } else { Goal::Variants };
    let effort = params.effort(inputs.dim(), goal);
    let rounds_of_copies = match params.probe.kind() {
        ProbeKind::Search => effort.rounds(),
        ProbeKind::Pixel | ProbeKind::Block { .. } | ProbeKind::Smooth { .. } => params.probes,
    };
    let rounds = in_batches(chosen, inputs.dim()).len() as u64 * (rounds_of_copies as u64 + 1);
    let mut model = BlackBox::new(model, rounds, variants, monitor);
    if has_journal {
        // What earlier editions kept has fewer numbers per sample.
        let parameters = format!("{params:?}, with what pilots show");
        model = model.with_journal(Journal::new("probes", inputs, parameters, monitor));
    }
    let searched = search_samples(inputs, (chosen, guides), &copies, params, effort, &mut model);
    let (samples, classes) = model.keeping(searched)?;
    if let Some(journal) = &model.journal {
        journal.keep_result();
    }
    let BlackBox { evaluations, variants, .. } = model;
    let (params, inputs) = (params.clone(), inputs.len());
    Ok((Probed { params, samples, evaluations, inputs, classes }, variants))
}

/// What is found of the samples that are chosen, batch by batch, and how many numbers the outputs have.
fn search_samples<E: From<Error>, M: RunRows<E>>(
    inputs: &Samples<'_>,
    (chosen, guides): (&[usize], &[usize]),
    copies: &Copies,
    params: &ProbeParams,
    effort: Effort,
    model: &mut BlackBox<'_, M>,
) -> Result<(Vec<ProbedSample>, usize), E> {
    let clean = CleanOutputs::of(inputs, chosen, model)?;
    let search = params.search(inputs, chosen, guides, &clean, copies, model)?;
    let mut samples = ProbedSample::of_numbers(&model.take_up());
    let left = chosen.get(samples.len()..).unwrap_or_default();
    for indices in in_batches(left, inputs.dim()) {
        let batch = clean.batch(inputs, indices, samples.len());
        let found = match &search {
            Some(search) => search.run(&batch, copies, effort, model)?,
            None => scatter(&batch, copies, params.probes, model)?,
        };
        model.finish(found.iter().flat_map(ProbedSample::numbers));
        samples.extend(found);
    }
    Ok((samples, clean.dim))
}

/// As many samples as go through the model at once.
fn in_batches(samples: &[usize], dim: usize) -> std::slice::Chunks<'_, usize> {
    samples.chunks(samples_at_once(dim))
}

fn samples_at_once(dim: usize) -> usize {
    (BATCH_NUMBERS / dim.max(1)).clamp(1, BATCH_ROWS)
}

/// What the model says of the samples themselves, in the order in which they are probed.
struct CleanOutputs {
    dim: usize,
    values: Vec<f64>,
    classes: Vec<usize>,
    margins: Vec<f64>,
}

impl CleanOutputs {
    fn of<E: From<Error>, M: RunRows<E>>(
        inputs: &Samples<'_>,
        samples: &[usize],
        model: &mut BlackBox<'_, M>,
    ) -> Result<Self, E> {
        let mut clean = Self { dim: 0, values: Vec::new(), classes: Vec::new(), margins: Vec::new() };
        for indices in in_batches(samples, inputs.dim()) {
            let outputs = at_least_two(model.outputs(gathered(inputs, indices), inputs.dim())?)?;
            let classes = predictions(&outputs);
            clean.dim = outputs.dim();
            clean.margins.extend(leads_of(&outputs, classes.iter().copied()));
            clean.classes.extend(classes);
            clean.values.extend_from_slice(&outputs.values().all_doubles());
        }
        Ok(clean)
    }

    /// Where inputs and outputs of these samples say that margins shrink.
    fn directions(&self, inputs: &Samples<'_>, samples: &[usize]) -> Directions {
        Directions::of(&gathered(inputs, samples), inputs.dim(), &self.values, &self.classes)
    }

    /// The second largest output of a sample, the first of equal ones.
    fn runner_up(&self, at: usize) -> usize {
        let (row, class) = (&self.values[at * self.dim..(at + 1) * self.dim], self.classes[at]);
        let others = (0..self.dim).filter(|&other| other != class);
        others.reduce(|best, other| if row[other] > row[best] { other } else { best }).unwrap_or(class)
    }

    /// The samples `indices`, of which `first` come before.
    fn batch(&self, inputs: &Samples<'_>, indices: &[usize], first: usize) -> Batch {
        let own = first..first + indices.len();
        Batch {
            dim: inputs.dim(),
            indices: indices.to_vec(),
            rows: gathered(inputs, indices),
            classes: self.classes[own.clone()].to_vec(),
            runners_up: own.clone().map(|at| self.runner_up(at)).collect(),
            margins: self.margins[own].to_vec(),
        }
    }
}

/// What random copies do to the margins of a batch.
fn scatter<E: From<Error>, M: RunRows<E>>(
    batch: &Batch,
    copies: &Copies,
    probes: usize,
    model: &mut BlackBox<'_, M>,
) -> Result<Vec<ProbedSample>, E> {
    let mut found = batch.unprobed();
    let (mut squares, mut kept) = (vec![0.0; batch.len()], vec![0_usize; batch.len()]);
    for copy in 0..probes {
        let rows = perturbed(&batch.rows, batch.dim, &batch.indices, copy, copies);
        let margins = model.margins(rows, batch.dim, &batch.classes, &batch.indices)?;
        for (at, margin) in margins.into_iter().enumerate() {
            let sample = &mut found[at];
            sample.lowest = sample.lowest.min(margin);
            squares[at] += (margin - sample.margin).powi(2);
            kept[at] += usize::from(margin > 0.0);
        }
    }
    for (at, sample) in found.iter_mut().enumerate() {
        let probes = probes as f64;
        sample.scatter =
            Some(Scatter { change: (squares[at] / probes).sqrt(), kept: kept[at] as f64 / probes });
    }
    Ok(found)
}

/// Probes a classifier with random probes and keeps everything that goes through it, in single precision: samples and probes as one set (the manifold
/// at the scale of the probes), with their outputs. The set consists of blocks of a few thousand samples. In each block, the samples come first, then
/// the first probe of each, then the second, and so on.
///
/// # Errors
/// [`Error::ProbedManifold`] for a search, whose probes are not spread at random around a sample; otherwise as
/// [`probe_model`].
pub fn probed_manifold<E: From<Error>, M: RunRows<E>>(
    inputs: &Samples<'_>,
    mut model: M,
    params: &ProbeParams,
    monitor: &dyn Monitor,
) -> Result<(Probed, PairedSamples<'static>), E> {
    if params.probe.kind() == ProbeKind::Search {
        return Err(Error::ProbedManifold.into());
    }
    let (mut rows_seen, mut outputs_seen) = (Vec::new(), Vec::new());
    let watched = |rows: &Samples<'_>| -> Result<Samples<'static>, E> {
        let outputs = model(rows)?;
        append(&mut rows_seen, rows);
        append(&mut outputs_seen, &outputs);
        Ok(outputs)
    };
    let probed = probe_model::<E, _>(inputs, watched, params, monitor)?;
    let count = probed.evaluations as usize;
    let seen = |values: Vec<f32>, dim: usize| Samples::from_f32(count, dim, values);
    let manifold = seen(rows_seen, inputs.dim())
        .and_then(|rows| PairedSamples::new(rows, seen(outputs_seen, probed.classes)?))
        .map_err(Error::from)?;
    Ok((probed, manifold))
}

/// Appends numbers in single precision.
fn append(numbers: &mut Vec<f32>, samples: &Samples<'_>) {
    numbers.extend_from_slice(&samples.values().all_singles());
}

/// The same copy of every row.
fn perturbed(rows: &[f32], dim: usize, indices: &[usize], copy: usize, copies: &Copies) -> Vec<f32> {
    let mut moved = rows.to_vec();
    moved.par_chunks_exact_mut(dim).zip(indices).for_each(|(row, &index)| copies.perturb(index, copy, row));
    moved
}

/// Some rows of the inputs, in single precision.
pub(crate) fn gathered(inputs: &Samples<'_>, indices: &[usize]) -> Vec<f32> {
    let dim = inputs.dim();
    let mut rows = Vec::with_capacity(indices.len() * dim);
    for &index in indices {
        rows.extend_from_slice(&inputs.values().singles(inputs.place(index)));
    }
    rows
}
