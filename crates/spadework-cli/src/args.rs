//! What a user may type.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use spadework::SpadeParams;
use spadework::eigen::{Certainty, EigenMethod};
use spadework::graph::{Connectivity, GraphKind, Weights};
use spadework::neighbors::SearchMethod;
use spadework::pipeline::Spectrum;

use crate::args_check::CheckArgs;
use crate::args_data::{CorruptArgs, CorruptionArgs, DataArgs, SizeArgs};
use crate::args_distances::{DistortionArgs, EmbedArgs};
use crate::args_graphs::{GraphsArgs, SaveGraphsArgs};
use crate::args_many::{CompareArgs, JudgmentArgs, MODELS_HELP, ReferenceArgs, SweepArgs};
use crate::args_metric::MetricArgs;
use crate::args_model::{DescribeArgs, LayersArgs, NetworkArgs, PredictArgs};
use crate::args_networks::{AttackArgs, CleverArgs, TrainArgs};
use crate::args_probe::ScriptArgs;
use crate::args_report::{PageArgs, ReportArgs};
use crate::args_select::SelectArgs;
use crate::args_shell::{CompletionsArgs, ShareArgs};
use crate::args_stages::{EigenArgs, GraphArgs, ScoresArgs};
use crate::args_table::TableArgs;
use crate::console::Console;

/// Paragraphs are one line each: clap wraps them to the terminal.
macro_rules! arrays_help {
    ($gate:literal) => {
        concat!(
            "\
Arrays:
  An array argument is a path: x.npy, x.npz:key, x.csv, x.parquet, x.safetensors:key, an IDX file \
(t10k-images-idx3-ubyte.gz), a CIFAR-10 batch (test_batch.bin), a data set by name, folder and split (mnist:DIR:test, \
fashion-mnist:DIR:train, cifar10:DIR:all, cinic10:DIR:valid), a folder of PNG or JPEG images by class (images:DIR), or \
the embedded digits (digits); data sets also supply labels. `spadework data` lists them. More than two dimensions are \
flattened to one row per sample; bytes (images) become x/255.

Exit codes:
    0  done
",
            $gate,
            "    2  the call or its files are wrong
    3  the problem has no answer as posed
  130  interrupted"
        )
    };
}

/// Only `check` has a gate.
const ARRAYS_HELP: &str = arrays_help!("");
const GATE_HELP: &str = arrays_help!("    1  a gate failed, or is undecided under --undecided fail\n");

/// Measure how robust a model is and find its weakest samples, from its inputs and outputs or from a model file
#[derive(Debug, Parser)]
#[command(name = "spadework", version, after_long_help = GATE_HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Compare two embedded classifiers of handwritten digits; needs no files
    Demo(DemoArgs),
    /// Score one model: how robust it is, its weakest samples, the SPADE score
    #[command(after_long_help = ARRAYS_HELP)]
    Score(ScoreArgs),
    /// Compare many models on the same inputs: ranked, most robust first
    #[command(after_long_help = MODELS_HELP)]
    Compare(CompareArgs),
    /// Score one or more models over a range of k: is the ranking stable?
    ///
    /// Under --connectivity error, a k at which a graph is disconnected has no score. If no k has a score, the sweep ends
    /// with exit code 3.
    #[command(after_long_help = MODELS_HELP)]
    Sweep(SweepArgs),
    /// Score every layer of a model against its inputs: where does it become fragile?
    ///
    /// All layers have the same k, so that their scores can be compared: under --connectivity grow, the smallest that connects
    /// every layer. Activations are computed a few layers at a time, up to 1 GiB, and are not kept.
    #[command(after_long_help = ARRAYS_HELP)]
    Layers(LayersArgs),
    /// Run a model on inputs and write its outputs
    #[command(after_long_help = ARRAYS_HELP)]
    Predict(PredictArgs),
    /// Describe a model file: inputs, outputs, layers, parameters
    Model(DescribeArgs),
    /// Print the indices of the weakest samples, or of those whose neighbors changed most
    #[command(after_long_help = ARRAYS_HELP)]
    Select(SelectArgs),
    /// Gate a model: exit code 1 if it breaks its limits or drops below its baseline
    ///
    /// A gate ends as PASS, FAIL or ? (undecided): the 95 % confidence interval is within the limit, beyond it, or contains
    /// it. A drop below a baseline is decided by one-sided 95 % bounds, sample by sample if the baseline has the same samples.
    #[command(after_long_help = GATE_HELP)]
    Check(CheckArgs),
    /// Write a result as one self-contained page, and its figures as files
    Report(ReportArgs),
    /// Score one model on every kind of graph, in one table
    #[command(after_long_help = ARRAYS_HELP)]
    Graphs(GraphsArgs),
    /// First stage of a score: make both graphs and write them to files
    ///
    /// `graph`, `eigen` and `scores`, one after the other, give the result of `score --out`. A stage that already exists for the
    /// same data and parameters is not repeated. A stage made from other data or parameters is only replaced with --force.
    #[command(after_long_help = ARRAYS_HELP)]
    Graph(GraphArgs),
    /// Second stage: find the eigenpairs of the graphs
    Eigen(EigenArgs),
    /// Third stage: score edges and samples by the eigenpairs
    Scores(ScoresArgs),
    /// Measure how far the model pulls neighbors apart, and find the sparsest cut
    #[command(after_long_help = ARRAYS_HELP)]
    Distortion(DistortionArgs),
    /// Compute coordinates of the samples from the input graph, the output graph and both
    #[command(after_long_help = ARRAYS_HELP)]
    Embed(EmbedArgs),
    /// Train a network, optionally against attacks that are larger for weak samples
    #[command(after_long_help = ARRAYS_HELP)]
    Train(Box<TrainArgs>),
    /// Attack a network: clean and robust accuracy, and the outcome of each sample
    #[command(after_long_help = ARRAYS_HELP)]
    Attack(AttackArgs),
    /// Estimate how far samples can be moved before their class may change (CLEVER scores)
    #[command(after_long_help = ARRAYS_HELP)]
    Clever(CleverArgs),
    /// List the known data sets, or check those in a folder
    ///
    /// The exit code is 1 if a file of a data set in DIR is missing, or differs from the file that its authors published.
    Data(DataArgs),
    /// Corrupt images: noise, blur, fog, JPEG and the like, at severities 1 to 5
    #[command(after_long_help = ARRAYS_HELP)]
    Corrupt(CorruptArgs),
    /// Print the completions for a shell
    Completions(CompletionsArgs),
    /// Write man pages and completions as a package ships them
    #[command(hide = true)]
    Share(ShareArgs),
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    #[command(flatten)]
    pub(crate) page: PageArgs,
    /// Threads to use; all cores by default. The result does not depend on it
    #[arg(long, value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<NonZeroUsize>,
}

#[derive(Debug, Args)]
pub(crate) struct ScoreArgs {
    #[command(flatten)]
    pub(crate) scored: ScoredArgs,
    #[command(flatten)]
    pub(crate) table: TableArgs,
    #[command(flatten)]
    pub(crate) bounds: BoundsArgs,
    /// How many of the most fragile samples and edges to show
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) top: usize,
    #[command(flatten)]
    pub(crate) judged: JudgmentArgs,
    #[command(flatten)]
    pub(crate) script: ScriptArgs,
    #[command(flatten)]
    pub(crate) reference: ReferenceArgs,
    /// Only print what the run would take (time by stage, memory, search, whether k may grow), from a trial on some of the samples
    #[arg(long, help_heading = "Output", conflicts_with = "reference")]
    pub(crate) plan: bool,
}

/// One model, and where its result goes.
#[derive(Debug, Args)]
pub(crate) struct ScoredArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) corruption: CorruptionArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) graphs: SaveGraphsArgs,
}

/// What is scored and how.
#[derive(Debug, Args)]
#[command(next_help_heading = "Data")]
pub(crate) struct ModelArgs {
    #[command(flatten)]
    pub(crate) given: InputsArgs,
    /// The model's outputs; for a classifier the values right before the softmax
    #[arg(
        long,
        value_name = "ARRAY",
        value_parser = text(),
        required_unless_present_any = ["output_graph", "model"]
    )]
    pub(crate) outputs: Option<String>,
    /// A graph instead of the outputs; it must be connected
    #[arg(long, value_name = "FILE", value_parser = text(), conflicts_with_all = ["outputs", "model"])]
    pub(crate) output_graph: Option<String>,
    /// One integer or word per sample, or the targets of a regressor; data sets by name include them
    #[arg(long, value_name = "ARRAY", value_parser = text())]
    pub(crate) labels: Option<String>,
    #[command(flatten)]
    pub(crate) network: NetworkArgs,
    #[command(flatten)]
    pub(crate) scoring: ScoringArgs,
}

/// What goes into a model, or into all of them.
#[derive(Debug, Args)]
#[command(next_help_heading = "Data")]
pub(crate) struct InputsArgs {
    /// The inputs of the model, or of all models
    #[arg(long, value_name = "ARRAY", value_parser = text(), required_unless_present = "input_graph")]
    pub(crate) inputs: Option<String>,
    #[command(flatten)]
    pub(crate) size: SizeArgs,
    /// A graph instead of the inputs: edges.csv (p,q or p,q,weight, counted from 0), a SciPy matrix (.npz), .mtx or .petsc
    #[arg(long, value_name = "FILE", value_parser = text(), conflicts_with = "inputs")]
    pub(crate) input_graph: Option<String>,
}

/// How it is scored.
#[derive(Debug, Args)]
pub(crate) struct ScoringArgs {
    /// Neighbors per sample, k
    #[arg(short = 'k', long, help_heading = "Method", value_name = "K", default_value_t = 10)]
    pub(crate) neighbors: usize,
    #[command(flatten)]
    pub(crate) method: MethodArgs,
}

/// How it is scored, k excepted.
#[derive(Debug, Args)]
pub(crate) struct MethodArgs {
    /// How graphs are made: knn, mutual, pca:D, pca:SHARE, cknn:DELTA, sparse:density=EDGES or sparse:kappa=KAPPA
    ///
    /// knn connects two samples if either is among the k nearest of the other, mutual if both are. pca:50 first projects the
    /// inputs (not the outputs) to 50 principal components, pca:0.95 to as many as explain 95 % of the variance. cknn:1 connects
    /// samples nearer than DELTA times the geometric mean of the distances to their k-th neighbors. sparse reduces knn to a
    /// spanning tree and the most important edges, until the graph has EDGES edges per node, or until its condition
    /// number relative to the full graph reaches KAPPA.
    #[arg(long, help_heading = "Method", value_name = "KIND", default_value_t = GraphKind::Knn)]
    pub(crate) graph: GraphKind,
    /// Edge weights: unit (1), or gaussian, by their length relative to the distance to the k-th neighbors
    #[arg(long, help_heading = "Method", value_name = "WEIGHTS", default_value_t = Weights::Unit)]
    pub(crate) weights: Weights,
    #[command(flatten)]
    pub(crate) general: GeneralArgs,
}

/// How anything is scored, on whatever graphs.
#[derive(Debug, Args)]
pub(crate) struct GeneralArgs {
    /// Eigenpairs, r, for edge and node scores, or `all`
    #[arg(short = 'r', long, help_heading = "Method", value_name = "R", default_value = "2", value_parser = eigenpairs)]
    pub(crate) eigenpairs: Eigenpairs,
    /// With --eigenpairs all: relative error of every score, with probability 0.999
    #[arg(long, help_heading = "Method", value_name = "FRACTION", default_value_t = 0.3)]
    pub(crate) sketch_error: f64,
    #[command(flatten)]
    pub(crate) solving: SolvingArgs,
    #[command(flatten)]
    pub(crate) metric: MetricArgs,
    /// How neighbors are searched
    #[arg(long, help_heading = "Method", value_enum, value_name = "METHOD", default_value_t = SearchWord::Auto)]
    pub(crate) search: SearchWord,
    /// What to do when a graph is not connected
    #[arg(long, help_heading = "Method", value_enum, value_name = "POLICY", default_value_t = Policy::Grow)]
    pub(crate) connectivity: Policy,
    /// Seed of everything random
    #[arg(long, help_heading = "Method", value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Threads to use; all cores by default. The result does not depend on it
    #[arg(long, help_heading = "Method", value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<NonZeroUsize>,
}

/// How eigenpairs are found.
#[derive(Debug, Args)]
pub(crate) struct SolvingArgs {
    /// How eigenpairs are found
    #[arg(long, help_heading = "Method", value_enum, value_name = "SOLVER", default_value_t = Solver::Davidson)]
    pub(crate) solver: Solver,
    /// Relative residual that every eigenpair must reach
    #[arg(long, help_heading = "Method", value_name = "FRACTION", default_value = "1e-6")]
    pub(crate) tolerance: f64,
    /// Prove the upper bound of the SPADE score by a factorization (up to about 20,000 samples)
    #[arg(long, help_heading = "Method")]
    pub(crate) certify: bool,
}

/// Whether the SPADE score is bounded.
#[derive(Debug, Args)]
pub(crate) struct BoundsArgs {
    /// Do not compute an upper bound of the SPADE score, which saves about a quarter of the time of the eigenpairs but does not find out whether the solver missed the largest
    #[arg(long, help_heading = "Method", conflicts_with = "certify")]
    pub(crate) no_bounds: bool,
}

impl BoundsArgs {
    /// The parameters, without bounds if that was asked for.
    pub(crate) fn apply(&self, params: SpadeParams) -> SpadeParams {
        if self.no_bounds { params.with_certainty(Certainty::None) } else { params }
    }
}

impl ScoringArgs {
    pub(crate) fn params(&self) -> SpadeParams {
        self.method.params(self.neighbors)
    }
}

impl MethodArgs {
    pub(crate) fn params(&self, neighbors: usize) -> SpadeParams {
        self.general.params(neighbors).with_graph(self.graph).with_weights(self.weights)
    }
}

impl GeneralArgs {
    /// The parameters, with the usual graphs.
    pub(crate) fn params(&self, neighbors: usize) -> SpadeParams {
        let (eigenpairs, spectrum) = match self.eigenpairs {
            Eigenpairs::Count(count) => (count, Spectrum::Leading),
            Eigenpairs::All => {
                (SpadeParams::default().eigenpairs, Spectrum::Full { error: self.sketch_error })
            }
        };
        self.metric
            .apply(SpadeParams::default())
            .with_neighbors(neighbors)
            .with_eigenpairs(eigenpairs)
            .with_spectrum(spectrum)
            .with_solver(self.solving.solver.into())
            .with_search(self.search.into())
            .with_connectivity(self.connectivity.into())
            .with_tolerance(self.solving.tolerance)
            .with_certainty(if self.solving.certify { Certainty::Certified } else { Certainty::Probable })
            .with_seed(self.seed)
            .with_threads(self.threads)
    }
}

/// Help of `--tables` next to `--out`.
const TABLES_HELP: &str = "Formats of the tables in --out, separated by commas";

/// Where the result goes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output", mut_arg("tables", |arg| arg.help(TABLES_HELP).requires("out")))]
pub(crate) struct OutputArgs {
    #[command(flatten)]
    pub(crate) terminal: TerminalArgs,
    /// Write result.json and the tables (nodes, edges, labels, models …) into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) tables: TablesArgs,
}

/// What tables are written as.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct TablesArgs {
    /// Formats of the tables, separated by commas
    #[arg(
        long = "tables",
        id = "tables",
        value_name = "FORMATS",
        value_delimiter = ',',
        default_value = "csv"
    )]
    pub(crate) formats: Vec<TableFormat>,
}

/// What goes to the terminal.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct TerminalArgs {
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) messages: MessagesArgs,
}

impl TerminalArgs {
    pub(crate) fn console(&self) -> Console {
        self.messages.console()
    }
}

/// What goes to stderr.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct MessagesArgs {
    /// No messages and no progress on stderr, except errors
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// No progress bars
    #[arg(long)]
    no_progress: bool,
}

impl MessagesArgs {
    pub(crate) fn console(&self) -> Console {
        Console::saying(self.quiet, self.no_progress)
    }
}

/// [`SearchMethod`] as a word on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SearchWord {
    /// Exact, unless that would take more than about ten minutes of one core
    Auto,
    /// Always exact
    Exact,
    /// NN-descent; its recall is measured and reported
    Approximate,
}

impl From<SearchWord> for SearchMethod {
    fn from(search: SearchWord) -> Self {
        match search {
            SearchWord::Auto => SearchMethod::Auto,
            SearchWord::Exact => SearchMethod::Exact,
            SearchWord::Approximate => SearchMethod::Approximate,
        }
    }
}

/// How many eigenpairs scores are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Eigenpairs {
    Count(usize),
    All,
}

pub(crate) fn eigenpairs(text: &str) -> Result<Eigenpairs, String> {
    match text {
        "all" => Ok(Eigenpairs::All),
        _ => text.parse().map(Eigenpairs::Count).map_err(|_| "expected a whole number or `all`".to_owned()),
    }
}

/// [`EigenMethod`] as a word on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Solver {
    /// Block Davidson iteration; a dense decomposition for few samples
    Davidson,
    /// Block power iteration, as in the paper's appendix
    Power,
}

impl From<Solver> for EigenMethod {
    fn from(solver: Solver) -> Self {
        match solver {
            Solver::Davidson => EigenMethod::Auto,
            Solver::Power => EigenMethod::Power,
        }
    }
}

/// [`Connectivity`] as a word on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Policy {
    /// Use the smallest larger k that connects every graph
    Grow,
    /// Keep k and connect the components by their shortest edges
    Bridge,
    /// Fail with exit code 3
    Error,
}

impl From<Policy> for Connectivity {
    fn from(policy: Policy) -> Self {
        match policy {
            Policy::Grow => Connectivity::Grow,
            Policy::Bridge => Connectivity::Bridge,
            Policy::Error => Connectivity::Error,
        }
    }
}

/// Formats of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableFormat {
    /// nodes.csv, edges.csv and so on
    Csv,
    /// nodes.parquet, edges.parquet and so on
    Parquet,
    #[value(
        help = "only arrays: node_scores.npy, margins.npy, fragility.npy, overlap.npy, edges.npy, edge_scores.npy; for a sweep scores.npy"
    )]
    Npy,
}

impl From<TableFormat> for spadework_app::TableFormat {
    fn from(format: TableFormat) -> Self {
        match format {
            TableFormat::Csv => spadework_app::TableFormat::Csv,
            TableFormat::Parquet => spadework_app::TableFormat::Parquet,
            TableFormat::Npy => spadework_app::TableFormat::Npy,
        }
    }
}

/// More threads than this no machine has a use for; some hang over starting them.
pub(crate) const MAX_THREADS: usize = 1024;

pub(crate) fn threads(text: &str) -> Result<NonZeroUsize, String> {
    match text.parse::<NonZeroUsize>() {
        Ok(threads) if threads.get() <= MAX_THREADS => Ok(threads),
        _ => Err(format!("expected a whole number from 1 to {MAX_THREADS}")),
    }
}

/// A word or a path; nothing typed is refused as no value.
pub(crate) fn text() -> NonEmptyStringValueParser {
    NonEmptyStringValueParser::new()
}

pub(crate) fn one_or_more(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| "expected a whole number, 1 or more".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }
}
