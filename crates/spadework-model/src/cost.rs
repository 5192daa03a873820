//! What it takes to run a graph, from the shapes of its values: a file of a kilobyte can require hours and all memory.
//!
//! A model is refused before anything is computed if it requires more than a file of its size is allowed to require. Weights are
//! used many times (a convolution uses each of them once per pixel), so the limit grows with the size of the file.

use std::collections::HashMap;

use super::convolution::Convolution;
use super::error::ModelError;
use super::proto::{Node, element};
use super::shapes::{Step, Value};

/// Multiplications for values that do not depend on the input: the engine makes these when it reads the file, on one thread.
const MOST_CONSTANT_WORK: u64 = 1 << 32;
/// Multiplications for one sample, of a file of any size and for each of its bytes: as many as a weight of four bytes takes part in
/// if it is used for each of a million pixels.
const MOST_WORK: u64 = 1 << 34;
const MOST_WORK_PER_BYTE: u64 = 1 << 18;
/// Bytes of values that are there at the same time for one sample, of a file of any size and for each of its bytes.
const MOST_MEMORY: u64 = 1 << 30;
const MOST_MEMORY_PER_BYTE: u64 = 64;

/// What a part of a graph takes for one batch.
#[derive(Debug, Default)]
pub(super) struct Cost {
    /// Multiplications of all values that do not depend on the input.
    constant_work: u64,
    /// Multiplications of all others.
    work: u64,
    /// The node that takes most of them.
    dearest: Option<(u64, String)>,
    /// Bytes of all values that are there at the same time, at most.
    memory: u64,
    /// The node at which it is that much.
    widest: String,
    /// Bytes that are there now.
    live: u64,
    /// Bytes of values, and how many nodes will still read them.
    readers: HashMap<String, (u64, usize)>,
}

impl Cost {
    /// Before the first node; `nodes` are all of them.
    pub(super) fn of(nodes: &[&Node], input: &str, bytes: u64) -> Self {
        let mut cost = Self { live: bytes, memory: bytes, ..Self::default() };
        for name in nodes.iter().flat_map(|node| node.reads()) {
            cost.readers.entry(name.to_owned()).or_default().1 += 1;
        }
        if let Some((size, _)) = cost.readers.get_mut(input) {
            *size = bytes;
        }
        cost
    }

    /// A node that reads and makes these values; `outputs` are the names of what it makes and their bytes.
    pub(super) fn add(
        &mut self,
        node: &Node,
        inputs: &[Option<&Value>],
        outputs: &[(String, u64)],
        step: &Step,
        is_constant: bool,
    ) -> Result<(), ModelError> {
        let work = multiplications(node, inputs, &step.outputs);
        if is_constant {
            self.constant_work = self.constant_work.saturating_add(work);
            if self.constant_work > MOST_CONSTANT_WORK {
                return Err(ModelError::DearConstants { node: node.label(), limit: MOST_CONSTANT_WORK });
            }
            return Ok(());
        }
        self.work = self.work.saturating_add(work);
        if self.dearest.as_ref().is_none_or(|(most, _)| *most < work) {
            self.dearest = Some((work, node.label()));
        }
        for (name, bytes) in outputs {
            self.live = self.live.saturating_add(*bytes);
            if let Some((size, _)) = self.readers.get_mut(name) {
                *size = *bytes;
            }
        }
        let taken = self.live.saturating_add(room(node, inputs, step).unwrap_or(0));
        if taken > self.memory {
            (self.memory, self.widest) = (taken, node.label());
        }
        // What nobody reads any more is given back.
        for name in node.reads() {
            if let Some((size, left)) = self.readers.get_mut(name) {
                *left -= 1;
                if *left == 0 {
                    self.live = self.live.saturating_sub(*size);
                }
            }
        }
        Ok(())
    }

    /// Refuses what a file of so many bytes has no reason to ask for a batch of so many samples.
    pub(super) fn check(&self, file: u64, batch: u64) -> Result<(), ModelError> {
        let most = |least: u64, each: u64| file.saturating_mul(each).saturating_add(least);
        let limit = most(MOST_WORK, MOST_WORK_PER_BYTE);
        if self.work / batch.max(1) > limit {
            let node = self.dearest.as_ref().map_or_else(String::new, |(_, node)| node.clone());
            return Err(ModelError::DearModel { node, file, got: self.work / batch.max(1), limit });
        }
        let limit = most(MOST_MEMORY, MOST_MEMORY_PER_BYTE);
        if self.memory / batch.max(1) > limit {
            return Err(ModelError::WideModel {
                node: self.widest.clone(),
                file,
                got: self.memory / batch.max(1),
                limit,
            });
        }
        Ok(())
    }
}

/// What a convolution takes while it runs, if it is one of ours.
fn room(node: &Node, inputs: &[Option<&Value>], step: &Step) -> Option<u64> {
    let ([Some(images), Some(weights), ..], [made]) = (inputs, step.outputs.as_slice()) else { return None };
    if node.operator != "Conv" || images.element != element::FLOAT {
        return None;
    }
    let image = |value: &Value| -> Option<[usize; 3]> { value.shape.get(1..)?.try_into().ok() };
    let shapes = [image(images)?, image(made)?];
    let window = step.rewrite.window(node, weights.shape.get(2..)?.try_into().ok()?)?;
    Convolution::pays(shapes, &window).then(|| Convolution::room(shapes, &window, images.shape[0]))
}

/// About how many multiplications a node takes; numbers that are only read or written count as one each.
fn multiplications(node: &Node, inputs: &[Option<&Value>], outputs: &[Value]) -> u64 {
    let count =
        |extents: &[usize]| extents.iter().fold(1_u64, |product, &e| product.saturating_mul(e as u64));
    let input = |at: usize| inputs.get(at).copied().flatten().map_or(&[][..], |value| value.shape.as_slice());
    let output = outputs.first().map_or(&[][..], |value| value.shape.as_slice());
    let each = match node.operator.as_str() {
        "MatMul" => input(0).last().map_or(1, |&extent| extent as u64),
        "Gemm" => count(input(0)) / output.first().map_or(1, |&rows| rows.max(1) as u64),
        "Conv" => count(input(1).get(1..).unwrap_or_default()),
        "ConvTranspose" => {
            return count(input(0)).saturating_mul(count(input(1).get(1..).unwrap_or_default()));
        }
        "MaxPool" | "AveragePool" => node.ints("kernel_shape").map_or(1, |kernel| {
            kernel.iter().fold(1_u64, |product, &extent| product.saturating_mul(extent.unsigned_abs()))
        }),
        "LSTM" | "GRU" => {
            let steps = count(input(0).get(..2).unwrap_or_default());
            return steps.saturating_mul(count(input(1)).saturating_add(count(input(2))));
        }
        _ => 1,
    };
    let read = inputs.iter().flatten().map(|value| count(&value.shape)).fold(0, u64::saturating_add);
    let made = outputs.iter().map(|value| count(&value.shape)).fold(0, u64::saturating_add);
    count(output).saturating_mul(each).saturating_add(read).saturating_add(made)
}
