//! Models of other people's making, against what onnxruntime makes of them (`scripts/make_onnx_fixtures.py`), and files that
//! must be refused.

#[path = "support/bytes.rs"]
mod bytes;

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::field;
use spadework::checkpoint::{Checkpoints, Work};
use spadework::{Monitor, Samples, Silent};
use spadework_io::{Dataset, load};
use spadework_model::{Engine, Extent, Layout, Normalization, OnnxModel, OutputPoint, RunOptions};

/// Two engines add the same few dozen products of numbers near 1 in another order, in single precision (6e-8 a step), through
/// a few layers.
const TOLERANCE: f32 = 1e-5;

fn fixture(file: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/onnx").join(file).display().to_string()
}

fn open(name: &str) -> OnnxModel {
    OnnxModel::open(&fixture(&format!("{name}.onnx"))).unwrap()
}

fn array(name: &str, key: &str) -> Dataset {
    load(&fixture(&format!("{name}.npz:{key}"))).unwrap()
}

fn numbers(samples: &Samples<'_>) -> Vec<f32> {
    samples.values().all_singles().into_owned()
}

fn assert_near(got: &Dataset, expected: &Dataset, what: &str) {
    assert_eq!(got.shape(), expected.shape(), "{what}");
    let (got, expected) = (numbers(&got.samples().unwrap()), numbers(&expected.samples().unwrap()));
    let furthest = got.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(furthest <= TOLERANCE, "{what}: {furthest}");
}

/// The outputs of a model on its own rows.
fn outputs(name: &str, options: &RunOptions) -> Dataset {
    open(name).outputs(&array(name, "x"), options, &Silent).unwrap()
}

fn refusal(name: &str) -> String {
    refusal_of(name, &rows(), &RunOptions::default())
}

fn refusal_of(name: &str, rows: &Dataset, options: &RunOptions) -> String {
    let outcome = OnnxModel::open(&fixture(&format!("{name}.onnx")))
        .and_then(|model| model.outputs(rows, options, &Silent));
    outcome.unwrap_err().to_string().rsplit_once(".onnx: ").expect("the file is named").1.to_owned()
}

/// Three rows of four numbers, of which one is negative.
fn rows() -> Dataset {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.csv");
    std::fs::write(&path, "1,2,3,4\n5,6,7,8\n9,-1,2,3\n").unwrap();
    load(&path.display().to_string()).unwrap()
}

fn named(output: &str) -> RunOptions {
    RunOptions { output_name: Some(output.to_owned()), ..RunOptions::default() }
}

#[test]
fn outputs_are_those_of_onnxruntime() {
    for name in ["mlp", "double", "dynamic", "fixed_1", "fixed_5", "nhwc", "residual", "stages", "external"] {
        assert_near(&outputs(name, &RunOptions::default()), &array(name, "logits"), name);
    }
}

/// Each of these was wrong, without a word, in an engine that was tried; those that are not right are refused.
#[test]
fn operators_that_engines_get_wrong_are_right_or_refused() {
    let right = [
        "lstm_forward",
        "lstm_reverse",
        "lstm_bidirectional",
        "gru_forward",
        "gru_reverse",
        "gru_bidirectional",
        "same_lower_pool",
        "resize_linear",
        "resize_nearest",
        "zeros",
    ];
    for name in right {
        assert_near(&outputs(name, &RunOptions::default()), &array(name, "y"), name);
    }
    let cases = [
        ("rnn_reverse", vec![6, 5, 4], "does not know the operator RNN of node `layer`"),
        ("gru_reset_after", vec![6, 5, 4], "cannot run GRU of node `layer`: without `linear_before_reset`"),
        ("dilated_pool", vec![6, 2, 6, 6], "cannot run MaxPool of node `pool`: with `dilations`"),
        (
            "strided_pool",
            vec![6, 2, 6, 6],
            "cannot run AveragePool of node `pool`: with `auto_pad` SAME_UPPER and strides that leave out numbers",
        ),
        ("cast_to_integers", vec![6, 4], "cannot run Cast of node `cast`: from float32 to int64"),
        ("resize_cubic", vec![6, 2, 4, 5], "cannot run Resize of node `resize`: in cubic mode"),
        ("sign", vec![6, 4], "does not know the operator Sign of node `sign`"),
        ("arg_max", vec![6, 4], "does not know the operator ArgMax of node `largest`"),
        ("arg_min", vec![6, 4], "does not know the operator ArgMin of node `smallest`"),
        ("branch", vec![6, 4], "does not know the operator If of node `branch`"),
    ];
    for (name, shape, what) in cases {
        let rows = Dataset::from_f32(name, shape[0], &shape[1..], vec![0.5; shape.iter().product()]);
        let message = refusal_of(name, &rows, &RunOptions::default());
        assert_eq!(
            message,
            format!("the built-in engine {what}; onnxruntime may run it (pip install onnxruntime)")
        );
    }
}

/// A forest as scikit-learn's converter writes it: labels, and dictionaries that are made of the probabilities.
#[test]
fn probabilities_are_taken_before_labels() {
    let model = open("forest");
    assert_eq!(model.output(&RunOptions::default()).unwrap(), "probabilities");
    assert_eq!(model.output(&named("label")).unwrap(), "label");
    assert_eq!(
        refusal("forest"),
        "the built-in engine does not know the operator ai.onnx.ml.TreeEnsembleClassifier of node `trees`; onnxruntime may run it (pip install onnxruntime)"
    );
}

#[test]
fn inner_values_are_taken_by_the_name_of_the_value_or_the_node() {
    for value in ["z1", "a1", "z2", "a2", "logits"] {
        assert_near(&outputs("mlp", &named(value)), &array("mlp", value), value);
    }
    assert_near(&outputs("mlp", &named("tanh2")), &array("mlp", "a2"), "tanh2");
    for value in ["block1_out", "block2_out"] {
        assert_near(&outputs("residual", &named(value)), &array("residual", value), value);
    }
}

#[test]
fn several_values_come_out_of_one_run() {
    let (model, rows) = (open("mlp"), array("mlp", "x"));
    let prepared = model.prepare(&[4], &["logits", "a1"], &RunOptions::default()).unwrap();
    assert_eq!(prepared.dims(), [Some(3), Some(8)]);
    let both = prepared.run(&rows.samples().unwrap(), &Silent).unwrap();
    assert_near(&both[0], &array("mlp", "logits"), "logits");
    assert_near(&both[1], &array("mlp", "a1"), "a1");
}

/// The result of a convolution is there although a `Relu` follows, together with other values and alone.
#[test]
fn values_between_convolutions_come_out_of_one_run() {
    let (model, rows) = (open("stages"), array("stages", "x"));
    let values = ["logits", "second", "kept", "sum", "fourth", "first", "third"];
    let prepared = model.prepare(&[2, 12, 10], &values, &RunOptions::default()).unwrap();
    let all = prepared.run(&rows.samples().unwrap(), &Silent).unwrap();
    for (got, value) in all.iter().zip(values) {
        assert_near(got, &array("stages", value), value);
        assert_near(&outputs("stages", &named(value)), &array("stages", value), value);
    }
}

/// `moved` is made of x + offset, `features` of x alone.
#[test]
fn several_inputs_take_the_columns_of_a_row() {
    let table = |text: &str| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.csv");
        std::fs::write(&path, text).unwrap();
        load(&path.display().to_string()).unwrap()
    };
    let both = table("1,2,3,4,0.5,0,-1,2\n5,6,7,8,-5,1,1,1\n");
    let sums = table("1.5,2,2,6\n0,7,8,9\n");
    let run =
        |rows: &Dataset, output: &str| open("two_sided").outputs(rows, &named(output), &Silent).unwrap();
    assert_near(&run(&both, "moved"), &run(&sums, "features"), "x + offset");
}

#[test]
fn one_of_several_outputs_and_inputs() {
    assert_near(&outputs("two_sided", &RunOptions::default()), &array("two_sided", "logits"), "the first");
    let options = RunOptions { input_name: Some("x".to_owned()), ..named("features") };
    assert_near(&outputs("two_sided", &options), &array("two_sided", "features"), "features");
    let refused = |options: &RunOptions| refusal_of("two_sided", &rows(), options);
    assert_eq!(
        refused(&named("moved")),
        "output `moved` needs the inputs `x`, `offset`, which take 8 numbers together, one input after the other; got rows of 4"
    );
    assert_eq!(
        refused(&named("gone")),
        "there is no output `gone` in the model; it has `logits`, `features`, `moved`"
    );
    let options = RunOptions { input_name: Some("y".to_owned()), ..RunOptions::default() };
    assert_eq!(refused(&options), "there is no input `y` in the model; it has `x`, `offset`");
    let options = RunOptions { input_name: Some("offset".to_owned()), ..RunOptions::default() };
    assert_eq!(refused(&options), "there is no input for this output `offset` in the model; it has `x`");
}

#[test]
fn the_values_before_a_softmax() {
    let model = open("softmax");
    let (node, before) = model.outline().softmax_before("prob").unwrap();
    assert_eq!((node.name.as_str(), before), ("softmax", "logits"));
    let options = RunOptions { point: OutputPoint::BeforeSoftmax, ..RunOptions::default() };
    assert_near(&outputs("softmax", &options), &array("softmax", "logits"), "before");
    assert_near(&outputs("softmax", &RunOptions::default()), &array("softmax", "prob"), "after");
    assert_eq!(
        refusal_of("mlp", &rows(), &options),
        "output `logits` must end in a softmax to be taken before it, got Gemm"
    );
}

/// Channel-first rows without a shape, for a channel-last model, and the other way round.
#[test]
fn flat_rows_are_laid_out_as_the_user_says() {
    let folder = tempfile::tempdir().unwrap();
    let flat = |name: &str, values: &[f32]| {
        let path = folder.path().join(name);
        spadework_io::output::write_npy(&path, &[12, 72], values).unwrap();
        load(&path.display().to_string()).unwrap()
    };
    let images = numbers(&array("nhwc", "x").samples().unwrap());
    let moved: Vec<f32> = images
        .chunks(72)
        .flat_map(|image| (0..72).map(|at| image[at % 3 * 24 + at / 3]).collect::<Vec<_>>())
        .collect();
    let (first, last) = (flat("first.npy", &images), flat("last.npy", &moved));
    let run = |name: &str, rows: &Dataset, layout: Option<Layout>| {
        open(name).outputs(rows, &RunOptions { layout, ..RunOptions::default() }, &Silent).unwrap()
    };
    let (nchw, nhwc) = (Some(Layout::ChannelsFirst), Some(Layout::ChannelsLast));
    for (rows, layout) in [(&first, nchw), (&last, nhwc), (&last, None)] {
        assert_near(&run("nhwc", rows, layout), &array("nhwc", "logits"), &format!("nhwc {layout:?}"));
    }
    for (rows, layout) in [(&first, nchw), (&last, nhwc), (&first, None)] {
        assert_near(&run("dynamic", rows, layout), &array("dynamic", "logits"), &format!("nchw {layout:?}"));
    }
}

/// The first layer is linear, so that a scaled and shifted input gives what can be computed from two runs.
#[test]
fn normalization_goes_before_the_model() {
    let (model, rows) = (open("mlp"), array("mlp", "x"));
    let run = |rows: &Dataset, normalization: Option<Normalization>| {
        let options = RunOptions { normalization, ..named("z1") };
        numbers(&model.outputs(rows, &options, &Silent).unwrap().samples().unwrap())
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("zero.npy");
    spadework_io::output::write_npy(&path, &[20, 4], &[0.5_f32; 80][..]).unwrap();
    let bias = run(&load(&path.display().to_string()).unwrap(), Normalization::new(&[0.5, 2.0]));
    let halved = run(&rows, Normalization::new(&[0.0, 2.0]));
    for ((plain, halved), bias) in run(&rows, None).iter().zip(&halved).zip(&bias) {
        assert!((plain - (2.0 * halved - bias)).abs() < TOLERANCE, "{plain} {halved} {bias}");
    }
}

#[test]
fn the_number_of_threads_and_padding_do_not_matter() {
    let rows = array("dynamic", "x");
    let with = |threads: usize, batch: usize| {
        let options = RunOptions { batch_size: NonZeroUsize::new(batch), ..RunOptions::default() };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            numbers(&open("dynamic").outputs(&rows, &options, &Silent).unwrap().samples().unwrap())
        })
    };
    // Twelve rows: batches of five leave two over, of which one run is as good as any other.
    let one = with(1, 5);
    assert_eq!(one, with(2, 5));
    assert_eq!(one, with(3, 5));
    for (batched, single) in one.iter().zip(&with(1, 1)) {
        assert!((batched - single).abs() < TOLERANCE);
    }
}

#[test]
fn what_a_file_says_of_itself() {
    let model = open("dynamic");
    let outline = model.outline();
    assert_eq!((outline.opset, outline.producer.as_deref()), (17, Some("make_onnx_fixtures")));
    let input = &outline.inputs[0];
    assert_eq!((input.name.as_str(), input.element.as_str(), input.batch()), ("x", "float32", None));
    assert_eq!(input.shape_text(), "[n, 3, 6, 4]");
    assert_eq!(outline.parameters, 5 * 27 + 5 + 4 * 30 + 4);
    let nodes: Vec<_> = outline
        .nodes
        .iter()
        .map(|node| (node.name.as_str(), node.operator.as_str(), node.parameters))
        .collect();
    assert_eq!(
        nodes,
        [
            ("conv", "Conv", 140),
            ("relu", "Relu", 0),
            ("pool", "MaxPool", 0),
            ("flatten", "Flatten", 0),
            ("fc", "Gemm", 124)
        ]
    );
    let shape = outline.nodes[2].shape.as_ref().unwrap();
    assert_eq!(shape[1..], [Extent::Fixed(5), Extent::Fixed(3), Extent::Fixed(2)]);
    assert!(matches!(shape[0], Extent::Dynamic(_)));
    assert_eq!(open("fixed_5").outline().inputs[0].batch(), Some(5));
    // What is computed of sizes is no layer.
    let residual = open("residual");
    let layers: Vec<&str> =
        residual.outline().layers("x").iter().map(|node| node.operator.as_str()).collect();
    assert!(!layers.iter().any(|operator| ["Shape", "Gather", "Concat"].contains(operator)), "{layers:?}");
    assert_eq!(layers.iter().filter(|operator| **operator == "BatchNormalization").count(), 5);
}

#[test]
fn what_cannot_be_run_is_named() {
    assert_eq!(
        refusal("unknown_operator"),
        "the built-in engine does not know the operator acme.Frobnicate of node `the_frobnicate`; onnxruntime may run it (pip install onnxruntime)"
    );
    assert_eq!(
        refusal("foreign_relu"),
        "the built-in engine does not know the operator acme.Relu of node `the_relu`; onnxruntime may run it (pip install onnxruntime)"
    );
    assert_eq!(
        refusal("random"),
        "node `the_randomnormallike` is random (RandomNormalLike): its outputs would differ from run to run"
    );
    assert_eq!(refusal("bytes"), "input `x` must take floating point numbers, got uint8");
    assert_eq!(refusal("not_a_number"), "output `y` must be finite, got NaN at row 2, column 1");
    assert_eq!(refusal("no_rows"), "output `y` must have one row for each of 128 samples, got shape []");
    assert_eq!(
        refusal("missing_external"),
        "tensor `w1` is kept in the file `gone.bin` next to the model, which cannot be read: No such file or directory (os error 2)"
    );
    assert!(refusal("outside_external").ends_with("it must lie in the folder of the model"));
    assert_eq!(refusal("no_such_output"), "output `y` does not depend on an input");
    assert!(refusal("dangling").contains("nothing makes the value `nowhere`"));
    let misfit = refusal_of("dynamic", &rows(), &RunOptions::default());
    assert_eq!(misfit, "input `x` takes samples of shape [n, 3, 6, 4], got rows of 4 numbers");
    let options = RunOptions { batch_size: NonZeroUsize::new(3), ..RunOptions::default() };
    let images = array("fixed_5", "x");
    assert_eq!(
        refusal_of("fixed_5", &images, &options),
        "the model is made for batches of 5, got a batch size of 3"
    );
}

/// Each of these would take terabytes, or crash, were it believed.
#[test]
fn hostile_files_are_refused() {
    let claim = refusal("huge_claim");
    assert!(claim.starts_with("tensor `w1` of shape [1152921504606846976, 4] must hold"), "{claim}");
    for name in ["huge_constant", "huge_computed", "huge_product", "huge_batch", "huge_pad"] {
        let message = refusal(name);
        assert!(message.contains("which is more than the allowed 2147483648 bytes"), "{name}: {message}");
    }
    let many =
        "at node `first`, values that do not depend on the input take more than the allowed 536870912 bytes";
    assert_eq!(refusal("huge_constants"), many);
    assert_eq!(refusal("cycle"), "the model cannot be run: the value `y` depends on itself");
}

#[test]
fn files_that_are_no_models_are_refused() {
    let refused =
        |bytes: &[u8]| OnnxModel::from_bytes("m.onnx", bytes, Path::new("")).unwrap_err().to_string();
    assert_eq!(refused(b""), "m.onnx: not a valid ONNX file: it holds no graph");
    let whole = std::fs::read(fixture("residual.onnx")).unwrap();
    for cut in 0..whole.len() {
        // No crash, and never a model made of a part of the weights.
        if let Ok(model) = OnnxModel::from_bytes("m.onnx", &whole[..cut], Path::new("")) {
            panic!("{cut} of {} bytes are taken for a whole model: {model:?}", whole.len());
        }
    }
    assert_eq!(OnnxModel::open("gone.onnx").unwrap_err().to_string(), "gone.onnx: no such file");
}

/// Every byte in turn set to a few values: whatever becomes of it, nothing crashes. Of a network for rows, and of one for images with
/// a convolution of ours.
#[test]
fn damaged_files_do_no_harm() {
    let images = Dataset::from_f32("x", 3, &[1, 8, 8], images());
    let files = [
        (std::fs::read(fixture("mlp.onnx")).unwrap(), rows()),
        (model_on(&[1, 8, 8], sizes_twice()), images),
    ];
    for (whole, rows) in files {
        let mut run = 0;
        for at in 0..whole.len() {
            for value in [0x00, 0x7f, 0xff, whole[at] ^ 1] {
                let mut damaged = whole.clone();
                damaged[at] = value;
                if let Ok(model) = OnnxModel::from_bytes("m.onnx", &damaged, Path::new("")) {
                    run += usize::from(model.outputs(&rows, &RunOptions::default(), &Silent).is_ok());
                }
            }
        }
        // Damaged weights, above all.
        assert!(run > whole.len(), "{run} of {} files", 4 * whole.len());
    }
}

#[test]
fn a_run_tells_how_far_it_is_and_stops_when_told() {
    #[derive(Default)]
    struct Watch {
        stop_after: Option<u64>,
        most: AtomicU64,
    }
    impl Monitor for Watch {
        fn progress(&self, done: u64, total: u64) {
            assert_eq!(total, 20);
            self.most.fetch_max(done, Ordering::Relaxed);
        }
        fn is_cancelled(&self) -> bool {
            self.stop_after.is_some_and(|rows| self.most.load(Ordering::Relaxed) >= rows)
        }
    }
    let options = RunOptions { batch_size: NonZeroUsize::new(2), ..RunOptions::default() };
    let (model, rows) = (open("mlp"), array("mlp", "x"));
    let watch = Watch::default();
    model.outputs(&rows, &options, &watch).unwrap();
    assert_eq!(watch.most.into_inner(), 20);
    let watch = Watch { stop_after: Some(2), ..Watch::default() };
    let error = model.outputs(&rows, &options, &watch).unwrap_err().to_string();
    assert!(error.ends_with("mlp.onnx: stopped"), "{error}");
}

/// Batches that an earlier run has done are taken as they are, and give the same outputs.
#[test]
fn batches_that_are_done_are_not_run_again() {
    #[derive(Default)]
    struct Memory {
        part: Mutex<Option<Vec<u8>>>,
        stop: bool,
        kept: AtomicU64,
    }
    impl Monitor for Memory {
        fn is_cancelled(&self) -> bool {
            self.stop && self.kept.load(Ordering::SeqCst) >= 3
        }
        fn checkpoints(&self) -> Option<&dyn Checkpoints> {
            Some(self)
        }
    }
    impl Checkpoints for Memory {
        fn stored(&self, _: &Work<'_>) -> Option<Vec<u8>> {
            self.part.lock().unwrap().clone()
        }
        fn is_due(&self) -> bool {
            true
        }
        fn is_long(&self, _: Duration) -> bool {
            false
        }
        fn keep(&self, _: &Work<'_>, state: &[u8]) {
            *self.part.lock().unwrap() = Some(state.to_vec());
            self.kept.fetch_add(1, Ordering::SeqCst);
        }
    }
    let options = RunOptions { batch_size: NonZeroUsize::new(2), ..RunOptions::default() };
    let (model, rows) = (open("mlp"), array("mlp", "x"));
    let numbers = |monitor: &dyn Monitor| {
        let outputs = model.outputs(&rows, &options, monitor).unwrap();
        format!("{:?}", outputs.samples().unwrap().values())
    };
    let whole = numbers(&Silent);
    let memory = Memory { stop: true, ..Memory::default() };
    assert!(model.outputs(&rows, &options, &memory).is_err());
    let part = memory.part.into_inner().unwrap().unwrap();
    let memory = Memory { part: Mutex::new(Some(part.clone())), ..Memory::default() };
    assert_eq!(numbers(&memory), whole);
    // Ten batches, of which some were done.
    let kept = memory.kept.into_inner();
    assert!((1..10).contains(&kept), "{kept}");
    // A part that does not fit is left alone.
    let memory = Memory { part: Mutex::new(Some(part[..part.len() - 4].to_vec())), ..Memory::default() };
    assert_eq!((numbers(&memory), memory.kept.into_inner()), (whole, 10));
}

/// A kilobyte that asks for minutes or gigabytes is refused at once, by the node and the limit.
#[test]
fn small_files_that_ask_for_much_are_refused() {
    let began = Instant::now();
    assert_eq!(
        refusal("dear_constants"),
        "at node `product0`, values that do not depend on the input take more than the allowed 4294967296 multiplications"
    );
    let dear = refusal("dear");
    assert!(
        dear.starts_with("the model takes 258")
            && dear.contains(" multiplications per sample, most of them at node `product"),
        "{dear}"
    );
    let wide = refusal("wide");
    assert!(wide.starts_with("at node `twice25`, the values of one sample take 16106"), "{wide}");
    for refused in [dear, wide] {
        assert!(refused.contains(" that ") && refused.contains(" bytes may take"), "{refused}");
    }
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

/// A chain of `nodes` rectifiers.
fn chain(nodes: usize) -> Vec<u8> {
    let value = |at: usize| match at {
        0 => "x".to_owned(),
        at if at == nodes => "y".to_owned(),
        at => format!("v{at}"),
    };
    let node = |at: usize| {
        let [input, output] = [value(at), value(at + 1)];
        field(1, &[field(1, input.as_bytes()), field(2, output.as_bytes()), field(4, b"Relu")].concat())
    };
    model_of((0..nodes).flat_map(node).collect())
}

/// A model from `x` to `y`, both floats of shape [n, 4], with these nodes and weights.
fn model_of(graph: Vec<u8>) -> Vec<u8> {
    model_on(&[4], graph)
}

/// The same for samples of that shape, of extents below 128; one of 0 is open.
fn model_on(sample: &[u8], mut graph: Vec<u8>) -> Vec<u8> {
    let extent = |extent: u8| if extent == 0 { field(2, b"s") } else { vec![1 << 3, extent] };
    let extents = sample.iter().flat_map(|&of| field(1, &extent(of)));
    let shape: Vec<u8> = field(1, &field(2, b"n")).into_iter().chain(extents).collect();
    let of_tensor = field(2, &field(1, &[vec![1 << 3, 1], field(2, &shape)].concat()));
    let port = |number: u8, name: &[u8]| field(number, &[field(1, name), of_tensor.clone()].concat());
    graph.extend([field(2, b"chain"), port(11, b"x"), port(12, b"y")].concat());
    // ir_version 8, opset 17.
    [vec![1 << 3, 8], field(7, &graph), field(8, &[2 << 3, 17])].concat()
}

/// Many weights that lie in the same small file are many times its size in memory.
#[test]
fn weights_that_share_a_file_take_no_more_than_a_few_times_its_size() {
    let folder = tempfile::tempdir().unwrap();
    // Holes on the disk: nothing is written.
    let bytes = 1_u32 << 25;
    std::fs::File::create(folder.path().join("w.bin")).unwrap().set_len(u64::from(bytes)).unwrap();
    let weight = |at: usize| {
        let place = field(13, &[field(1, b"location"), field(2, b"w.bin")].concat());
        // dims: [2^23], as a number of seven bits per byte; floats; data in a file of their own.
        let facts = vec![1 << 3, 0x80, 0x80, 0x80, 4, 2 << 3, 1, 14 << 3, 1];
        field(5, &[facts, field(8, format!("w{at}").as_bytes()), place].concat())
    };
    let open = |weights: usize| {
        let relu = field(1, &[field(1, b"x"), field(2, b"y"), field(4, b"Relu")].concat());
        let graph = [relu, (0..weights).flat_map(weight).collect()].concat();
        OnnxModel::from_bytes("m.onnx", &model_of(graph), folder.path()).map_err(|error| error.to_string())
    };
    assert_eq!(open(2).unwrap().outline().parameters, 2 << 23);
    let refused = open(5).unwrap_err();
    assert!(refused.contains("`w4` is kept in the file `w.bin`"), "{refused}");
    assert!(refused.ends_with("the tensors in it take more than 4 times its 33554432 bytes"), "{refused}");
}

fn node(operator: &str, inputs: &[&str], output: &str) -> Vec<u8> {
    let inputs = inputs.iter().flat_map(|input| field(1, input.as_bytes()));
    let named = [field(2, output.as_bytes()), field(4, operator.as_bytes())].concat();
    field(1, &inputs.chain(named).collect::<Vec<u8>>())
}

fn concat(axis: u8, inputs: &[&str], output: &str) -> Vec<u8> {
    let inputs = inputs.iter().flat_map(|input| field(1, input.as_bytes())).collect();
    // An attribute of type INT, field 20.
    let axis = field(5, &[field(1, b"axis"), vec![3 << 3, axis, 0xa0, 1, 2]].concat());
    field(1, &[inputs, field(2, output.as_bytes()), field(4, b"Concat"), axis].concat())
}

fn int_weight(name: &str, int: i64) -> Vec<u8> {
    field(5, &[vec![1 << 3, 1, 2 << 3, 7], field(8, name.as_bytes()), field(9, &int.to_le_bytes())].concat())
}

/// A convolution of one channel to eight by windows of 3 × 3: ones for the first, twos for the second and so on.
fn convolution(input: &str, output: &str) -> Vec<u8> {
    let values = (1..=8_u8).flat_map(|channel| f32::from(channel).to_le_bytes().repeat(9));
    let shape = vec![1 << 3, 8, 1 << 3, 1, 1 << 3, 3, 1 << 3, 3, 2 << 3, 1];
    let weights = [shape, field(8, b"w"), field(9, &values.collect::<Vec<u8>>())].concat();
    [node("Conv", &[input, "w"], output), field(5, &weights)].concat()
}

/// Three images of one channel of 8 × 8 whole numbers.
fn images() -> Vec<f32> {
    (0..3 * 64).map(|at| (at * 37 % 11) as f32 - 4.0).collect()
}

/// What the convolution makes of an image.
fn convolved(image: &[f32]) -> Vec<f32> {
    let window =
        |at: usize| -> f32 { (0..9).map(|in_it| image[8 * (at / 6 + in_it / 3) + at % 6 + in_it % 3]).sum() };
    (1..=8_u8).flat_map(|channel| (0..36).map(move |at| f32::from(channel) * window(at))).collect()
}

fn outputs_for_images(graph: Vec<u8>) -> Vec<f32> {
    let model = OnnxModel::from_bytes("m.onnx", &model_on(&[1, 8, 8], graph), Path::new("")).unwrap();
    let options = RunOptions { engine: Engine::BuiltIn, ..RunOptions::default() };
    let images = Dataset::from_f32("x", 3, &[1, 8, 8], images());
    numbers(&model.outputs(&images, &options, &Silent).unwrap().samples().unwrap())
}

/// A convolution whose result is given a shape twice, each time by the size of the batch.
fn sizes_twice() -> Vec<u8> {
    let size = |at: u8| {
        let [shape, rows, size, flat] = ["shape", "rows", "size", "flat"].map(|name| format!("{name}{at}"));
        [
            node("Shape", &["x"], &shape),
            node("Gather", &[&shape, "zero"], &rows),
            concat(0, &[&rows, "rest"], &size),
            node("Reshape", &["c", &size], &flat),
        ]
        .concat()
    };
    let weights = [int_weight("zero", 0), int_weight("rest", -1)].concat();
    [convolution("x", "c"), size(1), size(2), node("Add", &["flat1", "flat2"], "y"), weights].concat()
}

/// The engine computes once what a file computes twice, and takes no value twice.
#[test]
fn what_is_computed_twice_goes_around_convolutions() {
    let expected: Vec<f32> = images().chunks(64).flat_map(convolved).map(|sum| 2.0 * sum).collect();
    assert_eq!(outputs_for_images(sizes_twice()), expected);
    // A shortcut that is rectified twice.
    let shortcut = |at: u8| {
        let [rectified, flat] = ["rectified", "flat"].map(|name| format!("{name}{at}"));
        [node("Relu", &["x"], &rectified), node("Flatten", &[&rectified], &flat)].concat()
    };
    let all = concat(1, &["made", "flat1", "flat2"], "y");
    let graph =
        [shortcut(1), shortcut(2), convolution("rectified1", "c"), node("Flatten", &["c"], "made"), all];
    let rectified: Vec<f32> = images().iter().map(|value| value.max(0.0)).collect();
    let expected: Vec<f32> = rectified
        .chunks(64)
        .flat_map(|image| [convolved(image), image.to_vec(), image.to_vec()].concat())
        .collect();
    assert_eq!(outputs_for_images(graph.concat()), expected);
}

/// A convolution copies its images into planes with their padding, and has room for the sums of some channels.
#[test]
fn the_planes_of_convolutions_count_as_memory() {
    let bytes = model_on(&[1, 0, 0], convolution("x", "y"));
    let model = OnnxModel::from_bytes("m.onnx", &bytes, Path::new("")).unwrap();
    let prepared = |side: usize| {
        let options = RunOptions { engine: Engine::BuiltIn, ..RunOptions::default() };
        model.prepare(&[1, side, side], &["y"], &options).map(drop).map_err(|error| error.to_string())
    };
    prepared(1000).unwrap();
    // The image and its results take 900 MB.
    let refused = prepared(5000).unwrap_err();
    assert!(refused.contains("at node `y`, the values of one sample take 17993"), "{refused}");
}

/// Long chains do not overflow the stack of the engine: they are run or refused.
#[test]
fn long_chains_are_run_or_refused() {
    let outputs = |nodes: usize| {
        let model = OnnxModel::from_bytes("chain.onnx", &chain(nodes), Path::new("")).unwrap();
        let options = RunOptions { engine: Engine::BuiltIn, ..RunOptions::default() };
        model.outputs(&rows(), &options, &Silent).map_err(|error| error.to_string())
    };
    let rectified: Vec<f32> =
        numbers(&rows().samples().unwrap()).iter().map(|value| value.max(0.0)).collect();
    for nodes in [1, 3000] {
        assert_eq!(numbers(&outputs(nodes).unwrap().samples().unwrap()), rectified, "{nodes} nodes");
    }
    for nodes in [3001, 60_000] {
        let refused = outputs(nodes).unwrap_err();
        assert!(refused.contains("it supports chains of up to 3000 nodes, and node `"), "{refused}");
    }
}

/// The engine adds the extents of what is joined one by one, on its stack.
#[test]
fn nodes_of_many_inputs_are_refused() {
    let joined = |inputs: usize| {
        let model = model_on(&[4], concat(1, &vec!["x"; inputs], "y"));
        let model = OnnxModel::from_bytes("joined.onnx", &model, Path::new("")).unwrap();
        let options = RunOptions { engine: Engine::BuiltIn, ..RunOptions::default() };
        model.outputs(&rows(), &options, &Silent).map(|outputs| outputs.shape().to_vec())
    };
    assert_eq!(joined(1 << 14).unwrap(), [3, 4 << 14]);
    let refused = joined(60_000).unwrap_err().to_string();
    assert!(refused.contains("it supports nodes of up to 16384 inputs, and node `y` has 60000"), "{refused}");
}

/// The engine repeats or mirrors numbers along the last two axes only, and failed on others at the first batch.
#[test]
fn channels_are_padded_by_constants_alone() {
    let refused = |mode: &[u8], padded: usize| {
        let mut pads = [0_i64; 8];
        pads[padded] = 1;
        let pads: Vec<u8> = pads.iter().flat_map(|pad| pad.to_le_bytes()).collect();
        let pads = field(5, &[vec![1 << 3, 8, 2 << 3, 7], field(8, b"pads"), field(9, &pads)].concat());
        // An attribute of type STRING, field 20.
        let mode = field(5, &[field(1, b"mode"), field(4, mode), vec![0xa0, 1, 3]].concat());
        let ports = [field(1, b"x"), field(1, b"pads"), field(2, b"y"), field(4, b"Pad"), mode].concat();
        let bytes = model_on(&[1, 8, 8], [field(1, &ports), pads].concat());
        let model = OnnxModel::from_bytes("m.onnx", &bytes, Path::new("")).unwrap();
        let options = RunOptions { engine: Engine::BuiltIn, ..RunOptions::default() };
        let images = Dataset::from_f32("x", 3, &[1, 8, 8], images());
        model.outputs(&images, &options, &Silent).map(drop).map_err(|error| error.to_string())
    };
    refused(b"constant", 1).unwrap();
    for mode in [&b"reflect"[..], b"edge"] {
        refused(mode, 2).unwrap();
        let message = refused(mode, 1).unwrap_err();
        assert!(
            message.contains("cannot run Pad of node `y`: with other numbers than a constant along an axis"),
            "{message}"
        );
    }
}
