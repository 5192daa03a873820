//! What an experiment is, and what it leaves: NAME.json, NAME.md and NAME.svg.

use std::process::Command;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use spadework_io::output::write_bytes;
use spadework_report::{Chart, FigureFormat};

use crate::failure::Failure;
use crate::run::{PartTime, Run};
use crate::table::Table;

/// Something the paper shows, and how to make it.
#[derive(Debug)]
pub(crate) struct Experiment {
    pub(crate) name: &'static str,
    /// Where it stands in the paper.
    pub(crate) paper: &'static str,
    pub(crate) title: &'static str,
    pub(crate) run: fn(&Run) -> Result<Findings, Failure>,
}

/// What an experiment found.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Everything that the numbers depend on.
    pub(crate) settings: Value,
    pub(crate) tables: Vec<Table>,
    pub(crate) claims: Vec<Claim>,
    /// What a reader must know to judge the numbers.
    pub(crate) notes: Vec<String>,
    pub(crate) charts: Vec<Chart>,
    /// What became of every sample, so that others can compare in pairs; nothing where that was not asked.
    pub(crate) samples: Value,
    /// The networks that took part.
    networks: Vec<NetworkFacts>,
    /// The graphs that were made of samples.
    graphs: Vec<GraphFacts>,
}

/// A network that took part, and how often it is right.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct NetworkFacts {
    name: String,
    /// The images that accuracy was measured on.
    images: String,
    /// The share that is classified correctly; null where it was not measured.
    accuracy: Option<f64>,
}

/// Graphs that were made of samples. They may have grown until they were connected.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct GraphFacts {
    of: String,
    neighbors_requested: usize,
    neighbors_used: usize,
}

/// Something the paper says, and what came out here.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Claim {
    pub(crate) paper: String,
    pub(crate) here: String,
    /// Whether it holds; null where the run is too small or incomplete to tell.
    pub(crate) holds: Option<bool>,
}

impl Findings {
    pub(crate) fn new(settings: Value) -> Self {
        Self { settings, ..Self::default() }
    }

    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// Adds a network, once, with its accuracy on images.
    pub(crate) fn network(
        &mut self,
        name: impl Into<String>,
        images: impl Into<String>,
        accuracy: Option<f64>,
    ) {
        let network = NetworkFacts { name: name.into(), images: images.into(), accuracy };
        if !self.networks.contains(&network) {
            self.networks.push(network);
        }
    }

    /// Adds the k that graphs were asked for and the k that they have, once.
    pub(crate) fn graph(&mut self, of: impl Into<String>, neighbors_requested: usize, neighbors_used: usize) {
        let graph = GraphFacts { of: of.into(), neighbors_requested, neighbors_used };
        if !self.graphs.contains(&graph) {
            self.graphs.push(graph);
        }
    }

    /// Adds a claim; quick runs are too small to judge any.
    pub(crate) fn claim(
        &mut self,
        run: &Run,
        paper: impl Into<String>,
        here: impl Into<String>,
        holds: Option<bool>,
    ) {
        let holds = holds.filter(|_| !run.is_quick());
        self.claims.push(Claim { paper: paper.into(), here: here.into(), holds });
    }
}

/// The layout of NAME.json.
#[derive(Debug, Serialize)]
struct Document<'a> {
    schema: &'static str,
    experiment: &'a str,
    paper: &'a str,
    title: &'a str,
    /// `full`, or `quick`: small enough for a laptop, and too small to judge a claim.
    size: &'a str,
    /// Whether every part was reached in the time given.
    complete: bool,
    seed: u64,
    device: &'a str,
    threads: usize,
    settings: &'a Value,
    /// Networks that took part, with their accuracy.
    networks: &'a [NetworkFacts],
    /// The k of graphs, as requested and as used.
    graphs: &'a [GraphFacts],
    tables: &'a [Table],
    claims: &'a [Claim],
    notes: &'a [String],
    #[serde(skip_serializing_if = "Value::is_null")]
    samples: &'a Value,
    /// Wall time of this call.
    seconds: f64,
    /// Wall time of every part, those included that earlier calls made.
    parts: &'a [PartTime],
    version: &'a str,
    /// The commit of the checkout that the program was built in, with `-dirty` where code differs from it; null outside of one.
    revision: Option<String>,
    /// The instruction set of the kernels.
    kernels: String,
}

/// Writes the three files, and one more SVG for every further chart.
pub(crate) fn write(
    run: &Run,
    experiment: &Experiment,
    findings: &Findings,
    took: Duration,
) -> Result<(), Failure> {
    let parts = run.part_times();
    let document = Document {
        schema: "spadework.experiment/1",
        experiment: experiment.name,
        paper: experiment.paper,
        title: experiment.title,
        size: if run.is_quick() { "quick" } else { "full" },
        complete: run.is_complete(),
        seed: run.seed(),
        device: run.compute().name(),
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        settings: &findings.settings,
        networks: &findings.networks,
        graphs: &findings.graphs,
        tables: &findings.tables,
        claims: &findings.claims,
        notes: &findings.notes,
        samples: &findings.samples,
        seconds: took.as_secs_f64(),
        parts: &parts,
        version: env!("CARGO_PKG_VERSION"),
        revision: revision(),
        kernels: spadework::kernels::Kernels::in_use().to_string(),
    };
    let file = |ending: &str| run.out().join(format!("{}{ending}", experiment.name));
    let json = serde_json::to_string_pretty(&document).expect("words and numbers can be written as JSON");
    write_bytes(&file(".json"), (json + "\n").as_bytes())?;
    write_bytes(&file(".md"), markdown(&document).as_bytes())?;
    for (at, chart) in findings.charts.iter().enumerate() {
        let ending = if at == 0 { ".svg".to_owned() } else { format!("-{}.svg", chart.name) };
        write_bytes(&file(&ending), &chart.file(FigureFormat::Svg)?)?;
    }
    Ok(())
}

/// The commit that the program was built from, as far as the checkout it lies in can tell when it runs: a build outside of one
/// needs nothing. Results and pages that differ are no other program.
fn revision() -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(["-C", env!("CARGO_MANIFEST_DIR")]).args(arguments).output();
        let output = output.ok().filter(|output| output.status.success())?;
        Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changed = git(&[
        "status",
        "--porcelain",
        "--",
        ":/Cargo.toml",
        ":/Cargo.lock",
        ":/crates",
        ":/experiments/Cargo.toml",
        ":/experiments/src",
    ])?;
    Some(if changed.is_empty() { commit } else { commit + "-dirty" })
}

fn markdown(document: &Document<'_>) -> String {
    let mut text = format!("# {}: {}\n\n", document.paper, document.title);
    if document.size == "quick" {
        text += "**A quick run: it shows that the experiment works, and is too small to judge a claim.**\n\n";
    }
    if !document.complete {
        text += "**Incomplete: the time given was over before every part was reached, or another call was at it; run again to go on.**\n\n";
    }
    for table in document.tables {
        text += &format!("{}\n\n{}\n", table.caption, table.markdown());
    }
    if !document.claims.is_empty() {
        let mut claims = Table::new("", ["the paper says", "here", "holds"]);
        for claim in document.claims {
            let holds = claim.holds.map_or_else(|| "cannot tell".into(), Value::from);
            claims.row(vec![claim.paper.clone().into(), claim.here.clone().into(), holds]);
        }
        text += &format!("{}\n", claims.markdown());
    }
    for note in document.notes {
        text += &format!("- {note}\n");
    }
    let seconds: f64 = document.parts.iter().map(|part| part.seconds).sum();
    text += &format!(
        "\nSeed {}, device {}, {} threads, {:.0} s in all parts. Settings: `{}`\n",
        document.seed,
        document.device,
        document.threads,
        seconds.max(document.seconds),
        document.settings
    );
    text
}
