//! A second engine: onnxruntime, loaded while the program runs. No other file knows it (docs/decisions/014-onnx.md).
//!
//! It runs the same graph as the first engine, which has read the file, checked it and found the shapes of its outputs.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use ort::environment::Environment;
use ort::session::Session;
use ort::value::TensorRef;
use prost::Message;
use tract_onnx::pb::tensor_proto::DataLocation;
use tract_onnx::pb::{ModelProto, TensorProto, ValueInfoProto};

use spadework_io::panics;

use super::runner::{Runner, Worker};

/// The library that this process has loaded; a second one cannot be loaded beside it.
static LOADED: OnceLock<(PathBuf, Result<Environment, String>)> = OnceLock::new();

/// A model as the library takes it.
#[derive(Clone)]
pub(super) struct Model {
    environment: Environment,
    bytes: Arc<[u8]>,
    weights: Vec<WeightFile>,
    input: Input,
    outputs: Vec<String>,
    shapes: Vec<Option<Vec<usize>>>,
    /// Sessions that no thread works with: to make one takes longer than to run it on a few samples.
    idle: Arc<Mutex<Vec<Session>>>,
}

/// Weights in a file of their own: its name and what it holds.
type WeightFile = (PathBuf, Arc<[u8]>);

/// Where the numbers go.
#[derive(Clone)]
struct Input {
    name: String,
    shape: Vec<i64>,
    is_double: bool,
}

/// A model of one thread.
struct LibraryWorker {
    /// None once it has failed.
    session: Option<Session>,
    input: Input,
    outputs: Vec<String>,
    idle: Arc<Mutex<Vec<Session>>>,
}

impl Drop for LibraryWorker {
    fn drop(&mut self) {
        if let (Some(session), Ok(mut idle)) = (self.session.take(), self.idle.lock()) {
            idle.push(session);
        }
    }
}

impl Model {
    /// The part of a graph that makes these outputs out of that input.
    pub(super) fn new(
        library: &Path,
        proto: &ModelProto,
        folder: &str,
        input: (&str, &[usize], bool),
        outputs: &[&str],
    ) -> Result<Self, String> {
        let environment = environment(library)?;
        let (name, shape, is_double) = input;
        let mut proto = proto.clone();
        let graph = proto.graph.as_mut().ok_or("it holds no graph")?;
        // Any value can be an output; its type follows from the graph.
        graph.output = outputs
            .iter()
            .map(|&name| ValueInfoProto { name: name.to_owned(), ..ValueInfoProto::default() })
            .collect();
        let weights = external_files(&graph.initializer, folder)?;
        Ok(Self {
            environment,
            bytes: proto.encode_to_vec().into(),
            weights,
            input: Input {
                name: name.to_owned(),
                shape: shape.iter().map(|&extent| extent as i64).collect(),
                is_double,
            },
            outputs: outputs.iter().map(|&name| name.to_owned()).collect(),
            shapes: Vec::new(),
            idle: Arc::default(),
        })
    }

    /// The same with the shapes of its outputs, which the first engine has found.
    pub(super) fn with_shapes(self, shapes: Vec<Option<Vec<usize>>>) -> Self {
        Self { shapes, ..self }
    }

    fn session(&self) -> Result<Session, String> {
        caught(|| {
            // One thread each: batches run side by side, and a batch is computed in the same order whoever computes it.
            let mut builder = Session::builder(&self.environment).map_err(|error| told(&error))?;
            builder = builder.with_intra_threads(1).map_err(|error| told(&error))?;
            for (file, bytes) in &self.weights {
                builder = builder
                    .with_external_initializer_file_in_memory(file, Arc::clone(bytes))
                    .map_err(|error| told(&error))?;
            }
            builder.commit_from_memory(&self.bytes).map_err(|error| told(&error))
        })
    }
}

impl Runner for Model {
    fn outputs(&self) -> &[Option<Vec<usize>>] {
        &self.shapes
    }

    /// A session that is idle, or a new one.
    fn worker(&self) -> Result<Box<dyn Worker + '_>, String> {
        let idle = self.idle.lock().ok().and_then(|mut idle| idle.pop());
        let session = idle.map_or_else(|| self.session(), Ok)?;
        let (input, outputs, idle) = (self.input.clone(), self.outputs.clone(), Arc::clone(&self.idle));
        Ok(Box::new(LibraryWorker { session: Some(session), input, outputs, idle }))
    }
}

impl Worker for LibraryWorker {
    fn run(&mut self, values: &[f32], take: &mut dyn FnMut(usize, &[usize], &[f32])) -> Result<(), String> {
        let Input { name, shape, is_double } = &self.input;
        let outputs = &self.outputs;
        // Taken out, so that one that fails is not worked with again.
        let mut session = self.session.take().ok_or("it has failed before")?;
        caught(|| {
            let doubles: Vec<f64>;
            let run = if *is_double {
                doubles = values.iter().map(|&value| f64::from(value)).collect();
                let batch =
                    TensorRef::from_array_view((shape.clone(), &*doubles)).map_err(|error| told(&error))?;
                session.run(ort::inputs![name.as_str() => batch])
            } else {
                let batch =
                    TensorRef::from_array_view((shape.clone(), values)).map_err(|error| told(&error))?;
                session.run(ort::inputs![name.as_str() => batch])
            };
            let results = run.map_err(|error| told(&error))?;
            for (at, output) in outputs.iter().enumerate() {
                let value = results.get(output).ok_or_else(|| format!("there is no output `{output}`"))?;
                let extents = |shape: &ort::value::Shape| -> Vec<usize> {
                    shape.iter().map(|&extent| usize::try_from(extent).unwrap_or(0)).collect()
                };
                if let Ok((shape, numbers)) = value.try_extract_tensor::<f32>() {
                    take(at, &extents(shape), numbers);
                } else {
                    let (shape, numbers) = value.try_extract_tensor::<f64>().map_err(|error| told(&error))?;
                    let numbers: Vec<f32> = numbers.iter().map(|&number| number as f32).collect();
                    take(at, &extents(shape), &numbers);
                }
            }
            Ok(())
        })?;
        self.session = Some(session);
        Ok(())
    }
}

/// The library, loaded once.
fn environment(library: &Path) -> Result<Environment, String> {
    let library = library_in(library)?;
    let (path, loaded) = LOADED.get_or_init(|| {
        let loaded = caught(|| {
            let builder = ort::init_from(&library).map_err(|error| error.to_string())?;
            builder.with_name("spadework").with_telemetry(false).build().map_err(|error| told(&error))
        });
        (library.clone(), loaded)
    });
    if *path != library {
        return Err(format!(
            "{} is loaded already, and {} cannot be beside it",
            path.display(),
            library.display()
        ));
    }
    let unusable = |reason: &String| {
        format!("{} is no onnxruntime library of version 1.24 or later: {reason}", library.display())
    };
    loaded.clone().map_err(|reason| unusable(&reason))
}

/// The library itself, or the one in a folder, as Python's package has it.
fn library_in(place: &Path) -> Result<PathBuf, String> {
    if !place.is_dir() {
        return if place.exists() {
            Ok(place.to_owned())
        } else {
            Err(format!("{}: no such file", place.display()))
        };
    }
    let is_library = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("libonnxruntime.") || name == "onnxruntime.dll"
    };
    let files =
        |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> =
        files(place.to_owned()).chain(files(place.join("capi"))).filter(is_library).collect();
    found.sort();
    found.pop().ok_or_else(|| format!("{}: there is no onnxruntime library in this folder", place.display()))
}

/// Weights that lie in files of their own; that they lie in the model's folder has been checked.
fn external_files(tensors: &[TensorProto], folder: &str) -> Result<Vec<WeightFile>, String> {
    let mut names: Vec<&str> = tensors
        .iter()
        .filter(|tensor| tensor.data_location == Some(DataLocation::External as i32))
        .flat_map(|tensor| tensor.external_data.iter().filter(|entry| entry.key == "location"))
        .map(|entry| entry.value.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    let file = |name: &str| {
        let path = Path::new(folder).join(name);
        let bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok((PathBuf::from(name), bytes.into()))
    };
    names.into_iter().map(file).collect()
}

/// The library's functions panic where it is not what it seemed.
fn caught<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    panics::catch(work).unwrap_or_else(|| Err("it failed within onnxruntime".to_owned()))
}

fn told<E>(error: &ort::Error<E>) -> String {
    error.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}
