//! Probes of one model by itself, without a score: a model file, or a function of the caller's.

use std::num::NonZeroUsize;
use std::path::Path;

use spadework::samples::{Metric, Values};
use spadework::threads::with_threads;
use spadework::{Error as CoreError, Monitor, Samples};
use spadework_document::Note;
use spadework_document::probe::{OutputChangeDocument, ProbeDocument};
use spadework_document::stages::Recipe;
use spadework_io::corrupt::ImageShape;
use spadework_io::{digest, digest_bytes};
use spadework_model::{OnnxModel, Prepared, RunOptions};
use spadework_probe::{
    Error as ProbeError, OutputKind, ProbeParams, ProbedOutputs, Task, probe_model, probe_regressor,
};

use crate::data::Rows;
use crate::failure::{Failure, Subject};
use crate::kept_probes::KeptProbes;
use crate::model_runner::{check_alone, note_library, note_output, note_softmax};
use crate::observer::{Observer, Session};
use crate::probing::{ModelProbes, ProbeRequest, grid_of, outputs, unit_of_changes};
use crate::resume::Resuming;
use crate::usage::Usage;
use crate::{notes, suspicions};

/// Samples that are run together to see what the outputs are.
const BATCH: usize = 1 << 12;
/// Number of additional rows by which a function is recognized.
const CROSSINGS: usize = 8;

/// A model in memory or in a file that is probed by itself.
pub enum ProbedModel<'a> {
    /// A model file and how it is run.
    File {
        /// The file.
        path: &'a str,
        /// How it is run.
        run: RunOptions,
    },
    /// A function from rows in single precision to outputs.
    Function(&'a mut (dyn FnMut(&Samples<'_>) -> Result<Samples<'static>, Failure> + Send)),
}

/// Which model is probed, and on what.
pub struct ProbeModelRequest<'a> {
    /// The model.
    pub model: ProbedModel<'a>,
    /// The samples.
    pub inputs: Rows<'a>,
    /// The class of every sample as the position of its output.
    pub labels: Option<&'a [i64]>,
    /// The standard deviation of the numbers that a regressor should predict.
    pub target_spread: Option<f64>,
    /// What the outputs are.
    pub task: Task,
    /// How it is probed.
    pub probe: ProbeRequest,
    /// How many of the samples that changed the document lists.
    pub top: usize,
    /// Seed of everything random.
    pub seed: u64,
    /// Threads to use; all cores if `None`.
    pub threads: Option<NonZeroUsize>,
    /// A folder that stores results, so that the same call continues where it was interrupted.
    pub folder: Option<&'a Path>,
}

/// Results of the probes of one model.
#[derive(Debug, Clone)]
pub enum ProbedAlone {
    /// For a classifier.
    Classes(ModelProbes),
    /// For a model that predicts numbers.
    Numbers {
        /// Every probed sample.
        probed: ProbedOutputs,
        /// What the document of a result says of them.
        document: OutputChangeDocument,
    },
}

/// Probes one model by itself.
///
/// # Errors
/// When the request makes no sense, the model cannot be run, or there is not one label per sample.
pub fn probe(
    request: ProbeModelRequest<'_>,
    observer: &dyn Observer,
) -> Result<(ProbedAlone, Vec<Note>), Failure> {
    let session = Session::new(observer).keeping_parts_in(request.folder);
    let found = probe_in(&session, request)?;
    Ok((found, session.notes()))
}

fn probe_in(session: &Session<'_>, request: ProbeModelRequest<'_>) -> Result<ProbedAlone, Failure> {
    let ProbeModelRequest { model, inputs, labels, target_spread, task, probe, top, seed, threads, folder } =
        request;
    suspicions::check_radius(&probe, Some(&inputs.samples))?;
    let sample = inputs.shape.get(1..).filter(|sample| !sample.is_empty()).unwrap_or(&[1]);
    let grid = ImageShape::of_extents(sample).map(grid_of);
    let params = probe.params().with_grid(grid).with_seed(seed);
    params.check()?;
    let kept = folder.map(|folder| KeptProbes::open(folder, recipe(&inputs, &params, &model, task)));
    let call = Call {
        kept: kept.transpose()?,
        inputs: &inputs.samples,
        labels,
        target_spread,
        task,
        params,
        top,
        is_function: false,
        session,
    };
    let chosen = call.params.chosen(inputs.samples.len());
    with_threads(threads, || match model {
        ProbedModel::File { path, run } => {
            let model = OnnxModel::open(path)?;
            let output = model.output(&run)?;
            note_softmax(&model, output, session);
            let options = RunOptions { few_at_a_time: true, ..run.clone() };
            let prepared = model.prepare(sample, &[output], &options)?;
            note_output(&model, output, &run, session);
            note_library(path, &prepared, session);
            let monitor = Resuming::new(session, || format!("{} {sample:?} {run:?}", model.content_digest()));
            let clean = CleanOutputs::of_file((path, &prepared), &inputs.samples, &chosen, &monitor)?;
            call.probe(clean, &mut |rows| outputs(&prepared, rows, session.monitor()))
        }
        ProbedModel::Function(function) => {
            let clean = CleanOutputs::of_function(function, &inputs.samples, &chosen)?;
            Call { is_function: true, ..call }.probe(clean, function)
        }
    })
}

/// A request with its parameters.
struct Call<'a> {
    inputs: &'a Samples<'a>,
    labels: Option<&'a [i64]>,
    target_spread: Option<f64>,
    task: Task,
    params: ProbeParams,
    top: usize,
    /// Nothing but its outputs can tell whether a function ends in a softmax.
    is_function: bool,
    session: &'a Session<'a>,
    /// What keeps that which is found.
    kept: Option<KeptProbes>,
}

/// What the probes of a model depend on, except the outputs of the model.
fn recipe(inputs: &Rows<'_>, params: &ProbeParams, model: &ProbedModel<'_>, task: Task) -> Recipe {
    let ProbeParams { probe, probes, samples, precision, radii, categories, seed, .. } = params;
    let run = match model {
        ProbedModel::File { run, .. } => format!("file {run:?}"),
        ProbedModel::Function(_) => "function".to_owned(),
    };
    let none = || "none".to_owned();
    let radii = radii.as_ref().map_or_else(none, |radii| digest_bytes(format!("{radii:?}").as_bytes()));
    let categories =
        categories.as_ref().map_or_else(none, |known| digest_bytes(format!("{known:?}").as_bytes()));
    Recipe::new()
        .with("inputs", digest(&inputs.samples))
        .with("shape", format!("{:?}", inputs.shape))
        .with("model", run)
        .with("probe", probe)
        .with("probes", probes)
        .with("samples", samples)
        .with("precision", precision.map_or_else(none, |precision| precision.to_string()))
        .with("radii", radii)
        .with("categories", categories)
        .with("seed", seed)
        .with("task", task)
}

/// A model as a function.
type Run<'a> = &'a mut (dyn FnMut(&Samples<'_>) -> Result<Samples<'static>, Failure> + Send);

impl Call<'_> {
    /// Looks at what the outputs are, and probes the model accordingly.
    fn probe(&self, mut clean: CleanOutputs<'_>, model: Run<'_>) -> Result<ProbedAlone, Failure> {
        let outputs = self.kept.as_ref().map(|kept| -> Result<String, Failure> {
            let others = model(&clean.crossings()?)?;
            let outputs = digest_bytes(format!("{} {}", digest(&clean.outputs), digest(&others)).as_bytes());
            kept.recognize(&outputs)?;
            Ok(outputs)
        });
        let outputs = outputs.transpose()?.unwrap_or_default();
        let monitor = &Resuming::new(self.session, || outputs);
        match OutputKind::of(self.task, &clean.outputs, self.labels, Metric::Euclidean) {
            OutputKind::Embedding => Err(Usage::ProbedEmbedding.into()),
            OutputKind::Numbers => {
                let (unit, of) = unit_of_changes(self.target_spread, &clean.outputs);
                let run = |rows: &Samples<'_>| clean.known_or(rows, &mut *model);
                let probed = probe_regressor::<Failure, _>(self.inputs, unit, run, &self.params, monitor)?;
                let document = OutputChangeDocument::new(&probed, of, self.top);
                Ok(ProbedAlone::Numbers { probed, document })
            }
            // Targets came instead of classes.
            _ if self.labels.is_none() && self.target_spread.is_some() => {
                Err(Usage::FractionsAsClasses.into())
            }
            kind => {
                if self.is_function {
                    notes::about_probabilities(&clean.outputs, "", self.session);
                }
                let classes = |rows: &Samples<'_>| Ok(kind.into_classes(clean.known_or(rows, &mut *model)?)?);
                let probed = probe_model::<Failure, _>(self.inputs, classes, &self.params, monitor)?;
                let labels = self.labels.map(|labels| kind.labels(labels));
                let document = ProbeDocument::new(&probed, labels.as_deref(), self.top)
                    .map_err(|error| Failure::from(error).about(Subject::Argument("labels")))?;
                Ok(ProbedAlone::Classes(ModelProbes { probed, document }))
            }
        }
    }
}

/// What the model says of the samples that are probed, before anything is changed. It takes these outputs to see how to probe, and
/// probes ask for them again: no sample goes through the model twice.
struct CleanOutputs<'a> {
    inputs: &'a Samples<'a>,
    /// Which samples these are, in the order in which probes ask for them.
    chosen: Vec<u32>,
    outputs: Samples<'static>,
    /// How many of them probes have asked for.
    asked: usize,
}

impl<'a> CleanOutputs<'a> {
    /// A file can be read, so its outputs are kept like those of a score.
    fn of_file(
        (path, model): (&str, &Prepared),
        inputs: &'a Samples<'a>,
        chosen: &[usize],
        monitor: &dyn Monitor,
    ) -> Result<Self, Failure> {
        let chosen: Vec<u32> = chosen.iter().map(|&at| at as u32).collect();
        let rows = if chosen.len() == inputs.len() { inputs.view() } else { inputs.rows(&chosen)? };
        let mut made = model.run(&rows, monitor)?;
        check_alone(path, model, &rows, &made)?;
        Ok(Self { inputs, outputs: made.swap_remove(0).into_samples()?, chosen, asked: 0 })
    }

    /// A function is known by these outputs alone, so it is always run.
    fn of_function(model: Run<'_>, inputs: &'a Samples<'a>, chosen: &[usize]) -> Result<Self, Failure> {
        let chosen: Vec<u32> = chosen.iter().map(|&at| at as u32).collect();
        let mut parts: Vec<Samples<'static>> = Vec::new();
        for few in chosen.chunks(BATCH) {
            let rows = in_single_precision(&inputs.rows(few)?)?;
            let outputs = model(&rows)?;
            if outputs.len() != rows.len() {
                let (input_rows, output_rows) = (rows.len(), outputs.len());
                return Err(ProbeError::from(CoreError::ShapeMismatch { input_rows, output_rows }).into());
            }
            let (batch, got) = (parts.len(), outputs.dim());
            let expected = parts.first().map_or(got, Samples::dim);
            if got != expected {
                return Err(ProbeError::OutputWidth { batch, expected, got }.into());
            }
            parts.push(outputs);
        }
        Ok(Self { inputs, outputs: joined(&parts)?, chosen, asked: 0 })
    }

    /// A few rows that are not samples, to distinguish one function from another. Their columns come alternately from two samples, so each
    /// number occurs in its column: a function may accept no others.
    fn crossings(&self) -> Result<Samples<'static>, Failure> {
        let few = &self.chosen[..self.chosen.len().min(CROSSINGS)];
        let samples = in_single_precision(&self.inputs.rows(few)?)?;
        let (values, dim) = (samples.values().all_singles(), samples.dim());
        let number = |row: usize, column: usize| values[(row + column % 2) % few.len() * dim + column];
        let rows = (0..few.len()).flat_map(|row| (0..dim).map(move |column| number(row, column)));
        Ok(Samples::from_f32(few.len(), dim, rows.collect::<Vec<f32>>())?)
    }

    /// The outputs of rows: known ones where these are the next samples themselves, and the model's otherwise.
    fn known_or(&mut self, rows: &Samples<'_>, model: Run<'_>) -> Result<Samples<'static>, Failure> {
        let next = self.asked..self.asked + rows.len();
        match self.chosen.get(next.clone()) {
            Some(samples) if self.are(rows, samples)? => {
                self.asked = next.end;
                let places: Vec<u32> = next.map(|at| at as u32).collect();
                Ok(self.outputs.rows(&places)?)
            }
            _ => model(rows),
        }
    }

    /// Whether rows are these samples; the first row tells nearly always.
    fn are(&self, rows: &Samples<'_>, samples: &[u32]) -> Result<bool, Failure> {
        for count in [1, samples.len()] {
            let expected = in_single_precision(&self.inputs.rows(&samples[..count])?)?;
            let (expected, numbers) = (expected.values().all_singles(), count * rows.dim());
            if *rows.values().singles(0..numbers) != *expected {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Rows as models take them.
fn in_single_precision(rows: &Samples<'_>) -> Result<Samples<'static>, Failure> {
    Ok(Samples::from_f32(rows.len(), rows.dim(), rows.values().all_singles().into_owned())?)
}

/// Outputs of one batch after the other, in the precision that they have.
fn joined(parts: &[Samples<'static>]) -> Result<Samples<'static>, Failure> {
    let (len, dim) = (parts.iter().map(Samples::len).sum(), parts.first().map_or(1, Samples::dim));
    let are_single = parts.iter().all(|part| matches!(part.values(), Values::F32(_)));
    let values = parts.iter().map(Samples::values);
    Ok(if are_single {
        Samples::from_f32(
            len,
            dim,
            values.flat_map(|part| part.all_singles().into_owned()).collect::<Vec<_>>(),
        )?
    } else {
        Samples::from_f64(
            len,
            dim,
            values.flat_map(|part| part.all_doubles().into_owned()).collect::<Vec<_>>(),
        )?
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, Ordering};

    use spadework::Monitor;

    use super::*;
    use crate::observer::Observer;
    use crate::probing::ProbeBudget;
    use crate::resume::tests::{Quiet, turn};
    use crate::wording::Voice;

    const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../spadework-model/tests/fixtures/onnx");

    fn inputs() -> Rows<'static> {
        let values: Vec<f32> = (0..2000_u32).map(|i| (i * i % 97) as f32 / 97.0).collect();
        Rows {
            name: "inputs",
            samples: Samples::from_f32(500, 4, values).unwrap(),
            shape: [500, 4].to_vec().into(),
        }
    }

    fn request<'a>(path: &'a str, folder: Option<&'a Path>) -> ProbeModelRequest<'a> {
        ProbeModelRequest {
            model: ProbedModel::File { path, run: RunOptions::default() },
            inputs: inputs(),
            labels: None,
            target_spread: None,
            task: Task::Auto,
            probe: ProbeRequest {
                probe: "linf:0.1:pixel".parse().unwrap(),
                radii: None,
                categories: None,
                budget: ProbeBudget { probes: Some(4), samples: 400, precision: None },
            },
            top: 5,
            seed: 1,
            threads: None,
            folder,
        }
    }

    #[test]
    fn files_that_mix_a_batch_are_refused() {
        for model in ["mixes_mean", "mixes_sum"] {
            let path = format!("{FIXTURES}/{model}.onnx");
            let message = probe(request(&path, None), &Quiet).err().unwrap().message(Voice::Python);
            assert!(message.contains("mixes the samples of a batch"), "{message}");
        }
    }

    /// Stops half way through the outputs of the samples, if at all, and remembers notes.
    struct Stopping {
        stops: bool,
        is_half: AtomicBool,
        notes: Mutex<String>,
    }

    impl Stopping {
        fn new(stops: bool) -> Self {
            Self { stops, is_half: AtomicBool::new(false), notes: Mutex::default() }
        }
    }

    impl Monitor for Stopping {
        fn progress(&self, done: u64, total: u64) {
            self.is_half.fetch_or(2 * done >= total, Ordering::SeqCst);
        }

        fn is_cancelled(&self) -> bool {
            self.stops && self.is_half.load(Ordering::SeqCst)
        }
    }

    impl Observer for Stopping {
        fn note(&self, note: &Note) {
            self.notes.lock().unwrap().push_str(&note.message);
        }

        fn voice(&self) -> Voice {
            Voice::Python
        }
    }

    #[test]
    fn outputs_that_were_interrupted_go_on_where_they_were() {
        let _turn = turn();
        let folder = tempfile::tempdir().unwrap();
        let path = format!("{FIXTURES}/mlp.onnx");
        let probe = |observer: &Stopping| {
            let session = Session::new(observer).keeping_always_in(folder.path());
            probe_in(&session, request(&path, Some(folder.path())))
        };
        let probed = |found: Result<ProbedAlone, Failure>| match found {
            Ok(ProbedAlone::Classes(found)) => found.probed,
            other => panic!("{other:?}"),
        };
        let first = Stopping::new(true);
        assert!(probe(&first).is_err());
        assert_eq!(*first.notes.lock().unwrap(), "");
        let second = Stopping::new(false);
        let resumed = probed(probe(&second));
        let notes = second.notes.into_inner().unwrap();
        assert!(notes.contains("outputs continue where an earlier run was interrupted"), "{notes}");
        let whole = probed(super::probe(request(&path, None), &Quiet).map(|(found, _)| found));
        assert_eq!(resumed, whole);
    }
}
