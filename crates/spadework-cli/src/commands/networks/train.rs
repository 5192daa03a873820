//! `spadework train`: trains a network, saves it, and resumes a stopped run.

use std::fs;
use std::path::{Path, PathBuf};

use spadework_app::working_folder;
use spadework_document::train::{RUN_SCHEMA, RunData, RunDocument, RunGuides, SCHEMA, TrainDocument};
use spadework_io::output::write_bytes;
use spadework_io::{Dataset, Labels, load, load_labels};
use spadework_nn::attack::Climb;
use spadework_nn::train::{
    Augmentation, Checkpoint, Ending, EpochRecord, Guides, Method, OptimizerKind, Schedule, TrainParams,
    Trainer,
};
use spadework_nn::{Architecture, Compute, Examples, Frozen, Network, Normalization, image_shape, to_floats};

use super::{LABELS_HINT, examples_of, first, one_each};
use crate::args_networks::{AugmentName, MachineArgs, MethodName, OptimizerName, ScheduleName, TrainArgs};
use crate::console::Console;
use crate::failure::Failure;
use crate::interrupt;
use crate::render::json;
use crate::requests::command_line;

/// Epochs of standard training before samples are scored, where nothing else scores them.
const DEFAULT_WARMUP: usize = 2;
const RUN_FILE: &str = "run.json";
const CHECKPOINT_FILE: &str = "checkpoint.safetensors";

pub(crate) fn run(args: &TrainArgs) -> Result<(), Failure> {
    let compute = args.machine.compute()?;
    match (&args.resume, &args.out) {
        (Some(folder), _) => resume(folder, &args.machine, &compute),
        (None, Some(folder)) => begin(args, folder, &compute),
        (None, None) => Err(Failure::usage("--out or --resume must be given")),
    }
}

fn begin(args: &TrainArgs, folder: &Path, compute: &Compute) -> Result<(), Failure> {
    let run = run_of(args)?;
    let mut params = params(args)?;
    if folder.join(CHECKPOINT_FILE).exists() {
        let message = format!("{}: already contains a run", folder.display());
        return Err(Failure::usage(message).with_hint("continue it with --resume DIR, or pass another --out"));
    }
    let data = load(&run.examples.data)?;
    let network = network(&run, &data, args.seed)?;
    let inputs = Inputs::load(&run, &data, &network, compute)?;
    if args.method == MethodName::Spade && inputs.node_scores.is_none() && inputs.scorer.is_none() {
        params.warmup = args.warmup.unwrap_or(DEFAULT_WARMUP);
    }
    let trainer = Trainer::new(&network, &inputs.examples, params, inputs.guides(), compute)?;
    fs::create_dir_all(folder)
        .map_err(|cause| spadework_io::Error::Write { path: folder.to_owned(), cause })?;
    write_bytes(&folder.join(RUN_FILE), json(&run).as_bytes())?;
    train(trainer, &run, folder, &args.machine)
}

fn resume(folder: &Path, machine: &MachineArgs, compute: &Compute) -> Result<(), Failure> {
    let path = folder.join(RUN_FILE);
    let text = spadework_io::read_regular(&path)?;
    let run: RunDocument = serde_json::from_slice(&text).map_err(|cause| {
        Failure::usage(format!("{}: expected a training run, got {cause}", path.display()))
    })?;
    let checkpoint = Checkpoint::load(&folder.join(CHECKPOINT_FILE))?;
    go_on(&run, &checkpoint, folder, machine, compute).map_err(|failure| {
        if run.folder == working_folder() {
            return failure;
        }
        failure.with_hint("paths of a run begin in the folder where it was started: `folder` in its run.json")
    })
}

fn go_on(
    run: &RunDocument,
    checkpoint: &Checkpoint,
    folder: &Path,
    machine: &MachineArgs,
    compute: &Compute,
) -> Result<(), Failure> {
    let data = load(&run.examples.data)?;
    // The file that a run began with may be gone since.
    if !begins_with_a_file(run) {
        let expected = network(run, &data, checkpoint.params().seed)?;
        if !expected.same_architecture(checkpoint.network()) {
            let path = folder.join(CHECKPOINT_FILE);
            let message = format!(
                "{}: expected a checkpoint of {}, got one of another network",
                path.display(),
                run.model
            );
            return Err(Failure::usage(message));
        }
    }
    let inputs = Inputs::load(run, &data, checkpoint.network(), compute)?;
    let trainer = Trainer::resume(checkpoint, &inputs.examples, inputs.guides(), compute)?;
    train(trainer, run, folder, machine)
}

/// Trains, saves after every epoch and when it is stopped, and writes the finished network.
fn train(
    mut trainer: Trainer<'_>,
    run: &RunDocument,
    folder: &Path,
    machine: &MachineArgs,
) -> Result<(), Failure> {
    interrupt::give_time_to_save();
    let console = machine.console();
    let save = |trainer: &Trainer<'_>| -> Result<(), Failure> {
        trainer.checkpoint().save(&folder.join(CHECKPOINT_FILE))?;
        write_bytes(&folder.join("log.csv"), log(trainer.records()).as_bytes())?;
        Ok(())
    };
    if !machine.terminal.json {
        Console::data(&heading(&trainer, run))?;
    }
    let ending = machine.in_pool(|| {
        trainer.run(&console.monitor(), |trainer, record| {
            save(trainer)?;
            if machine.terminal.json { Ok(()) } else { Console::data(&line(record)) }
        })
    })?;
    if ending == Ending::Stopped {
        save(&trainer)?;
        console.note(&format!(
            "stopped and saved; continue with `spadework train --resume {}`",
            folder.display()
        ));
        return Err(Failure::usage("stopped"));
    }
    let network = trainer.network();
    network.save(&folder.join("model.safetensors"))?;
    network.save_onnx(&folder.join("model.onnx"))?;
    let document = TrainDocument {
        schema: SCHEMA,
        run,
        params: trainer.params(),
        trained_values: network.trained_values(),
        epochs: trainer.records(),
    };
    write_bytes(&folder.join("result.json"), json(&document).as_bytes())?;
    if machine.terminal.json {
        Console::data(&json(&document))
    } else {
        Console::data(&format!("\nwritten to {}\n", folder.display()))
    }
}

/// Everything that a run reads.
struct Inputs {
    examples: Examples,
    test: Option<Examples>,
    scorer: Option<Frozen>,
    teacher: Option<Frozen>,
    node_scores: Option<Vec<f64>>,
}

impl Inputs {
    fn load(
        run: &RunDocument,
        data: &Dataset,
        network: &Network,
        compute: &Compute,
    ) -> Result<Self, Failure> {
        let takes = (network.input_shape(), network.outputs());
        let examples =
            first(examples_of(data, run.examples.labels.as_deref(), LABELS_HINT, takes)?, run.examples.limit);
        let test = match &run.examples.test {
            Some(argument) => {
                let (data, labels) = (load(argument)?, run.examples.test_labels.as_deref());
                Some(examples_of(&data, labels, "give them with --test-labels", takes)?)
            }
            None => None,
        };
        let frozen = |path: &Option<PathBuf>| -> Result<Option<Frozen>, Failure> {
            path.as_ref().map(|path| Ok(Frozen::load(path, compute)?)).transpose()
        };
        let node_scores = match &run.guides.node_scores {
            Some(argument) => Some(one_each(argument, examples.len())?.into_iter().map(f64::from).collect()),
            None => None,
        };
        Ok(Self {
            examples,
            test,
            scorer: frozen(&run.guides.scorer)?,
            teacher: frozen(&run.guides.teacher)?,
            node_scores,
        })
    }

    fn guides(&self) -> Guides<'_> {
        Guides {
            scorer: self.scorer.as_ref(),
            teacher: self.teacher.as_ref(),
            node_scores: self.node_scores.as_deref(),
            test: self.test.as_ref(),
        }
    }
}

fn run_of(args: &TrainArgs) -> Result<RunDocument, Failure> {
    let (Some(model), Some(data)) = (&args.model, &args.data) else {
        return Err(Failure::usage("--model and --data must be given"));
    };
    // A data set by name and folder alone is its training part, tested on its test part.
    let named = ["mnist", "fashion-mnist", "cifar10"];
    let parts = data.split_once(':').filter(|(name, folder)| named.contains(name) && !folder.contains(':'));
    let (data, test) = match parts {
        Some(_) => (format!("{data}:train"), args.test.clone().or(Some(format!("{data}:test")))),
        None => (data.clone(), args.test.clone()),
    };
    Ok(RunDocument {
        schema: RUN_SCHEMA.to_owned(),
        command: command_line(),
        folder: working_folder(),
        model: model.clone(),
        examples: RunData {
            data,
            labels: args.labels.clone(),
            test,
            test_labels: args.test_labels.clone(),
            limit: args.limit,
        },
        normalize: args.normalize_by_data,
        guides: RunGuides {
            scorer: args.scorer.clone(),
            teacher: args.teacher.clone(),
            node_scores: args.node_scores.clone(),
        },
        version: env!("CARGO_PKG_VERSION").to_owned(),
    })
}

/// Whether the run began with a trained network rather than with an architecture.
fn begins_with_a_file(run: &RunDocument) -> bool {
    let is_file = [".onnx", ".safetensors"].iter().any(|ending| run.model.ends_with(ending));
    is_file || Path::new(&run.model).is_dir()
}

/// The network to train: an architecture with random weights, or a trained one.
fn network(run: &RunDocument, data: &Dataset, seed: u64) -> Result<Network, Failure> {
    if begins_with_a_file(run) {
        if run.normalize {
            return Err(Failure::usage(
                "--normalize-by-data is for new networks; a trained one keeps its own",
            ));
        }
        return Ok(Network::load(Path::new(&run.model))?);
    }
    let architecture: Architecture = run.model.parse()?;
    let labels = match &run.examples.labels {
        Some(argument) => Some(load_labels(argument)?),
        None => data.labels().cloned(),
    };
    let labels = labels.ok_or_else(|| {
        Failure::from(spadework_nn::Error::NoLabels { name: run.examples.data.clone() })
            .with_hint(LABELS_HINT)
    })?;
    let outputs = outputs_for(&labels, run.examples.labels.as_deref().unwrap_or(&run.examples.data))?;
    let shape = image_shape(data)?;
    let normalization =
        if run.normalize { Some(Normalization::of(&to_floats(&data.samples()?), &shape)) } else { None };
    Ok(architecture.build(&shape, outputs, normalization.as_ref(), seed)?)
}

/// Classes that may be meant however few samples there are: those of ImageNet.
const CLASSES_OF_FEW_SAMPLES: usize = 1000;

/// An output for each class from 0 to the largest label. Numbers beyond the number of samples are hardly classes (row numbers,
/// hashes), and a network with so many outputs may need more memory than there is.
fn outputs_for(labels: &Labels, name: &str) -> Result<usize, Failure> {
    let samples = labels.ids().len();
    let Some((sample, &largest)) = labels.ids().iter().enumerate().max_by_key(|(_, label)| **label) else {
        return Ok(0);
    };
    let outputs = usize::try_from(largest).map_or(0, |largest| largest.saturating_add(1));
    if outputs > samples.max(CLASSES_OF_FEW_SAMPLES) {
        return Err(Failure::usage(format!(
            "{name}: labels must be classes, counted from 0, got {largest} at sample {sample} of {samples}"
        )));
    }
    Ok(outputs)
}

fn params(args: &TrainArgs) -> Result<TrainParams, Failure> {
    let method = Method::from(args.method);
    let needed = |option: &str, value: Option<f32>| {
        value.ok_or_else(|| Failure::usage(format!("--method {method} needs {option}")))
    };
    let used = |option: &str, given: bool, mixed: bool| {
        let useless = given && (if mixed { !method.is_mixed() } else { method == Method::Standard });
        if useless {
            Err(Failure::usage(format!("{option} has no effect with --method {method}")))
        } else {
            Ok(())
        }
    };
    used("--eps", args.eps.is_some(), false)?;
    used("--small-eps", args.small_eps.is_some(), true)?;
    used("--top", args.top.is_some(), true)?;
    used("--rescore", args.rescore.is_some(), true)?;
    let guided = args.node_scores.is_some() || args.scorer.is_some();
    if guided && method != Method::Spade {
        return Err(Failure::usage(format!(
            "--node-scores and --scorer have no effect with --method {method}"
        )));
    }
    let epsilon = if method == Method::Standard { 0.0 } else { needed("--eps", args.eps)? };
    let small_epsilon = if method.is_mixed() { needed("--small-eps", args.small_eps)? } else { 0.0 };
    let top = match args.top {
        None if method.is_mixed() => return Err(Failure::usage(format!("--method {method} needs --top"))),
        top => top.unwrap_or(0),
    };
    let optimizer = match args.optimizer {
        OptimizerName::Adam => OptimizerKind::Adam,
        OptimizerName::Sgd => OptimizerKind::Sgd { momentum: args.momentum },
    };
    let default_rate = if args.optimizer == OptimizerName::Adam { 1e-3 } else { 0.1 };
    Ok(TrainParams {
        method,
        epochs: args.epochs,
        batch: args.batch_size,
        learning_rate: args.learning_rate.unwrap_or(default_rate),
        schedule: match args.schedule {
            ScheduleName::Constant => Schedule::Constant,
            ScheduleName::Cyclic => Schedule::Cyclic,
            ScheduleName::MultiStep => Schedule::MultiStep { milestones: args.milestones.clone() },
        },
        optimizer,
        weight_decay: args.weight_decay,
        augmentation: Augmentation {
            crop: if args.augment.contains(&AugmentName::Crop) { CROP } else { 0 },
            flip: args.augment.contains(&AugmentName::Flip),
            augmix: args.augment.contains(&AugmentName::Augmix),
        },
        climb: Climb {
            norm: args.norm.into(),
            steps: args.steps,
            step_size: args.step_size,
            ..Climb::default()
        },
        epsilon,
        small_epsilon,
        top,
        warmup: args.warmup.unwrap_or(0),
        growth: args.growth,
        rescore: args.rescore,
        skip_misclassified: args.skip_misclassified,
        temperature: args.temperature,
        neighbors: args.neighbors,
        eigenpairs: args.eigenpairs,
        seed: args.seed,
    })
}

/// Pixels that a crop moves an image by at most, as is usual for small images.
const CROP: usize = 4;

impl From<MethodName> for Method {
    fn from(name: MethodName) -> Self {
        match name {
            MethodName::Standard => Method::Standard,
            MethodName::Pgd => Method::Pgd,
            MethodName::Random => Method::Random,
            MethodName::Spade => Method::Spade,
            MethodName::Gairat => Method::Gairat,
        }
    }
}

fn heading(trainer: &Trainer<'_>, run: &RunDocument) -> String {
    let mut text = format!(
        "{} on {} ({} samples), {} training\n\n  epoch      rate      loss  accuracy      test   seconds\n",
        run.model,
        run.examples.data,
        trainer.examples().len(),
        trainer.params().method,
    );
    // After a resume, what was done before.
    text.extend(trainer.records().iter().map(line));
    text
}

fn line(record: &EpochRecord) -> String {
    let test = record.test_accuracy.map_or_else(String::new, |accuracy| format!("{:.2} %", 100.0 * accuracy));
    format!(
        "  {:>5}  {:>8.2e}  {:>8.4}  {:>6.2} %  {:>8}  {:>8.1}\n",
        record.epoch,
        record.learning_rate,
        record.loss,
        100.0 * record.accuracy,
        test,
        record.seconds
    )
}

fn log(records: &[EpochRecord]) -> String {
    let mut text = String::from("epoch,learning_rate,loss,accuracy,test_accuracy,seconds\n");
    for record in records {
        let EpochRecord { epoch, learning_rate, loss, accuracy, test_accuracy, seconds } = record;
        let test = test_accuracy.map(|accuracy| accuracy.to_string()).unwrap_or_default();
        text.push_str(&format!("{epoch},{learning_rate},{loss},{accuracy},{test},{seconds}\n"));
    }
    text
}
