//! Which nodes of a graph compute some of its values from one input, in which order, and their outputs.

use std::collections::{HashMap, HashSet};

use super::cost::Cost;
use super::error::ModelError;
use super::outline::bracketed;
use super::proto::{Graph, Node, Tensor, element};
use super::shapes::{self, Context, Known, Refusal, Rewrite, Step, Value};

/// Bytes that a single tensor may take, those that lie in the file excepted.
const MOST_TENSOR_BYTES: u64 = 1 << 31;
/// Bytes that all values may take together that do not depend on the input: an engine computes them before it begins.
const MOST_CONSTANT_BYTES: u64 = 1 << 29;
/// Numbers of values that are found before the network runs, at most: each node of a few bytes may make another list of them.
const MOST_FOUND: usize = 1 << 22;
/// Nodes that follow on each other, at most. The engine takes some 420 bytes of its stack for each, and has 2 MiB.
const MOST_DEEP: usize = 3000;
/// Inputs of a node, at most. The engine adds up the extents of what is joined on its stack, which 50,000 of them overflow.
const MOST_INPUTS: usize = 1 << 14;
/// Operators whose outputs differ from run to run.
const RANDOM: [&str; 6] =
    ["RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli"];

/// The part of a graph that makes some values, every node after those that it reads from.
#[derive(Debug)]
pub(super) struct Part<'a> {
    pub(super) nodes: Vec<&'a Node>,
    /// Names of all values in it.
    pub(super) values: HashSet<&'a str>,
}

/// What the nodes of a part make.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) values: HashMap<String, Value>,
    /// By the place of the node in the part.
    pub(super) rewrites: Vec<Rewrite>,
    /// Bytes of all values that are computed.
    pub(super) bytes: u64,
    /// What it takes to compute them.
    pub(super) cost: Cost,
}

fn engine(reason: String) -> ModelError {
    ModelError::Engine { reason }
}

impl<'a> Part<'a> {
    /// What stands behind these values.
    pub(super) fn behind(graph: &'a Graph, outputs: &'a [&'a str]) -> Result<Self, ModelError> {
        let mut makers: HashMap<&str, usize> = HashMap::new();
        for (at, node) in graph.nodes.iter().enumerate() {
            for output in node.outputs.iter().filter(|output| !output.is_empty()) {
                makers.insert(output, at);
            }
        }
        let given: HashSet<&str> = graph
            .initializers
            .iter()
            .map(|tensor| tensor.name.as_str())
            .chain(graph.inputs.iter().map(|input| input.name.as_str()))
            .collect();
        let mut part = Part { nodes: Vec::new(), values: HashSet::new() };
        let mut begun: HashSet<usize> = HashSet::new();
        let mut done: HashSet<usize> = HashSet::new();
        // Values to make, and nodes that are finished once all they read is made.
        let mut open: Vec<(Option<usize>, &str)> = outputs.iter().rev().map(|&name| (None, name)).collect();
        while let Some((finished, name)) = open.pop() {
            if let Some(at) = finished {
                part.nodes.push(&graph.nodes[at]);
                done.insert(at);
                continue;
            }
            part.values.insert(name);
            let Some(&at) = makers.get(name) else {
                if given.contains(name) {
                    continue;
                }
                return Err(engine(format!("nothing makes the value `{name}`")));
            };
            if done.contains(&at) {
                continue;
            }
            if !begun.insert(at) {
                return Err(engine(format!("the value `{name}` depends on itself")));
            }
            open.push((Some(at), ""));
            open.extend(graph.nodes[at].reads().into_iter().rev().map(|name| (None, name)));
        }
        Ok(part)
    }

    /// Nothing of it is random, whichever engine runs it.
    pub(super) fn check_random(&self) -> Result<(), ModelError> {
        for node in &self.nodes {
            if RANDOM.contains(&node.operator.as_str()) && node.is_standard() {
                return Err(ModelError::Random { operator: node.full_operator(), node: node.label() });
            }
        }
        Ok(())
    }

    /// The built-in engine follows chains of nodes, and the inputs of a node, on its stack.
    pub(super) fn check_depth(&self) -> Result<(), ModelError> {
        let mut depths: HashMap<&str, usize> = HashMap::new();
        for node in &self.nodes {
            if node.inputs.len() > MOST_INPUTS {
                let (node, got) = (node.label(), node.inputs.len());
                let reason =
                    format!("it supports nodes of up to {MOST_INPUTS} inputs, and node `{node}` has {got}");
                return Err(ModelError::EngineRefuses { reason });
            }
            let before = node.reads().into_iter().filter_map(|name| depths.get(name)).max();
            let depth = before.map_or(1, |depth| depth + 1);
            if depth > MOST_DEEP {
                let reason = format!(
                    "it supports chains of up to {MOST_DEEP} nodes, and node `{}` ends a longer one",
                    node.label()
                );
                return Err(ModelError::EngineRefuses { reason });
            }
            depths.extend(node.outputs.iter().map(|name| (name.as_str(), depth)));
        }
        Ok(())
    }

    /// Follows the shapes from the input to the outputs.
    pub(super) fn plan(
        &self,
        graph: &Graph,
        bytes: &[u8],
        opset: i64,
        input: (&str, Value),
    ) -> Result<Plan, ModelError> {
        let input_bytes = check_size(input.0, &input.1)?;
        let cost = Cost::of(&self.nodes, input.0, input_bytes);
        let mut plan = Plan { values: HashMap::new(), rewrites: Vec::new(), bytes: input_bytes, cost };
        for tensor in graph.initializers.iter().filter(|tensor| self.values.contains(tensor.name.as_str())) {
            plan.values.insert(tensor.name.clone(), of_tensor(tensor, bytes));
        }
        let mut depending = HashSet::from([input.0.to_owned()]);
        let (mut constant_bytes, mut found) = (0_u64, Found::default());
        plan.values.insert(input.0.to_owned(), input.1);
        for node in &self.nodes {
            let step = found.step(node, &plan.values, bytes, opset)?;
            let is_constant = !node.reads().iter().any(|&name| depending.contains(name));
            let sizes = node.outputs.iter().zip(&step.outputs);
            let sizes = sizes.map(|(name, value)| Ok((name.clone(), check_size(&node.label(), value)?)));
            let sizes = sizes.collect::<Result<Vec<_>, ModelError>>()?;
            let inputs: Vec<_> = node.inputs.iter().map(|name| plan.values.get(name)).collect();
            plan.cost.add(node, &inputs, &sizes, &step, is_constant)?;
            for ((name, bytes), value) in sizes.into_iter().zip(step.outputs) {
                if is_constant && node.operator != "Constant" {
                    constant_bytes = constant_bytes.saturating_add(bytes);
                } else if !is_constant {
                    plan.bytes = plan.bytes.saturating_add(bytes);
                    depending.insert(name.clone());
                }
                plan.values.insert(name, value);
            }
            if constant_bytes > MOST_CONSTANT_BYTES {
                return Err(ModelError::HugeConstants { node: node.label(), limit: MOST_CONSTANT_BYTES });
            }
            plan.rewrites.push(step.rewrite);
        }
        self.check_all_integers(graph, bytes)?;
        Ok(plan)
    }

    /// The engine has integers of 32 bits: larger ones are right only where they stand for an end.
    fn check_all_integers(&self, graph: &Graph, bytes: &[u8]) -> Result<(), ModelError> {
        // The first node that reads a value for something else than the ends of a slice.
        let mut readers: HashMap<&str, &Node> = HashMap::new();
        for &node in self.nodes.iter().filter(|node| node.operator != "Slice") {
            for name in &node.inputs {
                readers.entry(name).or_insert(node);
            }
        }
        let check = |tensor: &Tensor, name: &str| match readers.get(name) {
            Some(node) if has_large_integers(tensor, bytes) => {
                Err(refused(node, "integers of more than 32 bits".into()))
            }
            _ => Ok(()),
        };
        for tensor in graph.initializers.iter().filter(|tensor| self.values.contains(tensor.name.as_str())) {
            check(tensor, &tensor.name)?;
        }
        for node in &self.nodes {
            let name = node.outputs.first().map_or("", String::as_str);
            let tensors = node.attributes.iter().flat_map(|attribute| &attribute.tensors);
            tensors.into_iter().try_for_each(|tensor| check(tensor, name))?;
        }
        Ok(())
    }
}

fn has_large_integers(tensor: &Tensor, bytes: &[u8]) -> bool {
    let is_large = |&int: &i64| i32::try_from(int).is_err();
    tensor.element == element::INT64 && tensor.integers(bytes).is_some_and(|ints| ints.iter().any(is_large))
}

fn refused(node: &Node, refusal: Refusal) -> ModelError {
    let (operator, node) = (node.full_operator(), node.label());
    match refusal {
        Refusal::Unknown => ModelError::UnknownOperator { operator, node },
        Refusal::Because(reason) => ModelError::NotBuiltIn { operator, node, reason },
    }
}

/// What is known of a tensor in the file.
fn of_tensor(tensor: &Tensor, bytes: &[u8]) -> Value {
    let shape = tensor.dims.iter().map(|&extent| usize::try_from(extent).unwrap_or(0)).collect();
    let known = if tensor.len().is_some_and(|len| len <= 4096) {
        let floats = || tensor.floats(bytes).map(|floats| Known::Floats(floats.into()));
        tensor.integers(bytes).map(|ints| Known::Ints(ints.into())).or_else(floats)
    } else {
        None
    };
    Value::new(tensor.element, shape).with_known(known)
}

fn constant(node: &Node, bytes: &[u8]) -> Option<Value> {
    let [attribute] = node.attributes.as_slice() else { return None };
    let ints = |shape: Vec<usize>, ints: Vec<i64>| {
        Value::new(element::INT64, shape).with_known(Some(Known::Ints(ints.into())))
    };
    let floats = |shape: Vec<usize>, floats: Vec<f32>| {
        Value::new(element::FLOAT, shape).with_known(Some(Known::Floats(floats.into())))
    };
    match attribute.name.as_str() {
        "value" => Some(of_tensor(attribute.tensors.first()?, bytes)),
        "value_int" => Some(ints(vec![], vec![attribute.int.unwrap_or(0)])),
        "value_ints" => Some(ints(vec![attribute.ints.len()], attribute.ints.clone())),
        "value_float" => Some(floats(vec![], vec![attribute.float.unwrap_or(0.0)])),
        "value_floats" => Some(floats(vec![attribute.floats.len()], attribute.floats.clone())),
        _ => None,
    }
}

/// Bytes that a value takes while the network runs.
fn size(value: &Value) -> Option<u64> {
    let each = element::bytes(value.element).unwrap_or(8).max(4);
    value.shape.iter().try_fold(each, |product, &extent| product.checked_mul(extent as u64))
}

/// The same where it is within bounds.
fn check_size(node: &str, value: &Value) -> Result<u64, ModelError> {
    if let Some(bytes) = size(value).filter(|&bytes| bytes <= MOST_TENSOR_BYTES) {
        return Ok(bytes);
    }
    let shape = bracketed(&value.shape);
    Err(ModelError::HugeTensor { node: node.to_owned(), shape, limit: MOST_TENSOR_BYTES })
}

/// Shapes of all values of a graph, as far as they follow from those of the inputs. What cannot be run may still be described.
pub(super) fn shapes_in(
    graph: &Graph,
    bytes: &[u8],
    opset: i64,
    inputs: Vec<(String, Value)>,
) -> HashMap<String, Value> {
    let weights = graph.initializers.iter().map(|tensor| (tensor.name.clone(), of_tensor(tensor, bytes)));
    let mut values: HashMap<String, Value> = weights.chain(inputs).collect();
    let mut found = Found::default();
    for node in &graph.nodes {
        if let Ok(step) = found.step(node, &values, bytes, opset) {
            values.extend(node.outputs.iter().cloned().zip(step.outputs));
        }
    }
    values
}

/// Counts the numbers that are found before the network runs.
#[derive(Default)]
struct Found {
    numbers: usize,
}

impl Found {
    /// What a node makes of values that are known. Beyond the limit, no further numbers are kept.
    fn step(
        &mut self,
        node: &Node,
        values: &HashMap<String, Value>,
        bytes: &[u8],
        opset: i64,
    ) -> Result<Step, ModelError> {
        let mut step = node_step(node, values, bytes, opset)?;
        if node.operator == "Constant" {
            // These stand in the file.
            return Ok(step);
        }
        for value in &mut step.outputs {
            let Some(known) = value.known.take_if(|known| known.is_new()) else { continue };
            if self.numbers + known.len() <= MOST_FOUND {
                self.numbers += known.len();
                value.known = Some(known);
            }
        }
        Ok(step)
    }
}

/// What a node makes of values that are known.
fn node_step(
    node: &Node,
    values: &HashMap<String, Value>,
    bytes: &[u8],
    opset: i64,
) -> Result<Step, ModelError> {
    if node.operator == "Constant" && node.is_standard() {
        let value = constant(node, bytes).ok_or_else(|| refused(node, "its value".into()))?;
        return Ok(value.into());
    }
    let inputs = node.inputs.iter().map(|name| values.get(name)).collect();
    shapes::step(&Context { node, inputs, opset }).map_err(|refusal| refused(node, refusal))
}
