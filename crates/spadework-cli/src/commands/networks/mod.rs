//! The commands of networks: `train`, `attack`, `clever`.

pub(crate) mod attack;
pub(crate) mod clever;
pub(crate) mod train;

use std::num::NonZeroUsize;

use spadework_io::{Dataset, check_mapped_files, load, load_labels};
use spadework_nn::attack::{Norm, Objective};
use spadework_nn::{Compute, Error, Examples, Frozen, to_floats};

use crate::args_networks::{JudgedArgs, LossName, MachineArgs, NormName};
use crate::console::Console;
use crate::failure::Failure;

impl From<NormName> for Norm {
    fn from(norm: NormName) -> Self {
        match norm {
            NormName::Linf => Norm::Linf,
            NormName::L2 => Norm::L2,
            NormName::L1 => Norm::L1,
        }
    }
}

impl From<LossName> for Objective {
    fn from(loss: LossName) -> Self {
        match loss {
            LossName::CrossEntropy => Objective::CrossEntropy,
            LossName::Margin => Objective::Margin,
            LossName::Dlr => Objective::Dlr,
        }
    }
}

impl MachineArgs {
    fn console(&self) -> Console {
        self.terminal.console()
    }

    fn compute(&self) -> Result<Compute, Failure> {
        Ok(Compute::choose(&self.device)?)
    }

    /// Runs work in a pool of as many threads as were asked for.
    fn in_pool<T: Send>(&self, work: impl FnOnce() -> Result<T, Failure> + Send) -> Result<T, Failure> {
        let mut outcome = None;
        spadework::threads::with_threads(self.threads, || {
            outcome = Some(work());
            Ok::<_, Failure>(())
        })?;
        outcome.unwrap_or_else(|| Err(Failure::usage("the work did not begin")))
    }
}

/// A network with the examples it is judged on.
struct Judged {
    model: Frozen,
    examples: Examples,
}

impl Judged {
    fn load(args: &JudgedArgs, limit: Option<NonZeroUsize>, compute: &Compute) -> Result<Self, Failure> {
        let model = Frozen::load(&args.model, compute)?;
        let dataset = load(&args.inputs)?;
        let takes = (model.input_shape(), model.classes());
        let examples = first(examples_of(&dataset, args.labels.as_deref(), LABELS_HINT, takes)?, limit);
        Ok(Self { model, examples })
    }
}

/// What to do about samples without labels.
const LABELS_HINT: &str = "give them with --labels";

/// Examples for a network of this input shape and so many classes, with the labels that are given or else those of the data; the
/// hint is for data without any.
fn examples_of(
    dataset: &Dataset,
    argument: Option<&str>,
    hint: &'static str,
    (input_shape, classes): (&[usize], usize),
) -> Result<Examples, Failure> {
    let labels = argument.map(load_labels).transpose()?;
    let examples = Examples::for_network(dataset, labels.as_ref(), input_shape, classes);
    // The numbers have been copied, and the file is not read any more.
    check_mapped_files()?;
    examples.map_err(|error| match error {
        // These two name the data already.
        error @ Error::NoLabels { .. } => Failure::from(error).with_hint(hint),
        error @ Error::Io(_) => Failure::from(error),
        error @ (Error::Label { .. } | Error::Count { .. }) => {
            Failure::from(error).about(argument.unwrap_or(dataset.name()))
        }
        error => Failure::from(error).about(dataset.name()),
    })
}

fn first(examples: Examples, limit: Option<NonZeroUsize>) -> Examples {
    match limit.map(NonZeroUsize::get) {
        Some(limit) if limit < examples.len() => examples.select(&(0..limit).collect::<Vec<_>>()),
        _ => examples,
    }
}

/// An array of one number per sample.
fn one_each(argument: &str, samples: usize) -> Result<Vec<f32>, Failure> {
    let dataset = load(argument)?;
    let values = dataset.samples()?;
    if (values.len(), values.dim()) != (samples, 1) {
        return Err(Failure::usage(format!(
            "{argument}: expected one number for each of {samples} samples, got {} rows of {}",
            values.len(),
            values.dim()
        )));
    }
    let numbers = to_floats(&values);
    check_mapped_files()?;
    Ok(numbers)
}
