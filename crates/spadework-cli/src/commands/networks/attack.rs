//! `spadework attack`: clean and robust accuracy, and the outcome of each sample.

use std::fmt::Display;
use std::time::Instant;

use spadework_document::attack::{AttackDocument, AttackStage, SCHEMA};
use spadework_io::output::{CsvTable, OutputDir, write_bytes};
use spadework_nn::attack::{
    Aim, Apgd, AttackParams, AttackReport, Budget, Climb, Method, Norm, Objective, Outcome, Square, attack,
};

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
    let series = Series::of(&params.methods, judged.model.classes());
    let document = document(args, (&params, &series), &budget, &report, began.elapsed().as_secs_f64());
    if let Some(folder) = folder {
        write_bytes(&folder.path().join("result.json"), json(&document).as_bytes())?;
        write_bytes(&folder.path().join("samples.csv"), table(&report, &budget).as_bytes())?;
        folder.commit()?;
    }
    Console::data(&if args.machine.terminal.json { json(&document) } else { text(&document, &report) })
}

fn params(args: &AttackArgs) -> Result<AttackParams, Failure> {
    refuse_options_of_others(args)?;
    let norm = args.norm.into();
    let objective = args.loss.map_or(Objective::CrossEntropy, Into::into);
    let targets = args.targets.unwrap_or(Aim::TARGETS);
    let steps = args.steps.unwrap_or(Apgd::default().steps);
    let apgd = |aim| Apgd { norm, aim, steps, restarts: args.restarts };
    let square = Square { norm, queries: args.queries.unwrap_or(Square::default().queries) };
    let params = match args.attack {
        AttackKind::Pgd | AttackKind::Fgsm => AttackParams::pgd(climb(args, objective), args.restarts),
        AttackKind::Apgd => AttackParams::only(Method::Apgd(apgd(Aim::Away(objective)))),
        AttackKind::ApgdT => AttackParams::only(Method::Apgd(apgd(Aim::Toward { targets }))),
        AttackKind::Square => AttackParams::only(Method::Square(square)),
        AttackKind::Auto => AttackParams::auto(&apgd(Aim::Toward { targets }), &square),
    };
    Ok(AttackParams { seed: args.seed, batch: args.batch_size, ..params })
}

/// An option that would change nothing is a mistake.
fn refuse_options_of_others(args: &AttackArgs) -> Result<(), Failure> {
    use AttackKind::{Apgd, ApgdT, Auto, Fgsm, Pgd, Square};
    if args.attack == Fgsm && (args.steps.is_some_and(|steps| steps != 1) || args.restarts != 1) {
        return Err(Failure::usage("--attack fgsm is one step from one start; --attack pgd takes more"));
    }
    let given: [(&str, bool, &[AttackKind]); 7] = [
        ("--loss", args.loss.is_some(), &[Pgd, Fgsm, Apgd]),
        ("--steps", args.steps.is_some(), &[Pgd, Fgsm, Apgd, ApgdT, Auto]),
        ("--restarts", args.restarts != 1, &[Pgd, Fgsm, Apgd, ApgdT, Auto]),
        ("--step-size", args.step_size.is_some(), &[Pgd, Fgsm]),
        ("--no-random-start", args.no_random_start, &[Pgd, Fgsm]),
        ("--targets", args.targets.is_some(), &[ApgdT, Auto]),
        ("--queries", args.queries.is_some(), &[Square, Auto]),
    ];
    match given.iter().find(|(_, given, takers)| *given && !takers.contains(&args.attack)) {
        None => Ok(()),
        Some((option, _, takers)) => {
            let takers: Vec<&str> = takers.iter().map(|kind| kind.name()).collect();
            Err(Failure::usage(format!(
                "--attack {} ignores {option}; it is for {}",
                args.attack.name(),
                takers.join(", ")
            )))
        }
    }
}

fn climb(args: &AttackArgs, objective: Objective) -> Climb {
    let plain = match args.attack {
        AttackKind::Fgsm => Climb::fgsm(),
        _ => Climb { random_start: !args.no_random_start, ..Climb::default() },
    };
    Climb {
        norm: args.norm.into(),
        objective,
        steps: args.steps.unwrap_or(plain.steps),
        step_size: args.step_size,
        ..plain
    }
}

/// What the attacks of a series have in common, for the document.
#[derive(Debug, Default)]
struct Series {
    losses: Vec<&'static str>,
    steps: usize,
    restarts: usize,
    random_start: bool,
    targets: usize,
    queries: usize,
}

impl Series {
    /// `classes` are those of the network: no more than all others are targets.
    fn of(methods: &[Method], classes: usize) -> Self {
        let mut series = Self { restarts: 1, random_start: true, ..Self::default() };
        for method in methods {
            let loss = match method {
                Method::Pgd(pgd) => {
                    (series.steps, series.restarts) = (pgd.climb.steps, pgd.restarts);
                    series.random_start = pgd.climb.random_start;
                    pgd.climb.objective.name()
                }
                Method::Apgd(apgd) => {
                    (series.steps, series.restarts) = (apgd.steps, apgd.restarts);
                    match apgd.aim {
                        Aim::Away(objective) => objective.name(),
                        Aim::Toward { targets } => {
                            series.targets = targets.min(classes.saturating_sub(1));
                            Objective::Dlr.name()
                        }
                    }
                }
                Method::Square(square) => {
                    series.queries = square.queries;
                    Objective::Margin.name()
                }
            };
            if !series.losses.contains(&loss) {
                series.losses.push(loss);
            }
        }
        series
    }
}

fn document<'a>(
    args: &'a AttackArgs,
    (params, series): (&AttackParams, &Series),
    budget: &Budget,
    report: &AttackReport,
    seconds: f64,
) -> AttackDocument<'a> {
    let extremes =
        budget.epsilons().iter().fold([f32::MAX, f32::MIN], |[low, high], &e| [low.min(e), high.max(e)]);
    let stage = |method: &Method| AttackStage {
        attack: method.name(),
        broken: report.broken().filter(|broken| broken.attack == method.name()).count(),
    };
    AttackDocument {
        schema: SCHEMA,
        model: args.judged.model.display().to_string(),
        inputs: &args.judged.inputs,
        samples: report.outcomes.len(),
        clean_accuracy: report.clean_accuracy(),
        robust_accuracy: report.robust_accuracy(),
        broken: report.broken().count(),
        attack: args.attack.name(),
        stages: params.methods.iter().map(stage).collect(),
        norm: Norm::from(args.norm).name(),
        loss: series.losses.join(", "),
        epsilon: extremes,
        steps: series.steps,
        step_size: args.step_size,
        restarts: series.restarts,
        random_start: series.random_start,
        targets: series.targets,
        queries: series.queries,
        seed: params.seed,
        seconds,
        version: env!("CARGO_PKG_VERSION"),
    }
}

/// index, label, clean_class, epsilon, robust, margin, and by which attack, where and as what it was broken.
fn table(report: &AttackReport, budget: &Budget) -> String {
    let mut table = CsvTable::new([
        "index",
        "label",
        "clean_class",
        "epsilon",
        "robust",
        "margin",
        "broken_by",
        "broken_restart",
        "broken_step",
        "broken_class",
    ]);
    for (index, (outcome, epsilon)) in report.outcomes.iter().zip(budget.epsilons()).enumerate() {
        let Outcome { label, clean_class, broken, margin } = outcome;
        let [attack, restart, step, class] = broken.map_or_else(Default::default, |broken| {
            let [restart, step, class] = [broken.restart, broken.step, broken.class].map(|n| n.to_string());
            [broken.attack.to_owned(), restart, step, class]
        });
        let robust = outcome.robust();
        table.row([
            &index as &dyn Display,
            label,
            clean_class,
            epsilon,
            &robust,
            margin,
            &attack,
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
    let mut effort = Vec::new();
    if document.steps > 0 {
        effort.extend([plural(document.steps, "step"), plural(document.restarts, "start")]);
    }
    if document.targets > 0 {
        effort.push(plural(document.targets, "target"));
    }
    if document.queries > 0 {
        effort.push(format!("{} queries", document.queries));
    }
    effort.push(document.loss.clone());
    let mut text = format!(
        "clean accuracy    {}\n\
         robust accuracy   {}   ({}, {} epsilon {epsilon}, {})\n\
         samples           {}, {} broken\n",
        percent(document.clean_accuracy),
        percent(document.robust_accuracy),
        document.attack,
        document.norm,
        effort.join(", "),
        document.samples,
        document.broken,
    );
    if document.stages.len() > 1 {
        let stages = document.stages.iter().map(|stage| format!("{} {}", stage.attack, stage.broken));
        text.push_str(&format!("broken by         {}\n", stages.collect::<Vec<_>>().join(", ")));
    }
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
