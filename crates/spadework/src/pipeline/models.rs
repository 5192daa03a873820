//! Many models on the same inputs.

use super::manifold::Manifold;
use super::params::SpadeParams;
use crate::error::{Error, Result};
use crate::samples::{PairedSamples, Samples, Side};

/// One model among several: its name and its outputs.
#[derive(Debug, Clone)]
pub struct Model<'a> {
    /// What the model is called in results and errors.
    pub name: String,
    /// Its outputs, row i for input i.
    pub outputs: Samples<'a>,
}

/// Inputs, and the outputs of one or more models on them.
///
/// Invariants: at least one model, names that differ, at least two samples, one output per model for every input, and no
/// side whose rows are all equal.
#[derive(Debug, Clone)]
pub struct ModelSet<'a> {
    inputs: Manifold<'a>,
    models: Vec<Model<'a>>,
}

impl<'a> ModelSet<'a> {
    /// Joins models to their inputs, given as samples or as a graph.
    ///
    /// # Errors
    /// When there is no model, a name is empty or used twice, there are fewer than two samples, numbers of rows differ, or all
    /// rows of a side are equal.
    /// An error about one model names it ([`Error::InModel`]).
    pub fn new(inputs: impl Into<Manifold<'a>>, models: Vec<Model<'a>>) -> Result<Self> {
        let inputs = inputs.into();
        if models.is_empty() {
            return Err(Error::TooFewModels { needed: 1, got: 0 });
        }
        inputs.check(Side::Input)?;
        for (at, Model { name, outputs }) in models.iter().enumerate() {
            if name.is_empty() || models[..at].iter().any(|earlier| earlier.name == *name) {
                return Err(Error::ModelName { name: name.clone() });
            }
            check_outputs(inputs.len(), outputs).map_err(|error| error.in_model(name))?;
        }
        Ok(Self { inputs, models })
    }

    /// The same models with all samples in place, for [`SpadeParams::for_placed`].
    pub(super) fn placed(&self, params: &SpadeParams) -> Result<ModelSet<'_>> {
        let inputs = match &self.inputs {
            Manifold::Samples(samples) => {
                params.geometry(Side::Input).place(Side::Input, samples.view())?.into()
            }
            graph @ Manifold::Graph(_) => graph.view(),
        };
        let mut models = Vec::with_capacity(self.models.len());
        for Model { name, outputs } in &self.models {
            let placed = params.geometry(Side::Output).place(Side::Output, outputs.view());
            let outputs = placed.map_err(|error| error.in_model(name))?;
            models.push(Model { name: name.clone(), outputs });
        }
        Ok(ModelSet { inputs, models })
    }

    /// The inputs.
    pub fn inputs(&self) -> &Manifold<'a> {
        &self.inputs
    }

    /// The models, in the order given.
    pub fn models(&self) -> &[Model<'a>] {
        &self.models
    }

    /// Number of samples, n.
    #[expect(clippy::len_without_is_empty, reason = "samples are never empty")]
    pub fn len(&self) -> usize {
        self.inputs.len()
    }
}

/// A single model is a set of one.
impl<'a> From<PairedSamples<'a>> for ModelSet<'a> {
    fn from(pair: PairedSamples<'a>) -> Self {
        let (inputs, outputs) = pair.into_sides();
        Self { inputs: inputs.into(), models: vec![Model { name: "model".to_owned(), outputs }] }
    }
}

fn check_outputs(inputs: usize, outputs: &Samples<'_>) -> Result<()> {
    if inputs != outputs.len() {
        return Err(Error::ShapeMismatch { input_rows: inputs, output_rows: outputs.len() });
    }
    if outputs.all_equal() {
        return Err(Error::AllEqual { side: Side::Output, samples: outputs.len() });
    }
    Ok(())
}
