//! Operators against closed forms and differences. Whole networks are compared with onnxruntime by `scripts/check_networks.py`.

use super::*;
use crate::Frozen;
use crate::clever::{CleverParams, clever};
use crate::onnx::made::{file, floats, list, node, number, numbers};
use crate::onnx::wire::{BOOL, EXTERNAL, EntryProto, FLOAT32, INT64, NodeProto, TensorProto};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use spadework::Silent;

fn graph(input: &[i64], nodes: Vec<NodeProto>, constants: Vec<TensorProto>) -> Result<Graph> {
    Graph::read(Path::new("net.onnx"), &file(input, nodes, constants), &Compute::cpu())
}

fn frozen(input: &[i64], nodes: Vec<NodeProto>, constants: Vec<TensorProto>) -> Frozen {
    Frozen::computing(graph(input, nodes, constants).unwrap(), Compute::cpu().device().clone())
}

/// Numbers between −1 and 1 that repeat nothing.
fn drawn(count: usize, first: usize) -> Vec<f32> {
    (first..first + count).map(|at| 2.0 * (at as f32 * 0.754_877_7).fract() - 1.0).collect()
}

#[test]
fn numbers_are_moved_where_the_operators_say() {
    let nodes = vec![
        node("Transpose", "x", "t", vec![numbers("perm", &[0, 2, 1])]),
        node("Slice", "t c0 c1 c2 c3", "s", vec![]),
        node("Pad", "s c4", "p", vec![]),
        node("Unsqueeze", "p c5", "u", vec![]),
        node("Squeeze", "u c5", "q", vec![]),
        node("Gather", "q c6", "g", vec![number("axis", 1)]),
        node("Concat", "g q", "c", vec![number("axis", 1)]),
        node("Reshape", "c c7", "y", vec![]),
    ];
    let constants = vec![
        list(&[2]),
        list(&[i64::MIN]),
        list(&[1]),
        list(&[-1]),
        list(&[0, 0, 1, 0, 0, 0]),
        list(&[1]),
        list(&[-1]),
        list(&[0, -1]),
    ];
    let model = frozen(&[0, 2, 3], nodes, constants);
    let samples: Vec<f32> = (0..12).map(|at| at as f32).collect();
    // [0 1 2; 3 4 5] turned is [0 3; 1 4; 2 5], backwards [2 5; 1 4; 0 3], with a zero in front of each row; then the last
    // row before all rows.
    let rows = [0.0, 0.0, 3.0, 0.0, 2.0, 5.0, 0.0, 1.0, 4.0, 0.0, 0.0, 3.0];
    let next = [0.0, 6.0, 9.0, 0.0, 8.0, 11.0, 0.0, 7.0, 10.0, 0.0, 6.0, 9.0];
    assert_eq!(model.outputs(&samples).unwrap(), [rows, next].concat());
}

/// softmax(x xᵀ / √2) x of three rows of two numbers, as attention is exported, with shapes that the graph computes.
#[test]
fn attention_is_that_of_the_formula() {
    let nodes = vec![
        node("Shape", "x", "shape", vec![]),
        node("Gather", "shape c0", "n", vec![number("axis", 0)]),
        node("Unsqueeze", "n c1", "n1", vec![]),
        node("Concat", "n1 c2", "flat", vec![number("axis", 0)]),
        node("Transpose", "x", "t", vec![numbers("perm", &[0, 2, 1])]),
        node("MatMul", "x t", "products", vec![]),
        node("Div", "products c3", "scaled", vec![]),
        node("Softmax", "scaled", "shares", vec![number("axis", -1)]),
        node("MatMul", "shares x", "mixed", vec![]),
        node("Reshape", "mixed flat", "y", vec![]),
    ];
    let root = 2.0_f32.sqrt();
    let constants =
        vec![crate::onnx::made::integers(&[], &[0]), list(&[0]), list(&[6]), floats(&[], &[root])];
    let model = frozen(&[0, 3, 2], nodes, constants);
    let samples = drawn(12, 3);
    let outputs = model.outputs(&samples).unwrap();
    for (sample, output) in samples.chunks(6).zip(outputs.chunks(6)) {
        let row = |at: usize| &sample[2 * at..2 * at + 2];
        for at in 0..3 {
            let share =
                |other: usize| ((row(at)[0] * row(other)[0] + row(at)[1] * row(other)[1]) / root).exp();
            let all: f32 = (0..3).map(share).sum();
            for column in 0..2 {
                let expected: f32 = (0..3).map(|other| share(other) / all * row(other)[column]).sum();
                assert!((output[2 * at + column] - expected).abs() < 1e-6);
            }
        }
    }
}

/// PyTorch's older exporter takes shapes apart in attention, and keeps nothing of the one it replaces.
#[test]
fn an_empty_part_of_a_shape_is_a_list_without_numbers() {
    let nodes = vec![
        node("Shape", "x", "shape", vec![]),
        node("Slice", "shape c0 c0", "none", vec![]),
        node("Concat", "c1 none", "turned", vec![number("axis", 0)]),
        node("Reshape", "x turned", "y", vec![]),
    ];
    let model = frozen(&[0, 1, 2], nodes, vec![list(&[1]), list(&[-1, 2])]);
    assert_eq!(model.outputs(&[5.0, 6.0]).unwrap(), [5.0, 6.0]);
    let nothing = vec![node("Slice", "x c0 c0", "y", vec![])];
    let message = graph(&[0, 2], nothing, vec![list(&[1])]).unwrap_err().to_string();
    assert!(message.contains("must keep something"), "{message}");
}

/// As PyTorch's newer exporter writes them.
#[test]
fn weights_may_be_in_a_file_next_to_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let values: Vec<u8> = [0.0_f32, 1.0, 2.0, 3.0].into_iter().flat_map(f32::to_le_bytes).collect();
    std::fs::write(folder.path().join("net.onnx.data"), [&[9; 8][..], &values].concat()).unwrap();
    let entry = |(key, value): (&str, &str)| EntryProto { key: key.to_owned(), value: value.to_owned() };
    let place = [("location", "net.onnx.data"), ("offset", "8"), ("length", "16")];
    let weight = TensorProto {
        data_location: EXTERNAL,
        external_data: place.map(entry).to_vec(),
        ..floats(&[2, 2], &[])
    };
    let nodes = vec![node("MatMul", "x c0", "y", vec![])];
    let (bytes, compute) = (file(&[0, 2], nodes, vec![weight]), Compute::cpu());
    let path = folder.path().join("net.onnx");
    let model = Frozen::computing(Graph::read(&path, &bytes, &compute).unwrap(), compute.device().clone());
    assert_eq!(model.outputs(&[1.0, 10.0]).unwrap(), [20.0, 31.0]);
    let elsewhere = Graph::read(Path::new("elsewhere/net.onnx"), &bytes, &compute).unwrap_err().to_string();
    assert!(
        elsewhere.contains(
            "has a constant with values in the file `net.onnx.data` next to the model, which cannot be read"
        ),
        "{elsewhere}"
    );
}

/// The pads of PyTorch's older exporter: pairs from the last axis on, turned around by integers of two axes; and parts of shapes.
#[test]
fn integers_are_moved_like_numbers() {
    let nodes = vec![
        node("Reshape", "c0 c1", "pairs", vec![]),
        node("Slice", "pairs c2 c3 c4 c5", "backwards", vec![]),
        node("Transpose", "backwards", "turned", vec![numbers("perm", &[1, 0])]),
        node("Reshape", "turned c6", "pads", vec![]),
        node("Pad", "x pads", "p", vec![]),
        node("Shape", "p", "n", vec![number("start", 0), number("end", 1)]),
        node("Mod", "c7 c8", "rest", vec![]),
        node("Concat", "n rest", "shape", vec![number("axis", 0)]),
        node("Reshape", "p shape", "y", vec![]),
    ];
    // One number after each row, two before the rows; −7 modulo 16 is 9.
    let constants =
        [&[0, 1, 2, 0, 0, 0][..], &[-1, 2], &[-1], &[i64::MIN], &[0], &[-1], &[-1], &[-7], &[16]].map(list);
    let model = frozen(&[0, 1, 2], nodes, constants.to_vec());
    assert_eq!(model.outputs(&[5.0, 6.0]).unwrap(), [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 5.0, 6.0, 0.0]);
}

/// Shapes that pass through floats and truth values, as exporters of resizing and of optional axes write them.
#[test]
fn casts_keep_what_their_type_can_hold() {
    let nodes = vec![
        node("Shape", "x", "shape", vec![]),
        node("Cast", "shape", "floats", vec![number("to", i64::from(FLOAT32))]),
        node("Mul", "floats c0", "half", vec![]),
        node("Cast", "half", "rounded", vec![number("to", i64::from(INT64))]),
        node("Cast", "half", "truth", vec![number("to", i64::from(BOOL))]),
        node("Cast", "rounded", "a", vec![number("to", i64::from(FLOAT32))]),
        node("Cast", "truth", "b", vec![number("to", i64::from(FLOAT32))]),
        node("Concat", "a b", "row", vec![number("axis", 0)]),
        node("Unsqueeze", "row c1", "rows", vec![]),
        node("Gather", "x c2", "one", vec![number("axis", 1)]),
        node("Mul", "one rows", "y", vec![]),
    ];
    let constants = vec![floats(&[2], &[0.0, 0.3]), list(&[0]), list(&[0])];
    // The shape of a sample is [n, 2]: 0 and 0.6, rounded toward zero, then whether they are not zero.
    assert_eq!(frozen(&[0, 2], nodes, constants).outputs(&[5.0, 1.0]).unwrap(), [0.0, 0.0, 0.0, 5.0]);
}

#[test]
fn windows_that_no_network_has_are_refused() {
    let message = |node, constants| graph(&[0, 1, 8, 8], vec![node], constants).unwrap_err().to_string();
    let huge = message(node("MaxPool", "x", "y", vec![numbers("kernel_shape", &[1 << 40, 2])]), vec![]);
    assert!(huge.contains("must have a window with one small side per axis"), "{huge}");
    let pads = numbers("pads", &[65_000; 4]);
    let padded = message(node("Conv", "x c0", "y", vec![pads]), vec![floats(&[1, 1, 1, 1], &[1.0])]);
    assert!(padded.contains("must not give more numbers than fit"), "{padded}");
    let ones = vec![floats(&[1], &[1.0]); 4];
    let training = node("BatchNormalization", "x c0 c1 c2 c3", "y", vec![number("training_mode", 1)]);
    assert!(message(training, ones).contains("must not normalize by its batch"));
}

/// Smooth operators: the gradient of a weighted sum of outputs against differences of five points.
#[test]
fn gradients_of_operators_agree_with_differences() {
    let weight = |dims: &[i64]| floats(dims, &drawn(dims.iter().product::<i64>() as usize, 7));
    let one = |operator: &str, attributes| vec![node(operator, "x", "y", attributes)];
    let two = |operator: &str, attributes| vec![node(operator, "x c0", "y", attributes)];
    let square = [0, 4, 3, 3];
    let cases: Vec<(Vec<NodeProto>, Vec<TensorProto>, [i64; 4])> = vec![
        (one("Sigmoid", vec![]), vec![], square),
        (one("Tanh", vec![]), vec![], square),
        (one("Erf", vec![]), vec![], square),
        (one("Gelu", vec![]), vec![], square),
        (one("Exp", vec![]), vec![], square),
        (one("Softplus", vec![]), vec![], square),
        (two("Mul", vec![]), vec![weight(&[4, 1, 3])], square),
        (two("Div", vec![]), vec![floats(&[1], &[0.7])], square),
        (two("Pow", vec![]), vec![floats(&[], &[2.0])], square),
        (vec![node("Mul", "x x", "y", vec![])], vec![], square),
        (one("ReduceMean", vec![numbers("axes", &[2, 3]), number("keepdims", 0)]), vec![], square),
        (one("GlobalAveragePool", vec![]), vec![], square),
        (
            one("AveragePool", vec![numbers("kernel_shape", &[2, 2]), numbers("pads", &[0, 0, 1, 1])]),
            vec![],
            square,
        ),
        (
            two("Conv", vec![numbers("pads", &[1, 0, 0, 1]), numbers("strides", &[2, 1])]),
            vec![weight(&[3, 4, 2, 2])],
            square,
        ),
        (
            two("Conv", vec![number("group", 2), numbers("dilations", &[2, 1])]),
            vec![weight(&[6, 2, 2, 3])],
            square,
        ),
        (two("MatMul", vec![]), vec![weight(&[3, 5])], square),
        (vec![node("LayerNormalization", "x c0 c1", "y", vec![])], vec![weight(&[3]), weight(&[3])], square),
        (
            vec![node("BatchNormalization", "x c0 c1 c2 c3", "y", vec![])],
            vec![weight(&[4]), weight(&[4]), weight(&[4]), floats(&[4], &[0.5, 1.0, 1.5, 2.0])],
            square,
        ),
        (
            vec![node("Split", "x", "a b", vec![number("axis", 1)]), node("Mul", "a b", "y", vec![])],
            vec![],
            square,
        ),
        (
            vec![node("Softmax", "x", "s", vec![number("axis", 1)]), node("Mul", "s x", "y", vec![])],
            vec![],
            square,
        ),
    ];
    for (nodes, constants, input) in cases {
        let name = nodes[0].op_type.clone();
        check_gradient(&name, &frozen(&input, nodes, constants));
    }
}

fn check_gradient(name: &str, model: &Frozen) {
    let (size, classes) = (model.input_size(), model.classes());
    let (samples, weights) = (drawn(2 * size, 1), drawn(2 * classes, 50));
    let (_, gradient) = model.input_gradient(model.rows(&samples), |outputs| {
        let weights =
            Tensor::<2>::from_data(TensorData::new(weights.clone(), [2, classes]), &outputs.device());
        (outputs * weights).sum()
    });
    let gradient = to_host(gradient);
    let value = |at: usize, by: f32| -> f64 {
        let mut moved = samples.clone();
        moved[at] += by;
        let outputs = model.outputs(&moved).unwrap();
        outputs.iter().zip(&weights).map(|(output, weight)| f64::from(*output) * f64::from(*weight)).sum()
    };
    let mut moves = 0.0_f32;
    for (at, &gradient) in gradient.iter().enumerate() {
        let h = 1e-2_f32;
        let slope = (8.0 * (value(at, h) - value(at, -h)) - (value(at, 2.0 * h) - value(at, -2.0 * h)))
            / (12.0 * f64::from(h));
        // Outputs up to 10 rounded to 1e-6, over 12 h, and h⁴ of the fifth derivative.
        assert!((f64::from(gradient) - slope).abs() < 1e-3, "{name} {at}: {gradient} {slope}");
        moves = moves.max(gradient.abs());
    }
    assert!(moves > 0.01, "{name} does not move");
}

/// Written for one sample, as many exporters do.
#[test]
fn a_graph_for_one_sample_is_run_sample_by_sample() {
    let nodes = vec![node("Reshape", "x c0", "r", vec![]), node("Gemm", "r c1", "y", vec![])];
    let model = frozen(&[1, 2, 2], nodes, vec![list(&[1, 4]), floats(&[4, 2], &drawn(8, 0))]);
    let samples = drawn(12, 2);
    let together = model.outputs(&samples).unwrap();
    for sample in 0..3 {
        let alone = model.outputs(&samples[4 * sample..4 * sample + 4]).unwrap();
        assert_eq!(alone, together[2 * sample..2 * sample + 2]);
    }
    // A softmax over the batch runs, and mixes samples.
    let mixing = vec![node("Softmax", "x", "s", vec![number("axis", 0)]), node("Mul", "s c0", "y", vec![])];
    assert!(graph(&[0, 3], mixing, vec![floats(&[1], &[2.0])]).unwrap().one_by_one);
}

#[test]
fn what_cannot_be_computed_is_named_with_its_operator_and_output() {
    let message = |nodes, constants| graph(&[0, 2], nodes, constants).unwrap_err().to_string();
    let unknown = message(vec![node("Relu", "x", "a", vec![]), node("NonZero", "a", "y", vec![])], vec![]);
    assert!(
        unknown
            .starts_with("net.onnx: the operator NonZero that gives `y` is not understood; there are Conv,"),
        "{unknown}"
    );
    let wide = message(vec![node("Gemm", "x c0", "y", vec![])], vec![floats(&[3, 1], &[1.0; 3])]);
    assert!(
        wide.contains("the operator Gemm that gives `y` must have matrices that fit each other, got 2 and 3"),
        "{wide}"
    );
    let lost = message(vec![node("Add", "x z", "y", vec![])], vec![]);
    assert!(lost.contains("takes `z`, which no operator before it gives"), "{lost}");
    let large = message(
        vec![node("ConstantOfShape", "c0", "c", vec![]), node("Add", "x c", "y", vec![])],
        vec![list(&[1 << 40, 1 << 20])],
    );
    assert!(large.contains("must have a small shape"), "{large}");
    let pads = message(vec![node("Pad", "x c0", "y", vec![])], vec![list(&[0, -1, 0, 0])]);
    assert!(pads.contains("must add two small numbers per axis"), "{pads}");
    let cast = |to: i64| {
        message(vec![node("Cast", "x", "c", vec![number("to", to)]), node("Add", "x c", "y", vec![])], vec![])
    };
    assert!(
        cast(2).contains("Cast that gives `c` must cast to floats of 32 or 64 bits, INT32, INT64 or BOOL"),
        "{}",
        cast(2)
    );
    assert!(cast(7).contains("converts values that depend on a sample to integers"), "{}", cast(7));
    let deep = message(vec![node("Add", "x c0", "y", vec![])], vec![floats(&[1; 7], &[1.0])]);
    assert!(deep.contains("the operator Add that gives `y` has a constant with too many axes"), "{deep}");
    let rows = message(vec![node("ReduceSum", "x", "y", vec![number("keepdims", 0)])], vec![]);
    assert!(rows.contains("one row for each of 1 samples"), "{rows}");
}

#[test]
fn open_extents_are_question_marks_in_messages() {
    let text = graph(&[0, 10, 0], vec![node("Relu", "x", "y", vec![])], vec![]).unwrap_err().to_string();
    assert!(text.ends_with("must have shape [n, …] with known extents, got [?, 10, ?]"), "{text}");
}

/// The root of a number below zero is none, and has no gradient.
#[test]
fn gradients_that_are_not_finite_become_zero() {
    let model = frozen(&[0, 2], vec![node("Sqrt", "x", "y", vec![])], vec![]);
    let (outputs, gradient) = model.input_gradient(model.rows(&[-1.0, 4.0]), Tensor::sum);
    assert!(to_host(outputs)[0].is_nan());
    assert_eq!(to_host(gradient), [0.0, 0.25]);
}

/// Such gradients would say that nothing moves the outputs: CLEVER's bound would be the largest there is.
#[test]
fn outputs_that_are_not_finite_have_no_clever_score() {
    let model = frozen(&[0, 2], vec![node("Sqrt", "x", "y", vec![])], vec![]);
    let params = CleverParams { radius: 0.5, batches: 5, samples: 16, pool: 2, ..CleverParams::default() };
    let message = |sample: [f32; 2]| clever(&model, &sample, 0, &params, &Silent).unwrap_err().to_string();
    assert_eq!(message([-1.0, 4.0]), "the outputs of the sample must be finite, got NaN for class 0");
    assert_eq!(
        message([4.0, 0.1]),
        "the outputs of a random point near the sample must be finite, got NaN for class 1"
    );
    assert!(clever(&model, &[4.0, 1.0], 0, &params, &Silent).unwrap().score() > 0.0);
}

#[test]
fn samples_that_no_machine_holds_are_refused() {
    let nodes = vec![node("Relu", "x", "y", vec![])];
    let text = graph(&[0, i64::from(i32::MAX)], nodes, vec![]).unwrap_err().to_string();
    assert!(text.contains("must have shape [n, …] with known extents"), "{text}");
}

/// Takes the first three samples at most, so that four give three rows: it runs for as many as it was tried with, and for more in parts.
#[test]
fn a_graph_that_fails_for_many_samples_is_run_in_parts() {
    let nodes = vec![node("Slice", "x c0 c1 c2", "y", vec![])];
    let model = frozen(&[0, 2], nodes, vec![list(&[0]), list(&[3]), list(&[0])]);
    let samples = drawn(14, 0);
    assert_eq!(model.outputs(&samples).unwrap(), samples);
}

/// Bytes of a small network changed at random, seeded: it is read, and then run, or refused.
#[test]
fn damaged_graphs_are_refused_or_run_but_never_panic() {
    let nodes = vec![
        node("Conv", "x c0 c1", "a", vec![numbers("pads", &[1, 1, 1, 1]), numbers("strides", &[2, 2])]),
        node("Relu", "a", "b", vec![]),
        node("MaxPool", "b", "c", vec![numbers("kernel_shape", &[2, 2])]),
        node("Reshape", "c c2", "d", vec![]),
        node("Slice", "d c3 c4 c5", "e", vec![]),
        node("Gemm", "e c6", "y", vec![number("transB", 1)]),
    ];
    let constants = vec![
        floats(&[2, 1, 3, 3], &drawn(18, 0)),
        floats(&[2], &[0.1, -0.1]),
        list(&[0, -1]),
        list(&[1]),
        list(&[3]),
        list(&[1]),
        floats(&[2, 2], &drawn(4, 3)),
    ];
    let whole = file(&[0, 1, 5, 5], nodes, constants);
    assert!(Graph::read(Path::new("net.onnx"), &whole, &Compute::cpu()).is_ok());
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let (mut read, mut refused) = (0, 0);
    for _ in 0..2000 {
        let mut bytes = whole.clone();
        for _ in 0..rng.random_range(1..4) {
            let at = rng.random_range(0..bytes.len());
            bytes[at] = rng.random();
        }
        match Graph::read(Path::new("net.onnx"), &bytes, &Compute::cpu()) {
            Ok(graph) => {
                let size: usize = graph.input_shape.iter().product();
                let samples = TensorData::new(vec![0.5_f32; 5 * size], [5, size]);
                graph.forward(Tensor::from_data(samples, &graph.setting.device));
                read += 1;
            }
            Err(_) => refused += 1,
        }
    }
    assert!(read > 100 && refused > 100, "{read} read, {refused} refused");
}
