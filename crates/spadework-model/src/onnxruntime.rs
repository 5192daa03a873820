//! A second engine: onnxruntime, loaded while the program runs. No other file uses it (docs/decisions/014-onnx.md).
//!
//! It runs a file that [`write`](super::write) has made: the part of a checked graph that some outputs need.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use ort::environment::Environment;
use ort::session::Session;
use ort::value::{DynValue, TensorRef};

use spadework_io::panics;

use super::runner::{Runner, Worker};

/// The library that this process has loaded; a second one cannot be loaded.
static LOADED: OnceLock<(PathBuf, Result<Environment, String>)> = OnceLock::new();

/// A model as the library takes it.
#[derive(Clone)]
pub(super) struct Model {
    environment: Environment,
    bytes: Arc<[u8]>,
    input: Input,
    outputs: Vec<String>,
    shapes: Vec<Option<Vec<usize>>>,
    /// Sessions that no thread works with: to make one takes longer than to run it on a few samples.
    idle: Arc<Mutex<Vec<Session>>>,
}

/// Where the numbers go.
#[derive(Clone)]
pub(super) struct Input {
    name: String,
    shape: Vec<i64>,
    element: String,
}

impl Input {
    pub(super) fn new(name: &str, shape: &[usize], element: &str) -> Self {
        let shape = shape.iter().map(|&extent| extent as i64).collect();
        Self { name: name.to_owned(), shape, element: element.to_owned() }
    }
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
    /// A file with that input and these outputs; shapes that are not known are those of a batch of zeros.
    pub(super) fn new(
        library: &Path,
        file: Vec<u8>,
        input: Input,
        outputs: &[&str],
        shapes: Option<Vec<Vec<usize>>>,
    ) -> Result<Self, String> {
        if input.element == "float16" {
            return Err(format!("input `{}` must be float32 or float64, got float16", input.name));
        }
        let mut model = Self {
            environment: environment(library)?,
            bytes: file.into(),
            input,
            outputs: outputs.iter().map(|&name| name.to_owned()).collect(),
            shapes: Vec::new(),
            idle: Arc::default(),
        };
        let shapes = shapes.map_or_else(|| model.shapes_of_zeros(), Ok)?;
        model.shapes = shapes.into_iter().map(Some).collect();
        Ok(model)
    }

    fn shapes_of_zeros(&self) -> Result<Vec<Vec<usize>>, String> {
        let numbers = self.input.shape.iter().map(|&extent| extent as usize).product();
        let mut shapes = vec![Vec::new(); self.outputs.len()];
        self.worker()?.run(&vec![0.0; numbers], &mut |at, shape, _| shapes[at] = shape.to_vec())?;
        Ok(shapes)
    }

    fn session(&self) -> Result<Session, String> {
        caught(|| {
            // One thread each: batches run side by side, and a batch is computed in the same order on any thread.
            let mut builder = Session::builder(&self.environment).map_err(|error| told(&error))?;
            builder = builder.with_intra_threads(1).map_err(|error| told(&error))?;
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
        let Input { name, shape, element } = &self.input;
        let outputs = &self.outputs;
        // Taken out, so that one that fails is not worked with again.
        let mut session = self.session.take().ok_or("it has failed before")?;
        caught(|| {
            let doubles: Vec<f64>;
            let run = if element == "float64" {
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
                let (shape, numbers) = numbers_of(value, output)?;
                take(at, &shape, &numbers);
            }
            Ok(())
        })?;
        self.session = Some(session);
        Ok(())
    }
}

/// The library, loaded once.
fn environment(library: &Path) -> Result<Environment, String> {
    let (path, loaded) = LOADED.get_or_init(|| {
        let loaded = caught(|| {
            let builder = ort::init_from(library).map_err(|error| error.to_string())?;
            builder.with_name("spadework").with_telemetry(false).build().map_err(|error| told(&error))
        });
        (library.to_owned(), loaded)
    });
    if *path != library {
        return Err(format!(
            "a process can load only one onnxruntime: {} is loaded already, so {} cannot be used",
            path.display(),
            library.display()
        ));
    }
    let unusable = |reason: &String| {
        format!("{} is not an onnxruntime library of version 1.20 or later: {reason}", library.display())
    };
    loaded.clone().map_err(|reason| unusable(&reason))
}

/// Numbers of an output, whatever kind of numbers they are.
fn numbers_of(value: &DynValue, output: &str) -> Result<(Vec<usize>, Vec<f32>), String> {
    macro_rules! extracted {
        ($($kind:ty => $convert:expr),+) => {
            $(if let Ok((shape, numbers)) = value.try_extract_tensor::<$kind>() {
                let extents = shape.iter().map(|&extent| usize::try_from(extent).unwrap_or(0)).collect();
                return Ok((extents, numbers.iter().map($convert).collect()));
            })+
        };
    }
    extracted!(
        f32 => |&number| number, f64 => |&number| number as f32, i64 => |&number| number as f32,
        i32 => |&number| number as f32, bool => |&flag| f32::from(u8::from(flag)), u8 => |&number| f32::from(number),
        i8 => |&number| f32::from(number), i16 => |&number| f32::from(number)
    );
    Err(format!(
        "output `{output}` must be a tensor of numbers, got {}; take another with --output-name",
        value.dtype()
    ))
}

/// The library's functions panic where it is not what it seemed.
fn caught<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    panics::catch(work).unwrap_or_else(|| Err("it failed within onnxruntime".to_owned()))
}

fn told<E>(error: &ort::Error<E>) -> String {
    error.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}
