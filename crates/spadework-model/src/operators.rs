//! The operators and attributes that the built-in engine is trusted with.

use super::proto::Node;

/// What a node of an operator may have.
pub(super) struct Allowed {
    pub(super) attributes: &'static [&'static str],
    /// Inputs at most.
    pub(super) inputs: usize,
    /// Outputs at most.
    pub(super) outputs: usize,
}

const ANY: usize = usize::MAX;

/// What a node may have by its operator; none if the engine lacks it, or computes it otherwise than onnxruntime.
pub(super) fn allowed(node: &Node) -> Option<Allowed> {
    let of = |attributes: &'static [&'static str], inputs: usize, outputs: usize| {
        Some(Allowed { attributes, inputs, outputs })
    };
    // Not Sign, which is 1 at 0 in the engine; it is 0. Nor ArgMax and ArgMin, which take the last of equal numbers there, not the first,
    // and do not know `select_last_index`.
    match node.operator.as_str() {
        "Abs" | "Acos" | "Acosh" | "Asin" | "Asinh" | "Atan" | "Atanh" | "Ceil" | "Cos" | "Cosh" | "Erf"
        | "Exp" | "Floor" | "GlobalAveragePool" | "GlobalMaxPool" | "HardSwish" | "Identity" | "IsNaN"
        | "Log" | "Neg" | "Not" | "Reciprocal" | "Relu" | "Round" | "Sigmoid" | "Sin" | "Sinh" | "Size"
        | "Softplus" | "Softsign" | "Sqrt" | "Tan" | "Tanh" => of(&[], 1, 1),
        "Elu" | "LeakyRelu" => of(&["alpha"], 1, 1),
        "HardSigmoid" => of(&["alpha", "beta"], 1, 1),
        "Gelu" => of(&["approximate"], 1, 1),
        "Clip" => of(&["min", "max"], 3, 1),
        "Flatten" | "LogSoftmax" | "Softmax" => of(&["axis"], 1, 1),
        "Dropout" => of(&["ratio", "seed"], 3, 2),
        "Cast" => of(&["to", "saturate"], 1, 1),
        "BatchNormalization" => of(&["epsilon", "momentum", "training_mode", "spatial"], 5, 1),
        "InstanceNormalization" => of(&["epsilon"], 3, 1),
        "LayerNormalization" => of(&["axis", "epsilon", "stash_type"], 3, 1),
        "Add" | "Sub" | "Mul" | "Div" | "Pow" | "PRelu" | "And" | "Or" | "Xor" | "Equal" | "Less"
        | "Greater" | "LessOrEqual" | "GreaterOrEqual" | "MatMul" | "Expand" | "Tile" => of(&[], 2, 1),
        "Max" | "Min" | "Sum" | "Mean" => of(&[], ANY, 1),
        "Where" | "Range" => of(&[], 3, 1),
        "ReduceL1" | "ReduceL2" | "ReduceLogSum" | "ReduceLogSumExp" | "ReduceMax" | "ReduceMean"
        | "ReduceMin" | "ReduceProd" | "ReduceSum" | "ReduceSumSquare" => {
            of(&["axes", "keepdims", "noop_with_empty_axes"], 2, 1)
        }
        "Conv" => of(&["auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"], 3, 1),
        "ConvTranspose" => {
            of(&["auto_pad", "dilations", "group", "kernel_shape", "output_padding", "pads", "strides"], 3, 1)
        }
        "MaxPool" => of(
            &["auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "storage_order", "strides"],
            1,
            1,
        ),
        "AveragePool" => of(
            &["auto_pad", "ceil_mode", "count_include_pad", "dilations", "kernel_shape", "pads", "strides"],
            1,
            1,
        ),
        "Gemm" => of(&["alpha", "beta", "transA", "transB"], 3, 1),
        "Reshape" => of(&["allowzero", "shape"], 2, 1),
        "Squeeze" | "Unsqueeze" => of(&["axes"], 2, 1),
        "Transpose" => of(&["perm"], 1, 1),
        "Concat" => of(&["axis"], ANY, 1),
        "Split" => of(&["axis", "split", "num_outputs"], 2, ANY),
        "Slice" => of(&["starts", "ends", "axes"], 5, 1),
        "Gather" | "GatherElements" => of(&["axis"], 2, 1),
        "Pad" => of(&["mode", "pads", "value"], 4, 1),
        "Resize" => of(
            &[
                "antialias",
                "coordinate_transformation_mode",
                "cubic_coeff_a",
                "exclude_outside",
                "extrapolation_value",
                "keep_aspect_ratio_policy",
                "mode",
                "nearest_mode",
            ],
            4,
            1,
        ),
        "DepthToSpace" => of(&["blocksize", "mode"], 1, 1),
        "Shape" => of(&["start", "end"], 1, 1),
        "ConstantOfShape" => of(&["value"], 1, 1),
        "OneHot" => of(&["axis"], 3, 1),
        "TopK" => of(&["axis", "largest", "sorted"], 2, 2),
        "CumSum" => of(&["exclusive", "reverse"], 2, 1),
        "LSTM" => of(&["activations", "clip", "direction", "hidden_size", "input_forget", "layout"], 8, 3),
        "GRU" => {
            of(&["activations", "clip", "direction", "hidden_size", "layout", "linear_before_reset"], 6, 2)
        }
        _ => None,
    }
}

/// Whether a node is of the kind that nearly all networks are made of, which runs wherever its shapes fit.
pub(super) fn is_plain(node: &Node) -> bool {
    const PLAIN: [&str; 24] = [
        "Add",
        "AveragePool",
        "BatchNormalization",
        "Concat",
        "Constant",
        "Conv",
        "Div",
        "Dropout",
        "Flatten",
        "Gemm",
        "GlobalAveragePool",
        "Identity",
        "LeakyRelu",
        "MatMul",
        "MaxPool",
        "Mul",
        "Relu",
        "Reshape",
        "Sigmoid",
        "Softmax",
        "Sub",
        "Tanh",
        "Transpose",
        "Unsqueeze",
    ];
    PLAIN.contains(&node.operator.as_str())
}
