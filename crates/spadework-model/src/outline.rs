//! The description of a model file: inputs, outputs, nodes, parameters. Nothing is run for it.

use std::collections::{HashMap, HashSet};

use super::error::ModelError;

/// A model as its file describes it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Outline {
    /// The program that wrote it, if the file says so.
    pub producer: Option<String>,
    /// Version of its operators; 0 if it does not say.
    pub opset: i64,
    /// Its inputs, without tensors whose values are in the file.
    pub inputs: Vec<Port>,
    /// What it returns.
    pub outputs: Vec<Port>,
    /// Its nodes in the order of the file, without constants.
    pub nodes: Vec<Node>,
    /// Floating-point numbers in its weights and constants, with the statistics of batch normalizations.
    pub parameters: u64,
}

/// An input or an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// Type of its elements, e.g. `float32`.
    pub element: String,
    /// Its shape, as far as the file says.
    pub shape: Option<Vec<Extent>>,
}

/// One extent of a shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extent {
    /// A number.
    Fixed(usize),
    /// Any number, under a name that may be empty.
    Dynamic(String),
}

impl std::fmt::Display for Extent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Extent::Fixed(extent) => write!(f, "{extent}"),
            Extent::Dynamic(name) if name.is_empty() => f.write_str("?"),
            Extent::Dynamic(name) => f.write_str(name),
        }
    }
}

/// A shape in brackets.
pub(super) fn bracketed<T: std::fmt::Display>(extents: &[T]) -> String {
    let extents: Vec<String> = extents.iter().map(ToString::to_string).collect();
    format!("[{}]", extents.join(", "))
}

impl Port {
    /// The shape in brackets, `?` where it is not known.
    pub fn shape_text(&self) -> String {
        self.shape.as_ref().map_or_else(|| "?".to_owned(), |shape| bracketed(shape))
    }

    /// Samples per run: a number if the file fixes it, none if any number is allowed.
    pub fn batch(&self) -> Option<usize> {
        match self.shape.as_ref()?.first()? {
            Extent::Fixed(batch) => Some(*batch),
            Extent::Dynamic(_) => None,
        }
    }
}

/// A node of the graph.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Its name, or that of its first output where it has none.
    pub name: String,
    /// Its operator.
    pub operator: String,
    /// Names of the values it reads.
    pub inputs: Vec<String>,
    /// Names of the values it makes.
    pub outputs: Vec<String>,
    /// Shape of its first output, where it is known without running the model.
    pub shape: Option<Vec<Extent>>,
    /// Floating-point numbers in the file that it is the first to read.
    pub parameters: u64,
}

/// Operators that pass their numbers on as they are, perhaps in another shape: their rows are as far apart as before.
const PASS_ON: [&str; 7] = ["Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Dropout", "Cast"];

impl Node {
    /// Whether it only passes on its numbers, perhaps in another shape.
    pub fn passes_on(&self) -> bool {
        PASS_ON.contains(&self.operator.as_str())
    }

    /// Whether it makes numbers into parts of 1.
    fn is_softmax(&self) -> bool {
        matches!(self.operator.as_str(), "Softmax" | "LogSoftmax")
    }
}

impl Outline {
    /// The output of that name, or the first one.
    ///
    /// # Errors
    /// When there is no such output.
    pub fn output(&self, name: Option<&str>) -> Result<&str, ModelError> {
        let names = || self.outputs.iter().map(|port| port.name.clone()).collect::<Vec<_>>();
        let Some(asked) = name else {
            return self
                .first_output()
                .ok_or_else(|| ModelError::NotOnnx { reason: "it has no output".to_owned() });
        };
        // Any value that a node makes will do, too: an inner layer can be looked at by its name.
        let known = self.outputs.iter().map(|port| port.name.as_str());
        let inner = self.nodes.iter().flat_map(|node| node.outputs.iter().map(String::as_str));
        let by_value = known.chain(inner).find(|value| *value == asked);
        let by_node =
            || self.nodes.iter().find(|node| node.name == asked)?.outputs.first().map(String::as_str);
        by_value.or_else(by_node).ok_or_else(|| ModelError::NoSuchName {
            what: "output",
            asked: asked.to_owned(),
            known: names(),
        })
    }

    /// The first output of floating point numbers. Classifiers that scikit-learn exports return labels before that, and
    /// probabilities as dictionaries, which are made of a tensor.
    fn first_output(&self) -> Option<&str> {
        let is_float = |port: &&Port| matches!(port.element.as_str(), "float32" | "float64" | "float16");
        let of_dictionaries = || {
            let makers = self.makers();
            let maker = |port: &Port| makers.get(port.name.as_str());
            let maps = self.outputs.iter().filter_map(maker).find(|node| node.operator == "ZipMap");
            maps.and_then(|node| node.inputs.first()).map(String::as_str)
        };
        let float = self.outputs.iter().find(is_float).map(|port| port.name.as_str());
        float.or_else(of_dictionaries).or_else(|| self.outputs.first().map(|port| port.name.as_str()))
    }

    /// The one input that the rows go into, for these outputs.
    ///
    /// # Errors
    /// When there is no input of that name, or the outputs need others as well.
    pub fn input(&self, name: Option<&str>, outputs: &[&str]) -> Result<&Port, ModelError> {
        let output = || outputs.first().copied().unwrap_or_default().to_owned();
        let needed = self.needed(outputs);
        let names = |ports: &[&Port]| ports.iter().map(|port| port.name.clone()).collect::<Vec<_>>();
        if let Some(asked) = name
            && !self.inputs.iter().any(|port| port.name == asked)
        {
            let known = names(&self.inputs.iter().collect::<Vec<_>>());
            return Err(ModelError::NoSuchName { what: "input", asked: asked.to_owned(), known });
        }
        match (needed.as_slice(), name) {
            ([], _) => Err(ModelError::NoInput { output: output() }),
            ([one], Some(asked)) if one.name != asked => Err(ModelError::NoSuchName {
                what: "input for this output",
                asked: asked.to_owned(),
                known: names(&[one]),
            }),
            ([one], _) => Ok(one),
            (many, _) => Err(ModelError::ManyInputs { output: output(), inputs: names(many) }),
        }
    }

    /// The inputs that these outputs need, in the order of the model.
    pub(super) fn needed(&self, outputs: &[&str]) -> Vec<&Port> {
        let needed = self.behind(outputs);
        self.inputs.iter().filter(|port| needed.contains(port.name.as_str())).collect()
    }

    /// The softmax that an output ends in, and the value before it; nodes that only pass on their values are skipped.
    pub fn softmax_before(&self, output: &str) -> Option<(&Node, &str)> {
        let node = self.maker_of_numbers(output)?;
        let before = node.inputs.first()?;
        node.is_softmax().then_some((node, before.as_str()))
    }

    /// The value before the softmax that an output ends in.
    ///
    /// # Errors
    /// When it does not end in one.
    pub fn before_softmax(&self, output: &str) -> Result<&str, ModelError> {
        self.softmax_before(output).map(|(_, before)| before).ok_or_else(|| ModelError::NoSoftmax {
            output: output.to_owned(),
            operator: self
                .maker_of_numbers(output)
                .map_or_else(|| "no node".to_owned(), |node| node.operator.clone()),
        })
    }

    /// Nodes whose values depend on an input: the layers, and the nodes between them.
    pub fn layers(&self, input: &str) -> Vec<&Node> {
        let mut reached = HashSet::from([input]);
        let mut layers = Vec::new();
        // The nodes of a valid file stand after those that they read from.
        for node in &self.nodes {
            if node.inputs.iter().any(|value| reached.contains(value.as_str())) {
                reached.extend(node.outputs.iter().map(String::as_str));
                layers.push(node);
            }
        }
        // A size is a number of the shape, not of the sample; what is computed of sizes alone is no layer.
        let mut sizes: HashSet<&str> = HashSet::new();
        layers.retain(|node| {
            let reads_numbers = node
                .inputs
                .iter()
                .any(|value| reached.contains(value.as_str()) && !sizes.contains(value.as_str()));
            let is_size = matches!(node.operator.as_str(), "Shape" | "Size") || !reads_numbers;
            if is_size {
                sizes.extend(node.outputs.iter().map(String::as_str));
            }
            !is_size
        });
        layers
    }

    fn makers(&self) -> HashMap<&str, &Node> {
        self.nodes
            .iter()
            .flat_map(|node| node.outputs.iter().map(move |value| (value.as_str(), node)))
            .collect()
    }

    /// The node that makes the numbers of a value.
    fn maker_of_numbers(&self, value: &str) -> Option<&Node> {
        let makers = self.makers();
        let mut node = *makers.get(value)?;
        // As many steps as there are nodes: a file may claim that a node reads itself.
        for _ in 0..self.nodes.len() {
            if !node.passes_on() {
                return Some(node);
            }
            node = makers.get(node.inputs.first()?.as_str())?;
        }
        None
    }

    /// Every value that these outputs are made of.
    fn behind<'a>(&'a self, outputs: &[&'a str]) -> HashSet<&'a str> {
        let makers = self.makers();
        let mut seen: HashSet<&str> = outputs.iter().copied().collect();
        let mut open: Vec<&str> = outputs.to_vec();
        while let Some(value) = open.pop() {
            let read = makers.get(value).into_iter().flat_map(|node| node.inputs.iter().map(String::as_str));
            open.extend(read.filter(|value| seen.insert(value)));
        }
        seen
    }
}
