//! What a user may type about many models, certainty and new samples.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use spadework_app::Evidence;

use crate::args::{InputsArgs, MethodArgs, OutputArgs, ScoringArgs, text};
use crate::args_data::CorruptionArgs;
use crate::args_model::RunArgs;
use crate::args_probe::ProbeArgs;
use crate::args_report::{IdsArgs, PageArgs};
use crate::args_table::TableArgs;
use crate::args_task::TaskArgs;

/// Paragraphs are one line each: clap wraps them to the terminal.
pub(crate) const MODELS_HELP: &str = "\
Models:
  Pass --outputs once per model, as NAME=ARRAY or only ARRAY. Without a name, the model is named after the file \
(without its ending) or after the key of the array. --model works the same way with an ONNX file, which is run on the \
inputs: --model a=net.onnx. You can leave out both options: compare --inputs X a=net1.onnx b=net2.onnx c=logits.npy. A \
.npz file without a key stands for all its arrays, named by their keys. If a file a=b.npy exists, a=b.npy means this file; otherwise it means \
the file b.npy of the model a.

Arrays:
  An array argument is a path: x.npy, x.npz:key, x.csv, x.parquet, x.safetensors:key, an IDX file, a CIFAR-10 binary \
batch, or a data set by name, folder and split (mnist:DIR:test), which also supplies labels. `spadework score --help` \
says more.

Exit codes:
    0  done
    2  the call or its files are wrong
    3  the problem has no answer as posed
  130  interrupted";

/// Help of `--out`, where the tables are others than those of a single model.
const COMPARE_OUT_HELP: &str =
    "Write result.json and the tables of models, agreement and nodes into this folder";
const SWEEP_OUT_HELP: &str =
    "Write result.json and the table sweep, one row per k and model, into this folder";
/// Help of `--tables` there.
const COMPARE_TABLES_HELP: &str =
    "Formats of the tables in --out, separated by commas; npy: only node_scores.npy";
const SWEEP_TABLES_HELP: &str = "Formats of the table in --out, separated by commas; npy: only scores.npy";

#[derive(Debug, Args)]
#[command(mut_arg("out", |arg| arg.help(COMPARE_OUT_HELP)), mut_arg("tables", |arg| arg.help(COMPARE_TABLES_HELP)))]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) models: ModelsArgs,
    #[command(flatten)]
    pub(crate) corruption: CorruptionArgs,
    /// One integer or word per sample, for accuracies and label scores; data sets by name include them
    #[arg(long, help_heading = "Data", value_name = "ARRAY", value_parser = text())]
    pub(crate) labels: Option<String>,
    #[command(flatten)]
    pub(crate) scoring: ScoringArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) table: TableArgs,
    /// How many of the most fragile samples of each model to name in the result
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) top: usize,
    /// What the models are ranked by
    #[arg(long, value_enum, value_name = "NUMBER", default_value_t = RankBy::Auto)]
    pub(crate) rank_by: RankBy,
    #[command(flatten)]
    pub(crate) judged: JudgmentArgs,
}

/// What `score` and `compare` find out beyond the scores, and how they show it.
#[derive(Debug, Args)]
pub(crate) struct JudgmentArgs {
    #[command(flatten)]
    pub(crate) ids: IdsArgs,
    #[command(flatten)]
    pub(crate) task: TaskArgs,
    #[command(flatten)]
    pub(crate) certainty: CertaintyArgs,
    #[command(flatten)]
    pub(crate) probe: ProbeArgs,
    #[command(flatten)]
    pub(crate) page: PageArgs,
}

/// [`spadework_app::RankBy`] as a word on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RankBy {
    /// The best evidence: robust-accuracy if every model is probed, otherwise unevenness if all outputs are classes, otherwise overlap
    Auto,
    /// Estimated robust accuracy; needs --probe, and every model as a file that can be run
    RobustAccuracy,
    /// Unevenness: roughness plus the share of input neighbors of different classes; smaller is more robust
    Unevenness,
    /// Neighborhood overlap: the share of input neighbors that stay neighbors
    Overlap,
    /// SPADE score λ_1; tracks robustness poorly
    ModelScore,
}

impl From<RankBy> for spadework_app::RankBy {
    fn from(by: RankBy) -> Self {
        match by {
            RankBy::Auto => Self::Auto,
            RankBy::RobustAccuracy => Self::Evidence(Evidence::RobustAccuracy),
            RankBy::Unevenness => Self::Evidence(Evidence::Unevenness),
            RankBy::Overlap => Self::Evidence(Evidence::Overlap),
            RankBy::ModelScore => Self::Evidence(Evidence::ModelScore),
        }
    }
}

/// Help of `--eigenpairs` where there are no scores of edges and nodes.
const EIGENPAIRS_HELP: &str = "Eigenpairs, r, to find; the first eigenvalue is the SPADE score";

#[derive(Debug, Args)]
#[command(mut_arg("eigenpairs", |arg| arg.help(EIGENPAIRS_HELP)), mut_arg("sketch_error", |arg| arg.hide(true)))]
#[command(mut_arg("out", |arg| arg.help(SWEEP_OUT_HELP)), mut_arg("tables", |arg| arg.help(SWEEP_TABLES_HELP)))]
pub(crate) struct SweepArgs {
    #[command(flatten)]
    pub(crate) models: ModelsArgs,
    /// Every k: FROM..TO including both ends (5..20 is 5, 6, … 20), FROM..TO:STEP, or a list such as 5,10,20
    #[arg(
        short = 'k',
        long,
        help_heading = "Method",
        value_name = "RANGE",
        default_value = "5..20",
        value_parser = range
    )]
    pub(crate) neighbors: Range,
    #[command(flatten)]
    pub(crate) method: MethodArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) page: PageArgs,
}

/// The inputs, and the outputs of one or more models.
#[derive(Debug, Args)]
#[command(next_help_heading = "Data")]
pub(crate) struct ModelsArgs {
    #[command(flatten)]
    pub(crate) given: InputsArgs,
    /// A model's outputs, once per model; for a classifier the values right before the softmax
    #[arg(
        long,
        required_unless_present_any = ["model", "models"],
        value_name = "[NAME=]ARRAY",
        value_parser = text()
    )]
    pub(crate) outputs: Vec<String>,
    /// A model as an ONNX file, which is run on the inputs; once per model
    #[arg(long, help_heading = "Model", value_name = "[NAME=]FILE", value_parser = text())]
    pub(crate) model: Vec<String>,
    /// More models, each as its outputs or as an ONNX file
    #[arg(value_name = "[NAME=]MODEL", value_parser = text())]
    pub(crate) models: Vec<String>,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// What to compute in addition to the score.
#[derive(Debug, Args)]
#[command(next_help_heading = "Certainty")]
pub(crate) struct CertaintyArgs {
    /// 95 % confidence interval for the SPADE score, from 100 half-samples
    #[arg(long)]
    pub(crate) interval: bool,
    /// Also compute SPADE scores to compare with: of the identity (always 1) and of the permuted baseline (the outputs, randomly permuted)
    #[arg(long)]
    pub(crate) references: bool,
    /// More numbers about the model: mean eigenvalue, distortion of random edges, trustworthiness and continuity
    #[arg(long, help_heading = "Indices")]
    pub(crate) indices: bool,
}

/// New samples against a scored model.
#[derive(Debug, Args)]
#[command(next_help_heading = "New samples")]
pub(crate) struct ReferenceArgs {
    /// Score new samples against the model in this folder (or its result.json), made with `score --out`; k, eigenpairs, graphs and distances are those of the result
    #[arg(
        long,
        value_name = "RESULT",
        conflicts_with_all = [
            "input_graph", "output_graph", "neighbors", "eigenpairs", "sketch_error", "solver", "graph", "weights",
            "connectivity", "input_metric", "output_metric", "standardize", "ties", "tolerance", "certify", "no_bounds", "seed", "interval", "references", "indices", "probe", "probe_with",
            "save_graphs", "report", "plots", "table"
        ]
    )]
    pub(crate) reference: Option<PathBuf>,
    /// The inputs of RESULT, if they have moved
    #[arg(long, value_name = "ARRAY", requires = "reference", value_parser = text())]
    pub(crate) reference_inputs: Option<String>,
    /// The outputs of RESULT, if they have moved
    #[arg(long, value_name = "ARRAY", requires = "reference", value_parser = text())]
    pub(crate) reference_outputs: Option<String>,
}

/// Numbers of neighbors, ascending, at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Range(pub(crate) Vec<usize>);

/// More points than this nobody reads; a range this long is a slip of the finger.
const MOST_POINTS: usize = 1000;

fn range(text: &str) -> Result<Range, String> {
    let expected =
        || "expected FROM..TO, FROM..TO:STEP or a list such as 5,10,20, of whole numbers from 1".to_owned();
    let number = |text: &str| match text.trim().parse::<usize>() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(expected()),
    };
    let Some((from, rest)) = text.split_once("..") else {
        let numbers = text.split(',').map(number).collect::<Result<Vec<_>, _>>()?;
        if let Some(&[before, after]) = numbers.array_windows().find(|[before, after]| before >= after) {
            return Err(format!("a list must ascend, got {after} after {before}"));
        }
        return Ok(Range(numbers));
    };
    let (to, step) = rest.split_once(':').unwrap_or((rest, "1"));
    // 5..=20 says with other signs what 5..20 says here.
    let (from, to, step) = (number(from)?, number(to.strip_prefix('=').unwrap_or(to))?, number(step)?);
    if from > to {
        return Err(format!("a range must ascend, got {from}..{to}"));
    }
    if (to - from) / step >= MOST_POINTS {
        return Err(format!("a range may have at most {MOST_POINTS} numbers"));
    }
    Ok(Range((from..=to).step_by(step).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_include_both_ends() {
        let of = |text: &str| range(text).unwrap().0;
        assert_eq!(of("5..8"), [5, 6, 7, 8]);
        assert_eq!(of("5..=8"), [5, 6, 7, 8]);
        assert_eq!(of("5..20:5"), [5, 10, 15, 20]);
        assert_eq!(of("5..19:5"), [5, 10, 15]);
        assert_eq!(of("7..7"), [7]);
        assert_eq!(of("5, 10,20"), [5, 10, 20]);
        assert_eq!(of("12"), [12]);
    }

    #[test]
    fn wrong_ranges_say_what_is_wrong() {
        for wrong in ["", "x", "5..", "..5", "0..5", "5..20:0", "5,,6", "-3..5", "5..20:5:5", "5...20"] {
            assert!(range(wrong).unwrap_err().starts_with("expected FROM..TO"), "{wrong}");
        }
        assert_eq!(range("20..5").unwrap_err(), "a range must ascend, got 20..5");
        assert_eq!(range("5,10,10").unwrap_err(), "a list must ascend, got 10 after 10");
        assert!(range("1..18446744073709551615").unwrap_err().contains("at most 1000"));
    }
}
