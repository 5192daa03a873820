//! Models as files: the content of an ONNX file, and its outputs for rows of numbers.
//!
//! [`OnnxModel::open`] reads a file and describes it ([`Outline`]); [`OnnxModel::prepare`] makes it ready for samples of one
//! shape; [`Prepared::run`] computes the outputs of all samples, in batches over all threads of the current pool. The size of a
//! batch does not depend on the number of threads, and one thread computes it, so the outputs are the same bit by bit.
//!
//! The file is not trusted: sizes that it claims are checked, and a model that would fill the memory is refused.

mod batches;
mod built_in;
mod convolution;
mod cost;
mod engine;
mod error;
mod fit;
mod join;
mod library;
mod onnxruntime;
mod operators;
mod outline;
mod plan;
mod proto;
mod runner;
mod shapes;
mod split;
mod wire;
mod write;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use spadework::Monitor;

pub use self::batches::{ByLibrary, Prepared};
pub use self::error::{Error, ModelError, Result};
pub use self::fit::{Layout, Normalization};
pub use self::library::look_in_modules;
pub use self::outline::{Extent, Node, Outline, Port};
pub use self::runner::{Runner, Worker};
use spadework_io::{Dataset, Error as FileError, digest_bytes, read_file};

use self::fit::{Fit, Rows};

/// Samples in a batch at most, where the model leaves the choice: more are hardly faster.
const BATCH: usize = 128;
/// The same where a few hundred samples come at a time, and ever fewer, as in probes: a batch that is not full is filled up, and
/// what is made of that is made for nothing.
const SMALL_BATCH: usize = 32;
/// Bytes of values that a batch may make, so that they stay in the caches of a core: a ResNet-20 takes 1.6 times as long for batches
/// of 128 as for 8. A batch of a network with many weights may make twice as many bytes as these have, since every batch reads them.
const CACHED_BYTES: u64 = 1 << 24;
/// The same for any network.
const MOST_BATCH_BYTES: u64 = 1 << 28;

/// An ONNX file that was read.
pub struct OnnxModel {
    name: String,
    digest: String,
    outline: Outline,
    decoded: engine::Decoded,
}

/// How a model is run, and which of its values are the outputs.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// The input for the rows, if there are several.
    pub input_name: Option<String>,
    /// The output to take, the first by default; or a node or value within the model.
    pub output_name: Option<String>,
    /// Whether the value before a softmax is used.
    pub point: OutputPoint,
    /// The order of the numbers of an image, if its shape does not show it.
    pub layout: Option<Layout>,
    /// The normalization that the model expects.
    pub normalization: Option<Normalization>,
    /// Samples per batch, if the model allows a choice.
    pub batch_size: Option<NonZeroUsize>,
    /// Whether samples come a few at a time, so that small batches are better unless a size was requested.
    pub few_at_a_time: bool,
    /// What runs the model.
    pub engine: Engine,
    /// The onnxruntime library that runs the model, or its folder. It takes precedence over `engine`.
    pub onnxruntime: Option<PathBuf>,
}

/// What runs a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Engine {
    /// The built-in engine: the same on every machine.
    #[default]
    BuiltIn,
    /// The built-in engine; for models that it refuses, an onnxruntime library if one is installed.
    Auto,
    /// An onnxruntime library that is installed.
    OnnxRuntime,
}

impl Engine {
    /// From the word that it is written as.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "auto" => Some(Engine::Auto),
            "builtin" => Some(Engine::BuiltIn),
            "onnxruntime" => Some(Engine::OnnxRuntime),
            _ => None,
        }
    }
}

/// Which value of an output is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutputPoint {
    /// As the model returns it.
    #[default]
    Output,
    /// Before the softmax that it ends in.
    BeforeSoftmax,
}

impl OnnxModel {
    /// Reads a model file.
    ///
    /// # Errors
    /// When it cannot be read, is not an ONNX file, or claims sizes that it does not have.
    pub fn open(path: &str) -> Result<Self> {
        if !Path::new(path).exists() {
            return Err(FileError::NotFound { path: path.to_owned() }.into());
        }
        let file = read_file(Path::new(path))?;
        let folder = Path::new(path).parent().unwrap_or(Path::new(""));
        let model = Self::from_bytes(path, &file, folder)?;
        file.check_unchanged()?;
        Ok(model)
    }

    /// A model in memory; weights in separate files are read from `folder`.
    ///
    /// # Errors
    /// As [`OnnxModel::open`].
    pub fn from_bytes(name: &str, bytes: &[u8], folder: &Path) -> Result<Self> {
        let open = || {
            wire::check(bytes)?;
            let decoded = engine::decode(bytes, folder)?;
            Ok((decoded.outline()?, decoded))
        };
        let (outline, decoded) = open().map_err(|cause| about(name, cause))?;
        Ok(Self { name: name.to_owned(), digest: digest_bytes(bytes), outline, decoded })
    }

    /// What the user typed.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Digest of the bytes of the file, without weights in separate files.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Digest of the whole model, with weights in separate files.
    pub fn content_digest(&self) -> String {
        digest_bytes(self.decoded.content())
    }

    /// The description of the model.
    pub fn outline(&self) -> &Outline {
        &self.outline
    }

    /// The value that the options select.
    ///
    /// # Errors
    /// When there is no such value, or no softmax at its end.
    pub fn output(&self, options: &RunOptions) -> Result<&str> {
        let chosen =
            self.outline.output(options.output_name.as_deref()).and_then(|output| match options.point {
                OutputPoint::Output => Ok(output),
                OutputPoint::BeforeSoftmax => self.outline.before_softmax(output),
            });
        chosen.map_err(|cause| self.about(cause))
    }

    /// Makes the model ready for samples of that shape, e.g. `[3, 32, 32]`, and for some of its values.
    ///
    /// # Errors
    /// When there are no such values, the samples do not fit, or the engine cannot run it.
    pub fn prepare(&self, sample: &[usize], outputs: &[&str], options: &RunOptions) -> Result<Prepared> {
        self.prepared(sample, outputs, options).map_err(|cause| self.about(cause))
    }

    fn prepared(
        &self,
        sample: &[usize],
        outputs: &[&str],
        options: &RunOptions,
    ) -> Result<Prepared, ModelError> {
        let joined;
        let (decoded, input) = match self.joined(sample, outputs, options)? {
            Some(model) => {
                joined = model;
                (&joined.0, &joined.1)
            }
            None => (&self.decoded, self.outline.input(options.input_name.as_deref(), outputs)?),
        };
        let rows = Rows { shape: sample, layout: options.layout };
        let fit = |batch: usize| Fit::new(input, &rows, batch, options.normalization.as_ref());
        let one = fit(1)?;
        let is_fixed = one.batch != 1 || fit(2)?.batch == 1;
        let batch = match options.batch_size.map(NonZeroUsize::get) {
            Some(asked) if is_fixed && asked != one.batch => {
                return Err(ModelError::FixedBatch { fixed: one.batch, asked });
            }
            Some(asked) => asked,
            None if is_fixed => one.batch,
            None => {
                let each = match decoded.bytes(input, &one.shape, outputs) {
                    // What the built-in engine cannot describe, the library may run.
                    Err(refusal)
                        if refusal.is_of_the_built_in()
                            && (options.engine != Engine::BuiltIn || options.onnxruntime.is_some()) =>
                    {
                        0
                    }
                    bytes => bytes?,
                };
                let most = if options.few_at_a_time { SMALL_BATCH } else { BATCH };
                let weights = 4 * self.outline.parameters;
                let room = (2 * weights).clamp(CACHED_BYTES, MOST_BATCH_BYTES);
                (room / each.max(1)).clamp(1, most as u64) as usize
            }
        };
        let fit = fit(batch)?;
        let (runner, by) = runner(decoded, input, &fit.shape, outputs, options)?;
        let names = outputs.iter().map(|&output| output.to_owned()).collect();
        Ok(Prepared::new(self.name.clone(), names, runner, fit).by(by))
    }

    /// The model with one input for the columns of all that these outputs need, where they need several, or whole numbers.
    fn joined(
        &self,
        sample: &[usize],
        outputs: &[&str],
        options: &RunOptions,
    ) -> Result<Option<(engine::Decoded, Port)>, ModelError> {
        let needed = self.outline.needed(outputs);
        let takes_rows = matches!(needed[..], [one] if one.element.starts_with("float"));
        if options.input_name.is_some() || needed.is_empty() || takes_rows {
            return Ok(None);
        }
        let dim = sample.iter().product();
        let Some(columns) = join::columns(&needed, dim) else {
            let output = outputs.first().copied().unwrap_or_default();
            // What is wrong with a single input is for its shape and its elements to say.
            return match needed[..] {
                [one] if one.element != "string" => Ok(None),
                _ => Err(join::refusal(output, &needed, dim)),
            };
        };
        Ok(Some((self.decoded.joined(&columns)?, join::port(&columns))))
    }

    /// The output of every sample.
    ///
    /// # Errors
    /// As [`OnnxModel::prepare`] and [`Prepared::run`].
    pub fn outputs(&self, inputs: &Dataset, options: &RunOptions, monitor: &dyn Monitor) -> Result<Dataset> {
        let output = self.output(options)?;
        let sample = inputs.shape().get(1..).unwrap_or_default();
        let prepared = self.prepare(if sample.is_empty() { &[1] } else { sample }, &[output], options)?;
        let mut outputs = prepared.run(&inputs.samples()?, monitor)?;
        Ok(outputs.swap_remove(0))
    }

    fn about(&self, cause: ModelError) -> Error {
        about(&self.name, cause)
    }
}

/// What runs a model, and the library it is where it is one.
fn runner(
    decoded: &engine::Decoded,
    input: &Port,
    shape: &[usize],
    outputs: &[&str],
    options: &RunOptions,
) -> Result<(Box<dyn Runner>, Option<ByLibrary>), ModelError> {
    let by = |place: &Path, refusal: Option<String>| {
        let library = library::in_place(place).map_err(|reason| ModelError::Library { reason })?;
        let runner = decoded.library_runner(&library, input, shape, outputs)?;
        Ok((runner, Some(ByLibrary { library, refusal })))
    };
    match (&options.onnxruntime, options.engine) {
        (Some(place), _) => by(place, None),
        (None, Engine::OnnxRuntime) => {
            let found = library::found().map_err(|reason| ModelError::Library { reason })?;
            by(&found.ok_or(ModelError::NoLibrary)?, None)
        }
        (None, Engine::BuiltIn) => Ok((decoded.runner(input, shape, outputs)?, None)),
        (None, Engine::Auto) => match decoded.runner(input, shape, outputs) {
            Err(refusal) if refusal.is_of_the_built_in() => match library::found() {
                Ok(Some(place)) => by(&place, Some(refusal.why_not_built_in())),
                Ok(None) => Err(refusal),
                Err(reason) => {
                    let reason = format!("{reason}; it is needed, since {}", refusal.why_not_built_in());
                    Err(ModelError::Library { reason })
                }
            },
            runner => Ok((runner?, None)),
        },
    }
}

impl std::fmt::Debug for OnnxModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OnnxModel")
            .field("name", &self.name)
            .field("digest", &self.digest)
            .finish_non_exhaustive()
    }
}

fn about(name: &str, cause: ModelError) -> Error {
    Error::Model { name: name.to_owned(), cause: Box::new(cause) }
}
