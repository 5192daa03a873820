//! Networks as files: weights as safetensors with a description in JSON next to them, or one ONNX file.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};
use serde::{Deserialize, Serialize};
use spadework_io::output::write_bytes;
use spadework_io::{FileBytes, read_file};

use crate::network::{Frozen, Layer, Network, NetworkBuilder, Operation, Source};
use crate::{Compute, Error, Result, onnx};

/// What stands in a description, so that a later version can tell what it reads.
const SCHEMA: &str = "spadework.network/1";

/// The JSON file next to the weights.
#[derive(Debug, Serialize, Deserialize)]
struct Description {
    schema: String,
    input_shape: Vec<usize>,
    outputs: usize,
    layers: Vec<LayerDescription>,
}

#[derive(Debug, Serialize, Deserialize)]
struct LayerDescription {
    name: String,
    operation: Operation,
    inputs: Vec<Source>,
}

impl Network {
    /// Reads a network: an ONNX file (`.onnx`), or weights (`.safetensors`) with their description (`.json`) next to them, or
    /// a folder with `model.safetensors` in it.
    ///
    /// # Errors
    /// When a file does not exist, or its content does not match its ending.
    pub fn load(path: &Path) -> Result<Self> {
        let path = if path.is_dir() { path.join("model.safetensors") } else { path.to_owned() };
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        match ending {
            "onnx" => onnx::read(&path, &read(&path)?),
            "safetensors" => Self::load_safetensors(&path),
            _ if !path.exists() => Err(refuse(&path, "no such file or folder")),
            _ => Err(refuse(&path, "expected a network as .onnx or .safetensors")),
        }
    }

    fn load_safetensors(path: &Path) -> Result<Self> {
        let bytes = read(path)?;
        let beside = path.with_extension("json");
        network_of(path, &beside, &read(&beside)?, &Arrays::parse(path, &bytes)?)
    }

    /// Writes `path` (`.safetensors`) and the description next to it (`.json`), each complete or not at all.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        let views: Vec<(String, &[usize], &[f32])> = self
            .parameters()
            .iter()
            .map(|parameter| {
                (parameter.name.clone(), parameter.shape.as_slice(), parameter.values.as_slice())
            })
            .collect();
        write_bytes(path, &encode(path, &views, None)?)?;
        write_bytes(&path.with_extension("json"), self.description().as_bytes())?;
        Ok(())
    }

    /// Writes an ONNX file, complete or not at all.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save_onnx(&self, path: &Path) -> Result<()> {
        Ok(write_bytes(path, &onnx::write(self))?)
    }

    /// The description in JSON, with a line end.
    pub(crate) fn description(&self) -> String {
        let layers = self.layers().iter().map(|Layer { name, operation, inputs, .. }| LayerDescription {
            name: name.clone(),
            operation: operation.clone(),
            inputs: inputs.clone(),
        });
        let description = Description {
            schema: SCHEMA.to_owned(),
            input_shape: self.input_shape().to_vec(),
            outputs: self.outputs(),
            layers: layers.collect(),
        };
        let text =
            serde_json::to_string_pretty(&description).expect("words and numbers can be written as JSON");
        text + "\n"
    }
}

impl Frozen {
    /// Reads a network that is only run: any ONNX file (`.onnx`) whose operators can be differentiated, or what
    /// [`Network::load`] takes.
    ///
    /// # Errors
    /// When a file does not exist, or its content does not match its ending.
    pub fn load(path: &Path, compute: &Compute) -> Result<Self> {
        if path.extension().is_some_and(|ending| ending == "onnx") {
            let graph = onnx::Graph::read(path, &read(path)?, compute)?;
            return Ok(Self::computing(graph, compute.device().clone()));
        }
        Ok(Self::new(&Network::load(path)?, compute))
    }
}

/// The network of a description in `beside` and arrays in `path`.
pub(crate) fn network_of(
    path: &Path,
    beside: &Path,
    description: &[u8],
    arrays: &Arrays<'_>,
) -> Result<Network> {
    let description: Description = serde_json::from_slice(description)
        .map_err(|cause| refuse(beside, &format!("expected the description of a network, got {cause}")))?;
    if description.schema != SCHEMA {
        return Err(refuse(beside, &format!("expected schema {SCHEMA}, got {}", description.schema)));
    }
    description.build(path, arrays)
}

impl Description {
    fn build(self, path: &Path, arrays: &Arrays<'_>) -> Result<Network> {
        let mut builder = NetworkBuilder::new(&self.input_shape)?;
        for (index, layer) in self.layers.into_iter().enumerate() {
            if layer.inputs.iter().any(|source| matches!(source, Source::Layer(at) if *at >= index)) {
                return Err(refuse(
                    path,
                    &format!("the layer `{}` must take its values from earlier ones", layer.name),
                ));
            }
            let names = layer.operation.parameter_names().iter();
            let parameters: Result<Vec<_>> =
                names.map(|parameter| arrays.floats(&format!("{}.{parameter}", layer.name))).collect();
            builder
                .layer(&layer.name, layer.operation, &layer.inputs, parameters?)
                .map_err(|error| refuse(path, &error.to_string()))?;
        }
        let network = builder.finish().map_err(|error| refuse(path, &error.to_string()))?;
        if network.outputs() == self.outputs {
            Ok(network)
        } else {
            Err(refuse(path, "the outputs are not as many as described"))
        }
    }
}

/// The arrays of a safetensors file.
pub(crate) struct Arrays<'a> {
    path: PathBuf,
    tensors: SafeTensors<'a>,
    /// What the file says about itself.
    pub(crate) metadata: HashMap<String, String>,
}

impl<'a> Arrays<'a> {
    pub(crate) fn parse(path: &Path, bytes: &'a [u8]) -> Result<Self> {
        let broken = |cause| refuse(path, &format!("not a valid safetensors file: {cause}"));
        let tensors = SafeTensors::deserialize(bytes).map_err(broken)?;
        let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(broken)?;
        let metadata = metadata.metadata().clone().unwrap_or_default();
        Ok(Self { path: path.to_owned(), tensors, metadata })
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.tensors.tensor(name).is_ok()
    }

    pub(crate) fn floats(&self, name: &str) -> Result<(Vec<usize>, Vec<f32>)> {
        let view = self
            .tensors
            .tensor(name)
            .map_err(|_| refuse(&self.path, &format!("expected an array `{name}`, got none")))?;
        if view.dtype() != Dtype::F32 {
            return Err(refuse(
                &self.path,
                &format!("`{name}` must hold 32 bit floats, got {:?}", view.dtype()),
            ));
        }
        let values = view.data().as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        Ok((view.shape().to_vec(), values))
    }
}

/// The bytes of a safetensors file.
pub(crate) fn encode(
    path: &Path,
    arrays: &[(String, &[usize], &[f32])],
    metadata: Option<HashMap<String, String>>,
) -> Result<Vec<u8>> {
    let raw: Vec<Vec<u8>> = arrays
        .iter()
        .map(|(_, _, values)| values.iter().flat_map(|value| value.to_le_bytes()).collect())
        .collect();
    let mut views = Vec::with_capacity(arrays.len());
    for ((name, shape, _), bytes) in arrays.iter().zip(&raw) {
        let view = TensorView::new(Dtype::F32, shape.to_vec(), bytes)
            .map_err(|cause| refuse(path, &format!("cannot be encoded: {cause}")))?;
        views.push((name.clone(), view));
    }
    serialize(views, metadata).map_err(|cause| refuse(path, &format!("cannot be encoded: {cause}")))
}

pub(crate) fn refuse(path: &Path, reason: &str) -> Error {
    Error::Model { path: path.to_owned(), reason: reason.to_owned() }
}

pub(crate) fn read(path: &Path) -> Result<FileBytes> {
    if !path.exists() {
        return Err(spadework_io::Error::NotFound { path: path.display().to_string() }.into());
    }
    Ok(read_file(path)?)
}
