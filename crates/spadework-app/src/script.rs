//! Perturbations by a program of the user: it gets the samples and returns one variant of each.
//!
//! `SCRIPT VARIANT SEED` reads a .npy array from its standard input and writes one of the same shape to its standard output. It is
//! started once per variant, so it needs no protocol: a variant depends only on its number, its seed and the samples.

use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use spadework::samples::Values;
use spadework::{Error as CoreError, Monitor, Samples};
use spadework_document::variants::VariantsDocument;
use spadework_io::output::{NpyValues, npy_bytes};
use spadework_io::{Labels, digest_bytes, load_bytes};
use spadework_probe::{OutputKind, VariantParams, Varied, probe_variants};

use crate::failure::{Failure, Subject};
use crate::probing::ProbeBudget;
use crate::usage::Usage;

/// How often it is looked whether the script has ended, or the user wants it to.
const LOOK: Duration = Duration::from_millis(2);
/// Bytes that a .npy file may have before and after its numbers.
const MARGIN_BYTES: u64 = 1 << 16;
/// Bytes of the script's messages that are kept, the last ones.
const MESSAGE_BYTES: usize = 1 << 12;
/// Lines of them that an error shows.
const MESSAGE_LINES: usize = 5;
/// What a .npy file begins with.
const NPY_MAGIC: &[u8] = b"\x93NUMPY";

/// Variants of the samples that a program makes.
#[derive(Debug, Clone)]
pub struct ScriptRequest {
    /// The program, as the user typed it.
    pub script: PathBuf,
    /// How many variants. The run ends early as soon as more of them could change the share that keeps its class by at most the
    /// precision.
    pub budget: ProbeBudget,
}

impl ScriptRequest {
    /// Refuses what cannot be done before anything is loaded.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.params().check()?;
        Script::new(&self.script).map(|_| ())
    }

    /// What tells the script from another one: its name and its content.
    pub(crate) fn identity(&self) -> String {
        let content = std::fs::read(&self.script).map(|content| digest_bytes(&content));
        format!("{} {}", self.script.display(), content.unwrap_or_default())
    }

    fn params(&self) -> VariantParams {
        let ProbeBudget { probes, samples, precision } = self.budget;
        let mut params = VariantParams::default().with_samples(samples);
        params.variants = probes.unwrap_or(params.variants);
        params.precision = precision.unwrap_or(params.precision);
        params
    }

    /// Runs the script and the model, whose outputs are of that kind; `top` samples that changed are listed. `shape` is that of one sample,
    /// and `labels` are those of all inputs.
    pub(crate) fn run(
        &self,
        inputs: &Samples<'_>,
        shape: &[usize],
        kind: OutputKind,
        mut model: impl FnMut(&Samples<'_>) -> Result<Samples<'static>, Failure>,
        about: &RunFacts<'_>,
    ) -> Result<ScriptProbes, Failure> {
        let script = Script::new(&self.script)?;
        let model = |rows: &Samples<'_>| Ok(kind.into_classes(model(rows)?)?);
        let perturb = |rows: &Samples<'_>, variant, seed| {
            let call = Call { variant, seed };
            script.variant(rows, shape, call, about.monitor)
        };
        let params = self.params().with_seed(about.seed);
        let varied = probe_variants::<Failure, _, _>(inputs, model, perturb, &params, about.monitor)?;
        let labels = about.labels.map(|labels| kind.labels(labels.ids()));
        let document = VariantsDocument::new(&script.name, &varied, labels.as_deref(), about.top)?;
        Ok(ScriptProbes { varied, document })
    }
}

/// What a run of a script gets in addition to the samples.
pub(crate) struct RunFacts<'a> {
    pub(crate) labels: Option<&'a Labels>,
    pub(crate) top: usize,
    pub(crate) seed: u64,
    pub(crate) monitor: &'a dyn Monitor,
}

/// Results of the variants of a script.
#[derive(Debug, Clone)]
pub struct ScriptProbes {
    /// Every probed sample.
    pub varied: Varied,
    /// What the document of a result says about them.
    pub document: VariantsDocument,
}

/// Columns of the table of samples, a number per input, NaN for those that were not probed; `labels` are those of all inputs.
pub(crate) fn columns(
    varied: &Varied,
    labels: Option<&[i64]>,
) -> Result<Vec<(&'static str, Vec<f64>)>, CoreError> {
    let [mut margins, mut flips, mut survived] = [const { Vec::new() }; 3];
    for column in [&mut margins, &mut flips, &mut survived] {
        column.resize(varied.inputs(), f64::NAN);
    }
    for (sample, survives) in varied.samples.iter().zip(varied.survived(labels)?) {
        margins[sample.index] = sample.lowest;
        flips[sample.index] = sample.flips as f64;
        survived[sample.index] = f64::from(u8::from(survives));
    }
    Ok(vec![("probe_margin", margins), ("flips", flips), ("survived", survived)])
}

/// Which variant is asked for.
#[derive(Debug, Clone, Copy)]
struct Call {
    variant: usize,
    seed: u64,
}

/// A program that makes variants.
struct Script {
    /// What the user typed.
    name: String,
    /// What is started: never looked for on the path.
    program: PathBuf,
}

impl Script {
    fn new(typed: &Path) -> Result<Self, Failure> {
        let name = typed.display().to_string();
        let wrong =
            |reason: &str| Err(Failure::from(Usage::Script { reason: reason.to_owned() }).about_place(&name));
        let Ok(facts) = typed.metadata() else { return wrong("there is no such file") };
        if !facts.is_file() {
            return wrong("expected an executable file");
        }
        if !is_executable(&facts) {
            return wrong(
                "is not executable: run chmod +x on it, and begin it with a line such as #!/usr/bin/env python3",
            );
        }
        let program = typed.canonicalize().unwrap_or_else(|_| typed.to_owned());
        Ok(Self { name, program })
    }

    fn wrong(&self, reason: String) -> Failure {
        Failure::from(Usage::Script { reason }).about_place(&self.name)
    }

    /// One variant of the samples, each of that shape.
    fn variant(
        &self,
        rows: &Samples<'_>,
        shape: &[usize],
        call: Call,
        monitor: &dyn Monitor,
    ) -> Result<Samples<'static>, Failure> {
        let shape: Vec<usize> = std::iter::once(rows.len()).chain(shape.iter().copied()).collect();
        let batch = match rows.values() {
            Values::F64(values) => npy_bytes(&shape, NpyValues::F64(values)),
            // Single precision holds all others.
            values => npy_bytes(&shape, NpyValues::F32(&values.all_singles())),
        };
        let most = (rows.len() * rows.dim() * size_of::<f64>()) as u64 + MARGIN_BYTES;
        let ended = self.run(&batch, call, most, monitor)?;
        self.array(ended.output, &shape, call)
    }

    /// Starts the script, gives it the batch, and waits for its end.
    fn run(&self, batch: &[u8], call: Call, most: u64, monitor: &dyn Monitor) -> Result<Ended, Failure> {
        let Call { variant, seed } = call;
        let mut command = Command::new(&self.program);
        command.arg(variant.to_string()).arg(seed.to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| self.not_started(&error))?;
        let ended = follow(&mut child, batch, most, monitor)
            .map_err(|error| self.wrong(format!("variant {variant}: {error}")))?;
        match ended.status {
            End::Cancelled => Err(CoreError::Cancelled.into()),
            End::TooMuch => Err(self.wrong(format!(
                "variant {variant}: must write one array of the shape of its input, got more than {most} bytes"
            ))),
            End::Exited(status) if status.success() => Ok(ended),
            End::Exited(status) => Err(self.wrong(format!(
                "ended with {} on variant {variant} (seed {seed}){}",
                ended_with(status),
                last_lines(&ended.messages)
            ))),
        }
    }

    fn not_started(&self, error: &io::Error) -> Failure {
        // Files without a first line that names their interpreter.
        let advice = if error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(8) {
            ": begin it with a line such as #!/usr/bin/env python3 that names an installed interpreter"
        } else {
            ""
        };
        self.wrong(format!("cannot be started ({error}){advice}"))
    }

    /// The array that the script has written.
    fn array(&self, bytes: Vec<u8>, shape: &[usize], call: Call) -> Result<Samples<'static>, Failure> {
        let place = |failure: Failure| {
            failure.about(Subject::Place(format!("{}, variant {} (counted from 0)", self.name, call.variant)))
        };
        if !bytes.starts_with(NPY_MAGIC) {
            let reason = format!(
                "must write one .npy array to its standard output and nothing else, got {} bytes{}",
                bytes.len(),
                beginning(&bytes)
            );
            return Err(place(Usage::Script { reason }.into()));
        }
        let array = load_bytes("output.npy", bytes).map_err(|error| place(error.into()))?;
        if array.shape() != shape {
            let reason = format!("must write an array of shape {shape:?}, got {:?}", array.shape());
            return Err(place(Usage::Script { reason }.into()));
        }
        array.into_samples().map_err(|error| place(error.into()))
    }
}

/// What a script has left behind.
struct Ended {
    status: End,
    output: Vec<u8>,
    messages: Vec<u8>,
}

enum End {
    Exited(ExitStatus),
    /// It was ended, because the user wants to stop.
    Cancelled,
    /// It was ended, because it wrote more than any array of the right shape.
    TooMuch,
}

/// Writes the batch, reads everything and waits, all at once: a script may write before it has read.
fn follow(child: &mut Child, batch: &[u8], most: u64, monitor: &dyn Monitor) -> io::Result<Ended> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let too_much = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(move || {
            // A script that does not read its input to the end is judged by what it writes.
            let _ = stdin.map(|mut stdin| stdin.write_all(batch));
        });
        let output = scope.spawn(|| {
            let mut output = Vec::new();
            let read = stdout.map_or(Ok(0), |stdout| stdout.take(most + 1).read_to_end(&mut output));
            too_much.store(output.len() as u64 > most, Ordering::Relaxed);
            read.map(|_| output)
        });
        let messages = scope.spawn(move || stderr.map_or_else(|| Ok(Vec::new()), last_bytes));
        let status = wait(child, &too_much, monitor)?;
        let joined = |ended: thread::Result<io::Result<Vec<u8>>>| {
            ended.unwrap_or_else(|_| Err(io::Error::other("a pipe could not be read")))
        };
        Ok(Ended { status, output: joined(output.join())?, messages: joined(messages.join())? })
    })
}

fn wait(child: &mut Child, too_much: &AtomicBool, monitor: &dyn Monitor) -> io::Result<End> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(End::Exited(status));
        }
        let stop = match (monitor.is_cancelled(), too_much.load(Ordering::Relaxed)) {
            (true, _) => End::Cancelled,
            (_, true) => End::TooMuch,
            (false, false) => {
                thread::sleep(LOOK);
                continue;
            }
        };
        child.kill()?;
        child.wait()?;
        return Ok(stop);
    }
}

/// The end of what a stream holds.
fn last_bytes(mut stream: impl Read) -> io::Result<Vec<u8>> {
    let (mut last, mut chunk) = (Vec::new(), [0; MESSAGE_BYTES]);
    loop {
        let read = stream.read(&mut chunk)?;
        if read == 0 {
            return Ok(last);
        }
        last.extend_from_slice(&chunk[..read]);
        last.drain(..last.len().saturating_sub(MESSAGE_BYTES));
    }
}

/// The last lines of messages, on one line each after a colon; nothing where there are none.
fn last_lines(messages: &[u8]) -> String {
    let text = String::from_utf8_lossy(messages);
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    if lines.is_empty() {
        return ", without a message".to_owned();
    }
    format!(":\n  {}", lines[lines.len().saturating_sub(MESSAGE_LINES)..].join("\n  "))
}

fn beginning(bytes: &[u8]) -> String {
    const SHOWN: usize = 24;
    if bytes.is_empty() {
        return String::new();
    }
    let shown = &bytes[..bytes.len().min(SHOWN)];
    format!(" that begin with {:?}", String::from_utf8_lossy(shown))
}

fn ended_with(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("exit code {code}"),
        None => status.to_string(),
    }
}

#[cfg(unix)]
fn is_executable(facts: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    facts.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &std::fs::Metadata) -> bool {
    true
}
