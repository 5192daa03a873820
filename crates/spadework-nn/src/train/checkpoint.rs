//! A run on disk: one safetensors file with the weights, the state of the optimizer, the budget of each sample, and the
//! progress of the run. It is either complete or absent.

use std::collections::HashMap;
use std::path::Path;

use burn_tensor::{Tensor, TensorData};
use serde::{Deserialize, Serialize};
use spadework::Samples;
use spadework_io::{digest, outdated_digest, output::write_bytes};

use super::TrainParams;
use super::optimizer::{Memory, Optimizer};
use super::trainer::Progress;
use crate::data::Examples;
use crate::device::Compute;
use crate::network::{Network, to_host};
use crate::store::{Arrays, encode, network_of, read, refuse};
use crate::{Error, Result};

const SCHEMA: &str = "spadework.checkpoint/1";

/// A run that can be resumed.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    pub(super) network: Network,
    pub(super) params: TrainParams,
    pub(super) progress: Progress,
    pub(super) epsilons: Vec<f32>,
    memories: Vec<[Option<Vec<f32>>; 2]>,
    steps: u64,
    data: String,
}

/// What is stored with the arrays.
#[derive(Debug, Serialize, Deserialize)]
struct State {
    params: TrainParams,
    progress: Progress,
    steps: u64,
    data: String,
}

/// Names of the optimizer's memories.
const MEMORIES: [&str; 2] = ["first", "second"];

impl Checkpoint {
    pub(super) fn new(
        network: Network,
        examples: &Examples,
        params: &TrainParams,
        optimizer: &Optimizer,
        progress: &Progress,
        epsilons: &[f32],
    ) -> Self {
        let memories = apart(optimizer, &network);
        Self {
            network,
            params: params.clone(),
            progress: progress.clone(),
            epsilons: epsilons.to_vec(),
            memories,
            steps: optimizer.steps,
            data: data_digest(examples),
        }
    }

    /// The network as it was.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// How it was trained.
    pub fn params(&self) -> &TrainParams {
        &self.params
    }

    /// Writes the file, complete or not at all.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        let state = State {
            params: self.params.clone(),
            progress: self.progress.clone(),
            steps: self.steps,
            data: self.data.clone(),
        };
        let state = serde_json::to_string(&state)
            .map_err(|cause| refuse(path, &format!("the state of the run cannot be written: {cause}")))?;
        let metadata = HashMap::from([
            ("schema".to_owned(), SCHEMA.to_owned()),
            ("network".to_owned(), self.network.description()),
            ("state".to_owned(), state),
        ]);
        let count = [self.epsilons.len()];
        let mut arrays = vec![("epsilons".to_owned(), &count[..], self.epsilons.as_slice())];
        for (parameter, memories) in self.network.parameters().iter().zip(&self.memories) {
            let shape = parameter.shape.as_slice();
            arrays.push((parameter.name.clone(), shape, parameter.values.as_slice()));
            for (kind, memory) in MEMORIES.iter().zip(memories) {
                arrays.extend(
                    memory
                        .as_ref()
                        .map(|values| (format!("{kind}/{}", parameter.name), shape, values.as_slice())),
                );
            }
        }
        Ok(write_bytes(path, &encode(path, &arrays, Some(metadata))?)?)
    }

    /// Reads what [`Checkpoint::save`] wrote.
    ///
    /// # Errors
    /// When the file does not exist, is not a checkpoint, or is damaged.
    pub fn load(path: &Path) -> Result<Self> {
        let bytes = read(path)?;
        let arrays = Arrays::parse(path, &bytes)?;
        let said = |key: &str| {
            arrays.metadata.get(key).ok_or_else(|| refuse(path, "expected a checkpoint of a training run"))
        };
        if said("schema")? != SCHEMA {
            return Err(refuse(path, &format!("expected schema {SCHEMA}, got {}", said("schema")?)));
        }
        let network = network_of(path, path, said("network")?.as_bytes(), &arrays)?;
        let state: State = serde_json::from_str(said("state")?)
            .map_err(|cause| refuse(path, &format!("expected the state of a training run, got {cause}")))?;
        let mut memories = Vec::new();
        for parameter in network.parameters() {
            let mut both = [None, None];
            for (kind, memory) in MEMORIES.iter().zip(&mut both) {
                let name = format!("{kind}/{}", parameter.name);
                if !arrays.contains(&name) {
                    continue;
                }
                let (shape, values) = arrays.floats(&name)?;
                if shape != parameter.shape {
                    return Err(Error::ParameterShape {
                        name,
                        expected: parameter.shape.clone(),
                        got: shape,
                    });
                }
                *memory = Some(values);
            }
            memories.push(both);
        }
        let (_, epsilons) = arrays.floats("epsilons")?;
        let State { params, progress, steps, data } = state;
        Ok(Self { network, params, progress, epsilons, memories, steps, data })
    }

    pub(super) fn check_data(&self, examples: &Examples) -> Result<()> {
        if self.epsilons.len() == examples.len() && self.data == data_digest(examples) {
            return Ok(());
        }
        let expected = "the data that the checkpoint was made with";
        if let Some(reason) = self.data.split(' ').next().and_then(outdated_digest) {
            return Err(Error::parameter(
                "the data",
                expected,
                format!("a checkpoint that cannot tell: {reason}"),
            ));
        }
        Err(Error::parameter("the data", expected, format!("others ({} samples)", examples.len())))
    }

    pub(super) fn optimizer(&self, compute: &Compute) -> Optimizer {
        let remembered = |memories: &[Option<Vec<f32>>; 2]| memories.iter().any(Option::is_some);
        let parameters: Vec<usize> =
            (0..self.memories.len()).filter(|&at| remembered(&self.memories[at])).collect();
        let together = |kind: usize| -> Option<Tensor<1>> {
            let parts = parameters.iter().map(|&at| self.memories[at][kind].as_deref());
            let values = parts.collect::<Option<Vec<_>>>()?.concat();
            let count = [values.len()];
            (!values.is_empty()).then(|| Tensor::from_data(TensorData::new(values, count), compute.device()))
        };
        Optimizer {
            memory: Memory { first: together(0), second: together(1) },
            steps: self.steps,
            parameters,
            ..Optimizer::new(self.params.optimizer, self.params.weight_decay)
        }
    }
}

/// What an optimizer remembers, for each parameter by itself.
fn apart(optimizer: &Optimizer, network: &Network) -> Vec<[Option<Vec<f32>>; 2]> {
    let mut memories = vec![[None, None]; network.parameters().len()];
    let Memory { first, second } = &optimizer.memory;
    for (kind, memory) in [first, second].into_iter().enumerate() {
        let Some(all) = memory.clone().map(to_host) else { continue };
        let mut rest = all.as_slice();
        for &at in &optimizer.parameters {
            let (own, others) = rest.split_at(network.parameters()[at].values.len());
            memories[at][kind] = Some(own.to_vec());
            rest = others;
        }
    }
    memories
}

/// Tells the samples and their classes again.
fn data_digest(examples: &Examples) -> String {
    let classes: Vec<f32> = examples.labels().iter().map(|&class| class as f32).collect();
    let one = |dim: usize, values: &[f32]| {
        Samples::from_f32(examples.len(), dim, values.to_vec())
            .map_or_else(|error| error.to_string(), |s| digest(&s))
    };
    format!("{} {}", one(examples.size(), examples.samples()), one(1, &classes))
}
