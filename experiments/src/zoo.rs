//! The eight networks whose CLEVER scores the paper compares (Tables 5 and A.10).

use serde_json::{Value, json};
use spadework_nn::train::{Guides, Method, TrainParams};
use spadework_nn::{Frozen, Network};

use crate::data::{Images, Which};
use crate::failure::Failure;
use crate::levels::training_of;
use crate::networks::Recipe;
use crate::run::Run;

/// A network by its name in the paper.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Member {
    pub(crate) name: &'static str,
    pub(crate) which: Which,
    architecture: &'static str,
    /// What it is trained against; 0 for plain training.
    epsilon: f32,
    /// Whether it learns from the softened outputs of another one (defensive distillation).
    distilled: bool,
}

/// The temperature of defensive distillation. Papernot et al. use up to 100; at 20 the gradients do not vanish in single
/// precision.
const TEMPERATURE: f32 = 20.0;

const fn member(name: &'static str, which: Which, architecture: &'static str) -> Member {
    Member { name, which, architecture, epsilon: 0.0, distilled: false }
}

const ALL: [Member; 8] = [
    member("MNIST-MLP", Which::Mnist, "mlp:1024"),
    member("MNIST-CNN", Which::Mnist, "cnn7"),
    Member { distilled: true, ..member("MNIST-DD", Which::Mnist, "cnn7") },
    member("CIFAR-MLP", Which::Cifar10, "mlp:1024"),
    member("CIFAR-CNN", Which::Cifar10, "cnn7"),
    Member { distilled: true, ..member("CIFAR-DD", Which::Cifar10, "cnn7") },
    member("MNIST-2CL", Which::Mnist, "conv2"),
    Member { epsilon: 0.3, ..member("MNIST-2CL-0.3", Which::Mnist, "conv2") },
];

/// All of them; in quick runs one of each data set and a distilled one.
pub(crate) fn members(run: &Run) -> Vec<Member> {
    let quick = ["MNIST-MLP", "MNIST-DD", "CIFAR-MLP"];
    ALL.into_iter().filter(|member| !run.is_quick() || quick.contains(&member.name)).collect()
}

/// How they are trained, for settings.
pub(crate) fn training(run: &Run) -> Value {
    let epochs = |which: Which| json!(run.options().epochs.unwrap_or(default_epochs(run, which)));
    json!({
        "networks": members(run).iter().map(|member| member.name).collect::<Vec<_>>(),
        "epochs": { "mnist": epochs(Which::Mnist), "cifar10": epochs(Which::Cifar10) },
        "train_images": run.options().train_images,
    })
}

fn default_epochs(run: &Run, which: Which) -> usize {
    run.size(if which == Which::Mnist { 10 } else { 20 }, 1)
}

impl Member {
    /// The network, trained or read from a file. `None` where the time is over.
    pub(crate) fn network(&self, run: &Run, train: &Images) -> Result<Option<Network>, Failure> {
        if !self.distilled {
            return self.recipe(run, train, self.name, None).network(run, Guides::default());
        }
        let teacher_name = format!("{} teacher", self.name);
        let teacher = self.recipe(run, train, &teacher_name, None);
        let Some(network) = teacher.network(run, Guides::default())? else { return Ok(None) };
        let teacher = Frozen::new(&network, run.compute());
        let guides = Guides { teacher: Some(&teacher), ..Guides::default() };
        self.recipe(run, train, self.name, Some(teacher_name)).network(run, guides)
    }

    fn recipe<'a>(&self, run: &Run, train: &'a Images, name: &str, guided_by: Option<String>) -> Recipe<'a> {
        let mut params = TrainParams {
            epochs: run.options().epochs.unwrap_or(default_epochs(run, self.which)),
            seed: run.seed(),
            climb: training_of(run, self.which).climb,
            ..TrainParams::default()
        };
        if self.epsilon > 0.0 {
            let TrainParams { warmup, growth, .. } = training_of(run, self.which);
            params = TrainParams { method: Method::Pgd, epsilon: self.epsilon, warmup, growth, ..params };
        }
        if self.distilled {
            params.temperature = TEMPERATURE;
        }
        let architecture = if run.is_quick() { "mlp:64" } else { self.architecture };
        Recipe {
            name: format!("zoo-{name}-seed{}", run.seed()),
            train,
            architecture: architecture.to_owned(),
            normalize: false,
            params,
            guided_by,
        }
    }

    /// Its accuracy on the test images. `None` where the time is over.
    pub(crate) fn accuracy(
        &self,
        run: &Run,
        model: &Frozen,
        train: &Images,
        test: &Images,
    ) -> Result<Option<f64>, Failure> {
        let settings = json!({ "network": self.settings(run, train), "test": test.described() });
        run.part(&format!("accuracy/{}", self.name), &settings, || Ok(model.accuracy(&test.examples)?))
    }

    /// What its scores depend on.
    pub(crate) fn settings(&self, run: &Run, train: &Images) -> Value {
        json!({ "member": self.name, "recipe": self.recipe(run, train, self.name, None).settings() })
    }
}

/// Both data sets of the members, trained on and tested on, loaded once.
#[derive(Debug, Default)]
pub(crate) struct Shelf(Vec<(Which, Images, Images)>);

impl Shelf {
    pub(crate) fn has_stand_in(&self) -> bool {
        self.0.iter().any(|entry| entry.1.stand_in)
    }

    /// Training and test images.
    pub(crate) fn images(&mut self, run: &Run, which: Which) -> Result<(&Images, &Images), Failure> {
        let known = self.0.iter().position(|entry| entry.0 == which);
        let at = known.unwrap_or(self.0.len());
        if known.is_none() {
            self.0.push((which, Images::train(run, which)?, Images::test(run, which)?));
        }
        Ok((&self.0[at].1, &self.0[at].2))
    }
}
