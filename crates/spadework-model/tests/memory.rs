//! What a small file takes to be read, in a process of its own.

#![cfg(target_os = "linux")]

#[path = "support/bytes.rs"]
mod bytes;

use std::path::Path;

use bytes::field;
use spadework_model::OnnxModel;

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
