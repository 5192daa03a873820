//! One call of the program: its options, its time, and the parts of an experiment that are stored and used again.

use std::cell::{Cell, RefCell};
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use spadework::Monitor;
use spadework_io::output::write_bytes;
use spadework_nn::Compute;

use crate::failure::Failure;

/// The options of every experiment. What is left out has a value for full runs and one for quick ones, which the result
/// records.
#[derive(Debug, Clone, Args)]
pub(crate) struct Options {
    /// Folder with mnist/, cifar10/, logits/, models/, nets/, authors/ and cinic10/; the one in SPADEWORK_DATA where it is left out
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Folder for results, networks and finished parts, which a later call takes up
    #[arg(long, value_name = "DIR", default_value = "target/experiments")]
    pub(crate) out: PathBuf,
    /// Small sizes that a laptop finishes in minutes
    #[arg(long)]
    pub(crate) quick: bool,
    /// Seed of everything that is drawn; of several runs the first
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Where networks are computed: cpu, torch or cuda\[:N\]
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub(crate) device: String,
    /// Begin nothing new after so many minutes, and stop training at a checkpoint
    #[arg(long, value_name = "M")]
    pub(crate) budget_minutes: Option<f64>,
    /// Epochs of every training
    #[arg(long, value_name = "N")]
    pub(crate) epochs: Option<usize>,
    /// How often a comparison of trainings is repeated, with seeds that follow each other
    #[arg(long, value_name = "N")]
    pub(crate) seeds: Option<usize>,
    /// Training images to use, the first ones
    #[arg(long, value_name = "N")]
    pub(crate) train_images: Option<usize>,
    /// Test images to score, the first ones
    #[arg(long, value_name = "N")]
    pub(crate) test_images: Option<usize>,
    /// Test images to attack, the first ones
    #[arg(long, value_name = "N")]
    pub(crate) attack_images: Option<usize>,
    /// Gradient steps of the attacks that networks are trained against
    #[arg(long, value_name = "N")]
    pub(crate) train_steps: Option<usize>,
    /// Whether training leaves samples unperturbed that are misclassified as they are; the same for all arms
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Skip::Both)]
    pub(crate) skip_misclassified: Skip,
    /// Points of a batch of CLEVER
    #[arg(long, value_name = "N")]
    pub(crate) clever_samples: Option<usize>,
    /// Batches of CLEVER
    #[arg(long, value_name = "N")]
    pub(crate) clever_batches: Option<usize>,
    /// Networks of `validity`: a CSV file with the columns file, data, source and, where known, robust accuracies; nets/nets.csv in the data where it is left out
    #[arg(long, value_name = "FILE")]
    pub(crate) nets: Option<PathBuf>,
}

/// Which arms leave misclassified samples unperturbed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Skip {
    /// No arm
    None,
    /// All arms
    All,
    /// The comparison is made twice
    Both,
}

impl Skip {
    pub(crate) fn choices(self) -> &'static [bool] {
        match self {
            Skip::None => &[false],
            Skip::All => &[true],
            Skip::Both => &[false, true],
        }
    }
}

/// Asks whatever it watches to stop when the time is over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    deadline: Option<Instant>,
}

impl Clock {
    pub(crate) fn new(minutes: Option<f64>) -> Result<Self, Failure> {
        let duration = minutes.map(|minutes| Duration::try_from_secs_f64(60.0 * minutes)).transpose();
        let duration =
            duration.map_err(|_| Failure::Usage("--budget-minutes must be zero or positive".to_owned()))?;
        Ok(Self { deadline: duration.and_then(|duration| Instant::now().checked_add(duration)) })
    }
}

impl Monitor for Clock {
    fn is_cancelled(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

/// How long a part took.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct PartTime {
    name: String,
    pub(crate) seconds: f64,
    /// Whether an earlier call made it.
    taken_up: bool,
}

/// What a part made, with the wall time that it took then.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timed<T> {
    pub(crate) value: T,
    pub(crate) seconds: f64,
}

/// A part as it is kept.
#[derive(Debug, Serialize, Deserialize)]
struct Kept<S, T> {
    settings: S,
    seconds: f64,
    value: T,
}

/// One experiment on its way.
#[derive(Debug)]
pub(crate) struct Run {
    options: Options,
    compute: Compute,
    clock: Clock,
    parts: RefCell<Vec<PartTime>>,
    missed: Cell<usize>,
}

impl Run {
    pub(crate) fn new(options: &Options, compute: &Compute, clock: Clock) -> Self {
        Self {
            options: options.clone(),
            compute: compute.clone(),
            clock,
            parts: RefCell::default(),
            missed: Cell::new(0),
        }
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    pub(crate) fn is_quick(&self) -> bool {
        self.options.quick
    }

    /// The value for full runs or that for quick ones.
    pub(crate) fn size<T>(&self, full: T, quick: T) -> T {
        if self.is_quick() { quick } else { full }
    }

    pub(crate) fn seed(&self) -> u64 {
        self.options.seed
    }

    pub(crate) fn out(&self) -> &Path {
        &self.options.out
    }

    pub(crate) fn compute(&self) -> &Compute {
        &self.compute
    }

    pub(crate) fn monitor(&self) -> &dyn Monitor {
        &self.clock
    }

    /// A file or folder of the data, where it is there.
    pub(crate) fn data_file(&self, path: &str) -> Option<PathBuf> {
        self.options.data.as_ref().map(|folder| folder.join(path)).filter(|file| file.exists())
    }

    /// Samples that are attacked or run at once: many where a step costs the same for few.
    pub(crate) fn batch(&self) -> usize {
        if self.compute.name().starts_with("cuda") { 2000 } else { 250 }
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.missed.get() == 0
    }

    /// Writes down that a part was not reached.
    pub(crate) fn miss(&self, name: &str) {
        self.miss_because("not reached in the time given", name);
    }

    fn miss_because(&self, reason: &str, name: &str) {
        self.missed.set(self.missed.get() + 1);
        say(&format!("  {reason}: {name}"));
    }

    pub(crate) fn part_times(&self) -> Vec<PartTime> {
        self.parts.borrow().clone()
    }

    /// Work that no other call on the same folder is at: the claim, which holds as long as it lives. `None` where another has
    /// it, which is written down as a part that was not reached: a later call takes up what the other has made.
    pub(crate) fn claim(&self, name: &str, file: &Path) -> Result<Option<Claim>, Failure> {
        let claim = Claim::of(file).map_err(|error| Failure::File {
            path: file.to_owned(),
            reason: format!("cannot be locked: {error}"),
        })?;
        if claim.is_none() {
            self.miss_because("left to another call", name);
        }
        Ok(claim)
    }

    pub(crate) fn told(&self, name: &str, seconds: f64, taken_up: bool) {
        self.parts.borrow_mut().push(PartTime { name: name.to_owned(), seconds, taken_up });
    }

    /// A part that an earlier call with the same settings has made, where there is one.
    pub(crate) fn taken_up<T: DeserializeOwned>(&self, name: &str, settings: &Value) -> Option<T> {
        Some(self.timed_before(name, settings)?.value)
    }

    fn timed_before<T: DeserializeOwned>(&self, name: &str, settings: &Value) -> Option<Timed<T>> {
        let Kept { seconds, value, .. } = kept(&self.part_file(name), settings)?;
        self.told(name, seconds, true);
        Some(Timed { value, seconds })
    }

    fn part_file(&self, name: &str) -> PathBuf {
        self.out().join("parts").join(format!("{}.json", slug(name)))
    }

    /// A part of the work: taken from the file of an earlier call with the same settings, or computed and kept. `None` where
    /// the time is over.
    ///
    /// `name` is a path below the parts, whose last piece is the file's name.
    pub(crate) fn part<T: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        settings: &Value,
        compute: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<Option<T>, Failure> {
        Ok(self.timed(name, settings, compute)?.map(|timed| timed.value))
    }

    /// The same with the time that it took when it was made.
    pub(crate) fn timed<T: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        settings: &Value,
        compute: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<Option<Timed<T>>, Failure> {
        if let Some(made) = self.timed_before(name, settings) {
            return Ok(Some(made));
        }
        if self.clock.is_cancelled() {
            self.miss(name);
            return Ok(None);
        }
        let Some(_claim) = self.claim(name, &self.part_file(name).with_extension("lock"))? else {
            return Ok(None);
        };
        // Another call may have made it between the look and the claim.
        if let Some(made) = self.timed_before(name, settings) {
            return Ok(Some(made));
        }
        let began = Instant::now();
        let value = match compute() {
            Err(failure) if failure.is_time_over() => {
                self.miss(name);
                return Ok(None);
            }
            other => other?,
        };
        let seconds = began.elapsed().as_secs_f64();
        let text = serde_json::to_string(&Kept { settings, seconds, value: &value })
            .expect("words and numbers can be written as JSON");
        write_bytes(&self.part_file(name), text.as_bytes())?;
        self.told(name, seconds, false);
        say(&format!("  {name}: {seconds:.1} s"));
        Ok(Some(Timed { value, seconds }))
    }
}

/// A file that is locked while work is done. Where the program dies, the system gives the lock back.
#[derive(Debug)]
pub(crate) struct Claim {
    path: PathBuf,
    // Locked as long as it is open.
    _file: File,
}

impl Claim {
    fn of(path: &Path) -> io::Result<Option<Self>> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let file = File::create(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { path: path.to_owned(), _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // A file that stays is in nobody's way. One that a third call makes again meanwhile costs that call its work twice at
        // worst: what is kept is written in one go.
        let _ = fs::remove_file(&self.path);
    }
}

/// Tells people what happens.
pub(crate) fn say(line: &str) {
    // Where nobody can listen there is nobody to tell.
    let _ = writeln!(io::stderr(), "{line}");
}

/// What an earlier call stored. A file that cannot be read is made again.
fn kept<T: DeserializeOwned>(path: &Path, settings: &Value) -> Option<Kept<Value, T>> {
    let kept: Kept<Value, Value> = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    if kept.settings != *settings {
        return None;
    }
    let value = serde_json::from_value(kept.value).ok()?;
    Some(Kept { settings: kept.settings, seconds: kept.seconds, value })
}

/// A name as part of a path on every system.
pub(crate) fn slug(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "./-_".contains(c) { c } else { '-' };
    name.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use serde_json::json;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    fn run_in(out: &Path, minutes: Option<f64>) -> Run {
        let line = Line::parse_from(["experiments", "--out", out.to_str().unwrap()]);
        Run::new(&line.options, &Compute::cpu(), Clock::new(minutes).unwrap())
    }

    #[test]
    fn a_part_is_taken_up_only_with_its_settings() {
        let folder = tempfile::tempdir().unwrap();
        let run = run_in(folder.path(), None);
        let made = |seed: u64, value: u64| run.part("table/row 1", &json!({ "seed": seed }), || Ok(value));
        assert_eq!(made(0, 1).unwrap(), Some(1));
        assert_eq!(made(0, 2).unwrap(), Some(1));
        assert_eq!(made(1, 3).unwrap(), Some(3));
        assert_eq!(
            run.part_times().iter().map(|part| part.taken_up).collect::<Vec<_>>(),
            [false, true, false]
        );
    }

    #[test]
    fn a_part_that_another_call_is_at_is_left_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let [one, other] = [(); 2].map(|()| run_in(folder.path(), None));
        let made = one.part("part", &json!(0), || {
            assert_eq!(other.part("part", &json!(0), || Ok(2))?, None);
            assert!(!other.is_complete());
            Ok(1)
        });
        assert_eq!(made.unwrap(), Some(1));
        assert!(one.is_complete());
        assert_eq!(other.part("part", &json!(0), || Ok(2)).unwrap(), Some(1));
        let left: Vec<_> = fs::read_dir(folder.path().join("parts")).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }

    #[test]
    fn nothing_begins_when_the_time_is_over_but_what_is_kept_is_there() {
        let folder = tempfile::tempdir().unwrap();
        run_in(folder.path(), None).part("kept", &json!(0), || Ok(7)).unwrap();
        let late = run_in(folder.path(), Some(0.0));
        assert_eq!(late.part("kept", &json!(0), || Ok(8)).unwrap(), Some(7));
        assert!(late.is_complete());
        assert_eq!(late.part("new", &json!(0), || Ok(8)).unwrap(), None);
        assert!(!late.is_complete());
    }
}
