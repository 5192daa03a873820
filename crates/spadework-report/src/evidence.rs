//! Numbers about a model, each with how well it tracks accuracy under attack.
//!
//! The sentences are those of docs/what-the-scores-mean.md, which has the measurements. A test compares the two.

use spadework::scores::Spread;
use spadework_document::estimates::{EstimatesDocument, ShareDocument};
use spadework_document::facts::FactsDocument;
use spadework_document::probe::{MovedDocument, OutputChangeDocument, ProbeDocument};
use spadework_document::score::{IntervalDocument, ScoreDocument};
use spadework_document::variants::{FlippedDocument, VariantsDocument};
use spadework_document::words::{counted, grouped, percent, share_with_range, short};

use crate::page::{Table, TableCell};

/// A number about a model.
struct Number {
    name: &'static str,
    /// As text; none if it is not known.
    of: fn(&FactsDocument) -> Option<TableCell>,
    evidence: &'static str,
    /// Whether models are ranked by it, or could be.
    ranks: bool,
}

impl Number {
    /// The same with its interval, where it is a share of samples.
    fn share(&self, known: &EstimatesDocument) -> Option<ShareDocument> {
        match self.name {
            "accuracy" => known.accuracy,
            "estimated robust accuracy" => known.robust_accuracy,
            "survived" => known.survived,
            "neighborhood overlap" => known.overlap,
            _ => None,
        }
    }
}

const NUMBERS: [Number; 15] = [
    Number {
        name: "accuracy",
        of: |facts| facts.accuracy.map(TableCell::share),
        evidence: "Predicts robustness to small attacks only, and only among networks trained against attacks.",
        ranks: true,
    },
    Number {
        name: "estimated robust accuracy",
        of: |facts| facts.probe.as_ref()?.robust_accuracy.map(TableCell::share),
        evidence: "Tracks accuracy under attack more closely than any other number, in the same unit: 0.3 to 1.4 points off on average in L∞, 1.3 to 4.1 in L2.",
        ranks: true,
    },
    Number {
        name: "survived",
        of: |facts| facts.probe.as_ref().map(|probe| TableCell::share(probe.survived)),
        evidence: "An upper bound of what the strongest attack of this size leaves.",
        ranks: true,
    },
    Number {
        name: "stability",
        of: |facts| facts.probe.as_ref().map(|probe| TableCell::share(probe.stability)),
        evidence: "Ranks networks less well than the estimate, and cannot be compared with an attack radius.",
        ranks: true,
    },
    Number {
        name: "margin ratio",
        of: |facts| facts.probe.as_ref()?.margin_ratio.map(TableCell::number),
        evidence: "Costs a third of a search or less: good enough to rank networks on MNIST, but not reliable elsewhere.",
        ranks: true,
    },
    Number {
        name: "change of output",
        of: |facts| facts.output_change.as_ref().map(|change| TableCell::number(change.median)),
        evidence: "For regressors, smaller is more robust: a lower bound of what an attack of this size can do, in standard deviations of the targets or the outputs.",
        ranks: true,
    },
    Number {
        name: "unevenness",
        of: |facts| facts.unevenness.map(TableCell::number),
        evidence: "Smaller is more robust: of the numbers that need only arrays, the most consistent over data sets and sizes, but only a rough guide.",
        ranks: true,
    },
    Number {
        name: "neighborhood overlap",
        of: |facts| facts.overlap.map(TableCell::share),
        evidence: "Larger is more robust: between different networks, it tracks accuracy under larger attacks more closely than the SPADE score does.",
        ranks: true,
    },
    Number {
        name: "trustworthiness",
        of: |facts| Some(TableCell::number(facts.indices?.neighborhoods?.trustworthiness)),
        evidence: "Larger is more robust: as good as the neighborhood overlap.",
        ranks: true,
    },
    Number {
        name: "continuity",
        of: |facts| Some(TableCell::number(facts.indices?.neighborhoods?.continuity)),
        evidence: "Larger is more robust: less reliable than trustworthiness and neighborhood overlap.",
        ranks: true,
    },
    Number {
        name: "mean distortion, hops",
        of: |facts| Some(TableCell::number(facts.indices?.geodesic.mean)),
        evidence: "Smaller is more robust: as good as the neighborhood overlap on MNIST, no better than the SPADE score on CIFAR-10.",
        ranks: true,
    },
    Number {
        name: "mean distortion, resistance",
        of: |facts| Some(TableCell::number(facts.indices?.resistance?.mean)),
        evidence: "Smaller is more robust: no better than the SPADE score.",
        ranks: true,
    },
    Number {
        name: "mean eigenvalue",
        of: |facts| Some(TableCell::number(facts.indices?.mean_eigenvalue.value)),
        evidence: "Smaller is more robust: no better than the SPADE score.",
        ranks: true,
    },
    Number {
        name: "median margin",
        of: |facts| {
            let margins = facts.margins.as_ref().filter(|margins| margins.kind == "labeled")?;
            let Spread { median, p5, .. } = margins.spread;
            Some(format!("{}; 5 % below {}", short(median), short(p5)).into())
        },
        evidence: "Depends on the scale of the outputs and does not rank networks; within one network it predicts well which samples break.",
        ranks: false,
    },
    Number {
        name: "label agreement",
        of: |facts| {
            let agreement = facts.label_agreement?;
            let (input, output) = (percent(agreement.input), percent(agreement.output));
            Some(format!("{input} of the input edges, {output} of the output edges").into())
        },
        evidence: "How many neighbors share their label. It does not measure robustness.",
        ranks: false,
    },
];

/// How well the SPADE score tracks accuracy under attack; it is not part of the facts.
const OF_THE_SCORE: &str = "Smaller is more robust: ranks networks less well than the neighborhood overlap, at every size of attack.";

/// What is known of one model: number, value, how well it tracks accuracy under attack.
pub(crate) fn numbers_table(document: &ScoreDocument) -> Table {
    let score = TableCell::number(document.spectrum.model_score);
    let score = match document.facts.interval {
        Some(IntervalDocument { lower, upper, .. }) => {
            TableCell { text: format!("{} ({} – {})", score.text, short(lower), short(upper)), ..score }
        }
        None => score,
    };
    Table {
        name: "numbers",
        caption: "All numbers of this model".to_owned(),
        header: vec!["number", "value", "how well it tracks accuracy under attack"],
        rows: [facts_table(&document.facts), vec![vec!["SPADE score".into(), score, OF_THE_SCORE.into()]]]
            .concat(),
    }
}

/// The rows of the numbers that are known.
fn facts_table(facts: &FactsDocument) -> Vec<Vec<TableCell>> {
    let row = |known: &Number| {
        let value = (known.of)(facts)?;
        let value = known.share(&facts.estimates).map_or(value, |share| with_interval(&share));
        Some(vec![known.name.into(), value, known.evidence.into()])
    };
    NUMBERS.iter().filter_map(row).collect()
}

/// A share with its interval and the samples that it was estimated from.
fn with_interval(share: &ShareDocument) -> TableCell {
    let text = format!("{}, {}", share_with_range(share), counted(share.n, "sample"));
    TableCell { text, exact: Some(share.estimate) }
}

/// The numbers that models are ranked by.
fn ranking() -> impl Iterator<Item = &'static Number> {
    NUMBERS.iter().filter(|known| known.ranks)
}

/// How well each number that is known of any of these models tracks accuracy under attack.
pub(crate) fn evidence_table(models: &[&FactsDocument]) -> Table {
    let is_known = |known: &&Number| models.iter().any(|facts| (known.of)(facts).is_some());
    let row = |known: &Number| vec![known.name.into(), known.evidence.into()];
    Table {
        name: "worth",
        caption: "How well the numbers track accuracy under attack".to_owned(),
        header: vec!["number", "how well it tracks accuracy under attack"],
        rows: ranking().filter(is_known).map(row).collect(),
    }
}

/// The names of the numbers, as columns of a table of models.
pub(crate) fn columns() -> impl Iterator<Item = &'static str> {
    ranking().map(|known| known.name)
}

/// The row of a model under [`columns`]; empty if a number is not known.
pub(crate) fn row(facts: &FactsDocument) -> impl Iterator<Item = TableCell> {
    ranking().map(|known| (known.of)(facts).unwrap_or_default())
}

/// A question and the number that answers it.
pub(crate) struct Answer {
    pub(crate) question: &'static str,
    pub(crate) answer: &'static str,
}

/// Which number for which question.
pub(crate) const ANSWERS: [Answer; 6] = [
    Answer {
        question: "Did training against attacks of growing size make this architecture more robust?",
        answer: "The SPADE score is a hint at most. Within one architecture it falls with ε, as the paper says, in some series and not in others.",
    },
    Answer {
        question: "Which of these different networks is most robust?",
        answer: "If you can run the models, use probes. The estimated robust accuracy tracks accuracy under attack more closely than any other number, at every size, and is in the same unit.",
    },
    Answer {
        question: "What if you cannot run the models, and only have their inputs and outputs?",
        answer: "Use the unevenness for classifiers, and the neighborhood overlap for everything else: the share of input neighbors that are output neighbors too.",
    },
    Answer {
        question: "What about small attacks?",
        answer: "No number from graphs ranks networks reliably here. Look at accuracy, and use probes.",
    },
    Answer {
        question: "Which samples are weak?",
        answer: "For a classifier, use the fragility. If outputs are single numbers or a graph, fragility is the node score, which only shows what the graphs see of a sample.",
    },
    Answer {
        question: "What a black box cannot show",
        answer: "A network that is smooth between samples, but steep in other directions, has good scores and no robustness.",
    },
];

/// What probes have shown, in words.
pub(crate) struct ProbeStory {
    pub(crate) summary: String,
    /// Which samples are listed, and why.
    pub(crate) title: &'static str,
    pub(crate) changed: Table,
    /// Samples that changed, for their pictures.
    pub(crate) samples: Vec<usize>,
}

impl ProbeStory {
    /// What probes of a classifier or of a regressor, or variants that a program of the user's made, have shown.
    pub(crate) fn of_facts(facts: &FactsDocument, name: &dyn Fn(usize) -> String) -> Option<Self> {
        let of_classes = facts.probe.as_ref().map(|probe| Self::of_classes(probe, name));
        of_classes
            .or_else(|| facts.output_change.as_ref().map(|change| Self::of_change(change, name)))
            .or_else(|| facts.variants.as_ref().map(|found| Self::of_variants(found, name)))
    }

    fn of_variants(found: &VariantsDocument, name: &dyn Fn(usize) -> String) -> Self {
        let stay = if found.accuracy.is_some() { "are classified correctly" } else { "keep their class" };
        let range = |share: &ShareDocument| {
            format!("{} ({} – {})", percent(share.estimate), percent(share.lower), percent(share.upper))
        };
        let summary = format!(
            "{} samples went through the model with {} variants each by {}, {} runs in all. A variant keeps the class of its sample in {} \
             of the cases (95 % interval). {} of the samples {stay} on every variant. {} have another class on one.",
            grouped(found.samples),
            grouped(found.variants),
            found.script,
            grouped(found.evaluations as usize),
            range(&found.kept),
            range(&found.survived),
            grouped(found.changed),
        );
        let row = |sample: &FlippedDocument| {
            vec![
                name(sample.index).into(),
                TableCell::number(sample.flips as f64),
                TableCell::number(sample.margin),
                TableCell::number(sample.probe_margin),
            ]
        };
        let title = "Samples that have another class on a variant, most often first";
        let changed = Table {
            name: "changed",
            caption: title.to_owned(),
            header: vec!["sample", "variants", "margin", "margin on the worst variant"],
            rows: found.top_changed.iter().map(row).collect(),
        };
        let samples = found.top_changed.iter().map(|sample| sample.index).collect();
        Self { summary, title, changed, samples }
    }

    fn of_classes(probe: &ProbeDocument, name: &dyn Fn(usize) -> String) -> Self {
        // Without labels nobody knows what is right.
        let (stay, right) = match probe.accuracy {
            Some(_) if probe.changed == 1 => ("are classified correctly", " that is classified correctly"),
            Some(_) => ("are classified correctly", " that are classified correctly"),
            None => ("keep their class", ""),
        };
        let estimate = probe.robust_accuracy.map_or_else(String::new, |part| {
            format!(" A stronger attack of this size would leave about {}.", percent(part))
        });
        let ProbeDocument { samples, evaluations, changed, .. } = probe;
        let summary = format!(
            "{} went through the model with {}, {} runs in all: {}. {} of them {stay} on every \
             probe. {}{right} lose{} their class on one.{estimate}",
            counted(*samples, "sample"),
            probe.probes_each(),
            grouped(*evaluations as usize),
            probe.attack(),
            percent(probe.survived),
            counted(*changed, "sample"),
            if *changed == 1 { "s" } else { "" },
        );
        let row = |sample: &spadework_document::probe::ChangedDocument| {
            vec![
                name(sample.index).into(),
                TableCell::number(sample.margin),
                TableCell::number(sample.probe_margin),
            ]
        };
        Self {
            summary,
            title: "Samples that lose their class, most certain ones first",
            changed: Table {
                name: "changed",
                caption: "Samples that lose their class on a probe, largest margin first".to_owned(),
                header: vec!["sample", "margin", "margin at the worst probe"],
                rows: probe.top_changed.iter().map(row).collect(),
            },
            samples: probe.top_changed.iter().map(|sample| sample.index).collect(),
        }
    }

    /// What probes of a regressor have shown.
    fn of_change(change: &OutputChangeDocument, name: &dyn Fn(usize) -> String) -> Self {
        let unit = change.unit.word();
        let row = |sample: &MovedDocument| vec![name(sample.index).into(), TableCell::number(sample.change)];
        Self {
            summary: format!(
                "{} went through the model with {} probes each, {} runs in all: {}. The largest change of output found is {} in the \
                 median and below {} for 95 % of them, in standard deviations of the {unit}.",
                counted(change.samples, "sample"),
                grouped(change.probes),
                grouped(change.evaluations as usize),
                change.attack(),
                short(change.median),
                short(change.p95),
            ),
            title: "Samples whose output moves most",
            changed: Table {
                name: "moved",
                caption: format!("Largest change of output found, in standard deviations of the {unit}"),
                header: vec!["sample", "change of output"],
                rows: change.top.iter().map(row).collect(),
            },
            samples: change.top.iter().map(|sample| sample.index).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Markdown as it reads: lines joined, marks and the targets of links gone.
    fn plain(markdown: &str) -> String {
        let mut text = String::new();
        let mut rest = markdown;
        while let Some(at) = rest.find("](") {
            text.push_str(&rest[..at]);
            let target = &rest[at..];
            rest = &target[target.find(')').map_or(target.len(), |end| end + 1)..];
        }
        text.push_str(rest);
        let marks = ['*', '`', '[', '|'];
        text.replace(marks, " ").split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// What a page says of its numbers is what was measured.
    #[test]
    fn pages_quote_the_documentation() {
        let documentation = plain(include_str!("../../../docs/what-the-scores-mean.md"));
        for Number { name, evidence, .. } in &NUMBERS {
            assert!(documentation.contains(&format!("{name} {evidence}")), "{name}: {evidence}");
        }
        assert!(documentation.contains(&format!("SPADE score {OF_THE_SCORE}")), "{OF_THE_SCORE}");
        for Answer { question, answer } in &ANSWERS {
            assert!(documentation.contains(question), "{question}");
            // An answer leaves out what stands between its sentences.
            for sentence in answer.trim_end_matches('.').split(". ") {
                assert!(documentation.contains(sentence), "{sentence}");
            }
        }
    }

    #[test]
    fn only_what_is_known_is_told() {
        let facts = FactsDocument { overlap: Some(0.25), ..FactsDocument::default() };
        let known: Vec<_> = facts_table(&facts);
        assert_eq!(known.len(), 1);
        assert_eq!([&known[0][0].text, &known[0][1].text], ["neighborhood overlap", "25.0 %"]);
        // With its interval and its samples, where they are known.
        let share = ShareDocument { estimate: 0.25, lower: 0.21, upper: 0.29, n: 1200, queries: None };
        let estimates = EstimatesDocument { overlap: Some(share), ..EstimatesDocument::default() };
        let known = facts_table(&FactsDocument { estimates, ..facts.clone() });
        assert_eq!(known[0][1].text, "25 % (21 – 29), 1,200 samples");
        assert_eq!(evidence_table(&[&FactsDocument::default(), &facts]).rows.len(), 1);
        assert_eq!(row(&facts).filter(|cell| !cell.text.is_empty()).count(), 1);
        assert_eq!(row(&facts).count(), columns().count());
    }
}
