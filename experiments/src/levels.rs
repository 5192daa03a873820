//! Networks of one architecture trained against attacks of growing size: what the paper calls robustness levels.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spadework::pipeline::{SweepPoint, sweep};
use spadework::{Model, ModelSet, PairedSamples, Samples, SpadeParams};
use spadework_io::load;
use spadework_nn::attack::{Climb, Norm};
use spadework_nn::train::{Augmentation, Guides, Method, OptimizerKind, Schedule, TrainParams};
use spadework_nn::{Frozen, Network, to_floats};

use crate::data::{Images, STAND_IN, Which};
use crate::failure::Failure;
use crate::networks::Recipe;
use crate::record::Findings;
use crate::run::Run;

/// The outputs of one network on the test images.
#[derive(Debug, Clone)]
pub(crate) struct Level {
    /// What it was trained against; 0 for plain training.
    pub(crate) epsilon: f64,
    pub(crate) outputs: Vec<f32>,
}

/// Networks of one architecture on the same test images, ε rising.
#[derive(Debug)]
pub(crate) struct Levels {
    pub(crate) which: Which,
    pub(crate) images: Images,
    pub(crate) by_epsilon: Vec<Level>,
    /// Where the outputs come from.
    pub(crate) origin: String,
    /// Whether they were trained here.
    pub(crate) trained_here: bool,
    /// How they were trained, where that was here.
    recipes: Vec<Value>,
}

/// File of the data folder with outputs, the beginning of its keys, and the ε that end them.
fn kept_outputs(which: Which) -> (&'static str, &'static str, &'static [&'static str]) {
    match which {
        Which::Mnist => ("logits/mnist_test_lenet5.npz", "lenet5_eps", &["0.0", "0.1", "0.2", "0.3", "0.4"]),
        Which::Cifar10 => ("logits/cifar10_test_resnet18.npz", "resnet18_l2_eps", &["0.0", "0.5", "1.0"]),
    }
}

impl Levels {
    /// The outputs that the data folder keeps; where it has none, networks are trained.
    pub(crate) fn load(run: &Run, which: Which) -> Result<Self, Failure> {
        let images = Images::test(run, which)?;
        let (file, prefix, epsilons) = kept_outputs(which);
        let Some(path) = run.data_file(file).filter(|_| !images.stand_in) else {
            return Self::train(run, which);
        };
        let level = |epsilon: &&str| -> Result<Level, Failure> {
            let dataset = load(&format!("{}:{prefix}{epsilon}", path.display()))?;
            let outputs = dataset.samples()?;
            let mut values = to_floats(&outputs);
            if outputs.len() < images.len() {
                let reason = format!("expected outputs of {} images, got {}", images.len(), outputs.len());
                return Err(Failure::File { path: path.clone(), reason });
            }
            values.truncate(images.len() * outputs.dim());
            Ok(Level { epsilon: epsilon.parse().unwrap_or(f64::NAN), outputs: values })
        };
        let by_epsilon = epsilons.iter().map(level).collect::<Result<_, _>>()?;
        let origin = format!("outputs of {file}");
        Ok(Self { which, images, by_epsilon, origin, trained_here: false, recipes: Vec::new() })
    }

    /// Networks trained here, as many as the time allows; fewer than two are an end of the time.
    pub(crate) fn train(run: &Run, which: Which) -> Result<Self, Failure> {
        let (train, images) = (Images::train(run, which)?, Images::test(run, which)?);
        let (mut by_epsilon, mut recipes) = (Vec::new(), Vec::new());
        for &epsilon in trained_epsilons(run, which) {
            let recipe = level_recipe(run, which, &train, epsilon);
            let Some(network) = recipe.network(run, Guides::default())? else { continue };
            let outputs = Frozen::new(&network, run.compute()).outputs(images.examples.samples())?;
            by_epsilon.push(Level { epsilon, outputs });
            recipes.push(recipe.settings());
        }
        if by_epsilon.len() < 2 {
            return Err(Failure::TimeOver);
        }
        let origin = format!("{} trained here", architecture_of(run, which, &train));
        Ok(Self { which, images, by_epsilon, origin, trained_here: true, recipes })
    }

    /// What concerns these networks in the settings of a result.
    pub(crate) fn settings(&self) -> Value {
        json!({
            "outputs": self.origin, "inputs": self.images.described(), "epsilons": self.epsilons(),
            "recipes": self.recipes,
        })
    }

    pub(crate) fn epsilons(&self) -> Vec<f64> {
        self.by_epsilon.iter().map(|level| level.epsilon).collect()
    }

    /// All networks on one input graph.
    pub(crate) fn models(&self) -> Result<ModelSet<'_>, Failure> {
        let mut models = Vec::with_capacity(self.by_epsilon.len());
        for level in &self.by_epsilon {
            models.push(Model { name: level.name(), outputs: self.outputs_of(&level.outputs)? });
        }
        Ok(ModelSet::new(self.images.samples()?, models)?)
    }

    /// One network.
    pub(crate) fn pair(&self, at: usize) -> Result<PairedSamples<'_>, Failure> {
        Ok(PairedSamples::new(self.images.samples()?, self.outputs_of(&self.by_epsilon[at].outputs)?)?)
    }

    fn outputs_of<'a>(&self, outputs: &'a [f32]) -> Result<Samples<'a>, Failure> {
        Ok(Samples::from_f32(self.images.len(), outputs.len() / self.images.len(), outputs)?)
    }

    /// What a reader must know about them, and how often they are right.
    pub(crate) fn introduce(&self, findings: &mut Findings) -> Result<(), Failure> {
        findings.note(format!("{}: {} on {}.", self.title(), self.origin, self.images.described()));
        if self.images.stand_in {
            findings.note(STAND_IN);
        }
        for (at, level) in self.by_epsilon.iter().enumerate() {
            let name = format!("{}, {}", self.origin, level.name());
            findings.network(name, self.images.described(), self.accuracy(at)?);
        }
        Ok(())
    }

    /// The share of images that a network classifies correctly.
    pub(crate) fn accuracy(&self, at: usize) -> Result<Option<f64>, Failure> {
        Ok(spadework_probe::accuracy(self.pair(at)?.output(), &self.images.labels())?)
    }

    /// Records the k of graphs that these networks were scored with.
    pub(crate) fn record_graphs(&self, neighbors: &[usize], points: &[Point], findings: &mut Findings) {
        for (&requested, point) in neighbors.iter().zip(points) {
            findings.graph(format!("{}, {}", self.title(), self.origin), requested, point.used);
        }
    }

    pub(crate) fn title(&self) -> &'static str {
        self.which.title()
    }
}

/// One k: what was used, and the largest eigenvalues of each network.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Point {
    pub(crate) used: usize,
    pub(crate) models: Vec<Vec<f64>>,
}

impl Levels {
    /// The r largest eigenvalues of every network for every k, from one search. `None` where the time is over.
    pub(crate) fn eigenvalues(
        &self,
        run: &Run,
        neighbors: &[usize],
        eigenpairs: usize,
    ) -> Result<Option<Vec<Point>>, Failure> {
        let settings = json!({
            "levels": self.settings(), "neighbors": neighbors, "eigenpairs": eigenpairs, "seed": run.seed(),
        });
        let [from, to] = [neighbors.first(), neighbors.last()].map(|k| k.copied().unwrap_or(0));
        let name = format!("eigenvalues/{}/{} k {from}-{to} r {eigenpairs}", self.title(), self.origin);
        run.part(&name, &settings, || {
            let params = SpadeParams::default().with_eigenpairs(eigenpairs).with_seed(run.seed());
            let swept = sweep(&self.models()?, neighbors, &params, run.monitor())?;
            let point = |point: SweepPoint| -> Result<Point, Failure> {
                let scores = point.scores?;
                let models = scores.models.into_iter().map(|model| model.eigenvalues).collect();
                Ok(Point { used: scores.used, models })
            };
            swept.points.into_iter().map(point).collect()
        })
    }
}

impl Point {
    /// λ_1 of each network.
    pub(crate) fn scores(&self) -> Vec<f64> {
        self.models.iter().map(|values| values[0]).collect()
    }
}

impl Level {
    pub(crate) fn name(&self) -> String {
        format!("ε = {}", self.epsilon)
    }
}

/// The paper's ε; L∞ on MNIST, L2 on CIFAR-10.
fn trained_epsilons(run: &Run, which: Which) -> &'static [f64] {
    match which {
        Which::Mnist => run.size(&[0.0, 0.1, 0.2, 0.3, 0.4], &[0.0, 0.2]),
        Which::Cifar10 => run.size(&[0.0, 0.25, 0.5, 1.0, 2.0], &[0.0, 0.5]),
    }
}

/// LeNet-5 on MNIST and ResNet-18 on CIFAR-10 (the paper's § 5.5 names ResNet50); in quick runs what learns in seconds.
pub(crate) fn architecture_of(run: &Run, which: Which, train: &Images) -> &'static str {
    match which {
        _ if train.stand_in => "mlp:64",
        Which::Cifar10 if !run.is_quick() => "resnet18",
        _ => "lenet5",
    }
}

/// How networks of a data set are trained by default.
pub(crate) fn training_of(run: &Run, which: Which) -> TrainParams {
    let climb = Climb { steps: run.options().train_steps.unwrap_or(run.size(10, 3)), ..Climb::default() };
    let epochs = |full: usize| run.options().epochs.unwrap_or(run.size(full, 2));
    match which {
        // Against ε = 0.4, LeNet-5 learns nothing unless it has seen the images as they are first, and ε grows.
        Which::Mnist => TrainParams {
            epochs: epochs(20),
            warmup: 1,
            growth: run.size(epochs(20) / 3, 0),
            climb,
            seed: run.seed(),
            ..TrainParams::default()
        },
        Which::Cifar10 if run.is_quick() => {
            TrainParams { epochs: epochs(2), climb, seed: run.seed(), ..TrainParams::default() }
        }
        Which::Cifar10 => TrainParams {
            epochs: epochs(30),
            learning_rate: 0.1,
            schedule: Schedule::Cyclic,
            optimizer: OptimizerKind::Sgd { momentum: 0.9 },
            weight_decay: 5e-4,
            augmentation: Augmentation { crop: 4, flip: true, augmix: false },
            climb,
            seed: run.seed(),
            ..TrainParams::default()
        },
    }
}

/// Against ε, or plainly where it is 0.
fn level_recipe<'a>(run: &Run, which: Which, train: &'a Images, epsilon: f64) -> Recipe<'a> {
    let mut params = training_of(run, which);
    params.climb.norm = if which == Which::Mnist { Norm::Linf } else { Norm::L2 };
    if epsilon > 0.0 {
        params.method = Method::Pgd;
        params.epsilon = epsilon as f32;
    }
    Recipe {
        name: format!("{}-level-{epsilon}-seed{}", which.word(), params.seed),
        train,
        architecture: architecture_of(run, which, train).to_owned(),
        normalize: which == Which::Cifar10 && !train.stand_in,
        params,
        guided_by: None,
    }
}

/// A network with what it depends on.
#[derive(Debug)]
pub(crate) struct LevelNetwork {
    pub(crate) name: String,
    pub(crate) network: Network,
    /// How it was trained, or the file it is from.
    pub(crate) recipe: Value,
}

/// The networks themselves: those of the data folder where there are any (MNIST), else trained here, as far as the time goes.
pub(crate) fn networks(run: &Run, which: Which) -> Result<Vec<LevelNetwork>, Failure> {
    if which == Which::Mnist && which.is_there(run) && run.data_file("models").is_some() {
        let (_, _, epsilons) = kept_outputs(which);
        let mut networks = Vec::new();
        for epsilon in run.size(epsilons, &["0.0", "0.3"]) {
            let Some(path) = run.data_file(&format!("models/lenet5_eps{epsilon}.onnx")) else { continue };
            let (name, network) = (format!("LeNet-5, ε = {epsilon}"), Network::load(&path)?);
            networks.push(LevelNetwork { name, network, recipe: json!(path) });
        }
        return Ok(networks);
    }
    let train = Images::train(run, which)?;
    let mut networks = Vec::new();
    for &epsilon in trained_epsilons(run, which) {
        let recipe = level_recipe(run, which, &train, epsilon);
        if let Some(network) = recipe.network(run, Guides::default())? {
            let name = format!("{}, ε = {epsilon}", recipe.architecture);
            networks.push(LevelNetwork { name, network, recipe: recipe.settings() });
        }
    }
    Ok(networks)
}
