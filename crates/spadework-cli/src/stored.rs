//! Results that lie in folders, and the arrays that they were made of.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use spadework::Side;
use spadework_io::model::{Layout, Normalization, OnnxModel, RunOptions};
use spadework_io::result::{ArrayDocument, CorruptionDocument, ModelFileDocument, PlaceDocument};
use spadework_io::{Dataset, Labels, digest, load, load_labels, outdated_digest};

use crate::console::Console;
use crate::corruption::apply_again;
use crate::failure::Failure;
use crate::model_runner::Runner;

/// The folder of a result, which may also be named by the `result.json` in it, as `check --baseline` takes it.
pub(crate) fn folder_of(result: &Path) -> &Path {
    match result.parent() {
        Some(folder) if result.ends_with("result.json") && result.is_file() => {
            if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
        }
        _ => result,
    }
}

/// The folder in which the user types, for results that name arrays by relative paths.
pub(crate) fn working_folder() -> Option<String> {
    std::env::current_dir().ok().and_then(|folder| Some(folder.to_str()?.to_owned()))
}

/// An array as a result remembers it.
pub(crate) fn remembered(data: &Dataset) -> Result<ArrayDocument, Failure> {
    let (array, digest) = (data.name().to_owned(), digest(&data.samples()?));
    Ok(ArrayDocument { array, folder: working_folder(), digest })
}

/// The command line, as a shell would take it again.
pub(crate) fn command_line() -> String {
    let is_plain = |character: char| character.is_alphanumeric() || "-_./:=,%+@".contains(character);
    let quoted = |word: String| {
        if !word.is_empty() && word.chars().all(is_plain) {
            word
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    let words = std::env::args_os().skip(1).map(|word| quoted(word.to_string_lossy().into_owned()));
    std::iter::once("spadework".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

/// The argument as it would be typed elsewhere: its path starts from `folder`, unless it is absolute.
fn array_in(folder: &Path, argument: &str) -> String {
    // A data set by name has its folder in the middle: mnist:DIR:test.
    match argument.splitn(3, ':').collect::<Vec<_>>()[..] {
        ["images", place] => format!("images:{}", folder.join(place).display()),
        [set, place, split] => format!("{set}:{}:{split}", folder.join(place).display()),
        _ => folder.join(argument).display().to_string(),
    }
}

/// An array that a result was made of: the one named now, or the one named then; its digest must be the same.
///
/// Inputs that were corrupted are corrupted again.
pub(crate) fn stored_array(
    now: Option<&str>,
    then: &ArrayDocument,
    side: Side,
    corruption: Option<&CorruptionDocument>,
) -> Result<Dataset, Failure> {
    comparable(&then.array, &then.digest)?;
    let load = |argument: &str| match corruption {
        Some(corruption) => apply_again(&load(argument)?, corruption),
        None => Ok(load(argument)?),
    };
    let first = load(now.unwrap_or(&then.array));
    let is_the_one = |data: &Dataset| data.samples().is_ok_and(|samples| digest(&samples) == then.digest);
    if !first.as_ref().is_ok_and(is_the_one)
        && let (None, Some(folder)) = (now, &then.folder)
        && let Ok(data) = load(&array_in(Path::new(folder), &then.array))
        && is_the_one(&data)
    {
        return Ok(data);
    }
    let data = first?;
    let found = digest(&data.samples()?);
    if found == then.digest {
        return Ok(data);
    }
    Err(Failure::usage(format!(
        "{}: must be the {side}s that the result was made of ({}, digest {}), got digest {found}",
        data.name(),
        then.array,
        then.digest
    )))
}

/// Fails where a digest of another version stands for an array or a model: nothing could be told the same.
fn comparable(name: &str, kept: &str) -> Result<(), Failure> {
    match outdated_digest(kept) {
        None => Ok(()),
        Some(reason) => Err(Failure::usage(format!("{name}: the result was made of it, but {reason}"))
            .with_hint("score it again with this version")),
    }
}

/// How the outputs of a stored result are had again.
pub(crate) struct RunAgain<'a> {
    pub(crate) inputs: &'a Dataset,
    pub(crate) threads: Option<NonZeroUsize>,
    pub(crate) console: Console,
}

impl RunAgain<'_> {
    /// The outputs that a result was made of: an array, or those of the model that was run for them, as it was run then.
    pub(crate) fn outputs(
        &self,
        now: Option<&str>,
        then: &ArrayDocument,
        model: Option<&ModelFileDocument>,
    ) -> Result<Dataset, Failure> {
        match (now, model) {
            (None, Some(model)) => self.of_model(model),
            _ => stored_array(now, then, Side::Output, None),
        }
    }

    /// The model's digest must be the same; that of its outputs may differ in the last digits, on another machine.
    fn of_model(&self, then: &ModelFileDocument) -> Result<Dataset, Failure> {
        comparable(&then.file, &then.digest)?;
        let elsewhere =
            then.folder.as_ref().map(|folder| Path::new(folder).join(&then.file).display().to_string());
        let opened = |file: &String| OnnxModel::open(file).ok().filter(|model| model.digest() == then.digest);
        let places = [Some(then.file.clone()), elsewhere];
        let Some(model) = places.iter().flatten().find_map(opened) else {
            return Err(Failure::usage(format!(
                "{}: must be the model that the result was made of (digest {}), got none or another",
                then.file, then.digest
            )));
        };
        let options = RunOptions {
            output_name: Some(then.output.clone()),
            layout: then.layout.as_deref().and_then(Layout::from_word),
            // Elsewhere the library may not be; the built-in engine gives the same up to the last digits.
            onnxruntime: then.onnxruntime.as_ref().map(PathBuf::from).filter(|library| library.exists()),
            normalization: then.normalize.as_deref().and_then(Normalization::new),
            ..RunOptions::default()
        };
        let runner =
            Runner { options, threads: self.threads, inputs: Some(self.inputs), console: self.console };
        Ok(runner.run_model(&model)?.data)
    }
}

/// The labels that a result was made with: those named then, or those that come with its inputs.
pub(crate) fn stored_labels(
    then: Option<&PlaceDocument>,
    inputs: &Dataset,
) -> Result<Option<Labels>, Failure> {
    match then {
        Some(place) => labels_at(place).map(Some),
        None => Ok(inputs.labels().cloned()),
    }
}

/// Labels that were named in some folder.
pub(crate) fn labels_at(place: &PlaceDocument) -> Result<Labels, Failure> {
    let PlaceDocument { array, folder } = place;
    Ok(match (load_labels(array), folder) {
        (Err(_), Some(folder)) => load_labels(&array_in(Path::new(folder), array))?,
        (labels, _) => labels?,
    })
}
