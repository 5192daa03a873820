//! Variants made by the caller, for inputs that are not numbers on a scale: words, categories, sequences.
//!
//! A function turns the probed samples into their i-th variant. The model is run on the samples and on every variant, and Spadework
//! counts how often each sample has another class. The run ends early as soon as more variants of the same samples would hardly change
//! the share that keeps its class.

use rand::RngExt;
use spadework::Samples;
use spadework::checkpoint::{Resumable, StateReader, StateWriter, Work};
use spadework::error::Error as CoreError;
use spadework::monitor::Monitor;
use spadework::random::{Purpose, drawn, stream, stream_at};

use crate::accuracy::{predictions, right, share_of};
use crate::black_box::BlackBox;
use crate::copies::MOST_COPIES;
use crate::error::Error;
use crate::intervals::{self, Estimated};
use crate::margins::leads_of;
use crate::probe::{PROBES, ProbeParams};

/// Variants after which a run may end early.
const LEAST_VARIANTS: usize = 10;
/// Stands for no variant where the first one with another class is kept.
const NEVER: u64 = u64::MAX;
/// Standard deviations that a 95 % interval reaches to either side.
const REACH: f64 = 1.959_963_984_540_054;

/// How a model is run on variants.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct VariantParams {
    /// Variants per sample, at most.
    pub variants: usize,
    /// Samples that are probed, drawn if there are more.
    pub samples: usize,
    /// The run ends early as soon as more variants of the same samples would change the share that keeps its class by at most this,
    /// with 95 % confidence.
    pub precision: f64,
    /// Seed of everything random.
    pub seed: u64,
}

impl Default for VariantParams {
    fn default() -> Self {
        Self { variants: 100, samples: ProbeParams::SAMPLES, precision: 0.005, seed: 0 }
    }
}

spadework::with_methods! { VariantParams {
    with_variants(variants: usize),
    with_samples(samples: usize),
    with_precision(precision: f64),
    with_seed(seed: u64),
} }

impl VariantParams {
    /// Checks the numbers of variants and samples, and that the precision is a share.
    ///
    /// # Errors
    /// [`Error::ProbeCount`], [`Error::Precision`].
    pub fn check(&self) -> Result<(), Error> {
        for (name, count) in [("probes", self.variants), ("samples", self.samples)] {
            if count == 0 || count > MOST_COPIES {
                return Err(Error::ProbeCount { name, most: MOST_COPIES, got: count });
            }
        }
        if (0.0..1.0).contains(&self.precision) {
            Ok(())
        } else {
            Err(Error::Precision { got: self.precision })
        }
    }

    /// The most runs of a model for this many inputs; a run takes one sample.
    pub fn most_evaluations(&self, inputs: usize) -> u64 {
        (inputs.min(self.samples) as u64).saturating_mul((self.variants as u64).saturating_add(1))
    }

    /// The seed of one variant: small enough for the random numbers of any language.
    pub fn seed_of(&self, variant: usize) -> u64 {
        u64::from(stream_at(self.seed, Purpose::Variants, variant as u64).random::<u32>() >> 1)
    }
}

/// Results of the variants of one sample.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct VariedSample {
    /// Which sample of the inputs.
    pub index: usize,
    /// Its class: the position of the largest output.
    pub class: usize,
    /// Its margin: that output minus the next largest one.
    pub margin: f64,
    /// The smallest margin over the sample and its variants.
    pub lowest: f64,
    /// On how many variants it has another class.
    pub flips: usize,
    /// The first of them, counted from 0.
    pub first_flip: Option<usize>,
}

/// A model that was run on variants.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Varied {
    /// How it was run.
    pub params: VariantParams,
    /// Variants per sample that were made.
    pub variants: usize,
    /// The samples that were probed, in ascending order.
    pub samples: Vec<VariedSample>,
    /// Rows that went through the model.
    pub evaluations: u64,
    inputs: usize,
    classes: usize,
}

/// Results of the variants for the model as a whole.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct VariedSummary {
    /// The share of the probed samples that are right by their labels; none without labels that are indices of outputs.
    pub accuracy: Option<f64>,
    /// How likely a variant of a sample keeps its class. The interval is Wilson's over the samples.
    pub kept: Estimated,
    /// The share of the samples that are right (of any class, without labels) and keep their class on every variant.
    pub survived: Estimated,
}

impl Varied {
    /// Number of inputs, of which some were probed.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Whether the run ended before the requested number of variants.
    pub fn stopped_early(&self) -> bool {
        self.variants < self.params.variants
    }

    /// The smallest margin of every input over its variants; `None` if it was not probed.
    pub fn lowest_margins(&self) -> Vec<Option<f64>> {
        let mut margins = vec![None; self.inputs];
        for sample in &self.samples {
            margins[sample.index] = Some(sample.lowest);
        }
        margins
    }

    /// The samples that have another class on some variant, most fragile first: by flips, then by the smallest margin, then by index.
    pub fn changed(&self) -> Vec<VariedSample> {
        let mut changed: Vec<VariedSample> =
            self.samples.iter().filter(|sample| sample.flips > 0).copied().collect();
        changed.sort_by(|a, b| {
            b.flips.cmp(&a.flips).then(a.lowest.total_cmp(&b.lowest)).then(a.index.cmp(&b.index))
        });
        changed
    }

    /// Whether each of the probed samples is right (of any class, without labels) and keeps its class on every variant; `labels` are those
    /// of all inputs.
    ///
    /// # Errors
    /// When there is not one label per input.
    pub fn survived(&self, labels: Option<&[i64]>) -> Result<Vec<bool>, CoreError> {
        let holds = self.samples.iter().map(|sample| sample.flips == 0);
        Ok(match self.right(labels)? {
            Some(right) => holds.zip(right).map(|(holds, right)| holds && right).collect(),
            None => holds.collect(),
        })
    }

    /// The results for the model as a whole; `labels` are those of all inputs.
    ///
    /// # Errors
    /// When there is not one label per input.
    pub fn summary(&self, labels: Option<&[i64]>) -> Result<VariedSummary, CoreError> {
        let samples = self.samples.len();
        let flips: usize = self.samples.iter().map(|sample| sample.flips).sum();
        let kept = 1.0 - flips as f64 / (samples * self.variants) as f64;
        Ok(VariedSummary {
            accuracy: self.right(labels)?.map(|right| share_of(&right)),
            kept: kept_share(kept, samples),
            survived: intervals::share(&self.survived(labels)?),
        })
    }

    fn right(&self, labels: Option<&[i64]>) -> Result<Option<Vec<bool>>, CoreError> {
        let predicted = || self.samples.iter().map(|sample| (sample.index, sample.class));
        right(labels, self.inputs, self.classes, predicted)
    }
}

/// Runs a classifier on variants of some samples and counts what changes.
///
/// `perturb` gets the probed samples, the number of the variant and its seed, and returns an array of the same shape. The same seed
/// gives the same result if the model and `perturb` depend on nothing else.
///
/// # Errors
/// [`Error::ProbeCount`] and [`Error::Precision`] when the parameters do not fit, [`Error::NoMargin`] when the model has a single output,
/// [`Error::VariantShape`] when a variant has another shape, [`Error::Core`] when the monitor stops the run, and whatever the model and
/// `perturb` return.
///
/// If the monitor has a place for parts, an interrupted run continues from them. The place must distinguish different models
/// and different functions `perturb`.
///
/// ```
/// use spadework::{Samples, Silent};
/// use spadework::samples::Values;
/// use spadework_probe::{Error, VariantParams, probe_variants};
/// // The class is the larger of two numbers; variants swap them where the variant is odd.
/// let inputs = Samples::from_f64(2, 2, vec![1.0, 0.0, 3.0, 3.5])?;
/// let swap = |rows: &Samples<'_>, variant: usize, _seed: u64| -> Result<Samples<'static>, Error> {
///     let Values::F64(values) = rows.values() else { unreachable!("the precision stays") };
///     let swapped = values.chunks_exact(2).flat_map(|x| if variant % 2 == 1 { [x[1], x[0]] } else { [x[0], x[1]] });
///     Ok(Samples::from_f64(2, 2, swapped.collect::<Vec<_>>())?)
/// };
/// let model = |rows: &Samples<'_>| -> Result<Samples<'static>, Error> { Ok(rows.rows(&[0, 1])?) };
/// let found = probe_variants(&inputs, model, swap, &VariantParams::default().with_variants(4), &Silent)?;
/// assert_eq!(found.samples[0].flips, 2);
/// assert_eq!(found.samples[0].first_flip, Some(1));
/// assert_eq!(found.summary(None)?.kept.estimate, 0.5);
/// # Ok::<(), Error>(())
/// ```
pub fn probe_variants<E: From<Error>, M, P>(
    inputs: &Samples<'_>,
    model: M,
    mut perturb: P,
    params: &VariantParams,
    monitor: &dyn Monitor,
) -> Result<Varied, E>
where
    M: FnMut(&Samples<'_>) -> Result<Samples<'static>, E>,
    P: FnMut(&Samples<'_>, usize, u64) -> Result<Samples<'static>, E>,
{
    params.check()?;
    monitor.begin(PROBES);
    let parts = Resumable::new(Work::new("variants", inputs, format!("{params:?}")), monitor.checkpoints());
    let all = (0..inputs.len()).collect();
    let chosen = drawn(all, params.samples, &mut stream(params.seed, Purpose::ProbedSamples));
    let chosen: Vec<u32> = chosen.into_iter().map(|index| index as u32).collect();
    let batch = inputs.rows(&chosen).map_err(Error::from)?;
    let mut model = BlackBox::new(model, params.variants as u64 + 1, None, monitor);
    let clean = model.classes_of(&batch)?;
    let mut tally = Tally::of(&chosen, &clean);
    if tally.take_up(&parts) {
        model.skip(tally.variants, batch.len());
    }
    while !tally.is_done(params) {
        let counted = variant_of(&batch, tally.variants, params, &mut perturb)
            .and_then(|variant| model.classes_of(&variant))
            .map(|outputs| tally.count(&outputs));
        if let Err(error) = counted {
            parts.keep(|| tally.state());
            return Err(error);
        }
        parts.keep_if_due(|| tally.state());
    }
    parts.keep_result(|| tally.state());
    Ok(Varied {
        params: params.clone(),
        variants: tally.variants,
        samples: tally.samples,
        evaluations: model.evaluations,
        inputs: inputs.len(),
        classes: clean.dim(),
    })
}

/// One variant of the samples, which must be as many rows of as many numbers.
fn variant_of<E: From<Error>>(
    batch: &Samples<'_>,
    number: usize,
    params: &VariantParams,
    perturb: &mut impl FnMut(&Samples<'_>, usize, u64) -> Result<Samples<'static>, E>,
) -> Result<Samples<'static>, E> {
    let variant = perturb(batch, number, params.seed_of(number))?;
    let (expected, got) = ([batch.len(), batch.dim()], [variant.len(), variant.dim()]);
    if got != expected {
        return Err(Error::VariantShape { variant: number, expected, got }.into());
    }
    Ok(variant)
}

/// What the variants have shown so far.
struct Tally {
    samples: Vec<VariedSample>,
    classes: Vec<usize>,
    variants: usize,
}

impl Tally {
    /// Before the first variant.
    fn of(chosen: &[u32], clean: &Samples<'_>) -> Self {
        let classes = predictions(clean);
        let margins = leads_of(clean, classes.iter().copied());
        let sample = |((&index, &class), &margin): ((&u32, &usize), &f64)| VariedSample {
            index: index as usize,
            class,
            margin,
            lowest: margin,
            flips: 0,
            first_flip: None,
        };
        let samples = chosen.iter().zip(&classes).zip(&margins).map(sample).collect();
        Self { samples, classes, variants: 0 }
    }

    /// Whether all variants are done, or more of them would hardly move the share that keeps its class.
    fn is_done(&self, params: &VariantParams) -> bool {
        let is_precise = || error_of(&self.samples, self.variants) <= params.precision;
        self.variants >= params.variants || (self.variants >= LEAST_VARIANTS && is_precise())
    }

    /// Counts what the outputs of one more variant show.
    fn count(&mut self, outputs: &Samples<'_>) {
        let leads = leads_of(outputs, self.classes.iter().copied());
        for ((sample, class), lead) in self.samples.iter_mut().zip(predictions(outputs)).zip(leads) {
            sample.lowest = sample.lowest.min(lead);
            if class != sample.class {
                sample.flips += 1;
                sample.first_flip.get_or_insert(self.variants);
            }
        }
        self.variants += 1;
    }

    /// The margins of the samples are in it too: a model that gives others is another model.
    fn state(&self) -> Vec<u8> {
        let of = |number: fn(&VariedSample) -> f64| self.samples.iter().map(number).collect::<Vec<_>>();
        let mut state = StateWriter::default();
        state.counts([self.variants as u64].into_iter());
        state.doubles(&of(|sample| sample.margin));
        state.doubles(&of(|sample| sample.lowest));
        state.counts(self.samples.iter().map(|sample| sample.flips as u64));
        state.counts(self.samples.iter().map(|sample| sample.first_flip.map_or(NEVER, |first| first as u64)));
        state.into_bytes()
    }

    /// Goes on where an earlier run was interrupted; whether there was one of the same model.
    fn take_up(&mut self, parts: &Resumable<'_>) -> bool {
        parts.stored().and_then(|state| self.read(&state)).is_some()
    }

    fn read(&mut self, state: &[u8]) -> Option<()> {
        let mut state = StateReader::new(state);
        let [variants] = state.some_counts()?;
        let (margins, lowest) = (state.doubles()?, state.doubles()?);
        let (flips, first_flips) = (state.counts()?, state.counts()?);
        let is_same =
            self.samples.iter().map(|sample| sample.margin.to_bits()).eq(margins.iter().map(|m| m.to_bits()));
        let count = self.samples.len();
        if !is_same || [lowest.len(), flips.len(), first_flips.len()] != [count; 3] {
            return None;
        }
        for (at, sample) in self.samples.iter_mut().enumerate() {
            sample.lowest = lowest[at];
            sample.flips = flips[at] as usize;
            sample.first_flip = (first_flips[at] != NEVER).then_some(first_flips[at] as usize);
        }
        self.variants = variants as usize;
        Some(())
    }
}

/// A mean of shares with Wilson's interval over the samples: that of the whole numbers of samples next to it. Shares vary at most as much as
/// what is either 0 or 1, so the interval is at least as wide as it has to be.
fn kept_share(kept: f64, samples: usize) -> Estimated {
    let count = kept * samples as f64;
    let [low, high] = [count.floor(), count.ceil()].map(|count| intervals::wilson(count as usize, samples));
    Estimated::new(kept, low.lower, high.upper, samples)
}

/// Half the width of the 95 % interval that more variants of the same samples could still narrow. A sample that never or always changed
/// may still do otherwise: one half is added to both counts.
fn error_of(samples: &[VariedSample], variants: usize) -> f64 {
    let variance = |sample: &VariedSample| {
        let share = (sample.flips as f64 + 0.5) / (variants as f64 + 1.0);
        share * (1.0 - share)
    };
    let total: f64 = samples.iter().map(variance).sum();
    REACH * (total / variants as f64).sqrt() / samples.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use spadework::Silent;
    use spadework::samples::Values;

    fn numbers(samples: &Samples<'_>) -> Vec<f64> {
        match samples.values() {
            Values::F64(values) => values.to_vec(),
            _ => panic!("the precision stays"),
        }
    }

    /// The class is the sign of a number.
    fn sign(rows: &Samples<'_>) -> Result<Samples<'static>, Error> {
        let outputs: Vec<f64> = numbers(rows).iter().flat_map(|&x| [x, -x]).collect();
        Ok(Samples::from_f64(rows.len(), 2, outputs)?)
    }

    /// Takes so much off every number.
    fn less(by: f64) -> impl FnMut(&Samples<'_>, usize, u64) -> Result<Samples<'static>, Error> {
        move |rows, _, _| {
            let moved: Vec<f64> = numbers(rows).iter().map(|x| x - by).collect();
            Ok(Samples::from_f64(rows.len(), 1, moved)?)
        }
    }

    #[test]
    fn samples_are_counted_ranked_and_judged_by_their_labels() {
        let inputs = Samples::from_f64(4, 1, vec![0.5, 3.0, -1.0, 0.25]).unwrap();
        let params = VariantParams::default().with_variants(3);
        let found = probe_variants(&inputs, sign, less(1.0), &params, &Silent).unwrap();
        assert_eq!(found.samples.iter().map(|sample| sample.flips).collect::<Vec<_>>(), [3, 0, 0, 3]);
        assert_eq!(found.changed().iter().map(|sample| sample.index).collect::<Vec<_>>(), [3, 0]);
        assert_eq!((found.evaluations, found.variants, found.stopped_early()), (16, 3, false));
        let of_labels = found.summary(Some(&[0, 1, 1, 0])).unwrap();
        assert_eq!(of_labels.accuracy, Some(0.75));
        assert_eq!((of_labels.kept.estimate, of_labels.survived.estimate), (0.5, 0.25));
        assert!(of_labels.kept.lower > 0.1 && of_labels.kept.upper < 0.9);
        assert_eq!(found.summary(None).unwrap().survived.estimate, 0.5);
        assert!(found.summary(Some(&[0])).is_err());
    }

    #[test]
    fn a_run_ends_once_it_is_precise() {
        let inputs = Samples::from_f64(1000, 1, (0..1000).map(|at| f64::from(at) + 2.0).collect::<Vec<_>>());
        let params = VariantParams::default().with_precision(0.02);
        let found = probe_variants(&inputs.unwrap(), sign, less(1.0), &params, &Silent).unwrap();
        assert_eq!((found.variants, found.stopped_early()), (LEAST_VARIANTS, true));
        let never = VariantParams::default().with_precision(0.0).with_samples(5).with_variants(30);
        let inputs = Samples::from_f64(9, 1, vec![1.0; 9]).unwrap();
        let found = probe_variants(&inputs, sign, less(0.0), &never, &Silent).unwrap();
        assert_eq!((found.variants, found.samples.len(), found.evaluations), (30, 5, 155));
    }

    #[test]
    fn seeds_differ_by_variant_and_are_those_of_the_run() {
        let params = VariantParams::default().with_seed(7);
        let seeds: std::collections::BTreeSet<u64> =
            (0..100).map(|variant| params.seed_of(variant)).collect();
        assert_eq!(seeds.len(), 100);
        assert!(seeds.iter().all(|&seed| seed < 1 << 31));
        assert_ne!(params.seed_of(0), VariantParams::default().seed_of(0));
    }

    #[test]
    fn a_variant_of_another_shape_is_refused() {
        let inputs = Samples::from_f64(2, 1, vec![1.0, 2.0]).unwrap();
        let lost = |_: &Samples<'_>, _, _| Ok(Samples::from_f64(1, 1, vec![1.0])?);
        let error = probe_variants(&inputs, sign, lost, &VariantParams::default(), &Silent).unwrap_err();
        assert_eq!(error, Error::VariantShape { variant: 0, expected: [2, 1], got: [1, 1] });
    }
}
