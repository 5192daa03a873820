//! Finds the arrays that a stored result was made from.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use spadework::SpadeParams;
use spadework::samples::Side;
use spadework_document::probe::ProbeDocument;
use spadework_document::score::{ArrayDocument, CorruptionDocument, ModelFileDocument, PlaceDocument};
use spadework_io::{Dataset, Labels, digest, load, load_ids, load_labels, outdated_digest};
use spadework_model::{Engine, Layout, Normalization, OnnxModel, RunOptions};
use spadework_probe::{OutputKind, Probe, Variant};

use crate::corruption::apply_again;
use crate::failure::Failure;
use crate::model_runner::ModelRunner;
use crate::observer::Session;
use crate::places::array_in;
use crate::probing::{ProbeBudget, ProbeRequest, Prober};
use crate::side_view::{Array, SideView};
use crate::usage::Usage;

/// An array that a result was made of: the one named now, or the one named then; its digest must be the same.
///
/// Inputs that were corrupted are corrupted again.
pub(crate) fn array(
    now: Option<&str>,
    then: &ArrayDocument,
    side: Side,
    corruption: Option<&CorruptionDocument>,
    session: &Session<'_>,
) -> Result<Dataset, Failure> {
    let load = |argument: &str| match corruption {
        Some(corruption) => apply_again(&load(argument)?, corruption, session),
        None => Ok(load(argument)?),
    };
    check_comparable(&then.array, &then.digest)?;
    // With its digest, which is found once.
    let digested = |argument: &str| -> Result<(Dataset, String), Failure> {
        let data = load(argument)?;
        let found = digest(&data.samples()?);
        Ok((data, found))
    };
    let first = match digested(now.unwrap_or(&then.array)) {
        Ok((data, found)) if found == then.digest => return Ok(data),
        other => other,
    };
    if let (None, Some(folder)) = (now, &then.folder)
        && let Ok((data, found)) = digested(&array_in(Path::new(folder), &then.array))
        && found == then.digest
    {
        return Ok(data);
    }
    let (data, found) = first?;
    let (array, digest) = (then.array.clone(), then.digest.clone());
    Err(Failure::from(Usage::OtherArray { side, array, digest, found }).about_place(data.name()))
}

/// Fails where a digest of another version stands for an array or a model: nothing could show that it is the same.
fn check_comparable(name: &str, kept: &str) -> Result<(), Failure> {
    match outdated_digest(kept) {
        None => Ok(()),
        Some(reason) => Err(Failure::from(Usage::OutdatedDigest { reason }).about_place(name)),
    }
}

/// How the outputs of a stored result are made again.
pub(crate) struct OutputsAgain<'a> {
    pub(crate) inputs: &'a Array<'a>,
    pub(crate) threads: Option<NonZeroUsize>,
    pub(crate) session: &'a Session<'a>,
}

impl OutputsAgain<'_> {
    /// The outputs that a result was made of: an array, or those of the model that was run for them, as it was run then.
    pub(crate) fn load(
        &self,
        now: Option<&str>,
        then: &ArrayDocument,
        model: Option<&ModelFileDocument>,
    ) -> Result<Dataset, Failure> {
        match (now, model) {
            (None, Some(model)) => self.of_model(model),
            _ => array(now, then, Side::Output, None, self.session),
        }
    }

    /// The probes that broke the samples that a page shows, made again; none if the model is gone, or was never there.
    pub(crate) fn broken(
        &self,
        probe: Option<&ProbeDocument>,
        model: Option<&ModelFileDocument>,
        kind: OutputKind,
    ) -> Result<Vec<Variant>, Failure> {
        let (Some(then), Some(model)) = (probe, model) else { return Ok(Vec::new()) };
        let (Some((file, _)), Ok(probe)) = (find(model), then.probe.parse::<Probe>()) else {
            return Ok(Vec::new());
        };
        let (inputs, options) = (SideView::of_array(self.inputs)?, options(model));
        // A search that ended early has broken these samples by then: nothing later is shown.
        let budget = ProbeBudget { probes: Some(then.probes), samples: then.samples, precision: None };
        let request = ProbeRequest {
            probe,
            radii: then.radii.as_deref().map(Into::into),
            categories: then.categories.as_deref().map(Into::into),
            budget,
        };
        let params = SpadeParams::default().with_seed(then.seed).with_threads(self.threads);
        let samples = then.shown_broken();
        match Prober::new(&request, &inputs, &options, &params, self.session) {
            Some(prober) if !samples.is_empty() => prober.of_file(&file)?.broken(kind, &samples),
            _ => Ok(Vec::new()),
        }
    }

    /// The model's digest must be the same; that of its outputs may differ in the last digits, on another machine.
    fn of_model(&self, then: &ModelFileDocument) -> Result<Dataset, Failure> {
        check_comparable(&then.file, &then.digest)?;
        let Some((_, model)) = find(then) else {
            let failure = Failure::from(Usage::OtherModel { digest: then.digest.clone() });
            return Err(failure.about_place(&then.file));
        };
        let options = options(then);
        let inputs = SideView::of_array(self.inputs)?;
        let (threads, session) = (self.threads, self.session);
        let runner = ModelRunner { options: &options, threads, inputs: Some(&inputs), session };
        Ok(runner.run_model(&model)?.0)
    }
}

/// The model that a result was made with, and where it lies now.
fn find(then: &ModelFileDocument) -> Option<(String, OnnxModel)> {
    let elsewhere =
        then.folder.as_ref().map(|folder| Path::new(folder).join(&then.file).display().to_string());
    let opened = |file: String| {
        let model = OnnxModel::open(&file).ok().filter(|model| model.digest() == then.digest)?;
        Some((file, model))
    };
    [Some(then.file.clone()), elsewhere].into_iter().flatten().find_map(opened)
}

/// How the model of a result was run.
fn options(then: &ModelFileDocument) -> RunOptions {
    RunOptions {
        output_name: Some(then.output.clone()),
        layout: then.layout.as_deref().and_then(Layout::from_word),
        // The library may not be on this machine; the built-in engine gives the same up to the last digits.
        onnxruntime: then.onnxruntime.as_ref().map(PathBuf::from).filter(|library| library.exists()),
        engine: Engine::Auto,
        normalization: then.normalize.as_deref().and_then(Normalization::new),
        ..RunOptions::default()
    }
}

/// The labels that a result was made with: those named then, or those that come with its inputs.
pub(crate) fn labels(then: Option<&PlaceDocument>, inputs: &Array<'_>) -> Result<Option<Labels>, Failure> {
    match then {
        Some(place) => labels_at(place).map(Some),
        None => Ok(inputs.labels().cloned()),
    }
}

/// The names of the samples that a result was made with, where they were named.
pub(crate) fn ids(then: Option<&PlaceDocument>, samples: usize) -> Result<Option<Vec<String>>, Failure> {
    let Some(PlaceDocument { array, folder }) = then else { return Ok(None) };
    Ok(Some(match (load_ids(array, samples), folder) {
        (Err(_), Some(folder)) => load_ids(&array_in(Path::new(folder), array), samples)?,
        (ids, _) => ids?,
    }))
}

/// Labels that were named in some folder.
pub(crate) fn labels_at(place: &PlaceDocument) -> Result<Labels, Failure> {
    let PlaceDocument { array, folder } = place;
    Ok(match (load_labels(array), folder) {
        (Err(_), Some(folder)) => load_labels(&array_in(Path::new(folder), array))?,
        (labels, _) => labels?,
    })
}
