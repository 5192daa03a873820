//! Divides the work: convolutions of images are computed by [our code](super::convolution), everything else by the engine.
//!
//! A stage is what the engine can compute once the convolutions of earlier stages are done. The engine gets one model with all
//! remaining nodes. The results of our convolutions are its inputs, and the values that convolutions or later stages read are its
//! outputs.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::convolution::Convolution;
use super::plan::{Part, Plan};
use super::proto::{Graph, Tensor, element};

/// Values by name that go into the engine, come out of it, and go through convolutions, one stage after the other.
pub(super) struct Split {
    input: String,
    pub(super) stages: Vec<Stage>,
    /// Places in the part of nodes that the engine does not get.
    pub(super) ours: HashSet<usize>,
    /// Places of nodes whose numbers are known, such as sizes, which the engine gets as they are. It would make one of two that are
    /// equal, and then refuse to make both.
    pub(super) known: HashSet<usize>,
}

#[derive(Default)]
pub(super) struct Stage {
    pub(super) reads: BTreeSet<String>,
    pub(super) makes: BTreeSet<String>,
    /// Begun when the engine is done with the stage.
    pub(super) convolutions: Vec<Step>,
}

/// A convolution between two values.
pub(super) struct Step {
    pub(super) input: String,
    pub(super) output: String,
    pub(super) shape: Vec<usize>,
    pub(super) convolution: Convolution,
}

/// Who makes a value that depends on the input, and after which stage it is there.
#[derive(Clone, Copy)]
struct Made {
    by_engine: bool,
    stage: usize,
}

impl Split {
    /// All of it in one stage of the engine.
    pub(super) fn whole(input: &str, outputs: &[&str]) -> Self {
        let stage = Stage {
            reads: BTreeSet::from([input.to_owned()]),
            makes: outputs.iter().map(|&output| output.to_owned()).collect(),
            convolutions: Vec::new(),
        };
        Self { input: input.to_owned(), stages: vec![stage], ours: HashSet::new(), known: HashSet::new() }
    }

    /// Values that the engine gets and has not made, in order: what its inputs are.
    pub(super) fn reads(&self) -> Vec<String> {
        let made: BTreeSet<&String> = self.stages.iter().flat_map(|stage| &stage.makes).collect();
        let read: BTreeSet<&String> = self.stages.iter().flat_map(|stage| &stage.reads).collect();
        read.into_iter().filter(|&name| *name == self.input || !made.contains(name)).cloned().collect()
    }

    /// Values that the engine is asked for, in order: what its outputs are.
    pub(super) fn makes(&self) -> Vec<String> {
        let made: BTreeSet<&String> = self.stages.iter().flat_map(|stage| &stage.makes).collect();
        made.into_iter().cloned().collect()
    }

    /// With the convolutions that are better computed here.
    pub(super) fn new(
        (part, plan): (&Part<'_>, &Plan),
        (graph, bytes): (&Graph, &[u8]),
        input: &str,
        outputs: &[&str],
    ) -> Self {
        let splitting = Splitting::new(part, plan, (graph, bytes), outputs);
        splitting.and_then(|splitting| splitting.split(input)).unwrap_or_else(|| Self::whole(input, outputs))
    }
}

struct Splitting<'a> {
    part: &'a Part<'a>,
    plan: &'a Plan,
    bytes: &'a [u8],
    outputs: &'a [&'a str],
    tensors: HashMap<&'a str, &'a Tensor>,
    /// Places of the nodes that read a value, once for each time.
    readers: HashMap<&'a str, Vec<usize>>,
}

impl<'a> Splitting<'a> {
    /// None where two nodes make the same value, which the engine shall judge.
    fn new(
        part: &'a Part<'a>,
        plan: &'a Plan,
        (graph, bytes): (&'a Graph, &'a [u8]),
        outputs: &'a [&'a str],
    ) -> Option<Self> {
        let mut tensors: HashMap<&str, &Tensor> = HashMap::new();
        for tensor in graph.initializers.iter().filter(|tensor| part.values.contains(tensor.name.as_str())) {
            if tensors.insert(&tensor.name, tensor).is_some() {
                return None;
            }
        }
        let mut made: HashSet<&str> = HashSet::new();
        let mut readers: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, node) in part.nodes.iter().enumerate() {
            for output in node.outputs.iter().filter(|output| !output.is_empty()) {
                if tensors.contains_key(output.as_str()) || !made.insert(output) {
                    return None;
                }
            }
            for name in node.reads() {
                readers.entry(name).or_default().push(at);
            }
        }
        Some(Self { part, plan, bytes, outputs, tensors, readers })
    }

    fn split(&self, input: &str) -> Option<Split> {
        let mut made = HashMap::from([(input, Made { by_engine: false, stage: 0 })]);
        let (ours, known) = (HashSet::new(), HashSet::new());
        let mut split = Split { input: input.to_owned(), stages: Vec::new(), ours, known };
        for (at, node) in self.part.nodes.iter().enumerate() {
            let reads = node.reads();
            let Some(stage) = reads.iter().filter_map(|&name| Some(made.get(name)?.stage)).max() else {
                continue;
            };
            if split.ours.contains(&at) {
                continue;
            }
            let is_known =
                |output: &String| self.plan.values.get(output).is_some_and(|value| value.raw().is_some());
            if let [output] = node.outputs.as_slice()
                && is_known(output)
            {
                split.known.insert(at);
                continue;
            }
            split.stages.resize_with(split.stages.len().max(stage + 1), Stage::default);
            if let Some((step, output)) = self.step(at, &mut split.ours) {
                made.insert(output, Made { by_engine: false, stage: stage + 1 });
                split.stages[stage].convolutions.push(step);
                continue;
            }
            for &name in &reads {
                match made.get(name) {
                    Some(&Made { by_engine: true, stage: before }) if before < stage => {
                        split.stages[before].makes.insert(name.to_owned());
                        split.stages[stage].reads.insert(name.to_owned());
                    }
                    Some(Made { by_engine: false, .. }) => {
                        split.stages[stage].reads.insert(name.to_owned());
                    }
                    _ => {}
                }
            }
            let outputs = node.outputs.iter().filter(|output| !output.is_empty());
            made.extend(outputs.map(|output| (output.as_str(), Made { by_engine: true, stage })));
        }
        let read_here: Vec<String> = split
            .stages
            .iter()
            .flat_map(|stage| &stage.convolutions)
            .map(|step| step.input.clone())
            .collect();
        for name in read_here.iter().map(String::as_str).chain(self.outputs.iter().copied()) {
            // An output that does not depend on the input is for the engine to refuse.
            let maker = made.get(name)?;
            if maker.by_engine {
                split.stages[maker.stage].makes.insert(name.to_owned());
            }
        }
        let computes = split.stages.iter().any(|stage| !stage.makes.is_empty());
        (computes && !split.ours.is_empty() && !self.outputs.contains(&input)).then_some(split)
    }

    /// The node as a convolution of ours, with the name of its result; a `Relu` that follows on it is done at once.
    fn step(&self, at: usize, ours: &mut HashSet<usize>) -> Option<(Step, &'a str)> {
        let node = self.part.nodes[at];
        let rewrite = self.plan.rewrites.get(at)?;
        if node.operator != "Conv" || !node.is_standard() || rewrite.identity {
            return None;
        }
        let (input, output) = (node.inputs.first()?, node.outputs.first()?.as_str());
        let (value, result) = (self.plan.values.get(input)?, self.plan.values.get(output)?);
        let ([_, image @ ..], [_, made @ ..]) = (value.shape.as_slice(), result.shape.as_slice()) else {
            return None;
        };
        let shapes: [[usize; 3]; 2] = [image.try_into().ok()?, made.try_into().ok()?];
        let weights = self.tensors.get(node.inputs.get(1)?.as_str())?;
        let bias = match node.inputs.get(2).filter(|name| !name.is_empty()) {
            Some(name) => Some(self.tensors.get(name.as_str())?),
            None => None,
        };
        let kernel: Vec<usize> = weights
            .dims
            .get(2..)?
            .iter()
            .map(|&extent| usize::try_from(extent).ok())
            .collect::<Option<_>>()?;
        let window = rewrite.window(node, kernel.try_into().ok()?)?;
        if value.element != element::FLOAT || !Convolution::pays(shapes, &window) {
            return None;
        }
        let bias = match bias {
            Some(bias) => Some(bias.floats(self.bytes).filter(|bias| bias.len() == shapes[1][0])?),
            None => None,
        };
        let weights = weights.floats(self.bytes)?;
        let expected = shapes[1][0] * (shapes[0][0] / window.groups) * window.kernel[0] * window.kernel[1];
        if weights.len() != expected {
            return None;
        }
        ours.insert(at);
        let rectifier = self.rectifier(output);
        let result_name = rectifier.map_or(output, |at| self.part.nodes[at].outputs[0].as_str());
        ours.extend(rectifier);
        let convolution = Convolution::new(shapes, window, &weights, bias.as_deref(), rectifier.is_some());
        let step = Step {
            input: input.clone(),
            output: result_name.to_owned(),
            shape: result.shape.clone(),
            convolution,
        };
        Some((step, result_name))
    }

    /// The place of the only node that reads a value, where that is a `Relu` and nobody asked for the value.
    fn rectifier(&self, value: &str) -> Option<usize> {
        let &[at] = self.readers.get(value)?.as_slice() else { return None };
        let node = self.part.nodes[at];
        let named = node.outputs.first().is_some_and(|output| !output.is_empty());
        (node.operator == "Relu" && node.is_standard() && named && !self.outputs.contains(&value))
            .then_some(at)
    }
}
