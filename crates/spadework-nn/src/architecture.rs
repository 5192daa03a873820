//! The networks of the paper, by name.

use std::fmt;
use std::str::FromStr;

use crate::network::{Network, NetworkBuilder, Operation, Source, Window};
use crate::random::{Purpose, stream, symmetric};
use crate::{Error, Result};

/// A network without weights: what `--model` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Architecture {
    /// LeNet-5 with ReLU and max pooling: 6 and 16 channels, then 120 and 84.
    Lenet5,
    /// Two 5 x 5 convolutions, 32 and 64, each pooled, then 1024 (Madry et al. 2018).
    Conv2,
    /// One hidden layer.
    Mlp {
        /// Hidden units.
        hidden: usize,
    },
    /// Seven layers: 32-32-pool-64-64-pool-200-200 (Carlini and Wagner 2017).
    Cnn7,
    /// ResNet-18 with a 3 x 3 stem for small images.
    Resnet18,
    /// ResNet-20 for small images, with shortcuts without weights (He et al. 2016).
    Resnet20,
    /// Many narrow layers, for point clouds (Naitzat et al. 2020).
    Narrow {
        /// Units of each hidden layer.
        width: usize,
        /// Hidden layers.
        depth: usize,
        /// What stands between them.
        activation: Activation,
    },
}

/// Between the layers of a narrow network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    /// max(x, 0).
    Relu,
    /// tanh x.
    Tanh,
}

impl Architecture {
    /// The accepted words.
    pub const NAMES: [&'static str; 8] = [
        "lenet5",
        "conv2",
        "mlp[:HIDDEN]",
        "cnn7",
        "resnet18",
        "resnet20",
        "tanh[:WIDTHxDEPTH]",
        "relu[:WIDTHxDEPTH]",
    ];

    fn word(self) -> &'static str {
        match self {
            Architecture::Lenet5 => "lenet5",
            Architecture::Conv2 => "conv2",
            Architecture::Mlp { .. } => "mlp",
            Architecture::Cnn7 => "cnn7",
            Architecture::Resnet18 => "resnet18",
            Architecture::Resnet20 => "resnet20",
            Architecture::Narrow { activation: Activation::Tanh, .. } => "tanh",
            Architecture::Narrow { activation: Activation::Relu, .. } => "relu",
        }
    }

    /// A network with random weights, uniform within ±1/√(inputs of a unit), as in PyTorch.
    ///
    /// `normalization` are the mean and the standard deviation of each channel; the network takes raw values and
    /// normalizes them itself.
    ///
    /// # Errors
    /// When the samples or the classes do not match the architecture.
    pub fn build(
        self,
        input_shape: &[usize],
        classes: usize,
        normalization: Option<&Normalization>,
        seed: u64,
    ) -> Result<Network> {
        if classes < 2 {
            return Err(Error::parameter("the number of classes", "at least 2", classes));
        }
        let images = !matches!(self, Architecture::Mlp { .. } | Architecture::Narrow { .. });
        if images && input_shape.len() != 3 {
            let expected = "images, [channels, height, width]";
            return Err(Error::ArchitectureInput {
                architecture: self.word(),
                expected,
                got: input_shape.to_vec(),
            });
        }
        let mut maker = Maker { builder: NetworkBuilder::new(input_shape)?, seed, layers: 0 };
        if let Some(normalization) = normalization {
            maker.normalize(normalization)?;
        }
        match self {
            Architecture::Lenet5 => maker.lenet5(classes),
            Architecture::Conv2 => maker.conv2(classes),
            Architecture::Mlp { hidden } => maker.rows(&[hidden], classes, &Operation::Relu),
            Architecture::Cnn7 => maker.cnn7(classes),
            Architecture::Resnet18 => maker.resnet18(classes),
            Architecture::Resnet20 => maker.resnet20(classes),
            Architecture::Narrow { width, depth, activation } => {
                let operation = match activation {
                    Activation::Relu => Operation::Relu,
                    Activation::Tanh => Operation::Tanh,
                };
                maker.rows(&vec![width; depth], classes, &operation)
            }
        }?;
        maker.builder.finish()
    }
}

/// Mean and standard deviation of each channel of the training data.
#[derive(Debug, Clone, PartialEq)]
pub struct Normalization {
    /// One a channel.
    pub mean: Vec<f32>,
    /// One a channel.
    pub deviation: Vec<f32>,
}

impl Normalization {
    /// Computes them from samples of this shape. A channel that does not vary is only centered.
    ///
    /// # Panics
    /// When the values do not fill whole samples of this shape.
    pub fn of(samples: &[f32], shape: &[usize]) -> Self {
        let size: usize = shape.iter().product();
        assert!(size > 0 && samples.len().is_multiple_of(size), "whole samples");
        let (channels, pixels) = (shape[0], size / shape[0]);
        let mut sums = vec![(0.0_f64, 0.0_f64); channels];
        for sample in samples.chunks(size) {
            for (channel, (sum, squares)) in sample.chunks(pixels).zip(&mut sums) {
                *sum += channel.iter().map(|&value| f64::from(value)).sum::<f64>();
                *squares += channel.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>();
            }
        }
        let count = (samples.len() / channels) as f64;
        let deviation =
            |(sum, squares): &(f64, f64)| (squares / count - (sum / count).powi(2)).max(0.0).sqrt() as f32;
        Self {
            mean: sums.iter().map(|(sum, _)| (sum / count) as f32).collect(),
            deviation: sums.iter().map(deviation).map(|d| if d > 1e-6 { d } else { 1.0 }).collect(),
        }
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Architecture::Mlp { hidden } => write!(f, "mlp:{hidden}"),
            Architecture::Narrow { width, depth, .. } => write!(f, "{}:{width}x{depth}", self.word()),
            _ => f.write_str(self.word()),
        }
    }
}

impl FromStr for Architecture {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let unknown =
            || Error::Unknown { what: "model", got: text.to_owned(), known: Architecture::NAMES.to_vec() };
        let size = |digits: &str| {
            digits.parse().ok().filter(|size| (1..=1 << 20).contains(size)).ok_or_else(unknown)
        };
        let (word, sizes) = text.split_once(':').map_or((text, None), |(word, sizes)| (word, Some(sizes)));
        let narrow = |activation| {
            let (width, depth) = sizes.unwrap_or("15x9").split_once('x').ok_or_else(unknown)?;
            let depth = size(depth)?;
            if depth > 1000 {
                return Err(Error::parameter("the depth of a network", "at most 1000", depth));
            }
            Ok(Architecture::Narrow { width: size(width)?, depth, activation })
        };
        match (word, sizes) {
            ("lenet5", None) => Ok(Architecture::Lenet5),
            ("conv2", None) => Ok(Architecture::Conv2),
            ("mlp", sizes) => Ok(Architecture::Mlp { hidden: size(sizes.unwrap_or("1024"))? }),
            ("cnn7", None) => Ok(Architecture::Cnn7),
            ("resnet18", None) => Ok(Architecture::Resnet18),
            ("resnet20", None) => Ok(Architecture::Resnet20),
            ("tanh", _) => narrow(Activation::Tanh),
            ("relu", _) => narrow(Activation::Relu),
            _ => Err(unknown()),
        }
    }
}

/// A builder that draws weights.
struct Maker {
    builder: NetworkBuilder,
    seed: u64,
    layers: u64,
}

impl Maker {
    fn normalize(&mut self, normalization: &Normalization) -> Result<()> {
        let channels = self.builder.shape(Source::Input)[0];
        let given = (normalization.mean.len(), normalization.deviation.len());
        if given != (channels, channels) || normalization.deviation.iter().any(|&d| d <= 0.0) {
            return Err(Error::parameter(
                "normalization",
                "a mean and a positive deviation for each channel",
                format!("{normalization:?}"),
            ));
        }
        let offset = normalization.mean.iter().map(|mean| -mean).collect();
        let scale = normalization.deviation.iter().map(|deviation| 1.0 / deviation).collect();
        self.builder.then("normalize.mean", Operation::Offset, vec![(vec![channels], offset)])?;
        self.builder.then("normalize.deviation", Operation::Scale, vec![(vec![channels], scale)])?;
        Ok(())
    }

    fn drawn(&mut self, shape: &[usize], inputs: usize) -> (Vec<usize>, Vec<f32>) {
        let mut rng = stream(self.seed, Purpose::Weights, 0, self.layers);
        self.layers += 1;
        let bound = 1.0 / (inputs as f32).sqrt();
        let count = shape.iter().product();
        (shape.to_vec(), (0..count).map(|_| symmetric(&mut rng) * bound).collect())
    }

    fn convolution(
        &mut self,
        name: &str,
        out: usize,
        side: usize,
        stride: usize,
        padding: usize,
    ) -> Result<Source> {
        let inner = self.builder.shape(self.builder.last())[0];
        let (inputs, shape) = (inner * side * side, [out, inner, side, side]);
        let parameters = vec![self.drawn(&shape, inputs), self.drawn(&[out], inputs)];
        let operation = Operation::Convolution { stride: [stride; 2], padding: [padding; 2] };
        self.builder.then(name, operation, parameters)
    }

    fn linear(&mut self, name: &str, out: usize) -> Result<Source> {
        let inner = self.builder.shape(self.builder.last())[0];
        let parameters = vec![self.drawn(&[out, inner], inner), self.drawn(&[out], inner)];
        self.builder.then(name, Operation::Linear, parameters)
    }

    fn batch_norm(&mut self, name: &str) -> Result<Source> {
        let channels = self.builder.shape(self.builder.last())[0];
        let all = |value: f32| (vec![channels], vec![value; channels]);
        let parameters = vec![all(1.0), all(0.0), all(0.0), all(1.0)];
        self.builder.then(name, Operation::BatchNorm { epsilon: 1e-5 }, parameters)
    }

    fn plain(&mut self, name: &str, operation: Operation) -> Result<Source> {
        self.builder.then(name, operation, Vec::new())
    }

    fn rows(&mut self, hidden: &[usize], classes: usize, activation: &Operation) -> Result<()> {
        self.plain("flatten", Operation::Flatten)?;
        for (at, &units) in hidden.iter().enumerate() {
            self.linear(&format!("fc{}", at + 1), units)?;
            self.plain(&format!("activation{}", at + 1), activation.clone())?;
        }
        self.linear(&format!("fc{}", hidden.len() + 1), classes)?;
        Ok(())
    }

    fn lenet5(&mut self, classes: usize) -> Result<()> {
        // Images of 28 x 28 are padded to the 32 x 32 that LeNet was made for.
        let padding = if self.builder.shape(Source::Input)[1] < 32 { 2 } else { 0 };
        self.convolution("conv1", 6, 5, 1, padding)?;
        self.plain("relu1", Operation::Relu)?;
        self.plain("pool1", Operation::MaxPool(Window::square(2)))?;
        self.convolution("conv2", 16, 5, 1, 0)?;
        self.plain("relu2", Operation::Relu)?;
        self.plain("pool2", Operation::MaxPool(Window::square(2)))?;
        self.rows(&[120, 84], classes, &Operation::Relu)
    }

    fn conv2(&mut self, classes: usize) -> Result<()> {
        for (at, channels) in [32, 64].into_iter().enumerate() {
            self.convolution(&format!("conv{}", at + 1), channels, 5, 1, 2)?;
            self.plain(&format!("relu{}", at + 1), Operation::Relu)?;
            self.plain(&format!("pool{}", at + 1), Operation::MaxPool(Window::square(2)))?;
        }
        self.rows(&[1024], classes, &Operation::Relu)
    }

    fn cnn7(&mut self, classes: usize) -> Result<()> {
        for (at, channels) in [32, 32, 64, 64].into_iter().enumerate() {
            self.convolution(&format!("conv{}", at + 1), channels, 3, 1, 0)?;
            self.plain(&format!("relu{}", at + 1), Operation::Relu)?;
            if at % 2 == 1 {
                self.plain(&format!("pool{}", at.div_ceil(2)), Operation::MaxPool(Window::square(2)))?;
            }
        }
        self.rows(&[200, 200], classes, &Operation::Relu)
    }

    fn resnet18(&mut self, classes: usize) -> Result<()> {
        self.resnet(&[64, 128, 256, 512], 2, classes, Maker::projected)
    }

    fn resnet20(&mut self, classes: usize) -> Result<()> {
        self.resnet(&[16, 32, 64], 3, classes, Maker::subsampled)
    }

    /// A stem, stages of blocks (the first of each but the first stage halves the image), the mean, and a linear layer.
    fn resnet(
        &mut self,
        stages: &[usize],
        blocks: usize,
        classes: usize,
        shortcut: fn(&mut Self, &str, Source, usize) -> Result<Source>,
    ) -> Result<()> {
        self.normalized_convolution("conv1", "bn1", stages[0], 1)?;
        self.plain("relu1", Operation::Relu)?;
        for (stage, &channels) in stages.iter().enumerate() {
            for block in 0..blocks {
                let name = format!("layer{}.{block}", stage + 1);
                let stride = if stage > 0 && block == 0 { 2 } else { 1 };
                self.block(&name, channels, stride, shortcut)?;
            }
        }
        self.plain("pool", Operation::GlobalAveragePool)?;
        self.plain("flatten", Operation::Flatten)?;
        self.linear("linear", classes)?;
        Ok(())
    }

    fn block(
        &mut self,
        name: &str,
        channels: usize,
        stride: usize,
        shortcut: fn(&mut Self, &str, Source, usize) -> Result<Source>,
    ) -> Result<()> {
        let before = self.builder.last();
        self.normalized_convolution(&format!("{name}.conv1"), &format!("{name}.bn1"), channels, stride)?;
        self.plain(&format!("{name}.relu1"), Operation::Relu)?;
        let main =
            self.normalized_convolution(&format!("{name}.conv2"), &format!("{name}.bn2"), channels, 1)?;
        let short = if stride == 1 { before } else { shortcut(self, name, before, channels)? };
        self.builder.layer(&format!("{name}.add"), Operation::Add, &[main, short], Vec::new())?;
        self.plain(&format!("{name}.relu2"), Operation::Relu)?;
        Ok(())
    }

    /// 3 x 3, with batch norm.
    fn normalized_convolution(
        &mut self,
        name: &str,
        norm: &str,
        channels: usize,
        stride: usize,
    ) -> Result<Source> {
        self.convolution(name, channels, 3, stride, 1)?;
        self.batch_norm(norm)
    }

    /// The shortcut of ResNet-18: a 1 x 1 convolution with batch norm.
    fn projected(&mut self, name: &str, before: Source, channels: usize) -> Result<Source> {
        let inner = self.builder.shape(before)[0];
        let parameters = vec![self.drawn(&[channels, inner, 1, 1], inner), self.drawn(&[channels], inner)];
        let operation = Operation::Convolution { stride: [2; 2], padding: [0; 2] };
        self.builder.layer(&format!("{name}.shortcut.0"), operation, &[before], parameters)?;
        self.batch_norm(&format!("{name}.shortcut.1"))
    }

    /// The shortcut of ResNet-20: every second pixel, and channels of zeros on both sides.
    fn subsampled(&mut self, name: &str, before: Source, channels: usize) -> Result<Source> {
        let more = channels - self.builder.shape(before)[0];
        let operation = Operation::Subsample { before: more / 2, after: more - more / 2 };
        self.builder.layer(&format!("{name}.shortcut"), operation, &[before], Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of weights by hand, or as the papers give them.
    #[test]
    fn architectures_have_the_sizes_of_the_papers() {
        let (digit, photo) = (&[1, 28, 28][..], &[3, 32, 32][..]);
        let cases = [
            ("lenet5", digit, 61_706),
            ("conv2", digit, 3_274_634),
            ("mlp", digit, 784 * 1024 + 1024 + 10_250),
            ("mlp:8", &[64], 64 * 8 + 8 + 90),
            ("cnn7", digit, 320 + 9_248 + 18_496 + 36_928 + 1024 * 200 + 200 + 40_200 + 2_010),
            // 11,173,962 without the biases that batch norm makes idle: 4,800 of 20 convolutions.
            ("resnet18", photo, 11_173_962 + 4_800),
            // 0.27 M in the paper; 269,722 without the biases of 19 convolutions.
            ("resnet20", photo, 269_722 + 7 * (16 + 32 + 64) - 32 - 64),
            ("tanh:15x9", &[2], 3 * 15 + 8 * 16 * 15 + 160),
        ];
        for (name, shape, expected) in cases {
            let architecture: Architecture = name.parse().unwrap();
            let network = architecture.build(shape, 10, None, 0).unwrap();
            assert_eq!(network.trained_values(), expected, "{name}");
            assert_eq!((network.outputs(), network.input_shape()), (10, shape), "{name}");
        }
    }

    #[test]
    fn names_are_read_back_and_others_list_what_there_is() {
        for name in ["lenet5", "conv2", "mlp:1024", "cnn7", "resnet18", "resnet20", "tanh:15x9", "relu:3x2"] {
            assert_eq!(name.parse::<Architecture>().unwrap().to_string(), name);
        }
        for name in ["lenet", "mlp:0", "mlp:x", "tanh:3", "lenet5:3", "relu:3x0", ""] {
            let message = name.parse::<Architecture>().unwrap_err().to_string();
            assert!(message.contains("there are lenet5, conv2, mlp[:HIDDEN], cnn7"), "{message}");
        }
    }

    #[test]
    fn samples_must_suit_the_architecture() {
        let message = Architecture::Lenet5.build(&[64], 10, None, 0).unwrap_err().to_string();
        assert_eq!(message, "lenet5 takes images, [channels, height, width], got samples of shape [64]");
        assert!(Architecture::Cnn7.build(&[1, 8, 8], 10, None, 0).is_err());
        assert!(Architecture::Cnn7.build(&[1, 28, 28], 1, None, 0).is_err());
    }
}
