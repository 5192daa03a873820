//! What a user may type about model files.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use spadework_model::{Engine, Layout, Normalization, OutputPoint, RunOptions};

use crate::args::{OutputArgs, ScoringArgs, TerminalArgs, text, threads};
use crate::args_report::PageArgs;

/// A model file in place of outputs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct NetworkArgs {
    /// An ONNX file instead of --outputs; it is run on the inputs (--outputs also takes an .onnx file)
    #[arg(long, value_name = "FILE", value_parser = text(), requires = "inputs", conflicts_with = "outputs")]
    pub(crate) model: Option<String>,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// How a model is run.
#[derive(Debug, Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct RunArgs {
    /// The model's output to use, or a node or value inside the model [default: its first output]
    #[arg(long, value_name = "NAME", value_parser = text())]
    pub(crate) output_name: Option<String>,
    /// Use the values before the softmax at the end of the output
    #[arg(long)]
    pub(crate) before_softmax: bool,
    #[command(flatten)]
    pub(crate) feed: FeedArgs,
}

/// How rows go into a model.
#[derive(Debug, Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct FeedArgs {
    /// The model's input for the rows, if it has several
    #[arg(long, value_name = "NAME", value_parser = text())]
    pub(crate) input_name: Option<String>,
    /// Order of the numbers of an image, if the shape of the array does not show it
    #[arg(long, value_enum, value_name = "LAYOUT")]
    pub(crate) input_layout: Option<InputLayout>,
    /// Subtract MEAN and divide by STD before the model: one of each, or all means and then all standard deviations
    #[arg(long, value_name = "MEAN,STD", value_parser = normalization, allow_hyphen_values = true)]
    pub(crate) normalize: Option<Normalization>,
    /// Samples per run of the model, if the model allows a choice [default: 128, fewer for large models]
    #[arg(long, value_name = "N")]
    pub(crate) batch_size: Option<NonZeroUsize>,
    /// What runs the model: the built-in engine, an onnxruntime that is installed, or (auto) the built-in engine, and
    /// onnxruntime for models that it refuses
    #[arg(long, value_enum, value_name = "ENGINE", default_value = "auto", conflicts_with = "onnxruntime")]
    pub(crate) engine: EngineWord,
    /// Run models with this onnxruntime library, or the one in this folder
    #[arg(long, value_name = "LIBRARY")]
    pub(crate) onnxruntime: Option<PathBuf>,
}

impl RunArgs {
    pub(crate) fn options(&self) -> RunOptions {
        RunOptions {
            output_name: self.output_name.clone(),
            point: if self.before_softmax { OutputPoint::BeforeSoftmax } else { OutputPoint::Output },
            ..self.feed.options()
        }
    }
}

impl FeedArgs {
    pub(crate) fn options(&self) -> RunOptions {
        RunOptions {
            input_name: self.input_name.clone(),
            layout: self.input_layout.map(Into::into),
            normalization: self.normalize.clone(),
            batch_size: self.batch_size,
            engine: self.engine.into(),
            onnxruntime: self.onnxruntime.clone(),
            ..RunOptions::default()
        }
    }
}

/// [`Engine`] as a word on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineWord {
    /// The built-in engine, and onnxruntime for models that it refuses
    Auto,
    /// Only the built-in engine: the same on every machine
    Builtin,
    /// An onnxruntime that is installed
    Onnxruntime,
}

impl From<EngineWord> for Engine {
    fn from(word: EngineWord) -> Self {
        match word {
            EngineWord::Auto => Engine::Auto,
            EngineWord::Builtin => Engine::BuiltIn,
            EngineWord::Onnxruntime => Engine::OnnxRuntime,
        }
    }
}

/// [`Layout`] as a word on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum InputLayout {
    /// Channel after channel, as in PyTorch
    Nchw,
    /// Pixel after pixel with its channels, as in TensorFlow
    Nhwc,
}

impl From<InputLayout> for Layout {
    fn from(layout: InputLayout) -> Self {
        match layout {
            InputLayout::Nchw => Layout::ChannelsFirst,
            InputLayout::Nhwc => Layout::ChannelsLast,
        }
    }
}

fn normalization(text: &str) -> Result<Normalization, String> {
    let numbers: Option<Vec<f32>> = text.split(',').map(|number| number.trim().parse().ok()).collect();
    numbers.as_deref().and_then(Normalization::new).ok_or_else(|| {
        "expected MEAN,STD or a mean for every channel and then as many deviations, all of them positive"
            .to_owned()
    })
}

/// `spadework predict`.
#[derive(Debug, Args)]
pub(crate) struct PredictArgs {
    /// An ONNX file
    #[arg(long, value_name = "FILE", help_heading = "Data", value_parser = text())]
    pub(crate) model: String,
    /// The inputs to run it on
    #[arg(long, value_name = "ARRAY", help_heading = "Data", value_parser = text())]
    pub(crate) inputs: String,
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// The file to write: NumPy, one row per sample
    #[arg(long, alias = "out", value_name = "FILE.npy", help_heading = "Output")]
    pub(crate) output: PathBuf,
    /// Threads to use; all cores by default. The result does not depend on it
    #[arg(long, value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) terminal: TerminalArgs,
}

/// `spadework model`.
#[derive(Debug, Args)]
pub(crate) struct DescribeArgs {
    /// An ONNX file
    #[arg(value_name = "FILE", value_parser = text())]
    pub(crate) file: String,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// Help of `--out` and `--tables`, where the tables are others than those of a single model.
const LAYERS_OUT_HELP: &str = "Write result.json and the tables of layers and nodes into this folder";
const LAYERS_TABLES_HELP: &str =
    "Formats of the tables in --out, separated by commas; npy: only node_scores.npy";

/// `spadework layers`.
#[derive(Debug, Args)]
#[command(mut_arg("out", |arg| arg.help(LAYERS_OUT_HELP)), mut_arg("tables", |arg| arg.help(LAYERS_TABLES_HELP)))]
pub(crate) struct LayersArgs {
    /// An ONNX file
    #[arg(long, value_name = "FILE", help_heading = "Data", value_parser = text())]
    pub(crate) model: String,
    /// The inputs to run it on
    #[arg(long, value_name = "ARRAY", help_heading = "Data", value_parser = text())]
    pub(crate) inputs: String,
    /// Only the layers whose name or operator matches, e.g. fc1 or Relu,conv*: `*` is any text, `?` any character
    /// [default: all layers that change their numbers]
    #[arg(long, value_name = "PATTERNS", help_heading = "Data", value_delimiter = ',')]
    pub(crate) layers: Vec<String>,
    #[command(flatten)]
    pub(crate) feed: FeedArgs,
    #[command(flatten)]
    pub(crate) scoring: ScoringArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) page: PageArgs,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_and_deviations() {
        assert!(normalization("0.1307,0.3081").is_ok());
        assert!(normalization("0.5, 0.5, 0.5, 0.25, 0.25, 0.25").is_ok());
        for wrong in ["", "0.5", "0.5,0", "a,b", "0,1,2", "0.5,-1", "nan,1", "0.5,0.5,"] {
            assert!(normalization(wrong).is_err(), "{wrong}");
        }
    }
}
