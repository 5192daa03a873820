//! Texts that people read, in the words of each front end.
//!
//! The command writes `--connectivity bridge` where Python writes `connectivity="bridge"`. Both wordings are next to each
//! other here, so that they do not drift apart. Messages that do not name an option are the same in both, and are written
//! where they are raised.

use std::fmt;

use spadework::Error as CoreError;
use spadework::samples::Side;
use spadework_io::Error as FileError;
use spadework_model::ModelError;

/// Which front end a message is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Voice {
    /// The command line: `--search exact`.
    Command,
    /// Python: `search="exact"`.
    Python,
}

impl Voice {
    /// An argument with a word as its value.
    pub(crate) fn argument(self, name: &str, value: &str) -> String {
        match self {
            Voice::Command => format!("{} {value}", option(name)),
            Voice::Python => format!("{name}=\"{value}\""),
        }
    }

    /// An argument as the subject of a sentence: `--top`, and in Python `top` in backticks.
    pub(crate) fn subject(self, argument: &str) -> String {
        match self {
            Voice::Command => option(argument),
            Voice::Python => format!("`{argument}`"),
        }
    }

    /// The name of an argument.
    pub(crate) fn name(self, argument: &str) -> String {
        match self {
            Voice::Command => option(argument),
            Voice::Python => argument.to_owned(),
        }
    }
}

/// How to try an attack, for a result of which none was tried; `was_run` where the outputs come from a model file.
pub(crate) fn try_an_attack(voice: Voice, was_run: bool) -> &'static str {
    match (voice, was_run) {
        (Voice::Command, true) => {
            "No attack was tried. Pass --probe linf:EPS (e.g. linf:8/255) to estimate accuracy under attack."
        }
        (Voice::Command, false) => {
            "No model was run, so this says nothing about a given attack. With an ONNX file: --model net.onnx --probe linf:EPS"
        }
        (Voice::Python, _) => {
            "No attack was tried. Pass probed=spadework.probe(model, inputs, \"linf:EPS\") to estimate accuracy under attack."
        }
    }
}

/// How to search for the worst change, for a result of which only noise was tried.
pub(crate) fn try_a_search(voice: Voice) -> &'static str {
    match voice {
        Voice::Command => {
            "Only noise was tried. Pass --probe linf:EPS, without a kind of noise, to estimate accuracy under attack."
        }
        Voice::Python => {
            "Only noise was tried. Pass probed=spadework.probe(model, inputs, \"linf:EPS\"), without a kind of noise, to estimate \
             accuracy under attack."
        }
    }
}

/// An argument as an option of the command.
fn option(name: &str) -> String {
    format!("--{}", name.replace('_', "-"))
}

macro_rules! note_codes {
    ($($(#[$doc:meta])* $name:ident = $word:literal),* $(,)?) => {
        /// What a note is about: a word that programs can look for, independent of the message.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum NoteCode { $($(#[$doc])* $name),* }

        impl fmt::Display for NoteCode {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(NoteCode::$name => $word),* })
            }
        }
    };
}

note_codes! {
    /// The outputs look like probabilities.
    Probabilities = "probabilities",
    /// A label is not the position of an output, so that there is no accuracy.
    LabelBeyondOutputs = "label-beyond-outputs",
    /// The labels, or the lengths of the rows, show that the outputs are not classes.
    NoClasses = "no-classes",
    /// Many outputs count as classes, and no labels say whether they are.
    ManyClasses = "many-classes",
    /// Samples share a name.
    RepeatedIds = "repeated-ids",
    /// Samples are ranked by node scores, because there is no fragility.
    NoFragility = "no-fragility",
    /// Few rows of the outputs differ.
    RepeatedOutputs = "repeated-outputs",
    /// The outputs predict the labels hardly better than guessing.
    LowAccuracy = "low-accuracy",
    /// Inputs and outputs were probably swapped.
    SwappedSides = "swapped-sides",
    /// A model is given whole numbers up to 255.
    PixelValues = "pixel-values",
    /// The columns of the inputs have very different spreads.
    UnequalColumns = "unequal-columns",
    /// A column of the inputs is also the labels.
    LabelsAmongInputs = "labels-among-inputs",
    /// A model ends in a softmax.
    SoftmaxOutput = "softmax-output",
    /// The machine has less memory than a run needs.
    LittleMemory = "little-memory",
    /// Which output of a model is used.
    OutputChosen = "output-chosen",
    /// An onnxruntime library runs a model that the built-in engine refuses.
    OnnxRuntime = "onnxruntime",
    /// The channels of the inputs are moved for a model.
    ChannelsMoved = "channels-moved",
    /// The inputs are corrupted, and the outputs come from a file.
    CorruptedInputs = "corrupted-inputs",
    /// Rows of numbers are treated as images.
    ImageShapeGuessed = "image-shape-guessed",
    /// Samples are not images, which a probe would use.
    NoImages = "no-images",
    /// Entries of a given graph are not edges.
    EntriesLeftOut = "entries-left-out",
    /// Sparse inputs were searched, for the requested k.
    SparseInputs = "sparse-inputs",
    /// The given input graph is disconnected.
    InputGraphInPieces = "input-graph-in-pieces",
    /// More neighbors than requested.
    NeighborsGrown = "neighbors-grown",
    /// Edges were added to connect a graph.
    Bridges = "bridges",
    /// Neighbors were searched approximately.
    ApproximateSearch = "approximate-search",
    /// Weights were raised to the smallest allowed.
    WeightsRaised = "weights-raised",
    /// Neighbors among exact copies are chosen by index.
    ExactCopies = "exact-copies",
    /// Subsamples needed more neighbors.
    SubsamplesGrown = "subsamples-grown",
    /// A model that is given by its outputs is not probed.
    NotProbed = "not-probed",
    /// Parts of unfinished work cannot be stored.
    PartsNotKept = "parts-not-kept",
    /// How often probes run the model.
    ProbeCost = "probe-cost",
    /// Layers that do not make one row per sample.
    LayersLeftOut = "layers-left-out",
    /// Entries of eigenvectors of new samples are means.
    MeansOfNeighbors = "means-of-neighbors",
    /// New samples are far from the reference.
    FarFromReference = "far-from-reference",
    /// Bridges of the reference do not count for new samples.
    ReferenceBridges = "reference-bridges",
    /// A stage already exists and is used.
    StageTaken = "stage-taken",
    /// A stage already exists and is replaced.
    StageReplaced = "stage-replaced",
    /// The bounds for another program's eigenpairs are computed now.
    BoundsFoundNow = "bounds-found-now",
    /// Every gate is about the SPADE score.
    ScoreAlone = "score-alone",
    /// Only one of the model and its baseline was probed.
    ProbedAlone = "probed-alone",
    /// The baseline has an accuracy, and the model has none.
    AccuracyMissing = "accuracy-missing",
    /// The arrays of a result are not found.
    ArraysNotFound = "arrays-not-found",
}

/// Advice. Each front end has its own text for it ([`Hint::text`]), or none if the hint is of no use there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the texts say what each is")]
pub enum Hint {
    Disconnected,
    GrownInVain,
    GrownTooFar,
    GivenDisconnected,
    MissedEigenvalue,
    PowerNotConverged,
    NotConverged,
    NotCertified,
    SketchError,
    TooManyNeighbors,
    TooFewModels,
    SmallSubsample,
    TooManyEigenpairs,
    ZeroInputs,
    ZeroOutputs,
    ZeroRowsOfReference,
    NoSpread,
    FolderOfArrays,
    NamesOfData,
    FolderAsModel,
    Pixels,
    NumericCells,
    IndexColumn,
    RunElsewhere,
    DescribeModel,
    OtherOutput,
    ChannelLayout,
    ImageShape,
    ListLayers,
    NameModels,
    ByFragility,
    GiveLabels,
    MakeBaseline,
    WhereArrays,
    WhereReferenceInputs,
    WhereReferenceOutputs,
    MakeReference,
    ReplaceStage,
    AnotherFolder,
    MakeGraphs,
    FindEigenpairs,
    FindEigenpairsAgain,
    ScoreAgain,
}

impl Hint {
    /// The hint in the words of a front end.
    pub fn text(self, voice: Voice) -> Option<&'static str> {
        match voice {
            Voice::Command => Some(self.on_the_command_line()),
            Voice::Python => self.in_python(),
        }
    }

    fn on_the_command_line(self) -> &'static str {
        match self {
            Hint::Disconnected => "try --connectivity grow or bridge, or more --neighbors",
            Hint::GrownInVain => "try --connectivity bridge, or with cknn a larger DELTA",
            Hint::GrownTooFar => "try --connectivity bridge, or with cknn a smaller DELTA",
            Hint::GivenDisconnected => {
                "pass --outputs instead of --output-graph; --connectivity can then connect the graph"
            }
            Hint::MissedEigenvalue => "try another --seed or a smaller --tolerance",
            Hint::PowerNotConverged => "try --solver davidson",
            Hint::NotConverged => "try a larger --tolerance or another --seed",
            Hint::NotCertified => "without --certify the upper bound holds with a stated probability",
            Hint::SketchError => "set it with --sketch-error, e.g. 0.3",
            Hint::TooManyNeighbors => "try a smaller --neighbors",
            Hint::TooFewModels => {
                "pass --outputs or --model once per model; `spadework score` scores a single model"
            }
            Hint::SmallSubsample => "try a smaller --neighbors, or leave out --interval",
            Hint::TooManyEigenpairs => "try a smaller --eigenpairs",
            Hint::ZeroInputs => "choose another distance with --input-metric",
            Hint::ZeroOutputs => "choose another distance with --output-metric",
            Hint::ZeroRowsOfReference => {
                "the metric is that of the reference; score the reference again with another metric, or remove these rows"
            }
            Hint::NoSpread => "try --standardize standard",
            Hint::FolderAsModel => {
                "a model is an ONNX file, e.g. DIR/model.onnx; `spadework compare` takes several of them"
            }
            Hint::NamesOfData => {
                "data sets by name: mnist:DIR:test, fashion-mnist:DIR:test, cifar10:DIR:test, cinic10:DIR:test, images:DIR, digits"
            }
            Hint::FolderOfArrays => {
                "name a data set with its folder, e.g. mnist:DIR:test, or images by class as images:DIR"
            }
            Hint::Pixels => "divide bytes by 255; undo a normalization of the images first",
            Hint::NumericCells => {
                "leave a column out with 'FILE?drop=COLUMN', fill in missing values, and encode categories as numbers (Python: \
                 spadework.encode_table)"
            }
            Hint::IndexColumn => {
                "write the table without its index (pandas: index=False), or name the column to use it"
            }
            Hint::RunElsewhere => "run the model elsewhere and pass its outputs: --outputs Y.npy",
            Hint::DescribeModel => "`spadework model FILE` says what the model takes and returns",
            Hint::OtherOutput => {
                "choose another value with --output-name; if the model mixes the samples of a batch, try --batch-size 1"
            }
            Hint::ChannelLayout => {
                "pass --input-layout nchw or nhwc if the array does not show where its channels are"
            }
            Hint::ImageShape => "pass the shape of the images, e.g. --shape 3x32x32",
            Hint::ListLayers => "`spadework model FILE` lists the layers",
            Hint::NameModels => "name each model: --outputs NAME=ARRAY, --model NAME=FILE",
            Hint::ByFragility => "use --by fragility",
            Hint::GiveLabels => "pass --labels with one class per sample, counted from 0 like the outputs",
            Hint::MakeBaseline => {
                "make the baseline again with `spadework score --out DIR` and the same inputs, --neighbors, --graph, --weights, metrics, --standardize, --ties, --connectivity, --probe, --probe-radii and --probe-categories"
            }
            Hint::WhereArrays => "pass the arrays with --inputs and --outputs if they have moved",
            Hint::WhereReferenceInputs => "pass --reference-inputs if the inputs of the reference have moved",
            Hint::WhereReferenceOutputs => {
                "pass --reference-outputs if the outputs of the reference have moved"
            }
            Hint::MakeReference => "make the folder again with `spadework score --out DIR`",
            Hint::ReplaceStage => "--force replaces it; use another folder to keep both",
            Hint::AnotherFolder => "use another folder, or delete this one to start over",
            Hint::MakeGraphs => {
                "make them with `spadework graph --out RESULT`, which also takes graphs of other programs"
            }
            Hint::FindEigenpairs => {
                "compute them with `spadework eigen RESULT`, or on a cluster with `mpirun -n N python -m spadework.slepc RESULT`"
            }
            Hint::FindEigenpairsAgain => "compute the eigenpairs again with --force",
            Hint::ScoreAgain => "score it again with this version",
        }
    }

    /// Python's messages name the argument already where it is a single one.
    fn in_python(self) -> Option<&'static str> {
        Some(match self {
            Hint::Disconnected | Hint::GrownInVain => {
                "try connectivity=\"grow\" or \"bridge\", or more neighbors"
            }
            Hint::GrownTooFar => "try connectivity=\"bridge\"",
            Hint::ZeroInputs => "choose another distance with `input_metric`",
            Hint::ZeroOutputs => "choose another distance with `output_metric`",
            Hint::ZeroRowsOfReference => {
                "the metric is that of `fit`; fit again with another metric, or remove these rows"
            }
            Hint::NoSpread => "try standardize=True",
            Hint::GivenDisconnected => {
                "pass outputs instead of the graph; `connectivity` can then connect them"
            }
            Hint::MissedEigenvalue => "try another seed or a smaller tolerance",
            Hint::PowerNotConverged => "try solver=\"davidson\"",
            Hint::NotConverged => "try a larger tolerance or another seed",
            Hint::NotCertified => "with certify=False the upper bound holds with a stated probability",
            Hint::AnotherFolder => "use another folder, or delete this one to start over",
            _ => return None,
        })
    }

    pub(crate) fn of_core(error: &CoreError) -> Option<Self> {
        Some(match error {
            // What is wrong with one model is judged as it would be with a single one.
            CoreError::InModel { cause, .. } => return Self::of_core(cause),
            CoreError::Disconnected { .. } => Hint::Disconnected,
            CoreError::GrownTooFar { .. } => Hint::GrownTooFar,
            CoreError::GivenDisconnected { .. } => Hint::GivenDisconnected,
            CoreError::MissedEigenvalue { .. } => Hint::MissedEigenvalue,
            CoreError::NotConverged { .. } => Hint::NotConverged,
            CoreError::CertificateTooLarge { .. } | CoreError::NotCertified { .. } => Hint::NotCertified,
            CoreError::SketchError { .. } => Hint::SketchError,
            CoreError::TooManyNeighbors { .. } => Hint::TooManyNeighbors,
            CoreError::TooFewModels { .. } => Hint::TooFewModels,
            CoreError::SmallSubsample { .. } => Hint::SmallSubsample,
            CoreError::TooManyEigenpairs { .. } => Hint::TooManyEigenpairs,
            CoreError::ZeroRows { side: Side::Input, .. } => Hint::ZeroInputs,
            CoreError::ZeroRows { side: Side::Output, .. } => Hint::ZeroOutputs,
            CoreError::NoSpread { .. } => Hint::NoSpread,
            _ => return None,
        })
    }

    pub(crate) fn of_file(error: &FileError) -> Option<Self> {
        Some(match error {
            FileError::Folder { .. } => Hint::FolderOfArrays,
            FileError::NotFound { path } if could_name_data(path) => Hint::NamesOfData,
            FileError::Pixel { .. } => Hint::Pixels,
            FileError::IndexColumn { .. } => Hint::IndexColumn,
            FileError::Cell { .. } | FileError::ColumnType { .. } => Hint::NumericCells,
            _ => return None,
        })
    }

    pub(crate) fn of_model(cause: &ModelError) -> Option<Self> {
        Some(match cause {
            ModelError::UnknownOperator { .. }
            | ModelError::NotBuiltIn { .. }
            | ModelError::EngineRefuses { .. }
            | ModelError::ManyInputs { .. }
            | ModelError::InputType { .. }
            | ModelError::Engine { .. } => Hint::RunElsewhere,
            ModelError::InputShape { .. } | ModelError::NoSuchName { .. } => Hint::DescribeModel,
            ModelError::OutputShape { .. } => Hint::OtherOutput,
            ModelError::Channels { .. } => Hint::ChannelLayout,
            _ => return None,
        })
    }
}

/// Whether the name looks like that of a data set with its folder, mistyped: `mnsit:DIR:test`.
fn could_name_data(name: &str) -> bool {
    name.split_once(':').is_some_and(|(word, _)| {
        // A drive of Windows is one letter, and a file has an ending.
        word.len() > 1 && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    })
}
