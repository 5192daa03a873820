#![no_main]

use std::path::Path;

use spadework::Silent;
use spadework_io::Dataset;
use spadework_io::fuzzing::stop_at_uncaught_panics_only;
use spadework_model::{Extent, OnnxModel, RunOptions};

/// Numbers per sample, at most.
const MOST: usize = 1 << 14;

// Opened, described and run on samples of the shape that it asks for: whatever the bytes are, nothing panics and nothing takes more
// memory than the limits allow. Open extents are 4.
libfuzzer_sys::fuzz_target!(init: stop_at_uncaught_panics_only(), |bytes: &[u8]| {
    let Ok(model) = OnnxModel::from_bytes("m.onnx", bytes, Path::new("")) else { return };
    let extents = model.outline().inputs.first().and_then(|input| input.shape.as_deref()?.get(1..));
    let shape: Vec<usize> = extents.map_or_else(|| vec![4], |extents| {
        extents.iter().map(|extent| if let Extent::Fixed(extent) = extent { *extent } else { 4 }).collect()
    });
    let Some(numbers) = shape.iter().try_fold(3_usize, |product, &extent| product.checked_mul(extent)) else { return };
    if numbers > 3 * MOST {
        return;
    }
    let rows = Dataset::from_f32("x", 3, &shape, vec![0.5; numbers]);
    let _ = model.outputs(&rows, &RunOptions::default(), &Silent);
});
