//! `spadework attack`: clean and robust accuracy, and what became of each sample.

use std::fmt::Display;
use std::time::Instant;

use spadework_document::attack::{AttackDocument, SCHEMA};
use spadework_io::output::{CsvTable, OutputDir, write_bytes};
use spadework_nn::attack::{AttackParams, AttackReport, Budget, Climb, Outcome, attack};

use super::{Judged, one_each};
use crate::args_networks::{AttackArgs, AttackKind};
use crate::console::Console;
use crate::failure::Failure;
use crate::render::json;

pub(crate) fn run(args: &AttackArgs) -> Result<(), Failure> {
    let params = params(args)?;
    params.check()?;
    if let Some(eps) = args.eps {
        // A wrong one is refused before anything is loaded.
        Budget::same(eps, 1)?;
    }
    let folder = args.out.as_deref().map(OutputDir::create).transpose()?;
    let compute = args.machine.compute()?;
    let judged = Judged::load(&args.judged, args.limit, &compute)?;
    judged.examples.check_box().map_err(|error| Failure::from(error).about(&args.judged.inputs))?;
    let samples = judged.examples.len();
    let budget = match (&args.eps_each, args.eps) {
        (Some(argument), _) => Budget::each(one_each(argument, samples)?)?,
        (None, Some(eps)) => Budget::same(eps, samples)?,
        (None, None) => return Err(Failure::usage("--eps or --eps-each must be given")),
    };
    let console = args.machine.console();
    let began = Instant::now();
    let report = args
        .machine
        .in_pool(|| Ok(attack(&judged.model, &judged.examples, &budget, &params, &console.monitor())?))?;
    let document = document(args, &params, &budget, &report, began.elapsed().as_secs_f64());
    if let Some(folder) = folder {
        write_bytes(&folder.path().join("result.json"), json(&document).as_bytes())?;
        write_bytes(&folder.path().join("samples.csv"), table(&report, &budget).as_bytes())?;
        folder.commit()?;
    }
    Console::data(&if args.machine.terminal.json { json(&document) } else { text(&document, &report) })
}

fn params(args: &AttackArgs) -> Result<AttackParams, Failure> {
    let plain = match args.attack {
        AttackKind::Pgd => Climb { random_start: !args.no_random_start, ..Climb::default() },
        AttackKind::Fgsm if args.steps.is_some_and(|steps| steps != 1) || args.restarts != 1 => {
            return Err(Failure::usage("--attack fgsm is one step from one start; --attack pgd takes more"));
        }
        AttackKind::Fgsm => Climb::fgsm(),
    };
    let climb = Climb {
        norm: args.norm.into(),
        objective: args.loss.into(),
        steps: args.steps.unwrap_or(plain.steps),
        step_size: args.step_size,
        ..plain
    };
    Ok(AttackParams { climb, restarts: args.restarts, seed: args.seed, batch: args.batch_size })
}

fn document<'a>(
    args: &'a AttackArgs,
    params: &AttackParams,
    budget: &Budget,
    report: &AttackReport,
    seconds: f64,
) -> AttackDocument<'a> {
    let climb = &params.climb;
    let extremes =
        budget.epsilons().iter().fold([f32::MAX, f32::MIN], |[low, high], &e| [low.min(e), high.max(e)]);
    AttackDocument {
        schema: SCHEMA,
        model: args.judged.model.display().to_string(),
        inputs: &args.judged.inputs,
        samples: report.outcomes.len(),
        clean_accuracy: report.clean_accuracy(),
        robust_accuracy: report.robust_accuracy(),
        broken: report.outcomes.iter().filter(|outcome| outcome.broken.is_some()).count(),
        attack: if args.attack == AttackKind::Fgsm { "fgsm" } else { "pgd" },
        norm: climb.norm.name(),
        loss: climb.objective.name(),
        epsilon: extremes,
        steps: climb.steps,
        step_size: climb.step_size,
        restarts: params.restarts,
        random_start: climb.random_start,
        seed: params.seed,
        seconds,
        version: env!("CARGO_PKG_VERSION"),
    }
}

/// index, label, clean_class, epsilon, robust, margin, and where and as what it was broken.
fn table(report: &AttackReport, budget: &Budget) -> String {
    let mut table = CsvTable::new([
        "index",
        "label",
        "clean_class",
        "epsilon",
        "robust",
        "margin",
        "broken_restart",
        "broken_step",
        "broken_class",
    ]);
    for (index, (outcome, epsilon)) in report.outcomes.iter().zip(budget.epsilons()).enumerate() {
        let Outcome { label, clean_class, broken, margin } = outcome;
        let [restart, step, class] = broken.map_or_else(Default::default, |broken| {
            [broken.restart.to_string(), broken.step.to_string(), broken.class.to_string()]
        });
        let robust = outcome.robust();
        table.row([
            &index as &dyn Display,
            label,
            clean_class,
            epsilon,
            &robust,
            margin,
            &restart,
            &step,
            &class,
        ]);
    }
    table.into_text()
}

fn text(document: &AttackDocument<'_>, report: &AttackReport) -> String {
    let percent = |share: f64| format!("{:.2} %", 100.0 * share);
    let [low, high] = document.epsilon;
    let epsilon = if low == high { format!("{low}") } else { format!("{low} to {high}") };
    let plural = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    let mut text = format!(
        "clean accuracy    {}\n\
         robust accuracy   {}   ({}, {} epsilon {epsilon}, {}, {}, {})\n\
         samples           {}, {} broken\n",
        percent(document.clean_accuracy),
        percent(document.robust_accuracy),
        document.attack,
        document.norm,
        plural(document.steps, "step"),
        plural(document.restarts, "start"),
        document.loss,
        document.samples,
        document.broken,
    );
    text.push_str(&by_class(report));
    text.push_str(&format!("\ntime  {:.2} s\n", document.seconds));
    text
}

/// Accuracies class by class, least robust first.
fn by_class(report: &AttackReport) -> String {
    let classes = report.outcomes.iter().map(|outcome| outcome.label + 1).max().unwrap_or(0);
    let mut rows: Vec<(usize, usize, usize, usize)> = (0..classes).map(|class| (class, 0, 0, 0)).collect();
    for outcome in &report.outcomes {
        let row = &mut rows[outcome.label];
        row.1 += 1;
        row.2 += usize::from(outcome.clean());
        row.3 += usize::from(outcome.robust());
    }
    rows.retain(|row| row.1 > 0);
    // 100 classes are more than anyone reads here; samples.csv has them all.
    if rows.len() < 2 || rows.len() > 100 {
        return String::new();
    }
    let share = |count: usize, of: usize| 100.0 * count as f64 / of as f64;
    rows.sort_by(|a, b| share(a.3, a.1).total_cmp(&share(b.3, b.1)).then(a.0.cmp(&b.0)));
    let mut text = String::from("\nby class, least robust first\n  class  samples   clean  robust\n");
    for (class, samples, clean, robust) in rows {
        text.push_str(&format!(
            "  {class:>5}  {samples:>7}  {:>5.1} %  {:>5.1} %\n",
            share(clean, samples),
            share(robust, samples)
        ));
    }
    text
}
