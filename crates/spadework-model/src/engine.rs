//! A decoded file: its description, and what runs it.
//!
//! Three checks protect against malicious files. [`wire`](super::wire) has counted its parts before it is decoded here;
//! [`check_tensors`] compares claimed sizes with the content; and [`Part::plan`] infers the shapes through the graph before
//! anything is computed, because a node of a few bytes can require a tensor of terabytes. Any remaining panic is caught.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::built_in::BuiltIn;
use super::error::ModelError;
use super::join::Columns;
use super::onnxruntime;
use super::operators;
use super::outline::{Extent, Node, Outline, Port};
use super::plan::{Part, Plan, shapes_in};
use super::proto::{self, Dimension, Graph, Model, Tensor, ValueInfo, element};
use super::runner::Runner;
use super::shapes::Value;
use super::split::Split;
use super::write;

/// Extents that stand for those that a file leaves open, where shapes are found for people to read.
const STAND_INS: [usize; 2] = [7, 11];

/// A decoded file.
pub(super) struct Decoded {
    /// The file, weights that lay in files of their own included.
    bytes: Vec<u8>,
    model: Model,
}

/// Decodes a file whose parts have been counted; weights in files of their own are looked for in `folder`.
pub(super) fn decode(bytes: &[u8], folder: &Path) -> Result<Decoded, ModelError> {
    let model = Model::read(bytes)?;
    let decoded = Decoded { bytes: bytes.to_vec(), model };
    let graph = decoded.graph()?;
    check_tensors(graph, folder)?;
    if graph.initializers.iter().all(|tensor| tensor.external.is_none()) {
        return Ok(decoded);
    }
    check_shared_files(graph, folder)?;
    let bytes = write::with_weights(&decoded.model, graph, bytes, |tensor| external_numbers(tensor, folder))?;
    Ok(Decoded { model: Model::read(&bytes)?, bytes })
}

impl Decoded {
    fn graph(&self) -> Result<&Graph, ModelError> {
        let missing = || ModelError::NotOnnx { reason: "it holds no graph".to_owned() };
        self.model.graph.as_ref().ok_or_else(missing)
    }

    /// The file, weights that lay in files of their own included.
    pub(super) fn content(&self) -> &[u8] {
        &self.bytes
    }

    /// What the file says of itself, with the shapes that follow from it.
    pub(super) fn outline(&self) -> Result<Outline, ModelError> {
        let graph = self.graph()?;
        let given: HashSet<&str> = graph.initializers.iter().map(|tensor| tensor.name.as_str()).collect();
        let mut weights = weights(graph);
        let parameters = weights.values().sum();
        let shapes = self.shapes(graph, &given);
        let nodes = graph.nodes.iter().filter(|node| node.operator != "Constant").map(|node| Node {
            name: node.label(),
            operator: node.operator.clone(),
            inputs: node.reads().into_iter().map(str::to_owned).collect(),
            outputs: node.outputs.iter().filter(|value| !value.is_empty()).cloned().collect(),
            shape: node.outputs.first().and_then(|value| shapes.get(value).cloned()),
            parameters: node.inputs.iter().filter_map(|value| weights.remove(value.as_str())).sum(),
        });
        let with_shape = |info: &ValueInfo| {
            let port = port(info);
            Port { shape: port.shape.clone().or_else(|| shapes.get(&info.name).cloned()), ..port }
        };
        Ok(Outline {
            producer: Some(self.model.producer.clone()).filter(|producer| !producer.is_empty()),
            opset: self.model.opset(),
            nodes: nodes.collect(),
            inputs: graph
                .inputs
                .iter()
                .filter(|info| !given.contains(info.name.as_str()))
                .map(port)
                .collect(),
            outputs: graph.outputs.iter().map(with_shape).collect(),
            parameters,
        })
    }

    /// Shapes of all values, as far as they follow from those of the inputs; for people to read. An extent that changes with
    /// those that the file leaves open is open as well.
    fn shapes(&self, graph: &Graph, given: &HashSet<&str>) -> HashMap<String, Vec<Extent>> {
        let inputs = || graph.inputs.iter().filter(|info| !given.contains(info.name.as_str()));
        let with = |stand_in: usize| {
            let value = |info: &ValueInfo| {
                let extents = port(info).shape?.into_iter().map(|extent| match extent {
                    Extent::Fixed(extent) => extent,
                    Extent::Dynamic(_) => stand_in,
                });
                Some((info.name.clone(), Value::new(info.element?, extents.collect())))
            };
            shapes_in(graph, &self.bytes, self.model.opset(), inputs().filter_map(value).collect())
        };
        let [one, other] = STAND_INS.map(with);
        let name = inputs().find_map(|info| {
            port(info).shape?.into_iter().find(|extent| matches!(extent, Extent::Dynamic(_)))
        });
        let open = |extent: usize| match &name {
            Some(name) if extent == STAND_INS[0] => name.clone(),
            _ => Extent::Dynamic(String::new()),
        };
        let extents = |(name, value): (String, Value)| {
            let other = &other.get(&name)?.shape;
            let both = value.shape.iter().zip(other);
            let same_rank = value.shape.len() == other.len();
            let extents = both.map(|(&a, &b)| if a == b { Extent::Fixed(a) } else { open(a) }).collect();
            same_rank.then_some((name, extents))
        };
        one.into_iter().filter_map(extents).collect()
    }

    /// The graph behind these outputs, with all shapes known and within bounds.
    fn plan<'a>(
        &'a self,
        input: &Port,
        shape: &[usize],
        outputs: &'a [&'a str],
    ) -> Result<(Part<'a>, Result<Plan, ModelError>), ModelError> {
        check_element(input)?;
        let graph = self.graph()?;
        let part = Part::behind(graph, outputs)?;
        part.check_random()?;
        let value = Value::new(element::FLOAT, shape.to_vec());
        let plan = part.plan(graph, &self.bytes, self.model.opset(), (&input.name, value));
        if let Ok(plan) = &plan {
            plan.cost.check(self.bytes.len() as u64, shape.first().map_or(1, |&batch| batch as u64))?;
        }
        Ok((part, plan))
    }

    /// Makes the model ready to turn a batch of that shape into these outputs.
    pub(super) fn runner(
        &self,
        input: &Port,
        shape: &[usize],
        outputs: &[&str],
    ) -> Result<Box<dyn Runner>, ModelError> {
        let (part, plan) = self.plan(input, shape, outputs)?;
        let plan = plan?;
        part.check_depth()?;
        let split = Split::new((&part, &plan), (self.graph()?, &self.bytes), &input.name, outputs);
        let extents = |name: String| match plan.values.get(&name) {
            Some(value) if name != input.name => (name, value.shape.as_slice()),
            _ => (name, shape),
        };
        let inputs: Vec<_> = split.reads().into_iter().map(extents).collect();
        let file = write::for_engine(&self.model, self.graph()?, &self.bytes, &part, &plan, &split, &inputs);
        let shapes = outputs.iter().map(|&name| plan.values.get(name).map(|value| value.shape.clone()));
        let built_in = BuiltIn::new(file, split, (&input.name, shape), (outputs, shapes.collect()))?;
        if !part.nodes.iter().all(|node| operators::is_plain(node)) {
            built_in.try_zeros()?;
        }
        Ok(Box::new(built_in))
    }

    /// The same by an onnxruntime library.
    pub(super) fn library_runner(
        &self,
        library: &Path,
        input: &Port,
        shape: &[usize],
        outputs: &[&str],
    ) -> Result<Box<dyn Runner>, ModelError> {
        let (part, plan) = self.plan(input, shape, outputs)?;
        let known = match plan {
            Ok(plan) => outputs.iter().map(|&name| Some(plan.values.get(name)?.shape.clone())).collect(),
            Err(
                huge @ (ModelError::HugeTensor { .. }
                | ModelError::HugeConstants { .. }
                | ModelError::DearConstants { .. }),
            ) => {
                return Err(huge);
            }
            // What the built-in engine does not know, the library may.
            Err(_) => None,
        };
        let file = write::for_onnxruntime(&self.model, self.graph()?, &self.bytes, &part, outputs);
        let place = onnxruntime::Input::new(&input.name, shape, &input.element);
        let model = onnxruntime::Model::new(library, file, place, outputs, known);
        Ok(Box::new(model.map_err(|reason| ModelError::Library { reason })?))
    }

    /// The same model with one input, whose columns go into several.
    pub(super) fn joined(&self, columns: &[Columns<'_>]) -> Result<Decoded, ModelError> {
        let bytes = write::joined(&self.model, self.graph()?, &self.bytes, columns);
        Ok(Decoded { model: Model::read(&bytes)?, bytes })
    }

    /// Bytes of all values that a batch of that shape makes; as many at most are there at a time.
    pub(super) fn bytes(&self, input: &Port, shape: &[usize], outputs: &[&str]) -> Result<u64, ModelError> {
        Ok(self.plan(input, shape, outputs)?.1?.bytes)
    }
}

fn port(info: &ValueInfo) -> Port {
    let extent = |dimension: &Dimension| match dimension {
        Dimension::Fixed(extent) => {
            usize::try_from(*extent).map_or(Extent::Dynamic(String::new()), Extent::Fixed)
        }
        Dimension::Open(name) => Extent::Dynamic(name.clone()),
    };
    Port {
        name: info.name.clone(),
        element: info.element.map_or_else(|| "no tensor".to_owned(), element::name),
        shape: info.shape.as_ref().map(|shape| shape.iter().map(extent).collect()),
    }
}

/// Numbers of floating point can be given to the input.
fn check_element(input: &Port) -> Result<(), ModelError> {
    match input.element.as_str() {
        "float32" | "float64" | "float16" => Ok(()),
        other => Err(ModelError::InputType { input: input.name.clone(), element: other.to_owned() }),
    }
}

/// How many numbers of floating point each weight or constant holds.
fn weights(graph: &Graph) -> HashMap<&str, u64> {
    let constants = graph.nodes.iter().filter(|node| node.operator == "Constant").filter_map(|node| {
        let value = node.attributes.iter().find_map(|attribute| attribute.tensors.first())?;
        Some((node.outputs.first()?.as_str(), value))
    });
    let initializers = graph.initializers.iter().map(|tensor| (tensor.name.as_str(), tensor));
    let floats = initializers.chain(constants).filter(|(_, tensor)| element::is_float(tensor.element));
    floats.map(|(name, tensor)| (name, tensor.len().unwrap_or(0))).collect()
}

/// Every tensor holds what its shape says, and files of weights are there.
fn check_tensors(graph: &Graph, folder: &Path) -> Result<(), ModelError> {
    for tensor in &graph.initializers {
        check_tensor(tensor, &tensor.name, folder)?;
    }
    for node in &graph.nodes {
        for attribute in &node.attributes {
            attribute.tensors.iter().try_for_each(|tensor| check_inner_tensor(tensor, node, folder))?;
            attribute.graphs.iter().try_for_each(|inner| check_tensors(inner, folder))?;
        }
    }
    Ok(())
}

fn check_inner_tensor(tensor: &Tensor, node: &proto::Node, folder: &Path) -> Result<(), ModelError> {
    match &tensor.external {
        None => check_tensor(tensor, &node.label(), folder),
        Some(external) => Err(ModelError::ExternalData {
            tensor: node.label(),
            file: external.location.clone(),
            reason: "only weights of the whole graph may be".to_owned(),
        }),
    }
}

fn check_tensor(tensor: &Tensor, name: &str, folder: &Path) -> Result<(), ModelError> {
    // Text, and numbers of less than a byte; the engine takes none of them for weights.
    let Some(each) = element::bytes(tensor.element) else { return Ok(()) };
    let expected = tensor.len().and_then(|numbers| numbers.checked_mul(each));
    let got = if tensor.external.is_some() {
        external_place(tensor, name, folder)?.1
    } else {
        match &tensor.raw {
            Some(raw) if !raw.is_empty() => raw.len() as u64,
            _ => tensor.typed_count * each,
        }
    };
    if expected == Some(got) {
        return Ok(());
    }
    Err(ModelError::TensorSize {
        tensor: name.to_owned(),
        shape: tensor.dims.clone(),
        expected: expected.map_or_else(|| "more than any memory has".to_owned(), |bytes| bytes.to_string()),
        got,
    })
}

/// Where the numbers of a tensor begin in a file of their own, and how many bytes they are, without reading them.
fn external_place(tensor: &Tensor, name: &str, folder: &Path) -> Result<(u64, u64), ModelError> {
    let external = tensor.external.clone().unwrap_or_default();
    let file = external.location.as_str();
    let failed =
        |reason: String| ModelError::ExternalData { tensor: name.to_owned(), file: file.to_owned(), reason };
    let number = |key: &str, value: &Option<String>| match value.as_deref().map(str::parse::<u64>) {
        None => Ok(None),
        Some(Ok(number)) => Ok(Some(number)),
        Some(Err(_)) => Err(failed(format!("its {key} is not a number"))),
    };
    let outside = Path::new(file)
        .components()
        .any(|part| !matches!(part, std::path::Component::Normal(_) | std::path::Component::CurDir));
    if file.is_empty() || outside {
        return Err(failed("it must lie in the folder of the model".to_owned()));
    }
    let metadata = std::fs::metadata(folder.join(file)).map_err(|cause| failed(cause.to_string()))?;
    let (offset, length) =
        (number("offset", &external.offset)?.unwrap_or(0), number("length", &external.length)?);
    let left = metadata.len().saturating_sub(offset);
    match length {
        None => Ok((offset, left)),
        Some(length) if length <= left => Ok((offset, length)),
        Some(length) => Err(failed(format!("expected {length} bytes from byte {offset} on, got {left}"))),
    }
}

/// Weights may lie in the same place, as those that two layers share. A small file must not stand for much more memory, though.
fn check_shared_files(graph: &Graph, folder: &Path) -> Result<(), ModelError> {
    /// Bytes of weights at most, for each byte of their file.
    const TIMES: u64 = 4;
    let mut taken: HashMap<PathBuf, u64> = HashMap::new();
    for tensor in &graph.initializers {
        let Some(external) = &tensor.external else { continue };
        let path: PathBuf = folder.join(&external.location).components().collect();
        let (_, length) = external_place(tensor, &tensor.name, folder)?;
        let size = std::fs::metadata(&path).map_or(0, |facts| facts.len());
        let total = taken.entry(path).or_default();
        *total = total.saturating_add(length);
        if *total > size.saturating_mul(TIMES) {
            return Err(ModelError::ExternalData {
                tensor: tensor.name.clone(),
                file: external.location.clone(),
                reason: format!("the tensors in it take more than {TIMES} times its {size} bytes"),
            });
        }
    }
    Ok(())
}

/// The numbers of a tensor in a file of their own.
fn external_numbers(tensor: &Tensor, folder: &Path) -> Result<Vec<u8>, ModelError> {
    use std::io::{Read, Seek, SeekFrom};
    let (offset, length) = external_place(tensor, &tensor.name, folder)?;
    let location = tensor.external.as_ref().map(|external| external.location.clone()).unwrap_or_default();
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = std::fs::File::open(folder.join(&location))?;
        file.seek(SeekFrom::Start(offset))?;
        let mut numbers = Vec::new();
        file.take(length).read_to_end(&mut numbers)?;
        Ok(numbers)
    };
    let failed = |reason: String| ModelError::ExternalData {
        tensor: tensor.name.clone(),
        file: location.clone(),
        reason,
    };
    let numbers = read().map_err(|cause| failed(cause.to_string()))?;
    if numbers.len() as u64 == length { Ok(numbers) } else { Err(failed("it became shorter".to_owned())) }
}
