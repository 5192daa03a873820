//! Corruption of inputs before they are used.

use std::num::NonZeroUsize;

use spadework::threads::with_threads;
use spadework_document::score::CorruptionDocument;
use spadework_io::Dataset;
use spadework_io::corrupt::{self, Corruption, ImageShape, UnknownCorruption};

use crate::data::CorruptionRequest;
use crate::failure::Failure;
use crate::observer::{Observer, Session};
use crate::usage::Usage;
use crate::wording::{Hint, NoteCode};

/// Corrupts images of the given shape, or of the shape of the array.
///
/// # Errors
/// When the array has no images, or they do not have this shape.
pub fn corrupted(
    dataset: &Dataset,
    request: CorruptionRequest,
    seed: u64,
    threads: Option<NonZeroUsize>,
    observer: &dyn Observer,
) -> Result<(Dataset, CorruptionDocument), Failure> {
    apply(dataset, request, seed, threads, &Session::new(observer))
}

pub(crate) fn apply(
    dataset: &Dataset,
    request: CorruptionRequest,
    seed: u64,
    threads: Option<NonZeroUsize>,
    session: &Session<'_>,
) -> Result<(Dataset, CorruptionDocument), Failure> {
    let shape = match request.shape {
        Some(shape) => shape,
        None => shape_of(dataset, session)?,
    };
    with_shape(dataset, request.corruption, shape, seed, threads, session)
}

/// Corrupts as a result says that its inputs were.
pub(crate) fn apply_again(
    dataset: &Dataset,
    document: &CorruptionDocument,
    session: &Session<'_>,
) -> Result<Dataset, Failure> {
    let unknown = |error: UnknownCorruption| Usage::UnknownCorruption { reason: error.to_string() };
    let corruption = format!("{}:{}", document.kind, document.severity).parse().map_err(unknown)?;
    let shape = document.shape.parse().map_err(unknown)?;
    Ok(with_shape(dataset, corruption, shape, document.seed, None, session)?.0)
}

fn with_shape(
    dataset: &Dataset,
    corruption: Corruption,
    shape: ImageShape,
    seed: u64,
    threads: Option<NonZeroUsize>,
    session: &Session<'_>,
) -> Result<(Dataset, CorruptionDocument), Failure> {
    let monitor = session.monitor();
    let corrupted = with_threads(threads, || {
        Ok::<_, spadework::Error>(corrupt::corrupt(dataset, corruption, shape, seed, monitor))
    })?;
    spadework_io::check_mapped_files()?;
    let document = CorruptionDocument {
        kind: corruption.kind.to_string(),
        severity: corruption.severity.get(),
        seed,
        shape: shape.to_string(),
    };
    Ok((corrupted?, document))
}

fn shape_of(dataset: &Dataset, session: &Session<'_>) -> Result<ImageShape, Failure> {
    let shape = ImageShape::of(dataset).map_err(|error| Failure::from(error).with_hint(Hint::ImageShape))?;
    if ImageShape::is_guessed_for(dataset) {
        session.note(
            NoteCode::ImageShapeGuessed,
            format!(
                "{}: rows of numbers are read as images of {shape}; set another shape with --shape",
                dataset.name()
            ),
        );
    }
    Ok(shape)
}
