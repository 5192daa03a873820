//! Scores of samples against what attacks break, as tables.

use serde_json::{Value, json};

use super::net::Net;
use super::samples::{FRAGILITY, MARGIN, PROBED_FRAGILITY};
use super::{TOP, all_scores, sizes};
use crate::data::Which;
use crate::record::Findings;
use crate::statistics::{auroc, mean, precision_at};
use crate::table::Table;

/// Images that must break and that must hold for an area to enter a mean.
const LEAST_IMAGES: usize = 10;

/// A network under attacks of one size: how well every score tells what they break.
pub(super) struct Case {
    network: String,
    size: &'static str,
    images: usize,
    broken: usize,
    /// In the order of the scores.
    areas: Vec<Option<f64>>,
    precisions: Vec<Option<f64>>,
    runs: Vec<u64>,
    seconds: Vec<f64>,
}

impl Case {
    pub(super) fn all(which: Which, nets: &[Net]) -> Vec<Self> {
        let of_net =
            |net| sizes(which).iter().enumerate().map(move |(at, size)| Self::new(net, at, size.name));
        nets.iter().flat_map(of_net).collect()
    }

    fn new(net: &Net, at: usize, size: &'static str) -> Self {
        let (broken, scores) = (net.evidence.broken(at), net.evidence.scores(at));
        Self {
            network: net.name.clone(),
            size,
            images: broken.len(),
            broken: broken.iter().filter(|&&broken| broken).count(),
            areas: scores.iter().map(|score| auroc(&score.value, &broken)).collect(),
            precisions: scores.iter().map(|score| precision_at(&score.value, &broken, TOP)).collect(),
            runs: scores.iter().map(|score| score.cost.runs).collect(),
            seconds: scores.iter().map(|score| score.cost.seconds).collect(),
        }
    }

    /// Whether enough images break and hold.
    fn tells(&self) -> bool {
        self.broken.min(self.images - self.broken) >= LEAST_IMAGES
    }
}

/// The mean area of every score, over the cases that tell something.
pub(super) fn means(cases: &[Case]) -> Vec<(&'static str, Option<f64>)> {
    let telling: Vec<&Case> = cases.iter().filter(|case| case.tells()).collect();
    all_scores().into_iter().enumerate().map(|(score, name)| (name, mean_area(&telling, score))).collect()
}

fn mean_area(cases: &[&Case], score: usize) -> Option<f64> {
    mean(&cases.iter().filter_map(|case| case.areas[score]).collect::<Vec<f64>>())
}

pub(super) fn tell(which: Which, cases: &[Case], findings: &mut Findings) {
    let telling: Vec<&Case> = cases.iter().filter(|case| case.tells()).collect();
    findings.tables.push(every_case(which, cases));
    findings.tables.push(by_network(which, &telling));
    findings.tables.push(by_score(which, &telling));
    for score in [FRAGILITY, PROBED_FRAGILITY] {
        let behind = telling.iter().filter(|case| case.areas[score] <= case.areas[MARGIN]);
        let behind: Vec<String> = behind.map(|case| format!("{} at {}", case.network, case.size)).collect();
        let behind = if behind.is_empty() { "none".to_owned() } else { behind.join(", ") };
        let (data, name) = (which.title(), all_scores()[score]);
        findings.note(format!("{data}: {name} is not above the margin for: {behind}."));
    }
}

fn every_case(which: Which, cases: &[Case]) -> Table {
    let header = ["network", "size", "images", "broken"].map(str::to_owned).into_iter();
    let header = header.chain(all_scores().into_iter().map(str::to_owned));
    let header = header.chain(all_scores().into_iter().map(|name| format!("first {TOP}: {name}")));
    let caption = format!(
        "{}: area under the curve of each score of samples, broken against holding, and the share of broken ones among the \
         {TOP} highest.",
        which.title()
    );
    let mut table = Table::new(caption, header);
    for case in cases {
        let mut row = vec![json!(case.network), json!(case.size), json!(case.images), json!(case.broken)];
        row.extend(case.areas.iter().chain(&case.precisions).map(|value| json!(value)));
        table.row(row);
    }
    table
}

fn by_network(which: Which, telling: &[&Case]) -> Table {
    let caption = format!(
        "{}: mean area by network, over the sizes at which at least {LEAST_IMAGES} images break and {LEAST_IMAGES} hold.",
        which.title()
    );
    let mut table = Table::new(caption, ["network", "sizes"].into_iter().chain(all_scores()));
    for of_network in telling.chunk_by(|a, b| a.network == b.network) {
        let areas = (0..all_scores().len()).map(|score| json!(mean_area(of_network, score)));
        table.row([json!(of_network[0].network), json!(of_network.len())].into_iter().chain(areas).collect());
    }
    table
}

fn by_score(which: Which, telling: &[&Case]) -> Table {
    let caption = format!("{}: the mean over the same networks and sizes.", which.title());
    let mut table =
        Table::new(caption, ["score", "area", "least", "cases", "above the margin", "runs", "seconds"]);
    for (score, name) in all_scores().into_iter().enumerate() {
        let above = telling.iter().filter(|case| case.areas[score] > case.areas[MARGIN]).count();
        let runs: Vec<f64> = telling.iter().map(|case| case.runs[score] as f64).collect();
        let seconds: Vec<f64> = telling.iter().map(|case| case.seconds[score]).collect();
        let least = telling.iter().filter_map(|case| case.areas[score]).reduce(f64::min);
        let above = if score == MARGIN { Value::Null } else { json!(above) };
        table.row(vec![
            json!(name),
            json!(mean_area(telling, score)),
            json!(least),
            json!(telling.len()),
            above,
            json!(mean(&runs).map(|runs| runs.round() as u64)),
            json!(mean(&seconds)),
        ]);
    }
    table
}
