//! Infers the shape of every value of a graph before anything is computed.
//!
//! This list of operators is also the list of what the built-in engine is trusted with: each is compared with onnxruntime
//! (`scripts/check_random_models.py`), and operators whose outputs would differ are refused here by name. Sizes are checked too,
//! because a node of a few bytes can require a tensor of terabytes.

use std::sync::Arc;

use super::convolution::Window;
use super::operators::{Allowed, allowed};
use super::proto::{Node, element};

/// Numbers that are kept of a value that is known before the network runs: sizes, axes, scales.
const MOST_KNOWN: usize = 4096;
/// Axes of a value, at most: a node of a few bytes makes a shape as long as the one it reads.
const MOST_AXES: usize = 64;

/// What is known of a value before the network runs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Value {
    pub(super) element: i32,
    pub(super) shape: Vec<usize>,
    /// Its numbers, where they are few and follow from the file and the shapes.
    pub(super) known: Option<Known>,
}

/// Numbers of a value, which is shared by all values that have the same.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Known {
    Ints(Arc<[i64]>),
    Floats(Arc<[f32]>),
}

/// What a node makes, and how it is written for the engine where that is not as the file has it.
#[derive(Debug, Default)]
pub(super) struct Step {
    pub(super) outputs: Vec<Value>,
    pub(super) rewrite: Rewrite,
}

/// Changes of a node that mean the same and that the engine takes.
#[derive(Debug, Default, Clone)]
pub(super) struct Rewrite {
    /// Another operator, without attributes and with the first input and output alone.
    pub(super) identity: bool,
    /// Attributes that are set.
    pub(super) set: Vec<(&'static str, Setting)>,
    /// Attributes that are left out.
    pub(super) left_out: &'static [&'static str],
}

impl Rewrite {
    /// How a window of two axes moves, where every setting of it is written out.
    pub(super) fn window(&self, node: &Node, kernel: [usize; 2]) -> Option<Window> {
        let two = |ints: &[i64]| -> Option<[usize; 2]> {
            let [down, right, ..] = ints else { return None };
            Some([usize::try_from(*down).ok()?, usize::try_from(*right).ok()?])
        };
        let set = |name: &str| {
            self.set.iter().find_map(|(set, setting)| match setting {
                Setting::Ints(ints) if *set == name => two(ints),
                _ => None,
            })
        };
        Some(Window {
            kernel,
            strides: set("strides")?,
            dilations: set("dilations")?,
            pads: set("pads")?,
            groups: usize::try_from(node.int("group", 1)).ok()?,
        })
    }
}

/// A window that moves over its input, with every setting written out.
fn moving<const N: usize>(kernel: &[usize], settings: [(&'static str, Vec<i64>); N]) -> Rewrite {
    let kernel = ("kernel_shape", kernel.iter().map(|&extent| extent as i64).collect());
    let set =
        std::iter::once(kernel).chain(settings).map(|(name, ints)| (name, Setting::Ints(ints))).collect();
    Rewrite { identity: false, set, left_out: &["auto_pad"] }
}

/// The value of an attribute.
#[derive(Debug, Clone)]
pub(super) enum Setting {
    Int(i64),
    Ints(Vec<i64>),
}

/// Why a node cannot be run.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The operator is not on the list.
    Unknown,
    /// It is, but not like this.
    Because(String),
}

impl<T: Into<String>> From<T> for Refusal {
    fn from(reason: T) -> Self {
        Refusal::Because(reason.into())
    }
}

type Outcome<T> = Result<T, Refusal>;

impl Value {
    pub(super) fn new(element: i32, shape: Vec<usize>) -> Self {
        Self { element, shape, known: None }
    }

    pub(super) fn with_known(self, known: Option<Known>) -> Self {
        let len = self.len();
        let known = known.filter(|known| known.len() <= MOST_KNOWN && Some(known.len()) == len);
        Self { known, ..self }
    }

    fn ints(shape: Vec<usize>, ints: Vec<i64>) -> Self {
        Self::new(element::INT64, shape).with_known(Some(Known::Ints(ints.into())))
    }

    fn len(&self) -> Option<usize> {
        self.shape.iter().try_fold(1_usize, |product, &extent| product.checked_mul(extent))
    }

    /// Its numbers as the bytes of a tensor, where they are known.
    pub(super) fn raw(&self) -> Option<Vec<u8>> {
        match (self.known.as_ref()?, self.element) {
            (Known::Floats(floats), element::FLOAT) => {
                Some(floats.iter().flat_map(|float| float.to_le_bytes()).collect())
            }
            (Known::Ints(ints), element::INT64) => {
                Some(ints.iter().flat_map(|int| int.to_le_bytes()).collect())
            }
            (Known::Ints(ints), element::INT32) => {
                let narrow = ints.iter().map(|&int| i32::try_from(int).ok());
                Some(narrow.collect::<Option<Vec<i32>>>()?.iter().flat_map(|int| int.to_le_bytes()).collect())
            }
            (Known::Ints(ints), element::BOOL) => Some(ints.iter().map(|&int| u8::from(int != 0)).collect()),
            _ => None,
        }
    }

    fn known_ints(&self) -> Option<&[i64]> {
        match &self.known {
            Some(Known::Ints(ints)) => Some(ints),
            _ => None,
        }
    }
}

impl Known {
    pub(super) fn len(&self) -> usize {
        match self {
            Known::Ints(ints) => ints.len(),
            Known::Floats(floats) => floats.len(),
        }
    }

    /// Whether no other value shares these numbers.
    pub(super) fn is_new(&self) -> bool {
        match self {
            Known::Ints(ints) => Arc::strong_count(ints) == 1,
            Known::Floats(floats) => Arc::strong_count(floats) == 1,
        }
    }
}

/// A node with what is known of its inputs.
pub(super) struct Context<'a> {
    pub(super) node: &'a Node,
    pub(super) inputs: Vec<Option<&'a Value>>,
    /// Version of the standard operators.
    pub(super) opset: i64,
}

/// What a node makes.
pub(super) fn step(context: &Context<'_>) -> Outcome<Step> {
    let Context { node, .. } = context;
    let Some(Allowed { attributes, inputs, outputs }) = allowed(node).filter(|_| node.is_standard()) else {
        return Err(Refusal::Unknown);
    };
    if let Some(other) =
        node.attributes.iter().find(|attribute| !attributes.contains(&attribute.name.as_str()))
    {
        return Err(format!("the attribute `{}`", other.name).into());
    }
    if node.inputs.len() > inputs {
        return Err(format!("{} inputs", node.inputs.len()).into());
    }
    if node.outputs.iter().skip(outputs).any(|output| !output.is_empty()) {
        return Err("its further outputs".into());
    }
    let mut step = context.step()?;
    if step.outputs.is_empty() {
        return Err("it makes nothing".into());
    }
    if step.outputs.iter().any(|value| value.shape.len() > MOST_AXES) {
        return Err(format!("values of more than {MOST_AXES} axes").into());
    }
    step.outputs.truncate(node.outputs.len());
    Ok(step)
}

impl From<Value> for Step {
    fn from(value: Value) -> Self {
        Step { outputs: vec![value], rewrite: Rewrite::default() }
    }
}

impl From<Vec<Value>> for Step {
    fn from(outputs: Vec<Value>) -> Self {
        Step { outputs, rewrite: Rewrite::default() }
    }
}

impl<'a> Context<'a> {
    fn input(&self, at: usize) -> Outcome<&'a Value> {
        self.maybe(at).ok_or_else(|| format!("without its input {}", at + 1).into())
    }

    fn maybe(&self, at: usize) -> Option<&'a Value> {
        self.inputs.get(at).copied().flatten()
    }

    fn shape(&self, at: usize) -> Outcome<&'a [usize]> {
        Ok(&self.input(at)?.shape)
    }

    /// Integers that a shape depends on: an attribute in old versions, an input in new ones.
    fn known_list(&self, attribute: &str, at: usize) -> Outcome<Option<&'a [i64]>> {
        if let Some(ints) = self.node.ints(attribute) {
            return Ok(Some(ints));
        }
        match self.maybe(at) {
            None => Ok(None),
            Some(value) => match value.known_ints() {
                Some(ints) => Ok(Some(ints)),
                None => Err("a shape that depends on the samples".into()),
            },
        }
    }

    /// The same where each axis has one or two of them. A node of a few bytes can name a longer list, and every check of each
    /// number against the others would take long.
    fn sizes(&self, attribute: &str, at: usize) -> Outcome<Option<Vec<i64>>> {
        match self.known_list(attribute, at)? {
            Some(ints) if ints.len() > 2 * MOST_AXES => {
                Err(format!("{} numbers for at most {MOST_AXES} axes", ints.len()).into())
            }
            ints => Ok(ints.map(<[i64]>::to_vec)),
        }
    }

    fn needed_sizes(&self, attribute: &str, at: usize) -> Outcome<Vec<i64>> {
        self.sizes(attribute, at)?.ok_or_else(|| format!("without `{attribute}`").into())
    }

    fn like(&self, at: usize) -> Outcome<Step> {
        let value = self.input(at)?;
        Ok(Value::new(value.element, value.shape.clone()).into())
    }

    fn step(&self) -> Outcome<Step> {
        match self.node.operator.as_str() {
            "Identity" => Ok(self.input(0)?.clone().into()),
            "Dropout" => self.dropout(),
            "Cast" => self.cast(),
            "Softmax" | "LogSoftmax" => self.softmax(),
            "IsNaN" | "Not" => Ok(Value::new(element::BOOL, self.shape(0)?.to_vec()).into()),
            "Add" | "Sub" | "Mul" | "Div" | "Pow" | "PRelu" | "Max" | "Min" | "Sum" | "Mean" => {
                self.arithmetic()
            }
            "And" | "Or" | "Xor" | "Equal" | "Less" | "Greater" | "LessOrEqual" | "GreaterOrEqual" => {
                self.comparison()
            }
            "Where" => self.selection(),
            "ReduceL1" | "ReduceL2" | "ReduceLogSum" | "ReduceLogSumExp" | "ReduceMax" | "ReduceMean"
            | "ReduceMin" | "ReduceProd" | "ReduceSum" | "ReduceSumSquare" => self.reduction(),
            "Conv" => self.convolution(),
            "ConvTranspose" => self.transposed_convolution(),
            "MaxPool" | "AveragePool" => self.pool(),
            "GlobalAveragePool" | "GlobalMaxPool" => self.global_pool(),
            "MatMul" => self.product(),
            "Gemm" => self.gemm(),
            "Reshape" => self.reshape(),
            "Flatten" => self.flatten(),
            "Squeeze" => self.squeeze(),
            "Unsqueeze" => self.unsqueeze(),
            "Transpose" => self.transpose(),
            "Concat" => self.concat(),
            "Split" => self.split(),
            "Slice" => self.slice(),
            "Gather" => self.gather(),
            "GatherElements" => Ok(Value::new(self.input(0)?.element, self.shape(1)?.to_vec()).into()),
            "Pad" => self.pad(),
            "Tile" => self.tile(),
            "Expand" => self.expand(),
            "Resize" => self.resize(),
            "DepthToSpace" => self.depth_to_space(),
            "Shape" => self.extents(),
            "Size" => {
                let len = self.input(0)?.len().ok_or("a size that overflows")?;
                Ok(Value::ints(vec![], vec![len as i64]).into())
            }
            "Range" => self.range(),
            "ConstantOfShape" => self.filled(),
            "OneHot" => self.one_hot(),
            "TopK" => self.top(),
            "LSTM" => self.recurrent(4, true),
            "GRU" => self.recurrent(3, false),
            // All others change numbers one by one, or along an axis, and keep the shape.
            _ => self.like(0),
        }
    }

    fn dropout(&self) -> Outcome<Step> {
        let trains = self.maybe(2).is_some_and(|flag| flag.known_ints() != Some(&[0]));
        if trains || self.node.outputs.get(1).is_some_and(|mask| !mask.is_empty()) {
            return Err("as it is used in training".into());
        }
        let rewrite = Rewrite { identity: true, ..Rewrite::default() };
        Ok(Step { rewrite, ..self.like(0)? })
    }

    fn cast(&self) -> Outcome<Step> {
        let value = self.input(0)?;
        let to = i32::try_from(self.node.int("to", 0)).unwrap_or(0);
        let is_int = |element: i32| matches!(element, element::INT32 | element::INT64);
        let known = match (&value.known, is_int(to)) {
            (Some(Known::Ints(ints)), true) => Some(Known::Ints(Arc::clone(ints))),
            (Some(Known::Ints(ints)), false) if to == element::FLOAT => {
                Some(Known::Floats(ints.iter().map(|&int| int as f32).collect()))
            }
            (Some(Known::Floats(floats)), true) => {
                let small = floats.iter().all(|float| float.abs() < 2_147_483_648.0);
                small.then(|| Known::Ints(floats.iter().map(|&float| float as i64).collect()))
            }
            _ => None,
        };
        let fits = match value.element {
            element::BOOL => true,
            from if is_int(from) => is_int(to) || element::is_float(to),
            from if element::is_float(from) => element::is_float(to) || (is_int(to) && known.is_some()),
            element::UINT8 | element::INT8 => is_int(to) || element::is_float(to),
            _ => false,
        };
        if !fits || to == element::BFLOAT16 || (to == element::BOOL && value.element != element::BOOL) {
            let (from, to) = (element::name(value.element), element::name(to));
            return Err(format!("from {from} to {to}").into());
        }
        Ok(Value::new(to, value.shape.clone()).with_known(known).into())
    }

    /// Before version 13, all axes from the given one on were one.
    fn softmax(&self) -> Outcome<Step> {
        let mut step = self.like(0)?;
        if self.opset < 13 {
            let shape = self.shape(0)?;
            let first = axis_of(self.node.int("axis", 1), shape.len().max(1))?;
            let mut wide = (first..shape.len()).filter(|&axis| shape[axis] != 1);
            let axis = wide.next().unwrap_or(first);
            if wide.next().is_some() {
                return Err("over several axes".into());
            }
            step.rewrite.set = vec![("axis", Setting::Int(axis as i64))];
        }
        Ok(step)
    }

    fn broadcast_all(&self) -> Outcome<Vec<usize>> {
        let mut shapes = (0..self.inputs.len()).map(|at| self.shape(at));
        let first = shapes.next().ok_or("without inputs")??.to_vec();
        shapes.try_fold(first, |so_far, shape| broadcast(&so_far, shape?))
    }

    fn arithmetic(&self) -> Outcome<Step> {
        let first = self.input(0)?;
        let known = self.known_arithmetic();
        Ok(Value::new(first.element, self.broadcast_all()?).with_known(known).into())
    }

    /// Sizes are computed from sizes.
    fn known_arithmetic(&self) -> Option<Known> {
        let [a, b] = [self.maybe(0)?.known_ints()?, self.maybe(1)?.known_ints()?];
        if self.inputs.len() != 2 {
            return None;
        }
        let operate = |a: i64, b: i64| match self.node.operator.as_str() {
            "Add" => a.checked_add(b),
            "Sub" => a.checked_sub(b),
            "Mul" => a.checked_mul(b),
            "Div" => a.checked_div(b),
            "Max" => Some(a.max(b)),
            "Min" => Some(a.min(b)),
            _ => None,
        };
        let len = a.len().max(b.len());
        // Lists and single numbers; what is more of a matrix than that is no size.
        if ![1, len].contains(&a.len()) || ![1, len].contains(&b.len()) {
            return None;
        }
        let at = |of: &[i64], at: usize| if of.len() == 1 { of[0] } else { of[at] };
        Some(Known::Ints((0..len).map(|index| operate(at(a, index), at(b, index))).collect::<Option<_>>()?))
    }

    fn comparison(&self) -> Outcome<Step> {
        let known = (|| {
            let [a, b] = [self.maybe(0)?.known_ints()?, self.maybe(1)?.known_ints()?];
            let equal = self.node.operator == "Equal" && a.len() == b.len();
            equal.then(|| Known::Ints(a.iter().zip(b).map(|(a, b)| i64::from(a == b)).collect()))
        })();
        Ok(Value::new(element::BOOL, self.broadcast_all()?).with_known(known).into())
    }

    fn selection(&self) -> Outcome<Step> {
        let known = (|| {
            let [which, yes, no] = [0, 1, 2].map(|at| self.maybe(at).and_then(Value::known_ints));
            let (which, yes, no) = (which?, yes?, no?);
            let same = which.len() == yes.len() && yes.len() == no.len();
            let chosen =
                which.iter().zip(yes.iter().zip(no)).map(|(&c, (&y, &n))| if c != 0 { y } else { n });
            same.then(|| Known::Ints(chosen.collect()))
        })();
        Ok(Value::new(self.input(1)?.element, self.broadcast_all()?).with_known(known).into())
    }

    fn reduction(&self) -> Outcome<Step> {
        let value = self.input(0)?;
        let axes = self.sizes("axes", 1)?.unwrap_or_default();
        if axes.is_empty() && self.node.int("noop_with_empty_axes", 0) != 0 {
            return Err("without axes".into());
        }
        let rank = value.shape.len();
        let axes = axes.iter().map(|&axis| axis_of(axis, rank)).collect::<Outcome<Vec<_>>>()?;
        let keeps = self.node.int("keepdims", 1) != 0;
        let is_reduced = |axis: &usize| axes.is_empty() || axes.contains(axis);
        let shape = reduced(&value.shape, is_reduced, keeps);
        let known = match (self.node.operator.as_str(), value.known_ints()) {
            ("ReduceProd", Some(ints)) if rank <= 1 => ints
                .iter()
                .try_fold(1_i64, |product, &int| product.checked_mul(int))
                .map(|all| Known::Ints([all].into())),
            _ => None,
        };
        Ok(Value::new(value.element, shape).with_known(known).into())
    }

    /// Extents after a window has moved over them, and the attributes that say so in full.
    fn windows(&self, input: &[usize], kernel: &[usize], ceil: bool) -> Outcome<(Vec<usize>, Rewrite)> {
        let count = kernel.len();
        if !(1..=2).contains(&count) || input.len() != count + 2 || kernel.contains(&0) {
            return Err("windows that have neither one nor two axes".into());
        }
        let of = |name: &str, count: usize, default: i64| -> Outcome<Vec<i64>> {
            let ints = self.node.ints(name).map_or_else(|| vec![default; count], <[i64]>::to_vec);
            if ints.len() != count || ints.iter().any(|&int| int < default || int > i64::from(i32::MAX)) {
                return Err(format!("with `{name}` {ints:?}").into());
            }
            Ok(ints)
        };
        let (strides, dilations) = (of("strides", count, 1)?, of("dilations", count, 1)?);
        let auto = self.node.text("auto_pad").unwrap_or("NOTSET");
        let mut pads = if auto == "NOTSET" { of("pads", 2 * count, 0)? } else { vec![0; 2 * count] };
        let mut extents = input[..2].to_vec();
        for at in 0..count {
            let [input, stride] = [input[at + 2] as i128, strides[at] as i128];
            let window = (kernel[at] as i128 - 1) * dilations[at] as i128 + 1;
            if let "SAME_UPPER" | "SAME_LOWER" = auto {
                let missing = ((input + stride - 1) / stride - 1) * stride + window - input;
                // onnxruntime then moves the windows of pools to the middle, which the standard does not say.
                if missing < -1 {
                    return Err(format!("with `auto_pad` {auto} and strides that leave out numbers").into());
                }
                let missing = missing.max(0);
                let (less, more) = (missing / 2, missing - missing / 2);
                let both = if auto == "SAME_UPPER" { (less, more) } else { (more, less) };
                (pads[at], pads[count + at]) = (both.0 as i64, both.1 as i64);
            } else if !matches!(auto, "NOTSET" | "VALID") {
                return Err(format!("with `auto_pad` {auto}").into());
            }
            let (before, after) = (pads[at] as i128, pads[count + at] as i128);
            let room = input + before + after - window;
            if room < 0 {
                return Err("windows that are larger than their input".into());
            }
            let mut extent = room / stride + 1;
            if ceil && room % stride != 0 && extent * stride < input + before {
                // A window that starts within the values, or the padding before them, counts.
                extent += 1;
            }
            extents.push(usize::try_from(extent).map_err(|_| "a size that overflows")?);
        }
        Ok((extents, moving(kernel, [("strides", strides), ("pads", pads)])))
    }

    fn convolution(&self) -> Outcome<Step> {
        let (input, weights) = (self.shape(0)?, self.shape(1)?);
        let (Some(kernel), Some(&channels)) = (weights.get(2..), weights.first()) else {
            return Err("weights without axes".into());
        };
        let group = usize::try_from(self.node.int("group", 1)).unwrap_or(0);
        if group == 0
            || input.get(1) != weights[1].checked_mul(group).as_ref()
            || !channels.is_multiple_of(group)
        {
            return Err("weights that do not fit its channels".into());
        }
        let (mut shape, mut rewrite) = self.windows(input, kernel, false)?;
        let dilations = self.node.ints("dilations").map_or_else(|| vec![1; kernel.len()], <[i64]>::to_vec);
        rewrite.set.push(("dilations", Setting::Ints(dilations)));
        shape[1] = channels;
        Ok(Step { outputs: vec![Value::new(self.input(0)?.element, shape)], rewrite })
    }

    fn transposed_convolution(&self) -> Outcome<Step> {
        let (input, weights) = (self.shape(0)?, self.shape(1)?);
        let (Some(kernel), Some(&per_group)) = (weights.get(2..), weights.get(1)) else {
            return Err("weights without axes".into());
        };
        let count = kernel.len();
        if count != 2 || input.len() != 4 || self.node.text("auto_pad").is_some_and(|auto| auto != "NOTSET") {
            return Err("windows that do not have two axes, or are padded by themselves".into());
        }
        let of = |name: &str, count: usize, default: i64| -> Outcome<Vec<i64>> {
            let ints = self.node.ints(name).map_or_else(|| vec![default; count], <[i64]>::to_vec);
            let small = |&int: &i64| (0..=i64::from(i32::MAX)).contains(&int);
            if ints.len() != count || !ints.iter().all(small) {
                return Err(format!("with `{name}` {ints:?}").into());
            }
            Ok(ints)
        };
        let (strides, dilations) = (of("strides", count, 1)?, of("dilations", count, 1)?);
        let (pads, more) = (of("pads", 2 * count, 0)?, of("output_padding", count, 0)?);
        let group = usize::try_from(self.node.int("group", 1)).unwrap_or(0);
        let mut shape = vec![input[0], per_group.checked_mul(group).ok_or("a size that overflows")?];
        for at in 0..count {
            let window = (kernel[at] as i128 - 1) * dilations[at] as i128 + 1;
            let moved = strides[at] as i128 * (input[at + 2] as i128 - 1) + more[at] as i128 + window;
            let extent = moved - pads[at] as i128 - pads[count + at] as i128;
            shape.push(usize::try_from(extent).map_err(|_| "a size below zero")?);
        }
        let rewrite = moving(kernel, [("strides", strides), ("dilations", dilations), ("pads", pads)]);
        Ok(Step { outputs: vec![Value::new(self.input(0)?.element, shape)], rewrite })
    }

    fn pool(&self) -> Outcome<Step> {
        let value = self.input(0)?;
        if self.node.ints("dilations").is_some_and(|dilations| dilations.iter().any(|&step| step != 1)) {
            return Err("with `dilations`".into());
        }
        let kernel: Option<Vec<usize>> =
            self.node.ints("kernel_shape").unwrap_or_default().iter().map(|&k| k.try_into().ok()).collect();
        let ceil = self.node.int("ceil_mode", 0) != 0;
        let (shape, rewrite) = self.windows(&value.shape, &kernel.ok_or("a window below zero")?, ceil)?;
        Ok(Step { outputs: vec![Value::new(value.element, shape)], rewrite })
    }

    fn global_pool(&self) -> Outcome<Step> {
        let value = self.input(0)?;
        let shape =
            value.shape.iter().enumerate().map(|(at, &extent)| if at < 2 { extent } else { 1 }).collect();
        Ok(Value::new(value.element, shape).into())
    }

    fn product(&self) -> Outcome<Step> {
        let (a, b) = (self.shape(0)?, self.shape(1)?);
        let (&[ref outer_a @ .., rows, inner], &[ref outer_b @ .., other, columns]) = (a, b) else {
            return Err("of vectors".into());
        };
        if inner != other {
            return Err(format!("of shapes {a:?} and {b:?}").into());
        }
        let mut shape = broadcast(outer_a, outer_b)?;
        shape.extend([rows, columns]);
        Ok(Value::new(self.input(0)?.element, shape).into())
    }

    fn gemm(&self) -> Outcome<Step> {
        let (&[a, b], &[c, d]) = (self.shape(0)?, self.shape(1)?) else {
            return Err("of other than matrices".into());
        };
        let (rows, inner) = if self.node.int("transA", 0) == 0 { (a, b) } else { (b, a) };
        let (other, columns) = if self.node.int("transB", 0) == 0 { (c, d) } else { (d, c) };
        if inner != other {
            return Err(format!("of {inner} columns and {other} rows").into());
        }
        let shape = vec![rows, columns];
        if let Some(added) = self.maybe(2)
            && broadcast(&shape, &added.shape)? != shape
        {
            return Err("a third input that is larger than the product".into());
        }
        Ok(Value::new(self.input(0)?.element, shape).into())
    }

    fn reshape(&self) -> Outcome<Step> {
        let value = self.input(0)?;
        let asked = self.needed_sizes("shape", 1)?;
        let zero_is_copy = self.node.int("allowzero", 0) == 0;
        let len = value.len().ok_or("a size that overflows")?;
        let mut shape = Vec::new();
        for (at, &extent) in asked.iter().enumerate() {
            shape.push(match extent {
                -1 => None,
                0 if zero_is_copy => {
                    Some(*value.shape.get(at).ok_or("a shape with an axis that is not there")?)
                }
                extent => Some(usize::try_from(extent).map_err(|_| "a shape below zero")?),
            });
        }
        let fixed = shape.iter().flatten().try_fold(1_usize, |product, &extent| product.checked_mul(extent));
        let fixed = fixed.ok_or("a size that overflows")?;
        let rest = len.checked_div(fixed).unwrap_or(0);
        let shape: Vec<usize> = shape.into_iter().map(|extent| extent.unwrap_or(rest)).collect();
        if shape.iter().try_fold(1_usize, |product, &extent| product.checked_mul(extent)) != Some(len) {
            return Err(format!("of {:?} to {asked:?}", value.shape).into());
        }
        Ok(Value::new(value.element, shape).with_known(value.known.clone()).into())
    }

    fn flatten(&self) -> Outcome<Step> {
        let value = self.input(0)?;
        let axis = self.node.int("axis", 1);
        let rank = value.shape.len();
        let axis = if axis == rank as i64 { rank } else { axis_of(axis, rank)? };
        let product = |extents: &[usize]| {
            extents.iter().try_fold(1_usize, |product, &extent| product.checked_mul(extent))
        };
        let (Some(rows), Some(columns)) = (product(&value.shape[..axis]), product(&value.shape[axis..]))
        else {
            return Err("a size that overflows".into());
        };
        Ok(Value::new(value.element, vec![rows, columns]).into())
    }

    fn squeeze(&self) -> Outcome<Step> {
        let value = self.input(0)?;
        let rank = value.shape.len();
        let axes = self.sizes("axes", 1)?;
        let axes = axes.map(|axes| axes.iter().map(|&axis| axis_of(axis, rank)).collect::<Outcome<Vec<_>>>());
        let axes = axes.transpose()?;
        let goes = |at: usize| axes.as_ref().map_or(value.shape[at] == 1, |axes| axes.contains(&at));
        if (0..rank).any(|at| goes(at) && value.shape[at] != 1) {
            return Err("of an axis that is not 1".into());
        }
        let shape = (0..rank).filter(|&at| !goes(at)).map(|at| value.shape[at]).collect();
        Ok(Value::new(value.element, shape).with_known(value.known.clone()).into())
    }

    fn unsqueeze(&self) -> Outcome<Step> {
        let value = self.input(0)?;
        let axes = self.needed_sizes("axes", 1)?;
        let rank = value.shape.len() + axes.len();
        let axes = axes.iter().map(|&axis| axis_of(axis, rank)).collect::<Outcome<Vec<_>>>()?;
        let mut old = value.shape.iter();
        let shape: Vec<usize> = (0..rank)
            .filter_map(|at| if axes.contains(&at) { Some(1) } else { old.next().copied() })
            .collect();
        if shape.len() != rank {
            return Err("with the same axis twice".into());
        }
        Ok(Value::new(value.element, shape).with_known(value.known.clone()).into())
    }

    fn transpose(&self) -> Outcome<Step> {
        let value = self.input(0)?;
        let rank = value.shape.len();
        let order: Vec<usize> = match self.node.ints("perm") {
            None => (0..rank).rev().collect(),
            Some(perm) => perm.iter().map(|&axis| axis_of(axis, rank)).collect::<Outcome<_>>()?,
        };
        if (0..rank).any(|axis| !order.contains(&axis)) || order.len() != rank {
            return Err("of other axes than there are".into());
        }
        Ok(Value::new(value.element, order.iter().map(|&axis| value.shape[axis]).collect()).into())
    }

    fn concat(&self) -> Outcome<Step> {
        let first = self.input(0)?;
        let axis = axis_of(self.node.int("axis", 0), first.shape.len())?;
        let mut shape = first.shape.clone();
        shape[axis] = 0;
        let mut known = (shape.len() == 1).then(Vec::new);
        for at in 0..self.inputs.len() {
            let value = self.input(at)?;
            let fits = value.shape.len() == shape.len()
                && (0..shape.len()).all(|other| other == axis || value.shape[other] == shape[other]);
            if !fits {
                return Err(format!("of shapes {:?} and {:?}", first.shape, value.shape).into());
            }
            shape[axis] = shape[axis].checked_add(value.shape[axis]).ok_or("a size that overflows")?;
            // No longer list is kept, and a node of many inputs would copy its list for each of them.
            known = known.zip(value.known_ints()).and_then(|(mut known, ints)| {
                known.extend_from_slice(ints);
                (known.len() <= MOST_KNOWN).then_some(known)
            });
        }
        let known = known.map(|ints| Known::Ints(ints.into()));
        Ok(Value::new(first.element, shape).with_known(known).into())
    }

    fn split(&self) -> Outcome<Step> {
        let value = self.input(0)?;
        let axis = axis_of(self.node.int("axis", 0), value.shape.len())?;
        let (extent, parts) = (value.shape[axis], self.node.outputs.len().max(1));
        let sizes: Vec<usize> = if let Some(sizes) = self.known_list("split", 1)? {
            if sizes.len() != parts {
                return Err(format!("into {parts} parts by {} sizes", sizes.len()).into());
            }
            let sizes: Option<_> = sizes.iter().map(|&size| size.try_into().ok()).collect();
            sizes.ok_or("a size below zero")?
        } else {
            let each = extent.div_ceil(parts);
            (0..parts).map(|at| each.min(extent.saturating_sub(at.saturating_mul(each)))).collect()
        };
        if sizes.iter().try_fold(0_usize, |sum, &size| sum.checked_add(size)) != Some(extent) {
            return Err(format!("of {extent} into {sizes:?}").into());
        }
        let part = |size: usize| {
            let mut shape = value.shape.clone();
            shape[axis] = size;
            Value::new(value.element, shape)
        };
        Ok(sizes.into_iter().map(part).collect::<Vec<_>>().into())
    }

    fn slice(&self) -> Outcome<Step> {
        let value = self.input(0)?;
        let rank = value.shape.len();
        let (starts, ends) = (self.needed_sizes("starts", 1)?, self.needed_sizes("ends", 2)?);
        let axes = self.sizes("axes", 3)?.unwrap_or_else(|| (0..starts.len() as i64).collect());
        let steps = self.sizes("steps", 4)?.unwrap_or_else(|| vec![1; starts.len()]);
        if starts.len() != ends.len() || axes.len() != starts.len() || steps.len() != starts.len() {
            return Err("with lists of different lengths".into());
        }
        if axes.len() > rank {
            return Err(format!("along {} axes of {rank}", axes.len()).into());
        }
        let mut shape = value.shape.clone();
        let mut known = value.known_ints().filter(|_| rank == 1).map(<[i64]>::to_vec);
        for (at, &axis) in axes.iter().enumerate() {
            let axis = axis_of(axis, rank)?;
            let picked = picked(value.shape[axis] as i64, starts[at], ends[at], steps[at])
                .ok_or("with a step of zero")?;
            shape[axis] = picked.len();
            known = known.map(|ints| picked.iter().filter_map(|at| ints.get(at).copied()).collect());
        }
        Ok(Value::new(value.element, shape).with_known(known.map(|ints| Known::Ints(ints.into()))).into())
    }

    fn gather(&self) -> Outcome<Step> {
        let (value, indices) = (self.input(0)?, self.input(1)?);
        let axis = axis_of(self.node.int("axis", 0), value.shape.len())?;
        let shape = [&value.shape[..axis], &indices.shape, &value.shape[axis + 1..]].concat();
        let known = value.known_ints().zip(indices.known_ints()).filter(|_| value.shape.len() == 1);
        let known = known.and_then(|(ints, indices)| {
            let len = ints.len() as i64;
            let one =
                |&at: &i64| ints.get(usize::try_from(if at < 0 { at + len } else { at }).ok()?).copied();
            indices.iter().map(one).collect::<Option<_>>().map(Known::Ints)
        });
        Ok(Value::new(value.element, shape).with_known(known).into())
    }

    fn pad(&self) -> Outcome<Step> {
        let value = self.input(0)?;
        let pads = self.needed_sizes("pads", 1)?;
        let rank = value.shape.len();
        if self.maybe(3).is_some() || pads.len() != 2 * rank {
            return Err("with axes".into());
        }
        let is_padded = |at: usize| pads[at] != 0 || pads[rank + at] != 0;
        if self.node.text("mode").is_some_and(|mode| mode != "constant")
            && (0..rank.saturating_sub(2)).any(is_padded)
        {
            return Err("with other numbers than a constant along an axis before the last two".into());
        }
        let extent = |at: usize| {
            let sum = value.shape[at] as i128 + pads[at] as i128 + pads[rank + at] as i128;
            usize::try_from(sum).map_err(|_| Refusal::from("a size below zero"))
        };
        Ok(Value::new(value.element, (0..rank).map(extent).collect::<Outcome<_>>()?).into())
    }

    fn tile(&self) -> Outcome<Step> {
        let value = self.input(0)?;
        let repeats = self.needed_sizes("repeats", 1)?;
        if repeats.len() != value.shape.len() {
            return Err("with a number for every axis missing".into());
        }
        let extent = |(&extent, &times): (&usize, &i64)| extent.checked_mul(times.try_into().ok()?);
        let shape = value.shape.iter().zip(&repeats).map(extent).collect::<Option<_>>();
        Ok(Value::new(value.element, shape.ok_or("a size that overflows")?).into())
    }

    fn expand(&self) -> Outcome<Step> {
        let value = self.input(0)?;
        let asked = self.needed_sizes("shape", 1)?;
        let asked: Option<Vec<usize>> = asked.iter().map(|&extent| extent.try_into().ok()).collect();
        Ok(Value::new(value.element, broadcast(&value.shape, &asked.ok_or("a size below zero")?)?).into())
    }

    fn resize(&self) -> Outcome<Step> {
        let value = self.input(0)?;
        if self.node.text("mode") == Some("cubic") {
            return Err("in cubic mode".into());
        }
        let rank = value.shape.len();
        let shape: Vec<usize> = if let Some(sizes) = self.sizes("", 3)? {
            sizes
                .iter()
                .map(|&size| size.try_into().ok())
                .collect::<Option<_>>()
                .ok_or("a size below zero")?
        } else {
            let Some(Known::Floats(scales)) = &self.input(2)?.known else {
                return Err("scales that depend on the samples".into());
            };
            let scaled = |(&extent, &scale): (&usize, &f32)| (extent as f32 * scale).floor();
            let scaled: Vec<f32> = value.shape.iter().zip(scales.iter()).map(scaled).collect();
            if scales.len() != rank || !scaled.iter().all(|extent| (0.0..1e15).contains(extent)) {
                return Err("scales that do not fit".into());
            }
            scaled.into_iter().map(|extent| extent as usize).collect()
        };
        if shape.len() != rank || rank != 4 || shape[..2] != value.shape[..2] {
            return Err("of other than the last two of four axes".into());
        }
        Ok(Value::new(value.element, shape).into())
    }

    fn depth_to_space(&self) -> Outcome<Step> {
        let value = self.input(0)?;
        let block = usize::try_from(self.node.int("blocksize", 0))
            .ok()
            .filter(|&block| (1..1 << 15).contains(&block));
        let (&[n, channels, height, width], Some(block)) = (&value.shape[..], block) else {
            return Err("of other than images".into());
        };
        if !channels.is_multiple_of(block * block) {
            return Err("of channels that do not fit".into());
        }
        let extents = [height.checked_mul(block), width.checked_mul(block)];
        let [Some(height), Some(width)] = extents else {
            return Err("a size that overflows".into());
        };
        Ok(Value::new(value.element, vec![n, channels / (block * block), height, width]).into())
    }

    fn extents(&self) -> Outcome<Step> {
        let extents: Vec<i64> = self.shape(0)?.iter().map(|&extent| extent as i64).collect();
        let rank = extents.len() as i64;
        let place = |at: i64| (if at < 0 { at + rank } else { at }).clamp(0, rank) as usize;
        let (start, end) = (place(self.node.int("start", 0)), place(self.node.int("end", rank)));
        let part = extents.get(start..end.max(start)).unwrap_or_default().to_vec();
        Ok(Value::ints(vec![part.len()], part).into())
    }

    fn range(&self) -> Outcome<Step> {
        let one = |at: usize| -> Outcome<i64> {
            let first = self.input(at)?.known_ints().and_then(<[i64]>::first);
            first.copied().ok_or_else(|| "over other than known integers".into())
        };
        let (start, limit, delta) = (one(0)?, one(1)?, one(2)?);
        if delta == 0 {
            return Err("with a step of zero".into());
        }
        let room = (limit as i128 - start as i128) * delta.signum() as i128;
        let count = (room + delta.unsigned_abs() as i128 - 1) / delta.unsigned_abs() as i128;
        let count = usize::try_from(count.max(0)).map_err(|_| "a size that overflows")?;
        let known = (count <= MOST_KNOWN).then(|| {
            (0..count as i64).map(|at| start.checked_add(at.checked_mul(delta)?)).collect::<Option<_>>()
        });
        Ok(Value::new(self.input(0)?.element, vec![count])
            .with_known(known.flatten().map(Known::Ints))
            .into())
    }

    fn filled(&self) -> Outcome<Step> {
        let shape = self.needed_sizes("", 0)?;
        let shape: Option<Vec<usize>> = shape.iter().map(|&extent| extent.try_into().ok()).collect();
        let shape = shape.ok_or("a size below zero")?;
        let value = self.node.attribute("value").and_then(|value| value.tensors.first());
        Ok(Value::new(value.map_or(element::FLOAT, |value| value.element), shape).into())
    }

    fn one_hot(&self) -> Outcome<Step> {
        let indices = self.shape(0)?;
        let depth = self.input(1)?.known_ints().and_then(|ints| ints.first().copied());
        let depth: i64 = depth.ok_or("a depth that depends on the samples")?;
        let depth = usize::try_from(depth).map_err(|_| "a depth below zero")?;
        let axis = axis_of(self.node.int("axis", -1), indices.len() + 1)?;
        let shape = [&indices[..axis], &[depth], &indices[axis..]].concat();
        Ok(Value::new(self.input(2)?.element, shape).into())
    }

    fn top(&self) -> Outcome<Step> {
        let value = self.input(0)?;
        let axis = axis_of(self.node.int("axis", -1), value.shape.len())?;
        let count = self.needed_sizes("", 1)?.first().and_then(|&count| usize::try_from(count).ok());
        let mut shape = value.shape.clone();
        shape[axis] = count.filter(|&count| count <= shape[axis]).ok_or("more numbers than there are")?;
        Ok(vec![Value::new(value.element, shape.clone()), Value::new(element::INT64, shape)].into())
    }

    /// A recurrent layer of that many gates.
    fn recurrent(&self, gates: usize, has_cell: bool) -> Outcome<Step> {
        let (&[steps, batch, width], &[directions, rows, columns]) = (self.shape(0)?, self.shape(1)?) else {
            return Err("of other than sequences".into());
        };
        let hidden = usize::try_from(self.node.int("hidden_size", 0)).unwrap_or(0);
        let expected = if self.node.text("direction") == Some("bidirectional") { 2 } else { 1 };
        if hidden.checked_mul(gates) != Some(rows) || width != columns || directions != expected {
            return Err("weights that do not fit".into());
        }
        if !has_cell && self.node.int("linear_before_reset", 0) == 0 {
            return Err("without `linear_before_reset`".into());
        }
        // Lengths of sequences, and peepholes.
        if self.maybe(4).is_some() || self.maybe(7).is_some() {
            return Err("with lengths of sequences or peepholes".into());
        }
        let element = self.input(0)?.element;
        let state = Value::new(element, vec![directions, batch, hidden]);
        let mut outputs = vec![Value::new(element, vec![steps, directions, batch, hidden]), state.clone()];
        outputs.extend(has_cell.then_some(state));
        Ok(outputs.into())
    }
}

/// An axis that is counted from the end where it is negative.
fn axis_of(axis: i64, rank: usize) -> Outcome<usize> {
    let from_start = if axis < 0 { axis + rank as i64 } else { axis };
    let axis = usize::try_from(from_start).ok().filter(|&axis| axis < rank);
    axis.ok_or_else(|| "an axis that is not there".into())
}

/// The shape that two shapes have in common where extents of 1 are repeated.
fn broadcast(a: &[usize], b: &[usize]) -> Outcome<Vec<usize>> {
    let rank = a.len().max(b.len());
    let extent = |of: &[usize], at: usize| (at + of.len()).checked_sub(rank).map_or(1, |at| of[at]);
    let both = |at: usize| match (extent(a, at), extent(b, at)) {
        (a, b) if a == b => Ok(a),
        (1, other) | (other, 1) => Ok(other),
        _ => Err(Refusal::from(format!("of shapes {a:?} and {b:?}"))),
    };
    (0..rank).map(both).collect()
}

fn reduced(shape: &[usize], is_reduced: impl Fn(&usize) -> bool, keeps: bool) -> Vec<usize> {
    let all = shape.iter().enumerate();
    all.filter_map(|(at, &extent)| if is_reduced(&at) { keeps.then_some(1) } else { Some(extent) }).collect()
}

/// The indices that a slice takes; none if it makes no steps.
struct Picked {
    start: i64,
    step: i64,
    count: usize,
}

impl Picked {
    fn len(&self) -> usize {
        self.count
    }

    fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.count as i64).map(|at| (self.start + at * self.step) as usize)
    }
}

fn picked(extent: i64, start: i64, end: i64, step: i64) -> Option<Picked> {
    let from_start = |at: i64| if at < 0 { at.saturating_add(extent) } else { at };
    let (start, room) = if step > 0 {
        let (start, end) = (from_start(start).clamp(0, extent), from_start(end).clamp(0, extent));
        (start, end - start)
    } else {
        let (start, end) = (from_start(start).clamp(-1, extent - 1), from_start(end).clamp(-1, extent - 1));
        (start, start - end)
    };
    let each = i64::try_from(step.unsigned_abs()).ok().filter(|&each| each > 0)?;
    Some(Picked { start, step, count: (room.max(0) as u64).div_ceil(each as u64) as usize })
}
