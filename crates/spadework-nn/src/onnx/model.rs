//! The messages of an ONNX file, as far as they are needed.
//!
//! Numbers of fields are those of `onnx.proto`.

use std::collections::HashMap;

use super::wire::{Field, Malformed, read};

#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) graph: Graph,
}

#[derive(Debug, Default)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    pub(super) constants: HashMap<String, Constant>,
    /// Name and shape; zero stands for an extent that is left open.
    pub(super) inputs: Vec<(String, Vec<i64>)>,
    pub(super) outputs: Vec<String>,
}

#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) operator: String,
    pub(super) inputs: Vec<String>,
    pub(super) outputs: Vec<String>,
    pub(super) attributes: HashMap<String, Attribute>,
}

#[derive(Debug, Default)]
pub(super) struct Attribute {
    pub(super) float: Option<f32>,
    pub(super) integer: Option<i64>,
    pub(super) integers: Vec<i64>,
    pub(super) text: Option<String>,
    pub(super) tensor: Option<Constant>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Constant {
    pub(super) name: String,
    pub(super) shape: Vec<usize>,
    pub(super) floats: Vec<f32>,
    pub(super) integers: Vec<i64>,
    /// Values in another file, of another type, or not as many as the shape says.
    pub(super) unreadable: Option<&'static str>,
}

impl Model {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut model = Self::default();
        read(bytes, |number, field| {
            if number == 7 {
                model.graph = Graph::parse(field.bytes()?)?;
            }
            Ok(())
        })?;
        Ok(model)
    }
}

impl Graph {
    fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut graph = Self::default();
        read(bytes, |number, field| {
            match number {
                1 => graph.nodes.push(Node::parse(field.bytes()?)?),
                5 => {
                    let constant = Constant::parse(field.bytes()?)?;
                    graph.constants.insert(constant.name.clone(), constant);
                }
                11 => graph.inputs.push(value_info(field.bytes()?)?),
                12 => graph.outputs.push(value_info(field.bytes()?)?.0),
                _ => {}
            }
            Ok(())
        })?;
        Ok(graph)
    }
}

impl Node {
    fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut node = Self::default();
        read(bytes, |number, field| {
            match number {
                1 => node.inputs.push(field.text()?),
                2 => node.outputs.push(field.text()?),
                4 => node.operator = field.text()?,
                5 => {
                    let (name, attribute) = Attribute::parse(field.bytes()?)?;
                    node.attributes.insert(name, attribute);
                }
                _ => {}
            }
            Ok(())
        })?;
        Ok(node)
    }

    pub(super) fn integer(&self, name: &str, default: i64) -> i64 {
        self.attributes.get(name).and_then(|attribute| attribute.integer).unwrap_or(default)
    }

    pub(super) fn integers(&self, name: &str, default: &[i64]) -> Vec<i64> {
        self.attributes.get(name).map_or_else(|| default.to_vec(), |attribute| attribute.integers.clone())
    }

    pub(super) fn float(&self, name: &str, default: f32) -> f32 {
        self.attributes.get(name).and_then(|attribute| attribute.float).unwrap_or(default)
    }
}

impl Attribute {
    fn parse(bytes: &[u8]) -> Result<(String, Self), Malformed> {
        let (mut name, mut attribute) = (String::new(), Self::default());
        read(bytes, |number, field| {
            match number {
                1 => name = field.text()?,
                2 => attribute.float = Some(field.float()?),
                3 => attribute.integer = Some(field.integer()?),
                4 => attribute.text = Some(field.text()?),
                5 => attribute.tensor = Some(Constant::parse(field.bytes()?)?),
                8 => field.integers(&mut attribute.integers)?,
                _ => {}
            }
            Ok(())
        })?;
        Ok((name, attribute))
    }
}

impl Constant {
    fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let (mut constant, mut kind, mut raw) = (Self::default(), 0, None);
        read(bytes, |number, field| {
            match number {
                1 => {
                    let mut extents = Vec::new();
                    field.integers(&mut extents)?;
                    for extent in extents {
                        constant.shape.push(usize::try_from(extent).map_err(|_| Malformed)?);
                    }
                }
                2 => kind = field.integer()?,
                4 => field.floats(&mut constant.floats)?,
                7 => field.integers(&mut constant.integers)?,
                8 => constant.name = field.text()?,
                9 => raw = Some(field.bytes()?),
                14 if field != Field::Integer(0) => constant.unreadable = Some("values in another file"),
                _ => {}
            }
            Ok(())
        })?;
        constant.unpack(kind, raw);
        Ok(constant)
    }

    /// Types 1 and 11 are 32 and 64 bit floats, 7 is a 64 bit integer.
    fn unpack(&mut self, kind: i64, raw: Option<&[u8]>) {
        let raw = raw.unwrap_or_default();
        let eight = || raw.as_chunks::<8>().0.iter();
        match kind {
            1 => self.floats.extend(raw.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes))),
            11 => self.floats.extend(eight().map(|bytes| f64::from_le_bytes(*bytes) as f32)),
            7 => self.integers.extend(eight().map(|bytes| i64::from_le_bytes(*bytes))),
            _ => {
                self.unreadable =
                    self.unreadable.or(Some("values that are neither floats nor 64 bit integers"));
            }
        }
        let expected = self.shape.iter().try_fold(1_usize, |product, &extent| product.checked_mul(extent));
        if self.unreadable.is_none() && expected != Some(self.floats.len().max(self.integers.len())) {
            self.unreadable = Some("another number of values than its shape says");
        }
    }
}

/// Name and shape of an input or output of a graph.
fn value_info(bytes: &[u8]) -> Result<(String, Vec<i64>), Malformed> {
    let (mut name, mut shape) = (String::new(), Vec::new());
    read(bytes, |number, field| {
        match number {
            1 => name = field.text()?,
            2 => inside(field, 1, &mut |tensor| {
                inside(tensor, 2, &mut |extents| {
                    inside(extents, 1, &mut |extent| {
                        let mut value = 0;
                        inside(extent, 1, &mut |known| {
                            value = known.integer()?;
                            Ok(())
                        })?;
                        shape.push(value);
                        Ok(())
                    })
                })
            })?,
            _ => {}
        }
        Ok(())
    })?;
    Ok((name, shape))
}

/// Calls `take` with every field `wanted` of a message in a field.
fn inside<'a>(
    field: Field<'a>,
    wanted: u64,
    take: &mut dyn FnMut(Field<'a>) -> Result<(), Malformed>,
) -> Result<(), Malformed> {
    read(field.bytes()?, |number, field| if number == wanted { take(field) } else { Ok(()) })
}
