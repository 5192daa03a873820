#![no_main]

use std::path::Path;

use spadework::Silent;
use spadework_io::Dataset;
use spadework_io::fuzzing::stop_at_uncaught_panics_only;
use spadework_model::{OnnxModel, RunOptions};

// Opened, described and run: whatever the bytes are, nothing panics and nothing takes more memory than the limits allow.
libfuzzer_sys::fuzz_target!(init: stop_at_uncaught_panics_only(), |bytes: &[u8]| {
    let Ok(model) = OnnxModel::from_bytes("m.onnx", bytes, Path::new("")) else { return };
    let rows = Dataset::from_f32("x", 3, &[4], vec![0.5; 12]);
    let _ = model.outputs(&rows, &RunOptions::default(), &Silent);
});
