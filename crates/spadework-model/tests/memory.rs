//! What a small file takes to be read, in a process of its own.

#![cfg(target_os = "linux")]

#[path = "support/bytes.rs"]
mod bytes;

use std::path::Path;
use std::time::{Duration, Instant};

use bytes::field;
use spadework::Silent;
use spadework_io::Dataset;
use spadework_model::{OnnxModel, RunOptions};

/// The most memory that this process has had, in MiB.
fn most_memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() / 1024
}

/// A chain of nodes on 4,096 integers, whose numbers are known before the network runs.
fn chain(operator: &str, further: &str) -> Vec<u8> {
    let integers = |name: &[u8], dims: &[u8], count: usize| {
        field(5, &[dims.to_vec(), vec![2 << 3, 7], field(8, name), field(9, &vec![0; 8 * count])].concat())
    };
    let node = |at: usize| {
        let input = field(1, if at == 0 { "many".to_owned() } else { format!("v{at}") }.as_bytes());
        let other = if further.is_empty() { Vec::new() } else { field(1, further.as_bytes()) };
        let output = field(2, format!("v{}", at + 1).as_bytes());
        field(1, &[input, other, output, field(4, operator.as_bytes())].concat())
    };
    let weights =
        [integers(b"many", &[1 << 3, 0x80, 0x20], 4096), integers(b"one", &[1 << 3, 1], 1)].concat();
    let graph = (0..20_000).flat_map(node).chain(weights).collect::<Vec<u8>>();
    [vec![1 << 3, 8], field(7, &graph), field(8, &[2 << 3, 17])].concat()
}

/// Each node of some 20 bytes would keep 32 KiB, 625 MiB in all.
#[test]
fn numbers_that_are_known_are_kept_once_or_within_limits() {
    for (operator, further) in [("Identity", ""), ("Sub", "one")] {
        let model = OnnxModel::from_bytes("m.onnx", &chain(operator, further), Path::new("")).unwrap();
        assert_eq!(model.outline().nodes.len(), 20_000);
        let taken = most_memory();
        assert!(taken < 300, "{operator}: {taken} MiB");
    }
}

/// A node of the graph.
fn node(operator: &str, inputs: &[&str], output: &str) -> Vec<u8> {
    let inputs = inputs.iter().flat_map(|input| field(1, input.as_bytes()));
    let named = [field(2, output.as_bytes()), field(4, operator.as_bytes())].concat();
    field(1, &inputs.chain(named).collect::<Vec<u8>>())
}

/// A single integer.
fn int_weight(name: &str, int: i64) -> Vec<u8> {
    field(5, &[vec![1 << 3, 1, 2 << 3, 7], field(8, name.as_bytes()), field(9, &int.to_le_bytes())].concat())
}

/// The integers from 0 to 4,095 under the name `many`, by a node of three numbers.
fn many() -> Vec<u8> {
    let numbers = [("zero", 0), ("limit", 4096), ("one", 1)].map(|(name, int)| int_weight(name, int));
    [numbers.concat(), node("Range", &["zero", "limit", "one"], "many")].concat()
}

fn model(graph: &[u8]) -> Vec<u8> {
    [vec![1 << 3, 8], field(7, graph), field(8, &[2 << 3, 17])].concat()
}

/// Opens a small file, which takes little memory and no time to speak of, also without optimization on a machine that is busy.
fn open_at_once(name: &str, graph: &[u8]) -> OnnxModel {
    let began = Instant::now();
    let model = OnnxModel::from_bytes(name, &model(graph), Path::new("")).unwrap();
    assert!(began.elapsed() < Duration::from_secs(10), "{name}: {:?}", began.elapsed());
    let taken = most_memory();
    assert!(taken < 300, "{name}: {taken} MiB");
    model
}

/// Each of 10,000 inputs would copy the numbers of all before it, 1.6 TB in all.
#[test]
fn known_numbers_are_joined_once() {
    // An attribute `axis` of 0, of type INT, field 20.
    let axis = field(5, &[field(1, b"axis"), vec![3 << 3, 0, 0xa0, 1, 2]].concat());
    let inputs = field(1, b"many").repeat(10_000);
    let join = field(1, &[inputs, field(2, b"y"), field(4, b"Concat"), axis].concat());
    let model = open_at_once("concat.onnx", &[many(), join].concat());
    let joined = &model.outline().nodes[1];
    assert_eq!(joined.shape.as_ref().map(|shape| shape[0].to_string()), Some("40960000".to_owned()));
}

/// Lists of 4,096 axes for the one axis that there is: each of 5,000 nodes would make millions of steps.
#[test]
fn no_node_has_more_axes_than_its_input() {
    for (operator, inputs) in
        [("Slice", &["many", "zeros", "many", "zeros"][..]), ("Unsqueeze", &["zero", "many"])]
    {
        let zeros = node("Mul", &["many", "zero"], "zeros");
        let nodes = (0..5000).flat_map(|at| node(operator, inputs, &format!("v{at}")));
        let graph = [many(), zeros].concat().into_iter().chain(nodes).collect::<Vec<u8>>();
        let model = open_at_once(operator, &graph);
        assert_eq!(model.outline().nodes.last().unwrap().shape, None, "{operator}");
    }
}

/// Every integer beyond 32 bits was looked for in every node.
#[test]
fn large_integers_are_looked_for_once() {
    const NODES: usize = 20_000;
    let slice = |at: usize| {
        let [input, end, output] = [format!("v{at}"), format!("e{at}"), format!("v{}", at + 1)];
        let input = if at == 0 { "x".to_owned() } else { input };
        [node("Slice", &[&input, "start", &end], &output), int_weight(&end, i64::MAX)].concat()
    };
    // An input of floating point numbers [n, 4], field 11, and the last value as an output of floating point numbers, field 12.
    let port = |name: &str, shape: Vec<u8>| {
        let tensor = field(1, &[vec![1 << 3, 1], shape].concat());
        [field(1, name.as_bytes()), field(2, &tensor)].concat()
    };
    let extents = [field(1, &field(2, b"n")), field(1, &[1 << 3, 4])].concat();
    let ports =
        [field(11, &port("x", field(2, &extents))), field(12, &port(&format!("v{NODES}"), Vec::new()))];
    let graph = (0..NODES).flat_map(slice).chain(int_weight("start", 0)).chain(ports.concat());
    let model = open_at_once("integers.onnx", &graph.collect::<Vec<u8>>());
    let began = Instant::now();
    let rows = Dataset::from_f32("x", 3, &[4], vec![0.5; 12]);
    let refused = model.outputs(&rows, &RunOptions::default(), &Silent).unwrap_err().to_string();
    assert!(refused.contains("it supports chains of up to 3000 nodes"), "{refused}");
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

/// Files that took minutes, kept small; the fuzzer begins with them.
#[test]
fn files_that_took_long_are_opened_at_once() {
    for (file, nodes) in [("concat_of_known.onnx", 2), ("more_axes_than_there_are.onnx", 402)] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/regressions").join(file);
        let began = Instant::now();
        let model = OnnxModel::open(&path.display().to_string()).unwrap();
        assert_eq!(model.outline().nodes.len(), nodes, "{file}");
        assert!(began.elapsed() < Duration::from_secs(5), "{file}: {:?}", began.elapsed());
    }
}
