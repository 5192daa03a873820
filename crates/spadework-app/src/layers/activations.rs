//! Which layers, and their activations, a few layers at a time.

use std::collections::BTreeMap;

use spadework::{Monitor, Samples};
use spadework_document::layers::Layer;
use spadework_io::Dataset;
use spadework_model::{Node, OnnxModel, RunOptions};

use crate::failure::Failure;
use crate::model_runner::check_alone;
use crate::usage::Usage;

/// Bytes of activations that are held together: layers that fit into it are made in one run of the model.
pub(super) const HELD_BYTES: usize = 1 << 30;
/// Layers of them, at most.
const HELD_LAYERS: usize = 32;

/// The layers that match a pattern by name or operator; without patterns all that change their numbers.
pub(super) fn chosen_layers(
    model: &OnnxModel,
    patterns: &[String],
    options: &RunOptions,
) -> Result<Vec<Layer>, Failure> {
    let outline = model.outline();
    let in_file = |error| {
        Failure::from(spadework_model::Error::Model { name: model.name().to_owned(), cause: Box::new(error) })
    };
    let output = outline.output(None).map_err(in_file)?;
    let input = match &options.input_name {
        Some(name) => name.as_str(),
        None => outline.input(None, &[output]).map_err(in_file)?.name.as_str(),
    };
    let all = outline.layers(input);
    let is_asked = |node: &Node| match patterns {
        [] => !node.passes_on(),
        patterns => {
            patterns.iter().any(|pattern| matches(pattern, &node.name) || matches(pattern, &node.operator))
        }
    };
    let layers: Vec<Layer> = all
        .iter()
        .enumerate()
        .filter(|(_, node)| is_asked(node))
        .filter_map(|(at, node)| {
            let value = node.outputs.first()?;
            // A layer that needs a second input cannot be run.
            outline.input(Some(input), &[value]).ok()?;
            Some(Layer {
                name: node.name.clone(),
                operator: node.operator.clone(),
                value: value.clone(),
                depth: at + 1,
                dim: 0,
            })
        })
        .collect();
    if layers.is_empty() {
        let usage = match patterns {
            [] => Usage::NoLayerOfInput { input: input.to_owned() },
            patterns => Usage::NoLayerMatches { patterns: patterns.join(",") },
        };
        return Err(Failure::from(usage).about_place(model.name()));
    }
    Ok(layers)
}

/// Whether a text matches a pattern in which `*` is any text and `?` any character.
fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut read) = (0, 0);
    // Where to go on when the text after the last star turns out not to match: one character further.
    let mut again: Option<(usize, usize)> = None;
    while read < text.len() {
        match pattern.get(at) {
            Some('*') => {
                again = Some((at + 1, read));
                at += 1;
            }
            Some(&wanted) if wanted == '?' || wanted == text[read] => (at, read) = (at + 1, read + 1),
            _ => match again {
                Some((star, from)) => {
                    (at, read) = (star, from + 1);
                    again = Some((star, from + 1));
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|&wanted| wanted == '*')
}

/// Makes activations as they are asked for.
pub(super) struct Activations<'a> {
    pub(super) model: &'a OnnxModel,
    pub(super) layers: &'a [Layer],
    pub(super) sample_shape: &'a [usize],
    pub(super) samples: &'a Samples<'a>,
    pub(super) options: &'a RunOptions,
    pub(super) monitor: &'a dyn Monitor,
    /// Those that were made together with one that was requested.
    pub(super) held: BTreeMap<usize, Dataset>,
}

impl Activations<'_> {
    /// The activations of a layer, which are handed over and no longer held.
    pub(super) fn of(&mut self, layer: usize) -> Result<Samples<'static>, Failure> {
        if !self.held.contains_key(&layer) {
            self.held.clear();
            self.make(layer)?;
        }
        let made = self.held.remove(&layer).unwrap_or_else(|| unreachable!("it has just been made"));
        Ok(made.into_samples()?)
    }

    /// Makes a layer and those after it that also fit, in one run.
    fn make(&mut self, first: usize) -> Result<(), Failure> {
        let bytes =
            |layer: &Layer| self.samples.len().saturating_mul(layer.dim).saturating_mul(size_of::<f32>());
        let mut room = HELD_BYTES;
        let more = self.layers[first..].iter().take(HELD_LAYERS).take_while(|layer| {
            let fits = bytes(layer) <= room;
            room = room.saturating_sub(bytes(layer));
            fits
        });
        let count = more.count().max(1);
        let values: Vec<&str> =
            self.layers[first..first + count].iter().map(|layer| layer.value.as_str()).collect();
        let prepared = self.model.prepare(self.sample_shape, &values, self.options)?;
        let made = prepared.run(self.samples, self.monitor)?;
        check_alone(self.model.name(), &prepared, self.samples, &made)?;
        self.held = (first..).zip(made).collect();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns() {
        for (pattern, text) in [
            ("fc1", "fc1"),
            ("*", ""),
            ("conv*", "conv2.weight"),
            ("*/Relu", "/layer1/layer1.0/Relu"),
            ("/layer?/*conv*", "/layer1/layer1.0/conv2/Conv"),
            ("*a*b", "aabab"),
            ("???", "fc1"),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in
            [("fc1", "fc12"), ("fc?", "fc"), ("*a*b", "aabaa"), ("", "x"), ("relu", "Relu")]
        {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }
}
