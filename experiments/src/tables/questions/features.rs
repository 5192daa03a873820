//! Do node scores find the samples that attacks break, where the input graph is made of features instead of pixels? The scores of networks
//! on CIFAR-10 with input graphs of pixels, of their principal components, of the features of another network, and of their own.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spadework::graph::{Dimensions, project};
use spadework::{PairedSamples, Samples, SpadeParams, evaluate};
use spadework_nn::network::Operation;
use spadework_nn::{Frozen, Network};
use spadework_probe::Margins;
use spadework_probe::intervals::{Confidence, Estimated};
use spadework_report::figures::bars;

use super::NEIGHBORS;
use crate::data::{Images, Which};
use crate::failure::Failure;
use crate::levels::{LevelNetwork, networks};
use crate::networks::{AttackPlan, beginning, node_scores_of_first};
use crate::record::Findings;
use crate::run::Run;
use crate::statistics::{auroc, auroc_interval, mean, mean_and_deviation};
use crate::table::{Spread, Table, range};

/// Whose features stand in for pixels.
const FEATURES: &str = "nets/akamaster_resnet_cifar10__resnet20-12fca82f.onnx";
const NETS: [&str; 5] = [
    "nets/abcrown__sdp_cifar_cnn_a_adv.onnx",
    "nets/abcrown__sdp_cifar_cnn_a_mix.onnx",
    "nets/abcrown__eran_cifar_conv_small_pgd.onnx",
    "nets/abcrown__oval_cifar_base.onnx",
    "nets/abcrown__oval_cifar_wide.onnx",
];
const COMPONENTS: usize = 50;
/// Eigenpairs that node scores are made of.
const EIGENPAIRS: [usize; 3] = [1, 2, 10];

/// What an input graph is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Inputs {
    Pixels,
    Components,
    Features,
    Own,
}

impl Inputs {
    const ALL: [Self; 4] = [Self::Pixels, Self::Components, Self::Features, Self::Own];

    fn name(self) -> &'static str {
        match self {
            Self::Pixels => "pixels",
            Self::Components => "principal components of pixels",
            Self::Features => "features of another network",
            Self::Own => "its own features",
        }
    }
}

fn plan(run: &Run) -> AttackPlan {
    let (epsilon, steps, restarts) = run.size((2.0 / 255.0, 50, 2), (0.1, 5, 1));
    AttackPlan { restarts, ..AttackPlan::plain(epsilon, steps) }
}

fn attacked(run: &Run) -> usize {
    run.options().attack_images.unwrap_or(run.size(500, 200))
}

pub(super) fn settings(run: &Run) -> Value {
    json!({
        "attack": plan(run), "attacked": attacked(run), "features": FEATURES, "components": COMPONENTS,
        "eigenpairs": EIGENPAIRS, "graphs": Inputs::ALL.map(Inputs::name),
    })
}

/// What scores say of the attacked images of one network.
#[derive(Debug, Serialize, Deserialize)]
struct Areas {
    accuracy: f64,
    right: usize,
    broken: usize,
    margin: Option<Spread>,
    /// By input graph, then by number of eigenpairs; none where a graph could not be made.
    node_scores: Vec<Option<[Option<Spread>; 3]>>,
    used: Vec<Option<usize>>,
    scores: Vec<Option<f64>>,
}

/// A network, with its beginning up to the features where it has a beginning that can be read.
struct Judged {
    name: String,
    model: Frozen,
    own: Option<Frozen>,
    on: Value,
}

pub(super) fn tell(run: &Run, findings: &mut Findings) -> Result<(), Failure> {
    let test = Images::test(run, Which::Cifar10)?;
    let (features, nets) =
        if test.stand_in || run.data_file(FEATURES).is_none() { trained(run)? } else { of_others(run)? };
    let Some((source, features)) = features else { return Ok(()) };
    let mut table = Table::new(
        format!(
            "Features: area under the curve of scores for the samples that PGD breaks among the first {} that are classified correctly, with \
             95 % intervals (bootstrap over samples). Graphs are of all {} test images, k = {NEIGHBORS}; features are those of {source}.",
            attacked(run),
            test.len()
        ),
        [
            "network",
            "right",
            "broken",
            "input graph",
            "λ_1",
            "r = 1",
            "95 %",
            "r = 2",
            "95 %",
            "r = 10",
            "95 %",
            "margin",
            "95 %",
        ],
    );
    let mut by_graph = vec![Vec::new(); Inputs::ALL.len()];
    let mut margins = Vec::new();
    for net in nets {
        let settings = json!({ "network": net.on, "test": test.described(), "settings": settings(run), "seed": run.seed() });
        let found = run.part(&format!("questions/features {}", net.name), &settings, || {
            measured(run, &net, &features, &test)
        })?;
        let Some(found) = found else { continue };
        findings.network(&net.name, test.described(), Some(found.accuracy));
        margins.extend(found.margin.map(|area| area[0]));
        for (graph, areas) in found.node_scores.iter().enumerate() {
            let Some(areas) = areas else { continue };
            if let Some(used) = found.used[graph] {
                findings.graph(
                    format!("features, {}, {}", net.name, Inputs::ALL[graph].name()),
                    NEIGHBORS,
                    used,
                );
            }
            let mut row = vec![
                json!(net.name),
                json!(found.right),
                json!(found.broken),
                json!(Inputs::ALL[graph].name()),
            ];
            row.push(json!(found.scores[graph]));
            for area in areas.iter().chain([&found.margin]) {
                row.extend([json!(area.map(|area| area[0])), area.map_or(Value::Null, range)]);
            }
            table.row(row);
            by_graph[graph].extend(areas[1].map(|area| area[0]));
        }
    }
    let means: Vec<(String, f64)> = Inputs::ALL
        .iter()
        .zip(&by_graph)
        .filter_map(|(graph, areas)| Some((graph.name().to_owned(), mean(areas)?)))
        .chain(mean(&margins).map(|area| ("margin, for comparison".to_owned(), area)))
        .collect();
    if let (Some(pixels), Some(features)) = (mean(&by_graph[0]), mean(&by_graph[2])) {
        let differences: Vec<f64> =
            by_graph[2].iter().zip(&by_graph[0]).map(|(features, pixels)| features - pixels).collect();
        let (difference, deviation) = mean_and_deviation(&differences).unwrap_or((f64::NAN, f64::NAN));
        let error = deviation / (differences.len() as f64).sqrt();
        let Estimated { lower, upper, .. } =
            Estimated::with_standard_error(difference, error, differences.len(), Confidence::TwoSided);
        findings.claim(
            run,
            "(question) node scores with an input graph of features find weak samples better than with pixels",
            format!(
                "mean area {features:.2} against {pixels:.2} (r = 2), a difference of {difference:+.3} (95 %: {lower:+.3} to {upper:+.3}, paired, {} \
                 networks); margin {:.2}",
                differences.len(),
                mean(&margins).unwrap_or(f64::NAN)
            ),
            (run.is_complete() && (lower > 0.0 || upper < 0.0)).then_some(lower > 0.0),
        );
    }
    findings.charts.push(bars("features", "Mean area under the curve by input graph, r = 2", &means));
    findings.tables.push(table);
    Ok(())
}

type Nets = (Option<(String, Frozen)>, Vec<Judged>);

/// Networks of others on CIFAR-10.
fn of_others(run: &Run) -> Result<Nets, Failure> {
    let needs = |file: &str| Failure::Needs { files: file.to_owned() };
    let source = run.data_file(FEATURES).ok_or_else(|| needs(FEATURES))?;
    let features = before_last(run, &Network::load(&source)?)?.ok_or_else(|| Failure::File {
        path: source,
        reason: "expected a linear layer at the end".to_owned(),
    })?;
    let mut nets = Vec::new();
    for file in &NETS[..run.size(NETS.len(), 1)] {
        let path = run.data_file(file).ok_or_else(|| needs(file))?;
        // A file that is only run as a graph has no layers to stop after.
        let own = Network::load(&path).ok().map(|network| before_last(run, &network)).transpose()?.flatten();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        nets.push(Judged { name, model: Frozen::load(&path, run.compute())?, own, on: json!(file) });
    }
    Ok((Some(("ResNet-20 before its last layer (64 numbers)".to_owned(), features)), nets))
}

/// Networks trained here; the features of all are those of the first.
fn trained(run: &Run) -> Result<Nets, Failure> {
    let mut nets = Vec::new();
    let mut features = None;
    for LevelNetwork { name, network, recipe } in networks(run, Which::Cifar10)? {
        let own = before_last(run, &network)?;
        if features.is_none() {
            features = own.clone().map(|own| (format!("{name}, before its last layer"), own));
        }
        nets.push(Judged { name, model: Frozen::new(&network, run.compute()), own, on: recipe });
    }
    Ok((features, nets))
}

/// A network without its last linear layer.
fn before_last(run: &Run, network: &Network) -> Result<Option<Frozen>, Failure> {
    let last = network.layers().iter().rposition(|layer| matches!(layer.operation, Operation::Linear));
    let Some(end) = last.filter(|&last| last > 0) else { return Ok(None) };
    Ok(Some(Frozen::new(&beginning(network, end - 1)?, run.compute())))
}

fn measured(run: &Run, net: &Judged, features: &Frozen, test: &Images) -> Result<Areas, Failure> {
    let examples = test.first(attacked(run));
    let report = plan(run).run(run, &net.model, &examples)?;
    let right: Vec<usize> = (0..examples.len()).filter(|&at| report.outcomes[at].clean()).collect();
    let broken: Vec<bool> = right.iter().map(|&at| report.outcomes[at].broken.is_some()).collect();
    let area = |scores: &[f64]| -> Option<Spread> {
        let scores: Vec<f64> = right.iter().map(|&at| scores[at]).collect();
        let (low, high) = auroc_interval(&scores, &broken, run.seed())?;
        Some([auroc(&scores, &broken)?, low, high])
    };
    let outputs =
        Samples::from_f32(test.len(), net.model.classes(), net.model.outputs(test.examples.samples())?)?;
    let margins =
        Margins::of(&outputs, None)?.map(|margins| margins.values().iter().map(|m| -m).collect::<Vec<f64>>());
    let mut found = Areas {
        accuracy: net.model.accuracy(&test.examples)?,
        right: right.len(),
        broken: broken.iter().filter(|&&broken| broken).count(),
        margin: margins.and_then(|margins| area(&margins)),
        node_scores: Vec::new(),
        used: Vec::new(),
        scores: Vec::new(),
    };
    for graph in Inputs::ALL {
        let Some(inputs) = inputs(run, net, features, test, graph)? else {
            found.node_scores.push(None);
            found.used.push(None);
            found.scores.push(None);
            continue;
        };
        let most = EIGENPAIRS[EIGENPAIRS.len() - 1];
        let params =
            SpadeParams::default().with_neighbors(NEIGHBORS).with_eigenpairs(most).with_seed(run.seed());
        let report = evaluate(&PairedSamples::new(inputs, outputs.view())?, &params, run.monitor())?;
        found.node_scores.push(Some(EIGENPAIRS.map(|r| area(&node_scores_of_first(&report, r)))));
        found.used.push(Some(report.diagnostics.connection.used));
        found.scores.push(Some(report.model_score.0));
    }
    Ok(found)
}

/// What the input graph is made of; none where a network has no such thing.
fn inputs<'a>(
    run: &Run,
    net: &Judged,
    features: &Frozen,
    test: &'a Images,
    graph: Inputs,
) -> Result<Option<Samples<'a>>, Failure> {
    let of = |model: &Frozen| -> Result<Samples<'a>, Failure> {
        let values = model.outputs(test.examples.samples())?;
        Ok(Samples::from_f32(test.len(), values.len() / test.len(), values)?)
    };
    Ok(Some(match graph {
        Inputs::Pixels => test.samples()?,
        Inputs::Components => {
            let most = COMPONENTS.min(test.examples.size() / 2);
            let projected = project(&test.samples()?, Dimensions::Count(most), run.monitor())?;
            Samples::from_f64(test.len(), most, projected.samples().values().all_doubles().to_vec())?
        }
        Inputs::Features => of(features)?,
        Inputs::Own => match &net.own {
            Some(own) => of(own)?,
            None => return Ok(None),
        },
    }))
}
