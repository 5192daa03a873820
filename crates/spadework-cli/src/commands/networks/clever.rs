//! `spadework clever`: CLEVER scores of chosen samples.

use std::fmt::Display;
use std::time::Instant;

use spadework::error::Readable;
use spadework_document::clever::{CleverDocument, CleverSampleDocument, SCHEMA};
use spadework_io::output::{CsvTable, OutputDir, optional_field, write_bytes};
use spadework_nn::clever::{CleverParams, CleverScore, Estimate, clever};
use spadework_nn::{highest, random_places};

use super::{Judged, one_each};
use crate::args_networks::CleverArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::render::{json, number};

/// Random samples where the user says nothing.
const DEFAULT_RANDOM: usize = 10;

pub(crate) fn run(args: &CleverArgs) -> Result<(), Failure> {
    let params = CleverParams {
        norm: args.norm.into(),
        radius: args.radius,
        batches: args.batches,
        samples: args.points,
        pool: args.pool,
        target: args.target,
        seed: args.seed,
    };
    let folder = args.out.as_deref().map(OutputDir::create).transpose()?;
    let judged = Judged::load(&args.judged, None, &args.machine.compute()?)?;
    params.check_for(judged.model.classes())?;
    let (chosen, places) = places(args, judged.examples.len())?;
    let console = args.machine.console();
    let began = Instant::now();
    let (gradients, scores) = args.machine.in_pool(|| {
        let (mut gradients, mut scores) = (0, Vec::with_capacity(places.len()));
        for &place in &places {
            let sample = judged.examples.sample(place);
            let score = clever(&judged.model, sample, place as u64, &params, &console.monitor())
                .map_err(|error| Failure::from(error).about(&format!("sample {place}")))?;
            gradients += score.gradients;
            scores.push(sample_document(place, judged.examples.labels()[place], &score, params.batches));
        }
        Ok((gradients, scores))
    })?;
    let document = document(args, &params, chosen, gradients, scores, began.elapsed().as_secs_f64());
    if let Some(folder) = folder {
        write_bytes(&folder.path().join("result.json"), json(&document).as_bytes())?;
        write_bytes(&folder.path().join("samples.csv"), table(&document.scores).as_bytes())?;
        folder.commit()?;
    }
    Console::data(&if args.machine.terminal.json { json(&document) } else { text(&document) })
}

/// The samples that are judged, and how they were chosen.
fn places(args: &CleverArgs, samples: usize) -> Result<(&'static str, Vec<usize>), Failure> {
    let at_most = |option: &str, count: usize| {
        if count <= samples {
            return Ok(count);
        }
        Err(Failure::usage(format!(
            "{option} must be at most the number of samples ({samples}), got {count}"
        )))
    };
    if let Some(argument) = &args.node_scores {
        let scores: Vec<f64> = one_each(argument, samples)?.into_iter().map(f64::from).collect();
        return Ok(("top node scores", highest(&scores, at_most("--top", args.top.get())?)));
    }
    if let Some(wrong) = args.only.iter().find(|&&id| id >= samples) {
        return Err(Failure::usage(format!(
            "--only must be below the number of samples ({samples}), got {wrong}"
        )));
    }
    if !args.only.is_empty() {
        return Ok(("ids", args.only.clone()));
    }
    let count =
        args.random.map_or(Ok(DEFAULT_RANDOM.min(samples)), |count| at_most("--random", count.get()))?;
    Ok(("random", random_places(args.seed, count, samples)))
}

fn sample_document(index: usize, label: usize, score: &CleverScore, batches: usize) -> CleverSampleDocument {
    let weakest = score.weakest();
    let fitted = match weakest.estimate {
        Estimate::Weibull(fitted) => Some(fitted),
        Estimate::Maximum => None,
    };
    CleverSampleDocument {
        index,
        label,
        class: score.class,
        score: weakest.score,
        target: weakest.target,
        margin: weakest.margin,
        lipschitz: weakest.lipschitz,
        largest: weakest.largest,
        estimate: if fitted.is_some() { "weibull" } else { "maximum" },
        shape: fitted.map(|fitted| fitted.shape),
        distance: fitted.map(|fitted| fitted.distance),
        p_value: fitted.map(|fitted| fitted.p_value(batches)),
        seconds: score.time.as_secs_f64(),
    }
}

fn document<'a>(
    args: &'a CleverArgs,
    params: &'a CleverParams,
    chosen: &'static str,
    gradients: usize,
    scores: Vec<CleverSampleDocument>,
    seconds: f64,
) -> CleverDocument<'a, CleverParams> {
    let mean = |scores: Vec<f64>| {
        let count = scores.len() as f64;
        (!scores.is_empty()).then(|| scores.into_iter().sum::<f64>() / count)
    };
    let correct = scores.iter().filter(|sample| sample.class == sample.label).map(|sample| sample.score);
    CleverDocument {
        schema: SCHEMA,
        model: args.judged.model.display().to_string(),
        inputs: &args.judged.inputs,
        chosen,
        params,
        mean: mean(scores.iter().map(|sample| sample.score).collect()).unwrap_or(f64::NAN),
        minimum: scores.iter().map(|sample| sample.score).fold(f64::INFINITY, f64::min),
        mean_of_correct: mean(correct.collect()),
        gradients,
        seconds,
        scores,
        version: env!("CARGO_PKG_VERSION"),
    }
}

fn table(scores: &[CleverSampleDocument]) -> String {
    let mut table = CsvTable::new([
        "index",
        "label",
        "class",
        "score",
        "target",
        "margin",
        "lipschitz",
        "largest",
        "estimate",
        "shape",
        "distance",
        "p_value",
        "seconds",
    ]);
    for sample in scores {
        table.row([
            &sample.index as &dyn Display,
            &sample.label,
            &sample.class,
            &Readable(sample.score),
            &sample.target,
            &Readable(sample.margin),
            &Readable(sample.lipschitz),
            &Readable(sample.largest),
            &sample.estimate,
            &optional_field(sample.shape.map(Readable)),
            &optional_field(sample.distance.map(Readable)),
            &optional_field(sample.p_value.map(Readable)),
            &sample.seconds,
        ]);
    }
    table.into_text()
}

fn text(document: &CleverDocument<'_, CleverParams>) -> String {
    let samples = document.scores.len();
    let fitted = document.scores.iter().filter(|sample| sample.estimate == "weibull").count();
    let mut text = format!(
        "mean CLEVER score   {}   ({samples} samples by {}, {}, radius {})\n\
         smallest            {}\n\
         fits                {fitted} Weibull, {} by the largest gradient seen\n\n",
        number(document.mean),
        document.chosen,
        document.params.norm.name(),
        document.params.radius,
        number(document.minimum),
        samples - fitted,
    );
    let rows = document.scores.iter().map(|sample| {
        vec![
            sample.index.to_string(),
            sample.label.to_string(),
            sample.class.to_string(),
            number(sample.score),
            sample.target.to_string(),
            number(sample.lipschitz),
            sample.estimate.to_owned(),
            sample.p_value.map(|p| format!("{p:.2}")).unwrap_or_default(),
        ]
    });
    text.push_str(&crate::render::table(
        &["sample", "label", "class", "score", "target", "lipschitz", "estimate", "p value"],
        rows,
    ));
    text.push_str(&format!(
        "\ntime  {:.2} s, {:.2} s per sample, {} gradients\n",
        document.seconds,
        document.seconds / samples as f64,
        document.gradients
    ));
    text
}
