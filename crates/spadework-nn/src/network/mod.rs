//! A network as plain values: layers in order, each with the input or earlier layers as its inputs, and their parameters.
//!
//! A [`Network`] has no device and no mode. To run it, make a [`Frozen`] network, which uses the statistics it was trained
//! with. To train it, use a [`Trainer`](crate::train::Trainer).

mod fold;
mod forward;
mod frozen;
#[cfg(feature = "libtorch")]
mod libtorch;
mod operation;

use serde::{Deserialize, Serialize};

pub(crate) use forward::{BatchStatistics, Layers, Mode, Tensors, convolution};
pub use frozen::Frozen;
pub(crate) use frozen::{Computation, to_host};
pub use operation::{Operation, Window};

use crate::{Error, Result};

/// Where an input of a layer comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// The sample.
    Input,
    /// The output of an earlier layer.
    Layer(usize),
}

/// One step: its name, its inputs and its parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Layer {
    /// The name in files, as PyTorch would have it: `layer1.0.conv1`.
    pub name: String,
    /// What it computes.
    pub operation: Operation,
    /// Its inputs.
    pub inputs: Vec<Source>,
    /// Its parameters, as indices of [`Network::parameters`].
    pub(crate) parameters: Vec<usize>,
}

/// A named array of weights, statistics or constants.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// The name in files: that of the layer, a point, and `weight`, `bias`, `running_mean` …
    pub name: String,
    /// Extents.
    pub shape: Vec<usize>,
    /// Values, row by row.
    pub values: Vec<f32>,
    /// Whether training changes it by its gradient.
    pub trained: bool,
}

/// Layers that fit each other, from samples of one shape to one row of outputs per sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    input_shape: Vec<usize>,
    layers: Vec<Layer>,
    shapes: Vec<Vec<usize>>,
    parameters: Vec<Parameter>,
}

impl Network {
    /// The shape of one sample: `[channels, height, width]` or `[values]`.
    pub fn input_shape(&self) -> &[usize] {
        &self.input_shape
    }

    /// Values of one sample.
    pub fn input_size(&self) -> usize {
        self.input_shape.iter().product()
    }

    /// Values of one output: the classes.
    pub fn outputs(&self) -> usize {
        self.shapes.last().map_or(0, |shape| shape.iter().product())
    }

    /// The layers, in the order they are computed in.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// The shape that a layer gives for one sample.
    pub(crate) fn shape(&self, source: Source) -> &[usize] {
        match source {
            Source::Input => &self.input_shape,
            Source::Layer(index) => &self.shapes[index],
        }
    }

    /// Weights, statistics and constants, in the order of the layers.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Numbers that training changes.
    pub fn trained_values(&self) -> usize {
        self.parameters
            .iter()
            .filter(|parameter| parameter.trained)
            .map(|parameter| parameter.values.len())
            .sum()
    }

    /// The same layers with other parameter values.
    ///
    /// # Errors
    /// When the shape of a parameter does not match.
    pub fn with_values(mut self, values: Vec<Vec<f32>>) -> Result<Self> {
        if values.len() != self.parameters.len() {
            let expected = self.parameters.len();
            return Err(Error::Count { what: "arrays of parameters", expected, got: values.len() });
        }
        for (parameter, values) in self.parameters.iter_mut().zip(values) {
            if values.len() != parameter.values.len() {
                return Err(Error::ParameterShape {
                    name: parameter.name.clone(),
                    expected: parameter.shape.clone(),
                    got: vec![values.len()],
                });
            }
            parameter.values = values;
        }
        Ok(self)
    }

    /// Whether another network has the same layers and the same parameters, whatever their values.
    pub fn same_architecture(&self, other: &Self) -> bool {
        let outline = |network: &Self| -> Vec<(String, Vec<usize>)> {
            network
                .parameters
                .iter()
                .map(|parameter| (parameter.name.clone(), parameter.shape.clone()))
                .collect()
        };
        self.input_shape == other.input_shape
            && self.layers == other.layers
            && outline(self) == outline(other)
    }
}

/// Adds layers one by one, and checks each as it is added.
#[derive(Debug)]
pub struct NetworkBuilder {
    network: Network,
    last: Source,
}

impl NetworkBuilder {
    /// A network for samples of this shape, without layers.
    ///
    /// # Errors
    /// When the shape is empty or has a zero in it.
    pub fn new(input_shape: &[usize]) -> Result<Self> {
        if !matches!(input_shape.len(), 1 | 3) || input_shape.contains(&0) {
            let got = format!("{input_shape:?}");
            return Err(Error::parameter(
                "the shape of a sample",
                "[values] or [channels, height, width]",
                got,
            ));
        }
        let network = Network {
            input_shape: input_shape.to_vec(),
            layers: Vec::new(),
            shapes: Vec::new(),
            parameters: Vec::new(),
        };
        Ok(Self { network, last: Source::Input })
    }

    /// The value that the next [`NetworkBuilder::then`] takes.
    pub fn last(&self) -> Source {
        self.last
    }

    /// The shape of a value so far.
    pub fn shape(&self, source: Source) -> &[usize] {
        self.network.shape(source)
    }

    /// Adds a layer after the last one, with `(shape, values)` of its parameters.
    ///
    /// # Errors
    /// When it does not fit.
    pub fn then(
        &mut self,
        name: &str,
        operation: Operation,
        parameters: Vec<(Vec<usize>, Vec<f32>)>,
    ) -> Result<Source> {
        self.layer(name, operation, &[self.last], parameters)
    }

    /// Adds a layer after the given ones.
    ///
    /// # Errors
    /// When it does not fit.
    pub fn layer(
        &mut self,
        name: &str,
        operation: Operation,
        inputs: &[Source],
        parameters: Vec<(Vec<usize>, Vec<f32>)>,
    ) -> Result<Source> {
        if inputs.len() != operation.inputs() || parameters.len() != operation.parameter_names().len() {
            return Err(Error::Layer {
                layer: name.to_owned(),
                operation: operation.name(),
                expected: "as many inputs and parameters as it has names for",
                got: format!("{} and {}", inputs.len(), parameters.len()),
            });
        }
        let shapes: Vec<&[usize]> = inputs.iter().map(|&input| self.network.shape(input)).collect();
        let outlines: Vec<&[usize]> = parameters.iter().map(|(shape, _)| shape.as_slice()).collect();
        let output = operation.output_shape(name, &shapes, &outlines)?;
        let first = self.network.parameters.len();
        for (at, (shape, values)) in parameters.into_iter().enumerate() {
            let name = format!("{name}.{}", operation.parameter_names()[at]);
            if shape.iter().product::<usize>() != values.len() {
                return Err(Error::ParameterShape { name, expected: shape, got: vec![values.len()] });
            }
            if let Some(&got) = values.iter().find(|value| !value.is_finite()) {
                return Err(Error::ParameterValue { name, got });
            }
            let trained = at < operation.trained();
            self.network.parameters.push(Parameter { name, shape, values, trained });
        }
        self.network.layers.push(Layer {
            name: name.to_owned(),
            parameters: (first..self.network.parameters.len()).collect(),
            inputs: inputs.to_vec(),
            operation,
        });
        self.network.shapes.push(output);
        self.last = Source::Layer(self.network.layers.len() - 1);
        Ok(self.last)
    }

    /// The network, once its last layer gives a row.
    ///
    /// # Errors
    /// When there is no layer, or the last one gives images.
    pub fn finish(self) -> Result<Network> {
        match self.network.shapes.last() {
            Some(shape) if shape.len() == 1 => Ok(self.network),
            shape => Err(Error::Layer {
                layer: self.network.layers.last().map_or_else(String::new, |layer| layer.name.clone()),
                operation: "the last one",
                expected: "a row of outputs to give",
                got: format!("{shape:?}"),
            }),
        }
    }
}
