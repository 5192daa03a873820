//! The engine: `tract-onnx` behind types of our own (docs/decisions/014-onnx.md).
//!
//! A file that was made to do harm meets three guards. [`wire`](super::wire) has counted its parts before it is decoded here;
//! [`check_tensors`] and [`check_nodes`] compare what it claims with what it holds; and [`check_sizes`] follows the shapes
//! through the graph before anything is computed, since a node of a few bytes can ask for a tensor of terabytes. What panics
//! all the same is caught.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use tract_onnx::model::ParseResult;
use tract_onnx::pb::tensor_proto::{DataLocation, DataType};
use tract_onnx::pb::tensor_shape_proto::dimension::Value as Dimension;
use tract_onnx::pb::type_proto::Value as TypeValue;
use tract_onnx::pb::{GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto};
use tract_onnx::tract_hir::internal::{
    DatumType, DimLike, Factoid, Framework, InferenceFact, InferenceModel, InferenceModelExt, InferenceOp,
    IntoRunnable, OutletId, TValue, TVec, Tensor, TractError, TractResult, TypedModel, TypedRunnableModel,
    TypedSimpleState, tvec,
};

use super::error::ModelError;
use super::outline::{Extent, Node, Outline, Port, bracketed};
use super::runner::{Runner, Worker};
use spadework_io::panics;

/// Bytes that a single tensor may take, those that lie in the file excepted.
const MOST_TENSOR_BYTES: u64 = 1 << 31;
/// Operator sets that the engine implements; under another one, an operator of the same name is another operator.
const DOMAINS: [&str; 4] = ["", "ai.onnx", "ai.onnx.ml", "com.microsoft"];
/// Operators whose outputs differ from run to run.
const RANDOM: [&str; 6] =
    ["RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli"];

/// A decoded file.
pub(super) struct Decoded {
    proto: ModelProto,
    /// Where weights in files of their own are looked for.
    folder: String,
}

/// A model made ready for one shape of its input.
struct BuiltIn {
    runnable: Arc<TypedRunnableModel>,
    input: (DatumType, Vec<usize>),
    outputs: Vec<Option<Vec<usize>>>,
}

/// What a thread runs batches with.
struct BuiltInWorker<'a> {
    model: &'a BuiltIn,
    state: TypedSimpleState,
}

/// Decodes a file whose parts have been counted.
pub(super) fn decode(bytes: &[u8], folder: &Path) -> Result<Decoded, ModelError> {
    let mut reader = bytes;
    let proto = caught(|| tract_onnx::onnx().proto_model_for_read(&mut reader))
        .map_err(|reason| ModelError::NotOnnx { reason })?;
    let folder = folder.to_string_lossy().into_owned();
    let decoded = Decoded { proto, folder };
    let graph = decoded.graph()?;
    check_tensors(graph, &decoded.folder)?;
    check_nodes(graph)?;
    Ok(decoded)
}

impl Decoded {
    fn graph(&self) -> Result<&GraphProto, ModelError> {
        self.proto
            .graph
            .as_ref()
            .ok_or_else(|| ModelError::NotOnnx { reason: "it holds no graph".to_owned() })
    }

    /// What the file says of itself, with the shapes that follow from it.
    pub(super) fn outline(&self) -> Result<Outline, ModelError> {
        let graph = self.graph()?;
        let given: HashSet<&str> = graph.initializer.iter().map(|tensor| tensor.name.as_str()).collect();
        let mut weights = weights(graph);
        let parameters = weights.values().sum();
        let shapes = self.shapes().unwrap_or_default();
        let nodes = graph.node.iter().filter(|node| node.op_type != "Constant").map(|node| Node {
            name: node_name(node),
            operator: node.op_type.clone(),
            inputs: node.input.iter().filter(|value| !value.is_empty()).cloned().collect(),
            outputs: node.output.iter().filter(|value| !value.is_empty()).cloned().collect(),
            shape: node.output.first().and_then(|value| shapes.get(value).cloned()),
            parameters: node.input.iter().filter_map(|value| weights.remove(value.as_str())).sum(),
        });
        let proto = &self.proto;
        let producer = format!("{} {}", proto.producer_name, proto.producer_version).trim().to_owned();
        let version =
            |import: &&tract_onnx::pb::OperatorSetIdProto| matches!(&*import.domain, "" | "ai.onnx");
        Ok(Outline {
            producer: (!producer.is_empty()).then_some(producer),
            opset: proto.opset_import.iter().find(version).map_or(0, |import| import.version),
            nodes: nodes.collect(),
            inputs: graph.input.iter().filter(|info| !given.contains(info.name.as_str())).map(port).collect(),
            outputs: graph
                .output
                .iter()
                .map(|info| Port {
                    shape: port(info).shape.or_else(|| shapes.get(&info.name).cloned()),
                    ..port(info)
                })
                .collect(),
            parameters,
        })
    }

    /// Shapes of all values, as far as they follow from those of the inputs; for people to read.
    fn shapes(&self) -> Result<HashMap<String, Vec<Extent>>, ModelError> {
        let ParseResult { mut model, outlets_by_name, .. } = self.parse()?;
        check_sizes(&mut model)?;
        // A model that cannot be run may still be described.
        let _ = caught(|| model.analyse(true));
        let extents = |fact: &InferenceFact| {
            let dims = fact.shape.concretize()?;
            let extent = |dim: &tract_onnx::prelude::TDim| match dim.to_usize() {
                Ok(extent) => Extent::Fixed(extent),
                Err(_) => Extent::Dynamic(dim.to_string()),
            };
            Some(dims.iter().map(extent).collect())
        };
        let shape =
            |(name, outlet): (String, OutletId)| Some((name, extents(model.outlet_fact(outlet).ok()?)?));
        Ok(outlets_by_name.into_iter().filter_map(shape).collect())
    }

    fn parse(&self) -> Result<ParseResult, ModelError> {
        // What a file claims of its inner shapes is not needed, and may be wrong.
        let reader = tract_onnx::onnx().with_ignore_value_info(true).with_ignore_output_shapes(true);
        let parsed = caught(|| reader.parse(&self.proto, Some(&self.folder))).map_err(engine)?;
        match parsed.unresolved_inputs.first() {
            None => Ok(parsed),
            Some(missing) => Err(engine(format!("nothing makes the value `{missing}`"))),
        }
    }

    /// Makes the model ready to turn a batch of that shape into these outputs, by an onnxruntime library where one is named.
    pub(super) fn runner(
        &self,
        input: &Port,
        shape: &[usize],
        outputs: &[&str],
        library: Option<&Path>,
    ) -> Result<Box<dyn Runner>, ModelError> {
        let built_in = self.built_in(input, shape, outputs)?;
        match library {
            None => Ok(Box::new(built_in)),
            Some(library) => self.by_onnxruntime(built_in, library, input, outputs),
        }
    }

    fn built_in(&self, input: &Port, shape: &[usize], outputs: &[&str]) -> Result<BuiltIn, ModelError> {
        let typed = self.typed(input, shape, outputs)?;
        let element = element_of(input)?;
        let (runnable, shapes) = caught(|| {
            let optimized = typed.into_optimized()?;
            let shape = |&outlet: &OutletId| -> TractResult<Option<Vec<usize>>> {
                Ok(optimized.outlet_fact(outlet)?.shape.as_concrete().map(<[usize]>::to_vec))
            };
            let shapes = optimized.output_outlets()?.iter().map(shape).collect::<TractResult<Vec<_>>>()?;
            Ok((optimized.into_runnable()?, shapes))
        })
        .map_err(engine)?;
        Ok(BuiltIn { runnable, input: (element, shape.to_vec()), outputs: shapes })
    }

    /// The same graph, run by an onnxruntime library.
    fn by_onnxruntime(
        &self,
        checked: BuiltIn,
        library: &Path,
        input: &Port,
        outputs: &[&str],
    ) -> Result<Box<dyn Runner>, ModelError> {
        let is_double = match checked.input.0 {
            DatumType::F32 => false,
            DatumType::F64 => true,
            _ => return Err(engine(format!("onnxruntime is given no {} here", input.element))),
        };
        let place = (input.name.as_str(), checked.input.1.as_slice(), is_double);
        let model = super::onnxruntime::Model::new(library, &self.proto, &self.folder, place, outputs)
            .map_err(|reason| ModelError::Library { reason })?;
        Ok(Box::new(model.with_shapes(checked.outputs)))
    }

    /// Bytes of all values that a batch of that shape makes; as many at most are there at a time.
    pub(super) fn bytes(&self, input: &Port, shape: &[usize], outputs: &[&str]) -> Result<u64, ModelError> {
        let typed = self.typed(input, shape, outputs)?;
        let nodes = typed.nodes().iter().filter(|node| node.op.name() != "Const");
        let facts = nodes.flat_map(|node| node.outputs.iter().map(|output| &output.fact));
        Ok(facts.map(|fact| fact.mem_size().to_i64().unwrap_or(0) as u64).sum())
    }

    /// The graph behind these outputs, with all shapes known and within bounds.
    fn typed(&self, input: &Port, shape: &[usize], outputs: &[&str]) -> Result<TypedModel, ModelError> {
        let element = element_of(input)?;
        let ParseResult { mut model, outlets_by_name, .. } = self.parse()?;
        let outlet = |name: &str| {
            outlets_by_name
                .get(name)
                .copied()
                .ok_or_else(|| engine(format!("nothing makes the value `{name}`")))
        };
        let source = outlet(&input.name)?;
        let taps = outputs.iter().map(|name| outlet(name)).collect::<Result<Vec<_>, _>>()?;
        caught(|| {
            model.set_input_outlets(&[source])?;
            model.select_output_outlets(&taps)?;
            model.set_outlet_fact(source, InferenceFact::dt_shape(element, shape))
        })
        .map_err(engine)?;
        check_sizes(&mut model)?;
        let typed = caught(|| model.into_compact()?.into_typed()).map_err(engine)?;
        check_typed_sizes(&typed)?;
        Ok(typed)
    }
}

impl Runner for BuiltIn {
    fn outputs(&self) -> &[Option<Vec<usize>>] {
        &self.outputs
    }

    fn worker(&self) -> Result<Box<dyn Worker + '_>, String> {
        let state = caught(|| self.runnable.spawn())?;
        Ok(Box::new(BuiltInWorker { model: self, state }))
    }
}

impl Worker for BuiltInWorker<'_> {
    fn run(&mut self, batch: &[f32], take: &mut dyn FnMut(usize, &[usize], &[f32])) -> Result<(), String> {
        let (element, shape) = &self.model.input;
        let state = &mut self.state;
        caught(|| {
            let batch = Tensor::from_shape(shape, batch)?;
            let batch: TValue = batch.cast_to_dt(*element)?.into_owned().into();
            for (at, output) in state.run(tvec!(batch))?.iter().enumerate() {
                let numbers = output.cast_to::<f32>()?;
                let view = numbers.try_as_plain_ram()?;
                take(at, output.shape(), view.as_slice::<f32>()?);
            }
            Ok(())
        })
    }
}

/// What `work` gives, or why it gave nothing, in one line.
fn caught<T>(work: impl FnOnce() -> TractResult<T>) -> Result<T, String> {
    match panics::catch(work) {
        Some(Ok(value)) => Ok(value),
        Some(Err(error)) => Err(one_line(&error)),
        None => Err("it failed within the engine".to_owned()),
    }
}

/// The engine writes chains of causes over many lines, with the tensors in them.
fn one_line(error: &TractError) -> String {
    const SHOWN: usize = 300;
    let text: Vec<String> = error.chain().map(ToString::to_string).collect();
    let text = text.join(": ").split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

fn engine(reason: String) -> ModelError {
    ModelError::Engine { reason }
}

/// A name for every node; not every exporter gives one.
fn node_name(node: &NodeProto) -> String {
    let unnamed = || node.output.first().cloned().unwrap_or_default();
    if node.name.is_empty() { unnamed() } else { node.name.clone() }
}

fn port(info: &ValueInfoProto) -> Port {
    let tensor =
        info.r#type.as_ref().and_then(|kind| kind.value.as_ref()).map(|TypeValue::TensorType(tensor)| tensor);
    let extent = |value: Option<&Dimension>| match value {
        Some(Dimension::DimValue(extent)) if *extent >= 0 => Extent::Fixed(*extent as usize),
        Some(Dimension::DimParam(name)) => Extent::Dynamic(name.clone()),
        _ => Extent::Dynamic(String::new()),
    };
    Port {
        name: info.name.clone(),
        element: tensor.map_or_else(|| "no tensor".to_owned(), |tensor| element_name(tensor.elem_type)),
        shape: tensor
            .and_then(|tensor| tensor.shape.as_ref())
            .map(|shape| shape.dim.iter().map(|dim| extent(dim.value.as_ref())).collect()),
    }
}

fn element_name(element: i32) -> String {
    match DataType::try_from(element) {
        Ok(DataType::Float) => "float32".to_owned(),
        Ok(DataType::Double) => "float64".to_owned(),
        Ok(known) => known.as_str_name().to_lowercase(),
        Err(_) => format!("elements of type {element}"),
    }
}

/// Elements of an input that numbers of floating point can be given to.
fn element_of(input: &Port) -> Result<DatumType, ModelError> {
    match input.element.as_str() {
        "float32" => Ok(DatumType::F32),
        "float64" => Ok(DatumType::F64),
        "float16" => Ok(DatumType::F16),
        other => Err(ModelError::InputType { input: input.name.clone(), element: other.to_owned() }),
    }
}

/// How many numbers of floating point each weight or constant holds.
fn weights(graph: &GraphProto) -> HashMap<&str, u64> {
    let is_float = |tensor: &TensorProto| {
        matches!(
            DataType::try_from(tensor.data_type),
            Ok(DataType::Float | DataType::Double | DataType::Float16 | DataType::Bfloat16)
        )
    };
    let numbers = |tensor: &TensorProto| tensor.dims.iter().map(|&extent| extent as u64).product::<u64>();
    let constants = graph.node.iter().filter(|node| node.op_type == "Constant").filter_map(|node| {
        let value = node.attribute.iter().find_map(|attribute| attribute.t.as_ref())?;
        Some((node.output.first()?.as_str(), value))
    });
    let initializers = graph.initializer.iter().map(|tensor| (tensor.name.as_str(), tensor));
    let floats = initializers.chain(constants).filter(|(_, tensor)| is_float(tensor));
    floats.map(|(name, tensor)| (name, numbers(tensor))).collect()
}

/// Runs over a graph and all graphs within it.
fn visit<'a>(
    graph: &'a GraphProto,
    see: &mut impl FnMut(&'a GraphProto) -> Result<(), ModelError>,
) -> Result<(), ModelError> {
    see(graph)?;
    for attribute in graph.node.iter().flat_map(|node| &node.attribute) {
        attribute.g.iter().chain(&attribute.graphs).try_for_each(|inner| visit(inner, see))?;
    }
    Ok(())
}

/// Every tensor holds what its shape says, and files of weights are there.
fn check_tensors(graph: &GraphProto, folder: &str) -> Result<(), ModelError> {
    visit(graph, &mut |graph| {
        for tensor in &graph.initializer {
            check_tensor(tensor, &tensor.name, folder)?;
        }
        for node in &graph.node {
            for tensor in
                node.attribute.iter().flat_map(|attribute| attribute.t.iter().chain(&attribute.tensors))
            {
                check_tensor(tensor, &node_name(node), folder)?;
            }
        }
        Ok(())
    })
}

fn check_tensor(tensor: &TensorProto, name: &str, folder: &str) -> Result<(), ModelError> {
    let bits: u64 = match DataType::try_from(tensor.data_type) {
        Ok(DataType::Double | DataType::Int64 | DataType::Uint64 | DataType::Complex64) => 64,
        Ok(DataType::Float | DataType::Int32 | DataType::Uint32) => 32,
        Ok(DataType::Float16 | DataType::Bfloat16 | DataType::Int16 | DataType::Uint16) => 16,
        Ok(DataType::Int8 | DataType::Uint8 | DataType::Bool) => 8,
        // Text, and numbers of four bits; the engine takes none of them for weights.
        _ => return Ok(()),
    };
    let numbers =
        tensor.dims.iter().try_fold(1_u64, |product, &extent| product.checked_mul(extent.try_into().ok()?));
    let expected = numbers.and_then(|numbers| numbers.checked_mul(bits / 8));
    let got = if tensor.data_location == Some(DataLocation::External as i32) {
        external_bytes(tensor, name, folder)?
    } else if tensor.raw_data.is_empty() {
        let each = [
            tensor.float_data.len(),
            tensor.int32_data.len(),
            tensor.int64_data.len(),
            tensor.double_data.len(),
            tensor.uint64_data.len(),
        ];
        each.iter().sum::<usize>() as u64 * bits / 8
    } else {
        tensor.raw_data.len() as u64
    };
    if expected == Some(got) {
        return Ok(());
    }
    Err(ModelError::TensorSize {
        tensor: name.to_owned(),
        shape: tensor.dims.clone(),
        expected: expected.map_or_else(|| "more than all memory has".to_owned(), |bytes| bytes.to_string()),
        got,
    })
}

/// Bytes of a tensor in a file of its own, without reading it.
fn external_bytes(tensor: &TensorProto, name: &str, folder: &str) -> Result<u64, ModelError> {
    let entry = |key: &str| {
        tensor.external_data.iter().find(|entry| entry.key == key).map(|entry| entry.value.as_str())
    };
    let file = entry("location").unwrap_or_default();
    let failed =
        |reason: String| ModelError::ExternalData { tensor: name.to_owned(), file: file.to_owned(), reason };
    let number = |key: &str| match entry(key).map(str::parse::<u64>) {
        None => Ok(None),
        Some(Ok(number)) => Ok(Some(number)),
        Some(Err(_)) => Err(failed(format!("its {key} is no number"))),
    };
    let outside = Path::new(file)
        .components()
        .any(|part| !matches!(part, std::path::Component::Normal(_) | std::path::Component::CurDir));
    if file.is_empty() || outside {
        return Err(failed("it must lie in the folder of the model".to_owned()));
    }
    let metadata =
        std::fs::metadata(Path::new(folder).join(file)).map_err(|cause| failed(cause.to_string()))?;
    let (offset, length) = (number("offset")?.unwrap_or(0), number("length")?);
    let left = metadata.len().saturating_sub(offset);
    match length {
        None => Ok(left),
        Some(length) if length <= left => Ok(length),
        Some(length) => Err(failed(format!("expected {length} bytes from byte {offset} on, got {left}"))),
    }
}

/// Every operator is one that the engine has.
fn check_nodes(graph: &GraphProto) -> Result<(), ModelError> {
    let known = tract_onnx::onnx().op_register;
    visit(graph, &mut |graph| {
        for node in &graph.node {
            let operator = || match node.domain.as_str() {
                "" => node.op_type.clone(),
                domain => format!("{domain}.{}", node.op_type),
            };
            if !DOMAINS.contains(&node.domain.as_str()) || !known.0.contains_key(&node.op_type) {
                return Err(ModelError::UnknownOperator { operator: operator(), node: node_name(node) });
            }
            if RANDOM.contains(&node.op_type.as_str()) {
                return Err(ModelError::Random { operator: operator(), node: node_name(node) });
            }
        }
        Ok(())
    })
}

/// Follows the shapes from node to node, and computes what is constant only where it is small.
///
/// The engine's own analysis computes constants as it goes, whatever their size; after this pass, it meets none that is too
/// large.
fn check_sizes(model: &mut InferenceModel) -> Result<(), ModelError> {
    let order = caught(|| model.eval_order()).map_err(engine)?;
    for id in order {
        let facts = |outlets: &[OutletId]| -> Vec<InferenceFact> {
            outlets.iter().filter_map(|&outlet| model.outlet_fact(outlet).ok().cloned()).collect()
        };
        let node = model.node(id);
        if node.op.as_op().name() == "Const" || node.inputs.is_empty() {
            continue;
        }
        let inputs = facts(&node.inputs);
        let outputs: Vec<InferenceFact> = node.outputs.iter().map(|output| output.fact.clone()).collect();
        let observed = caught(|| node.op.observe_outlets(model, node))
            .map(|outlets| facts(&outlets))
            .unwrap_or_default();
        let mut operator = node.op.clone();
        let infer = |operator: &mut Box<dyn InferenceOp>, eagerly: bool| {
            let inputs: TVec<&InferenceFact> = inputs.iter().collect();
            let outputs: TVec<&InferenceFact> = outputs.iter().collect();
            let observed: TVec<&InferenceFact> = observed.iter().collect();
            let inferred = caught(|| {
                if eagerly {
                    operator.infer(inputs, outputs, observed)
                } else {
                    operator.infer_facts(inputs, outputs, observed)
                }
            });
            inferred.map(|(_, outputs, _)| outputs)
        };
        // What cannot be inferred is for the engine's analysis to complain of.
        let Ok(shapes) = infer(&mut operator, false) else { continue };
        for fact in &shapes {
            check_fact(&node.name, fact)?;
        }
        let Ok(values) = infer(&mut operator, true) else { continue };
        for (slot, fact) in values.into_iter().enumerate() {
            let outlet = OutletId::new(id, slot);
            let before = outputs.get(slot).cloned().unwrap_or_default();
            if let Ok(fact) = caught(|| before.unify(&fact)) {
                let _ = model.set_outlet_fact(outlet, fact);
            }
        }
    }
    Ok(())
}

fn check_fact(node: &str, fact: &InferenceFact) -> Result<(), ModelError> {
    let Some(dims) = fact.shape.concretize() else { return Ok(()) };
    let extents: Option<Vec<u64>> = dims.iter().map(|dim| dim.to_i64().ok()?.try_into().ok()).collect();
    let Some(extents) = extents else { return Ok(()) };
    let size = fact.datum_type.concretize().map_or(8, |element| element.size_of()) as u64;
    check_bytes(node, &extents, size)
}

/// The same once all shapes are known.
fn check_typed_sizes(model: &TypedModel) -> Result<(), ModelError> {
    for node in model.nodes().iter().filter(|node| node.op.name() != "Const") {
        for output in &node.outputs {
            if let Some(shape) = output.fact.shape.as_concrete() {
                let extents: Vec<u64> = shape.iter().map(|&extent| extent as u64).collect();
                check_bytes(&node.name, &extents, output.fact.datum_type.size_of() as u64)?;
            }
        }
    }
    Ok(())
}

fn check_bytes(node: &str, extents: &[u64], size: u64) -> Result<(), ModelError> {
    let bytes = extents.iter().try_fold(size, |product, &extent| product.checked_mul(extent));
    if bytes.is_some_and(|bytes| bytes <= MOST_TENSOR_BYTES) {
        return Ok(());
    }
    Err(ModelError::HugeTensor { node: node.to_owned(), shape: bracketed(extents), limit: MOST_TENSOR_BYTES })
}
