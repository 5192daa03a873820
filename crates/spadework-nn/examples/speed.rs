//! Training steps per second, to be compared with `bench/torch_training.py`, which does the same in PyTorch.
//!
//! `cargo run --release -p spadework-nn --example speed -- [DEVICE] [SECONDS] [THREADS] [MODEL…]`: by default on the `cpu` for 10
//! seconds each with one thread, LeNet-5 on images of 28 x 28 and ResNet-18 on colored ones of 32 x 32. Batches of 128 random
//! images, Adam; plain, and against PGD of 7 steps. Prints one line of JSON for each.

#![expect(clippy::print_stdout, reason = "a program for a terminal")]

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use spadework::Monitor;
use spadework_nn::train::{Guides, Method, TrainParams, Trainer};
use spadework_nn::{Architecture, Compute, Error, Examples};

const BATCH: usize = 128;
/// Steps that are not counted: the first ones allocate and choose algorithms.
const WARM_UP: usize = 3;
const SAMPLES: usize = 16 * BATCH;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let began = Instant::now();
    let words: Vec<String> = std::env::args().skip(1).collect();
    let word = |at: usize, default: &str| words.get(at).map_or(default.to_owned(), String::clone);
    let compute = Compute::choose(&word(0, "cpu"))?;
    let duration = Duration::from_secs_f64(word(1, "10").parse()?);
    let threads = word(2, "1").parse::<NonZeroUsize>()?;
    let models = if words.len() > 3 { words[3..].to_vec() } else { vec!["lenet5".into(), "resnet18".into()] };
    let mut outcome = Ok(());
    spadework::threads::with_threads(Some(threads), || {
        outcome = measure_all(&models, duration, &compute, began);
        Ok::<_, spadework::Error>(())
    })?;
    Ok(outcome?)
}

fn measure_all(
    models: &[String],
    duration: Duration,
    compute: &Compute,
    began: Instant,
) -> Result<(), Error> {
    for model in models {
        for method in [Method::Standard, Method::Pgd] {
            println!("{}", measure(model, method, duration, compute, began)?);
        }
    }
    Ok(())
}

fn measure(
    model: &str,
    method: Method,
    duration: Duration,
    compute: &Compute,
    began: Instant,
) -> Result<String, Error> {
    let shape = if model.starts_with("resnet") { [3, 32, 32] } else { [1, 28, 28] };
    let network = model.parse::<Architecture>()?.build(&shape, 10, None, 0)?;
    let size = network.input_size();
    let labels: Vec<i64> = (0..SAMPLES as i64).map(|at| at % 10).collect();
    let examples = Examples::new(noise(SAMPLES * size), size, &labels, 10)?;
    let params = TrainParams {
        method,
        epochs: usize::MAX,
        batch: BATCH,
        epsilon: if method == Method::Pgd { 0.1 } else { 0.0 },
        ..TrainParams::default()
    };
    let clock = Clock { duration, steps: Mutex::new(Steps::default()) };
    let mut trainer = Trainer::new(&network, &examples, params, Guides::default(), compute)?;
    trainer.run::<Error>(&clock, |_, _| Ok(()))?;
    let steps = clock.steps.into_inner().unwrap_or_default();
    let seconds = steps.last.zip(steps.warm).map_or(f64::NAN, |(last, warm)| (last - warm).as_secs_f64());
    let counted = steps.seen.saturating_sub(WARM_UP) as f64;
    let line = serde_json::json!({
        "model": model,
        "training": method.to_string(),
        "device": compute.name(),
        "batch": BATCH,
        "steps_per_second": counted / seconds,
        "cpu_ms_per_step": steps.warm_cpu.zip(cpu_seconds()).map(|(warm, now)| 1e3 * (now - warm) / counted),
        "first_step_after_s": steps.first.map(|first| (first - began).as_secs_f64()),
    });
    Ok(line.to_string())
}

/// Values in [0, 1) that look random, without a generator.
fn noise(count: usize) -> Vec<f32> {
    (0..count as u32).map(|at| (at.wrapping_mul(2_654_435_769) >> 8) as f32 / (1 << 24) as f32).collect()
}

/// Time of all processors that this process has used, where the system tells it: it does not depend on what else runs.
fn cpu_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: f64 = fields.get(11..13)?.iter().filter_map(|field| field.parse::<f64>().ok()).sum();
    // A hundredth of a second on every Linux.
    Some(ticks / 100.0)
}

/// Counts steps, of which the trainer tells after every batch, and asks to stop when the time is over.
struct Clock {
    duration: Duration,
    steps: Mutex<Steps>,
}

#[derive(Default)]
struct Steps {
    seen: usize,
    first: Option<Instant>,
    warm: Option<Instant>,
    warm_cpu: Option<f64>,
    last: Option<Instant>,
}

impl Monitor for Clock {
    fn progress(&self, _done: u64, _total: u64) {
        let (now, Ok(mut steps)) = (Instant::now(), self.steps.lock()) else { return };
        steps.seen += 1;
        steps.last = Some(now);
        steps.first.get_or_insert(now);
        if steps.seen == WARM_UP {
            steps.warm = Some(now);
            steps.warm_cpu = cpu_seconds();
        }
    }

    fn is_cancelled(&self) -> bool {
        let warm = self.steps.lock().ok().and_then(|steps| steps.warm);
        warm.is_some_and(|warm| warm.elapsed() >= self.duration)
    }
}
