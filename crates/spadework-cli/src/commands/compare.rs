//! `spadework compare`: many models on one input graph.

use std::path::Path;

use spadework::probe::Probed;
use spadework::{
    Comparison, ModelSet, SUBSAMPLES, Samples, SpadeParams, compare, intervals, permuted_score, with_threads,
};
use spadework_io::comparison::{CompareDocument, ModelDocument};
use spadework_io::output::{Column, write_bytes, write_npy};
use spadework_io::result::{IntervalDocument, ReferencesDocument};
use spadework_io::{Dataset, Labels};
use spadework_report::{ComparedModels, comparison_charts, comparison_page};

use super::score::tell_what_subsamples_needed;
use crate::args::TableFormat;
use crate::args_many::CompareArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::models::LoadedModels;
use crate::pages::{Places, inputs_of, this_call};
use crate::probing::{self, Probing};
use crate::render::json;
use crate::run::{ResultFolder, label_text, tell_of_given_pieces, tell_what_was_missed};
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
    let comparison = compare(&models, &params, &console.monitor())
        .map_err(|error| Failure::of_evaluation(error, &params))?;
    tell_what_was_done(&comparison, console);
    let mut document = CompareDocument::new(&comparison, &models, labels.as_ref(), args.top)?;
    for model in &mut document.models {
        model.file = loaded.file(&model.name).cloned();
    }
    document.corruption.clone_from(&loaded.corruption);
    add_certainty(args, &models, &comparison, console, &mut document)?;
    add_indices(args, &models, &comparison, console, &mut document)?;
    let probed = add_probes(args, &loaded, labels.as_ref(), console, &mut document)?;
    if let Some(folder) = folder {
        document.command = Some(command_line());
        document.data = loaded.remembered(args.labels.as_deref(), &comparison)?;
        write(&folder, &comparison, &document, labels.as_ref(), &probed)?;
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
        Ok(places.write(page, || Ok(comparison_charts(compared.document))))
    })?
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
    let params = SpadeParams { neighbors: document.neighbors.used, ..args.method.params(args.neighbors) };
    if args.certainty.references {
        for (model, compared) in document.models.iter_mut().zip(&comparison.models) {
            let permuted = permuted_score(&compared.report.graphs, &params, &monitor)
                .map_err(|error| error.in_model(&compared.name))?;
            model.references = Some(ReferencesDocument { identity: 1.0, permuted });
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
            model.interval = Some(IntervalDocument::of(&found, given(at)));
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
        model.indices = Some(compared.indices(models, &monitor)?.into());
    }
    Ok(())
}

/// What perturbed copies show of every model that is a file, in the order of the comparison; nothing where no probe was asked
/// for.
fn add_probes(
    args: &CompareArgs,
    loaded: &LoadedModels<'_>,
    labels: Option<&Labels>,
    console: Console,
    document: &mut CompareDocument,
) -> Result<Vec<Option<Probed>>, Failure> {
    let params = args.method.params(args.neighbors);
    let options = args.models.run.options();
    let probing = Probing::from_args(&args.probe, loaded.input_array(), options, &params, console);
    let Some(probing) = probing else { return Ok(Vec::new()) };
    let mut probed = Vec::with_capacity(document.models.len());
    for model in &mut document.models {
        let Some(file) = &model.file else {
            console.note(&format!("model `{}` is given by its outputs, and is not probed", model.name));
            probed.push(None);
            continue;
        };
        let shown = probing.run(&file.file, labels).map_err(|failure| failure.about_model(&model.name))?;
        model.probe = Some(shown.document);
        probed.push(Some(shown.probed));
    }
    Ok(probed)
}

/// result.json, and the tables of models, of pairs of models and of samples.
fn write(
    folder: &ResultFolder<'_>,
    comparison: &Comparison,
    document: &CompareDocument,
    labels: Option<&Labels>,
    probed: &[Option<Probed>],
) -> Result<(), Failure> {
    let (path, formats) = (folder.path(), folder.tables());
    write_bytes(&path.join("result.json"), json(document).as_bytes())?;
    write_models(path, formats, document)?;
    write_agreement(path, formats, document)?;
    write_nodes(path, formats, comparison, labels, probed)
}

fn write_models(path: &Path, formats: &[TableFormat], document: &CompareDocument) -> Result<(), Failure> {
    let of = |value: fn(&ModelDocument) -> f64| -> Vec<f64> { document.models.iter().map(value).collect() };
    let ranks: Vec<i64> = (1..=document.models.len() as i64).collect();
    let names: Vec<String> = document.models.iter().map(|model| model.name.clone()).collect();
    let scores = of(|model| model.model_score);
    let lower = of(|model| model.enclosure.lower);
    let upper = of(|model| model.enclosure.upper);
    let accuracies = of(|model| model.accuracy.unwrap_or(f64::NAN));
    let interval_lower = of(|model| model.interval.map_or(f64::NAN, |interval| interval.lower));
    let interval_upper = of(|model| model.interval.map_or(f64::NAN, |interval| interval.upper));
    let permuted = of(|model| model.references.map_or(f64::NAN, |references| references.permuted));
    let robust = of(|model| model.probe.as_ref().and_then(|probe| probe.robust_accuracy).unwrap_or(f64::NAN));
    let stability = of(|model| model.probe.as_ref().map_or(f64::NAN, |probe| probe.stability));
    let held = of(|model| model.probe.as_ref().map_or(f64::NAN, |probe| probe.held));
    let columns = [
        ("rank", Column::I64(&ranks)),
        ("name", Column::Utf8(&names)),
        ("model_score", Column::F64(&scores)),
        ("enclosure_lower", Column::F64(&lower)),
        ("enclosure_upper", Column::F64(&upper)),
        ("accuracy", Column::F64(&accuracies)),
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

/// A sample a row, the score of every model a column, most robust model first.
fn write_nodes(
    path: &Path,
    formats: &[TableFormat],
    comparison: &Comparison,
    labels: Option<&Labels>,
    probed: &[Option<Probed>],
) -> Result<(), Failure> {
    let samples = comparison.models[0].report.graphs.nodes();
    let indices: Vec<i64> = (0..samples as i64).collect();
    let words: Option<Vec<String>> =
        labels.map(|labels| (0..samples).map(|index| label_text(labels, index)).collect());
    let names: Vec<String> = comparison.models.iter().map(|model| format!("score_{}", model.name)).collect();
    let mut columns = vec![("index", Column::I64(&indices))];
    columns.extend(words.as_ref().map(|words| ("label", Column::Utf8(words))));
    for (name, model) in names.iter().zip(&comparison.models) {
        columns.push((name, Column::F64(model.report.node_scores.scores())));
    }
    let probes = probed.iter().zip(&comparison.models).flat_map(|(probed, model)| {
        let columns = probed.as_ref().map(probing::columns).unwrap_or_default();
        columns.into_iter().map(|(name, column)| (format!("{name}_{}", model.name), column))
    });
    let probes: Vec<(String, Vec<f64>)> = probes.collect();
    columns.extend(probes.iter().map(|(name, column)| (name.as_str(), Column::F64(column))));
    tables::write(path, "nodes", formats, &columns)?;
    if formats.contains(&TableFormat::Npy) {
        let rows = (0..samples)
            .flat_map(|p| comparison.models.iter().map(move |model| model.report.node_scores.scores()[p]));
        let values: Vec<f64> = rows.collect();
        write_npy(&path.join("node_scores.npy"), &[samples, comparison.models.len()], values.as_slice())?;
    }
    Ok(())
}
