//! `spadework compare`: many models on one input graph.

use std::path::Path;

use spadework::pipeline::{ComparedModel, Comparison, SUBSAMPLES, intervals, permuted_score};
use spadework::threads::with_threads;
use spadework::{ModelSet, Samples, compare};
use spadework_document::comparison::{CompareDocument, ModelDocument};
use spadework_document::result::{IntervalDocument, ReferencesDocument};
use spadework_io::output::{Column, write_bytes, write_npy};
use spadework_io::{Dataset, Labels};
use spadework_probe::SampleFacts;
use spadework_report::{ComparedModels, SampleColumns, comparison_charts, comparison_page};

use super::score::tell_what_subsamples_needed;
use crate::args::TableFormat;
use crate::args_many::CompareArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::models::LoadedModels;
use crate::pages::{Places, inputs_of, this_call};
use crate::probing::{self, Probing, Shown};
use crate::render::json;
use crate::run::{ResultFolder, label_text, tell_of_given_pieces, tell_of_guesses, tell_what_was_missed};
use crate::stored::command_line;
use crate::{render_many, tables};

pub(crate) fn run(args: &CompareArgs) -> Result<(), Failure> {
    let params = args.method.params(args.neighbors);
    params.check()?;
    check_sense(args)?;
    let folder = ResultFolder::from_args(&args.output, &[])?;
    let places = Places::from_args(&args.page)?;
    let console = Console::new(&args.output);
    let loaded = LoadedModels::from_args(&args.models, &args.method, &args.corruption, console)?;
    let labels = loaded.labels(args.labels.as_deref())?;
    let models = loaded.set()?;
    loaded.tell_what_outputs_look_like(&models, console);
    for model in models.models() {
        if let Some(file) = loaded.file(&model.name) {
            let checked = args.probe.check_outputs(&file.file, model.outputs.dim());
            checked.map_err(|failure| failure.about_model(&model.name))?;
        }
    }
    let comparison = compare(&models, &params, &console.monitor())
        .map_err(|error| Failure::of_evaluation(error, &params))?;
    tell_what_was_done(&comparison, console);
    let probes = probe(args, &loaded, labels.as_ref(), &comparison, console)?;
    let probed: Vec<_> = probes.iter().map(|shown| shown.as_ref().map(|shown| &shown.probed)).collect();
    let facts = SampleFacts::of_comparison(&comparison, &models, labels.as_ref().map(Labels::ids), &probed)?;
    let mut document = CompareDocument::new(&comparison, &facts, labels.as_ref(), args.top)?;
    for (model, shown) in document.models.iter_mut().zip(&probes) {
        model.file = loaded.file(&model.name).cloned();
        model.beside.probe = shown.as_ref().map(|shown| shown.document.clone());
        tell_of_guesses(&model.beside, model.output_dim, &format!("model `{}`: ", model.name), console);
    }
    document.corruption.clone_from(&loaded.corruption);
    add_certainty(args, &models, &comparison, console, &mut document)?;
    add_indices(args, &models, &comparison, console, &mut document)?;
    if let Some(folder) = folder {
        document.command = Some(command_line());
        document.data = loaded.remembered(args.labels.as_deref(), &comparison)?;
        let samples =
            SamplesOfAll { comparison: &comparison, labels: labels.as_ref(), facts: &facts, probes: &probes };
        write(&folder, &document, &samples)?;
        folder.commit()?;
    }
    let outputs: Vec<&Samples<'_>> =
        comparison.models.iter().map(|model| &models.models()[model.given].outputs).collect();
    let inputs = loaded.input_array().map(Dataset::samples).transpose()?;
    let compared = ComparedModels {
        document: &document,
        comparison: &comparison,
        labels: labels.as_ref(),
        inputs: loaded.input_array().zip(inputs.as_ref()).map(|(data, inputs)| inputs_of(data, inputs)),
        outputs: &outputs,
        columns: &facts.iter().map(SampleColumns::from).collect::<Vec<_>>(),
    };
    write_page(args, places, &compared, console)?;
    if args.output.json {
        Console::data(&json(&document))
    } else {
        Console::data(&render_many::comparison(&document))
    }
}

/// The page and the figures, where asked for.
fn write_page(
    args: &CompareArgs,
    places: Places<'_>,
    compared: &ComparedModels<'_>,
    console: Console,
) -> Result<(), Failure> {
    let monitor = console.monitor();
    with_threads(args.method.general.threads, || {
        let page = || comparison_page(compared, &this_call(), &monitor);
        places.write(page, || Ok(comparison_charts(compared.document)))
    })
}

/// An interval needs samples to draw from, a graph of probes copies that are noise.
fn check_sense(args: &CompareArgs) -> Result<(), Failure> {
    args.probe.check()?;
    if args.certainty.interval && args.models.input_graph.is_some() {
        return Err(Failure::usage(
            "--interval draws from the samples of both sides, but --input-graph is given in place of the inputs",
        ));
    }
    Ok(())
}

/// What a reader of the scores must know, beside them.
fn tell_what_was_done(comparison: &Comparison, console: Console) {
    let shared = &comparison.models[0].report.diagnostics;
    tell_what_was_missed("inputs", shared.input_recall, console);
    for model in &comparison.models {
        let whose = format!("outputs of `{}`", model.name);
        tell_what_was_missed(&whose, model.report.diagnostics.output_recall, console);
    }
    let connection = shared.connection;
    let apart = comparison.models.iter().filter(|model| {
        let output = model.report.diagnostics.connection.output;
        output.components_found > 1
    });
    let apart: Vec<String> = apart.map(|model| format!("`{}`", model.name)).collect();
    let given = shared.input_graph.given;
    if given {
        tell_of_given_pieces(connection.input.components_found, console);
    }
    let input = (!given && connection.input.components_found > 1).then(|| "the inputs".to_owned());
    let apart: Vec<String> = input.into_iter().chain(apart).collect();
    if apart.is_empty() {
        return;
    }
    let graphs = apart.join(", ");
    if connection.used > connection.requested {
        console.note(&format!(
            "{} neighbors leave graphs in pieces ({graphs}); {} neighbors connect every graph and are used for all models",
            connection.requested, connection.used
        ));
    } else {
        console.note(&format!(
            "bridges join what {} neighbors leave in pieces ({graphs})",
            connection.requested
        ));
    }
}

/// Intervals and reference points, where asked for.
fn add_certainty(
    args: &CompareArgs,
    models: &ModelSet<'_>,
    comparison: &Comparison,
    console: Console,
    document: &mut CompareDocument,
) -> Result<(), Failure> {
    let monitor = console.monitor();
    let params = args.method.params(args.neighbors).with_neighbors(document.neighbors.used);
    if args.certainty.references {
        for (model, compared) in document.models.iter_mut().zip(&comparison.models) {
            let permuted = permuted_score(&compared.report.graphs, &params, &monitor)
                .map_err(|error| error.in_model(&compared.name))?;
            model.beside.references = Some(ReferencesDocument { identity: 1.0, permuted });
        }
    }
    if args.certainty.interval {
        let mut scores = vec![0.0; comparison.models.len()];
        for model in &comparison.models {
            scores[model.given] = model.report.model_score.0;
        }
        let found = intervals(models, &scores, SUBSAMPLES, &params, &monitor)?;
        tell_what_subsamples_needed(found.grown, document.neighbors.used, console);
        let given = |at: usize| comparison.models[at].given;
        for (at, model) in document.models.iter_mut().enumerate() {
            model.beside.interval = Some(IntervalDocument::of(&found, given(at)));
        }
        for (pair, compared) in document.agreement.iter_mut().zip(&comparison.agreement) {
            pair.subsamples_in_order = Some(found.part_in_order(given(compared.a), given(compared.b)));
        }
    }
    Ok(())
}

/// The indices of every model, where asked for.
fn add_indices(
    args: &CompareArgs,
    models: &ModelSet<'_>,
    comparison: &Comparison,
    console: Console,
    document: &mut CompareDocument,
) -> Result<(), Failure> {
    if !args.certainty.indices {
        return Ok(());
    }
    let monitor = console.monitor();
    for (model, compared) in document.models.iter_mut().zip(&comparison.models) {
        model.beside.indices = Some(compared.indices(models, &monitor)?.into());
    }
    Ok(())
}

/// What perturbed copies show of every model that is a file, in the order of the comparison, where asked for.
fn probe(
    args: &CompareArgs,
    loaded: &LoadedModels<'_>,
    labels: Option<&Labels>,
    comparison: &Comparison,
    console: Console,
) -> Result<Vec<Option<Shown>>, Failure> {
    let params = args.method.params(args.neighbors);
    let options = args.models.run.options();
    let Some(probing) = Probing::from_args(&args.probe, loaded.input_array(), options, &params, console)
    else {
        return Ok(comparison.models.iter().map(|_| None).collect());
    };
    let shown = |model: &ComparedModel| {
        let Some(file) = loaded.file(&model.name) else {
            console.note(&format!("model `{}` is given by its outputs, and is not probed", model.name));
            return Ok(None);
        };
        let shown = probing.run(&file.file, labels, args.top);
        shown.map(Some).map_err(|failure| failure.about_model(&model.name))
    };
    comparison.models.iter().map(shown).collect()
}

/// What is known of the samples by every model; lists are in the order of the comparison.
struct SamplesOfAll<'a> {
    comparison: &'a Comparison,
    labels: Option<&'a Labels>,
    facts: &'a [SampleFacts],
    probes: &'a [Option<Shown>],
}

/// result.json, and the tables of models, of pairs of models and of samples.
fn write(
    folder: &ResultFolder<'_>,
    document: &CompareDocument,
    samples: &SamplesOfAll<'_>,
) -> Result<(), Failure> {
    let (path, formats) = (folder.path(), folder.tables());
    write_bytes(&path.join("result.json"), json(document).as_bytes())?;
    write_models(path, formats, document)?;
    write_agreement(path, formats, document)?;
    write_nodes(path, formats, samples)
}

fn write_models(path: &Path, formats: &[TableFormat], document: &CompareDocument) -> Result<(), Failure> {
    let of = |value: fn(&ModelDocument) -> f64| -> Vec<f64> { document.models.iter().map(value).collect() };
    let ranks: Vec<i64> = (1..=document.models.len() as i64).collect();
    let names: Vec<String> = document.models.iter().map(|model| model.name.clone()).collect();
    let scores = of(|model| model.model_score);
    let lower = of(|model| model.enclosure.lower);
    let upper = of(|model| model.enclosure.upper);
    let accuracies = of(|model| model.beside.accuracy.unwrap_or(f64::NAN));
    let overlaps = of(|model| model.beside.edge_overlap.unwrap_or(f64::NAN));
    let interval_lower = of(|model| model.beside.interval.map_or(f64::NAN, |interval| interval.lower));
    let interval_upper = of(|model| model.beside.interval.map_or(f64::NAN, |interval| interval.upper));
    let permuted = of(|model| model.beside.references.map_or(f64::NAN, |references| references.permuted));
    let robust =
        of(|model| model.beside.probe.as_ref().and_then(|probe| probe.robust_accuracy).unwrap_or(f64::NAN));
    let stability = of(|model| model.beside.probe.as_ref().map_or(f64::NAN, |probe| probe.stability));
    let held = of(|model| model.beside.probe.as_ref().map_or(f64::NAN, |probe| probe.held));
    let columns = [
        ("rank", Column::I64(&ranks)),
        ("name", Column::Utf8(&names)),
        ("model_score", Column::F64(&scores)),
        ("enclosure_lower", Column::F64(&lower)),
        ("enclosure_upper", Column::F64(&upper)),
        ("accuracy", Column::F64(&accuracies)),
        ("edge_overlap", Column::F64(&overlaps)),
        ("interval_lower", Column::F64(&interval_lower)),
        ("interval_upper", Column::F64(&interval_upper)),
        ("permuted", Column::F64(&permuted)),
        ("robust_accuracy", Column::F64(&robust)),
        ("held", Column::F64(&held)),
        ("stability", Column::F64(&stability)),
    ];
    tables::write(path, "models", formats, &columns)
}

fn write_agreement(path: &Path, formats: &[TableFormat], document: &CompareDocument) -> Result<(), Failure> {
    let pairs = &document.agreement;
    let a: Vec<String> = pairs.iter().map(|pair| pair.a.clone()).collect();
    let b: Vec<String> = pairs.iter().map(|pair| pair.b.clone()).collect();
    let top: Vec<i64> = pairs.iter().map(|pair| pair.top as i64).collect();
    let overlap: Vec<f64> = pairs.iter().map(|pair| pair.overlap).collect();
    let spearman: Vec<f64> = pairs.iter().map(|pair| pair.spearman.unwrap_or(f64::NAN)).collect();
    let kendall: Vec<f64> = pairs.iter().map(|pair| pair.kendall.unwrap_or(f64::NAN)).collect();
    let in_order: Vec<f64> = pairs.iter().map(|pair| pair.subsamples_in_order.unwrap_or(f64::NAN)).collect();
    let columns = [
        ("a", Column::Utf8(&a)),
        ("b", Column::Utf8(&b)),
        ("top", Column::I64(&top)),
        ("overlap", Column::F64(&overlap)),
        ("spearman", Column::F64(&spearman)),
        ("kendall", Column::F64(&kendall)),
        ("subsamples_in_order", Column::F64(&in_order)),
    ];
    tables::write(path, "agreement", formats, &columns)
}

/// A sample a row, columns of every model, most robust model first.
fn write_nodes(path: &Path, formats: &[TableFormat], all: &SamplesOfAll<'_>) -> Result<(), Failure> {
    let models = &all.comparison.models;
    let samples = models[0].report.graphs.nodes();
    let indices: Vec<i64> = (0..samples as i64).collect();
    let words: Option<Vec<String>> =
        all.labels.map(|labels| (0..samples).map(|index| label_text(labels, index)).collect());
    let mut columns = vec![("index", Column::I64(&indices))];
    columns.extend(words.as_ref().map(|words| ("label", Column::Utf8(words))));
    let scores = models.iter().map(|model| ("score", model, model.report.node_scores.scores().to_vec()));
    let beside = models.iter().zip(all.facts).flat_map(|(model, facts)| {
        let margins = facts.margins.as_ref().map(|margins| ("margin", model, margins.values().to_vec()));
        margins.into_iter().chain([("fragility", model, facts.fragility.values().to_vec())])
    });
    let probes = models.iter().zip(all.probes).flat_map(|(model, shown)| {
        let columns = shown.as_ref().map(|shown| probing::columns(&shown.probed)).unwrap_or_default();
        columns.into_iter().map(move |(name, column)| (name, model, column))
    });
    let named: Vec<(String, Vec<f64>)> = scores
        .chain(beside)
        .chain(probes)
        .map(|(name, model, column)| (format!("{name}_{}", model.name), column))
        .collect();
    columns.extend(named.iter().map(|(name, column)| (name.as_str(), Column::F64(column))));
    tables::write(path, "nodes", formats, &columns)?;
    if formats.contains(&TableFormat::Npy) {
        let rows =
            (0..samples).flat_map(|p| models.iter().map(move |model| model.report.node_scores.scores()[p]));
        let values: Vec<f64> = rows.collect();
        write_npy(&path.join("node_scores.npy"), &[samples, models.len()], values.as_slice())?;
    }
    Ok(())
}
