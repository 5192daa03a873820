//! What runs a network: the built-in engine or onnxruntime.

/// A network made ready for one shape of its input: by the engine that is built in, by an onnxruntime library, or by anything
/// else that turns batches into outputs.
pub trait Runner: Send + Sync {
    /// The shape of every output asked for, for a whole batch; none if it depends on the numbers.
    fn outputs(&self) -> &[Option<Vec<usize>>];

    /// What one thread runs batches with.
    ///
    /// # Errors
    /// Why there is none, in one line.
    fn worker(&self) -> Result<Box<dyn Worker + '_>, String>;
}

/// Runs batches, one after the other.
pub trait Worker {
    /// Runs one batch, and hands the numbers of every output with their shape to `take`.
    ///
    /// # Errors
    /// Why the batch has no outputs, in one line.
    #[expect(clippy::type_complexity, reason = "a name would hide that it is a function of three slices")]
    fn run(&mut self, batch: &[f32], take: &mut dyn FnMut(usize, &[usize], &[f32])) -> Result<(), String>;
}
