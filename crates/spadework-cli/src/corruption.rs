//! Corruption of inputs, as `corrupt`, `score`, `compare`, `select` and `check` have it.

use std::num::NonZeroUsize;

use spadework::threads::with_threads;
use spadework_document::result::CorruptionDocument;
use spadework_io::corrupt::{self, Corruption, ImageShape};
use spadework_io::{Dataset, Error as IoError, load};

use crate::args::GeneralArgs;
use crate::args_data::CorruptionArgs;
use crate::console::Console;
use crate::failure::Failure;

/// Inputs, corrupted where that was asked for, and how; none where a graph is given in their place.
#[derive(Default)]
pub(crate) struct PreparedInputs {
    pub(crate) dataset: Option<Dataset>,
    pub(crate) corruption: Option<CorruptionDocument>,
}

impl CorruptionArgs {
    /// Loads the inputs that an argument names and corrupts them, where that was asked for.
    pub(crate) fn prepare(
        &self,
        inputs: Option<&str>,
        general: &GeneralArgs,
        console: Console,
    ) -> Result<PreparedInputs, Failure> {
        let Some(argument) = inputs else { return Ok(PreparedInputs::default()) };
        let dataset = load(argument)?;
        let Some(corruption) = self.corruption else {
            return Ok(PreparedInputs { dataset: Some(dataset), corruption: None });
        };
        let (dataset, made) =
            apply(&dataset, corruption, self.shape, general.seed, general.threads, console)?;
        Ok(PreparedInputs { dataset: Some(dataset), corruption: Some(made) })
    }

    /// Reminds of what outputs must be that come from a file; those of a model that is run here are right anyway.
    pub(crate) fn tell_whose_outputs(&self, seed: u64, console: Console) {
        if let Some(corruption) = self.corruption {
            console.note(&format!(
                "the inputs are corrupted ({corruption}, seed {seed}); the outputs must be those of the same images, as \
                 `spadework corrupt` writes them"
            ));
        }
    }
}

/// Corrupts images of the shape given, or of the one that the array has.
pub(crate) fn apply(
    dataset: &Dataset,
    corruption: Corruption,
    shape: Option<ImageShape>,
    seed: u64,
    threads: Option<NonZeroUsize>,
    console: Console,
) -> Result<(Dataset, CorruptionDocument), Failure> {
    let shape = match shape {
        Some(shape) => shape,
        None => shape_of(dataset, console)?,
    };
    let monitor = console.monitor();
    let corrupted = with_threads(threads, || {
        Ok::<_, spadework::Error>(corrupt::corrupt(dataset, corruption, shape, seed, &monitor))
    })?;
    let document = CorruptionDocument {
        kind: corruption.kind.to_string(),
        severity: corruption.severity.get(),
        seed,
        shape: shape.to_string(),
    };
    Ok((corrupted?, document))
}

/// Corrupts as a result says that its inputs were.
pub(crate) fn apply_again(dataset: &Dataset, document: &CorruptionDocument) -> Result<Dataset, Failure> {
    let unreadable = |error: corrupt::UnknownCorruption| {
        Failure::usage(format!("the corruption of the result cannot be made again: {error}"))
    };
    let corruption = format!("{}:{}", document.kind, document.severity).parse().map_err(unreadable)?;
    let shape = document.shape.parse().map_err(unreadable)?;
    Ok(apply(dataset, corruption, Some(shape), document.seed, None, Console::quiet())?.0)
}

fn shape_of(dataset: &Dataset, console: Console) -> Result<ImageShape, Failure> {
    let shape = ImageShape::of(dataset).map_err(|error: IoError| {
        Failure::from(error).with_hint("--shape says how the numbers make an image, e.g. --shape 3x32x32")
    })?;
    if ImageShape::is_guessed_for(dataset) {
        console.note(&format!(
            "{}: rows of numbers are taken for images of {shape}; --shape says otherwise",
            dataset.name()
        ));
    }
    Ok(shape)
}
