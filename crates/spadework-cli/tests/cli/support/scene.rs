//! A temporary folder in which the command is called.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use super::Outcome;
use super::arrays::{Random, floats, integers};
use super::outcome::parse;

/// A folder with array files, in which calls are made.
pub(crate) struct Scene {
    folder: TempDir,
}

impl Scene {
    /// Samples, inputs and outputs of [`Scene::with_model`].
    pub(crate) const SAMPLES: usize = 300;
    pub(crate) const INPUT_DIM: usize = 6;
    pub(crate) const OUTPUT_DIM: usize = 3;
    const CLASSES: usize = 4;

    pub(crate) fn empty() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// `x.npy`, a smooth model's `y.npy`, `worse.npy` of a model that tears some neighbors apart, and `labels.npy`.
    pub(crate) fn with_model() -> Self {
        let scene = Self::empty();
        let inputs = Random::new(1).points(Self::SAMPLES * Self::INPUT_DIM);
        let outputs: Vec<f32> = inputs.chunks(Self::INPUT_DIM).flat_map(smooth_model).collect();
        let torn = outputs.chunks(Self::OUTPUT_DIM).enumerate().flat_map(|(sample, output)| {
            let shift = if sample % 5 == 0 { 0.7 } else { 0.0 };
            output.iter().map(move |value| value + shift)
        });
        let labels: Vec<i64> = (0..Self::SAMPLES).map(|sample| (sample % Self::CLASSES) as i64).collect();
        scene.write("x.npy", floats(Self::INPUT_DIM, &inputs));
        scene.write("y.npy", floats(Self::OUTPUT_DIM, &outputs));
        scene.write("worse.npy", floats(Self::OUTPUT_DIM, &torn.collect::<Vec<_>>()));
        scene.write("labels.npy", integers(&labels));
        scene
    }

    /// `x.npy` and `y.npy` of so many samples that an approximate search is one: with fewer than 4,096 it is exact.
    pub(crate) fn with_many_samples() -> Self {
        let scene = Self::empty();
        let inputs = Random::new(3).points(4500 * 12);
        let outputs: Vec<f32> =
            inputs.chunks(12).flat_map(|row| [row[0] + row[1], row[2] - row[3]]).collect();
        scene.write("x.npy", floats(12, &inputs));
        scene.write("y.npy", floats(2, &outputs));
        scene
    }

    /// `x.npy` of 200 rows of four numbers, and `mlp.onnx`, a model with three outputs for them.
    pub(crate) fn with_network() -> Self {
        let scene = Self::empty();
        scene.write("x.npy", floats(4, &Random::new(3).points(800)));
        let fixture =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../spadework-model/tests/fixtures/onnx/mlp.onnx");
        scene.write("mlp.onnx", fs::read(fixture).unwrap());
        scene
    }

    /// [`Scene::with_model`] and `pieces.npy`, outputs of which every fiftieth is far away from the others.
    pub(crate) fn with_pieces() -> Self {
        let scene = Self::with_model();
        let far =
            |(at, value): (usize, &f32)| if (at / 3).is_multiple_of(50) { value + 40.0 } else { *value };
        let outputs: Vec<f32> = Random::new(5).points(900).iter().enumerate().map(far).collect();
        scene.write("pieces.npy", floats(3, &outputs));
        scene
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path().join(name), content).unwrap();
    }

    pub(crate) fn make_folder(&self, name: &str) {
        fs::create_dir_all(self.path().join(name)).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap()
    }

    pub(crate) fn read_json(&self, name: &str) -> Value {
        parse(&self.read(name))
    }

    /// The command with arguments separated by spaces, ready to be called in the folder.
    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_spadework"));
        command
            .args(arguments.split_whitespace())
            .current_dir(self.path())
            .stdin(Stdio::null())
            // The width of help texts where there is no terminal.
            .env("COLUMNS", "100");
        command
    }

    /// The command as a terminal would start it. Tests that run in the background may have inherited signals that are ignored, and
    /// the command rightly goes on ignoring those.
    pub(crate) fn interruptible(&self, arguments: &str) -> Command {
        let direct = self.command(arguments);
        let mut command = Command::new("env");
        command.arg("--default-signal=INT,HUP,TERM").arg(direct.get_program()).args(direct.get_args());
        command.current_dir(self.path()).stdin(Stdio::null());
        command
    }

    /// A script of the shell, with `$SW` for the command.
    #[cfg(unix)]
    pub(crate) fn shell(&self, script: &str) -> Outcome {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).env("SW", env!("CARGO_BIN_EXE_spadework"));
        Outcome::new(shell.current_dir(self.path()).stdin(Stdio::null()).output().unwrap())
    }

    /// Calls the command.
    pub(crate) fn run(&self, arguments: &str) -> Outcome {
        Outcome::new(self.command(arguments).output().unwrap())
    }

    /// Calls the command, which says that the call or its files are wrong.
    #[track_caller]
    pub(crate) fn refuses(&self, arguments: &str, words: &[&str]) {
        self.run(arguments).refuses(2, words);
    }

    /// Every name in a folder of the scene, hidden ones too.
    pub(crate) fn listing(&self, name: &str) -> Vec<String> {
        listing(&self.path().join(name))
    }

    /// Scores the arrays of [`Scene::with_model`].
    pub(crate) fn score(&self, options: &str) -> Outcome {
        self.run(&format!("score --inputs x.npy --outputs y.npy {options}"))
    }
}

/// Three smooth functions of the six inputs.
fn smooth_model(input: &[f32]) -> [f32; Scene::OUTPUT_DIM] {
    [
        (2.0 * input[0] - input[3]).tanh(),
        input[1] * input[1] + 0.5 * input[4],
        (3.0 * input[2]).sin() - 0.3 * input[5],
    ]
}

/// Every name in a folder, hidden ones too.
pub(crate) fn listing(folder: &Path) -> Vec<String> {
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<String> = fs::read_dir(folder).unwrap().map(name).collect();
    names.sort();
    names
}
