//! The messages of an ONNX file, read in place: names and small fields are copied, numbers of tensors stay in the file's bytes.
//!
//! [`wire`](super::wire) has checked the bytes before, so the memory allocated here is bounded. Field numbers are those of
//! `onnx.proto`; fields that are not needed are skipped.

use std::ops::Range;

use super::error::ModelError;

/// A part of the file's bytes.
pub(super) type Span = Range<usize>;

/// Types of elements, by their number in `onnx.proto`.
pub(super) mod element {
    pub(in super::super) const FLOAT: i32 = 1;
    pub(in super::super) const UINT8: i32 = 2;
    pub(in super::super) const INT8: i32 = 3;
    pub(in super::super) const UINT16: i32 = 4;
    pub(in super::super) const INT16: i32 = 5;
    pub(in super::super) const INT32: i32 = 6;
    pub(in super::super) const INT64: i32 = 7;
    pub(in super::super) const BOOL: i32 = 9;
    pub(in super::super) const FLOAT16: i32 = 10;
    pub(in super::super) const DOUBLE: i32 = 11;
    pub(in super::super) const UINT32: i32 = 12;
    pub(in super::super) const UINT64: i32 = 13;
    pub(in super::super) const COMPLEX64: i32 = 14;
    pub(in super::super) const BFLOAT16: i32 = 16;

    /// The name that people know it by.
    pub(in super::super) fn name(element: i32) -> String {
        let name = match element {
            FLOAT => "float32",
            UINT8 => "uint8",
            INT8 => "int8",
            UINT16 => "uint16",
            INT16 => "int16",
            INT32 => "int32",
            INT64 => "int64",
            8 => "string",
            BOOL => "bool",
            FLOAT16 => "float16",
            DOUBLE => "float64",
            UINT32 => "uint32",
            UINT64 => "uint64",
            COMPLEX64 => "complex64",
            BFLOAT16 => "bfloat16",
            other => return format!("elements of type {other}"),
        };
        name.to_owned()
    }

    /// Whether it holds numbers of floating point that can be computed with.
    pub(in super::super) fn is_float(element: i32) -> bool {
        matches!(element, FLOAT | DOUBLE | FLOAT16 | BFLOAT16)
    }

    /// Bytes of one element in a file; none for text and for numbers of less than a byte.
    pub(in super::super) fn bytes(element: i32) -> Option<u64> {
        match element {
            DOUBLE | INT64 | UINT64 | COMPLEX64 => Some(8),
            FLOAT | INT32 | UINT32 => Some(4),
            FLOAT16 | BFLOAT16 | INT16 | UINT16 => Some(2),
            INT8 | UINT8 | BOOL => Some(1),
            _ => None,
        }
    }
}

/// A model file.
#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) producer: String,
    /// Versions of operator sets, by their domain.
    pub(super) imports: Vec<(String, i64)>,
    pub(super) graph: Option<Graph>,
    /// Names of functions that the file defines: nodes that are made of other nodes.
    pub(super) functions: Vec<String>,
    /// Fields that are written again as they are: everything but the graph and what it was trained with.
    pub(super) kept: Vec<Span>,
}

#[derive(Debug, Default)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    pub(super) initializers: Vec<Tensor>,
    pub(super) inputs: Vec<ValueInfo>,
    pub(super) outputs: Vec<ValueInfo>,
}

#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) operator: String,
    pub(super) domain: String,
    /// Empty where an input is left out.
    pub(super) inputs: Vec<String>,
    pub(super) outputs: Vec<String>,
    pub(super) attributes: Vec<Attribute>,
    pub(super) span: Span,
}

#[derive(Debug, Default)]
pub(super) struct Attribute {
    pub(super) name: String,
    pub(super) int: Option<i64>,
    pub(super) float: Option<f32>,
    pub(super) text: Option<String>,
    pub(super) ints: Vec<i64>,
    pub(super) floats: Vec<f32>,
    pub(super) tensors: Vec<Tensor>,
    pub(super) graphs: Vec<Graph>,
    pub(super) span: Span,
}

#[derive(Debug, Default, Clone)]
pub(super) struct Tensor {
    pub(super) name: String,
    pub(super) element: i32,
    pub(super) dims: Vec<i64>,
    /// Numbers as bytes.
    pub(super) raw: Option<Span>,
    /// Numbers in fields of their own type, how many there are, and the field's number.
    typed: Vec<(u64, Field)>,
    pub(super) typed_count: u64,
    /// Where numbers in a file of their own are.
    pub(super) external: Option<External>,
    pub(super) span: Span,
}

/// What a file says of numbers in a file of their own.
#[derive(Debug, Default, Clone)]
pub(super) struct External {
    pub(super) location: String,
    pub(super) offset: Option<String>,
    pub(super) length: Option<String>,
}

/// Name and type of an input or output.
#[derive(Debug, Default)]
pub(super) struct ValueInfo {
    pub(super) name: String,
    /// None where it is not a tensor.
    pub(super) element: Option<i32>,
    pub(super) shape: Option<Vec<Dimension>>,
    pub(super) span: Span,
}

/// An extent: a number, or a name that may be empty.
#[derive(Debug, Clone)]
pub(super) enum Dimension {
    Fixed(i64),
    Open(String),
}

/// The value of a field.
#[derive(Debug, Clone)]
enum Field {
    Varint(u64),
    Eight,
    Four([u8; 4]),
    Span(Span),
}

/// Reads the fields of a message.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
}

fn broken() -> ModelError {
    ModelError::NotOnnx { reason: "its fields are not those of a model".to_owned() }
}

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8], span: &Span) -> Self {
        Self { bytes, at: span.start, end: span.end }
    }

    fn varint(&mut self) -> Result<u64, ModelError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = *self.bytes[..self.end].get(self.at).ok_or_else(broken)?;
            self.at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(broken())
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ModelError> {
        let bytes = self.bytes[..self.end].get(self.at..self.at + N).ok_or_else(broken)?;
        self.at += N;
        bytes.try_into().map_err(|_| broken())
    }

    /// The number of the next field, its value, and the bytes of both.
    fn next(&mut self) -> Result<Option<(u64, Field, Span)>, ModelError> {
        if self.at >= self.end {
            return Ok(None);
        }
        let began = self.at;
        let tag = self.varint()?;
        let field = match tag & 7 {
            0 => Field::Varint(self.varint()?),
            1 => {
                self.array::<8>()?;
                Field::Eight
            }
            5 => Field::Four(self.array()?),
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| broken())?;
                let end = self.at.checked_add(length).filter(|&end| end <= self.end).ok_or_else(broken)?;
                let span = self.at..end;
                self.at = end;
                Field::Span(span)
            }
            _ => return Err(broken()),
        };
        Ok(Some((tag >> 3, field, began..self.at)))
    }

    fn text(&self, field: &Field) -> Result<String, ModelError> {
        match field {
            Field::Span(span) => Ok(String::from_utf8_lossy(&self.bytes[span.clone()]).into_owned()),
            _ => Err(broken()),
        }
    }
}

impl Field {
    fn span(&self) -> Result<Span, ModelError> {
        match self {
            Field::Span(span) => Ok(span.clone()),
            _ => Err(broken()),
        }
    }

    fn int(&self) -> Result<i64, ModelError> {
        match self {
            Field::Varint(value) => Ok(value.cast_signed()),
            _ => Err(broken()),
        }
    }

    /// Integers, of which there is one, or many in a row.
    fn ints(&self, bytes: &[u8]) -> Result<Vec<i64>, ModelError> {
        match self {
            Field::Varint(value) => Ok(vec![value.cast_signed()]),
            Field::Span(span) => {
                let mut reader = Reader::new(bytes, span);
                let mut ints = Vec::new();
                while reader.at < reader.end {
                    ints.push(reader.varint()?.cast_signed());
                }
                Ok(ints)
            }
            _ => Err(broken()),
        }
    }

    fn floats(&self, bytes: &[u8]) -> Result<Vec<f32>, ModelError> {
        match self {
            Field::Four(value) => Ok(vec![f32::from_le_bytes(*value)]),
            Field::Span(span) => Ok(bytes[span.clone()]
                .as_chunks::<4>()
                .0
                .iter()
                .map(|four| f32::from_le_bytes(*four))
                .collect()),
            _ => Err(broken()),
        }
    }

    /// How many numbers it holds.
    fn count(&self, number: u64, bytes: &[u8]) -> u64 {
        match self {
            Field::Span(span) => match number {
                4 => span.len() as u64 / 4,
                10 => span.len() as u64 / 8,
                _ => bytes[span.clone()].iter().filter(|&&byte| byte < 0x80).count() as u64,
            },
            _ => 1,
        }
    }
}

impl Model {
    pub(super) fn read(bytes: &[u8]) -> Result<Self, ModelError> {
        let mut model = Self::default();
        let mut version = String::new();
        let mut reader = Reader::new(bytes, &(0..bytes.len()));
        while let Some((number, field, span)) = reader.next()? {
            match number {
                2 => model.producer = reader.text(&field)?,
                3 => version = reader.text(&field)?,
                // The later of two wins, as decoders have it.
                7 => model.graph = Some(Graph::read(bytes, &field.span()?)?),
                8 => model.imports.push(import(bytes, &field.span()?)?),
                25 => model.functions.push(function_name(bytes, &field.span()?)?),
                _ => {}
            }
            if !matches!(number, 7 | 20) {
                model.kept.push(span);
            }
        }
        let producer = format!("{} {version}", model.producer);
        producer.trim().clone_into(&mut model.producer);
        Ok(model)
    }

    /// The version of the standard operators; 0 if the file does not say.
    pub(super) fn opset(&self) -> i64 {
        let standard = |(domain, _): &&(String, i64)| matches!(domain.as_str(), "" | "ai.onnx");
        self.imports.iter().find(standard).map_or(0, |(_, version)| *version)
    }
}

fn import(bytes: &[u8], span: &Span) -> Result<(String, i64), ModelError> {
    let mut import = (String::new(), 0);
    let mut reader = Reader::new(bytes, span);
    while let Some((number, field, _)) = reader.next()? {
        match number {
            1 => import.0 = reader.text(&field)?,
            2 => import.1 = field.int()?,
            _ => {}
        }
    }
    Ok(import)
}

fn function_name(bytes: &[u8], span: &Span) -> Result<String, ModelError> {
    let mut reader = Reader::new(bytes, span);
    while let Some((number, field, _)) = reader.next()? {
        if number == 1 {
            return reader.text(&field);
        }
    }
    Ok(String::new())
}

impl Graph {
    fn read(bytes: &[u8], span: &Span) -> Result<Self, ModelError> {
        let mut graph = Self::default();
        let mut reader = Reader::new(bytes, span);
        while let Some((number, field, _)) = reader.next()? {
            match number {
                1 => graph.nodes.push(Node::read(bytes, field.span()?)?),
                5 => graph.initializers.push(Tensor::read(bytes, field.span()?)?),
                11 => graph.inputs.push(ValueInfo::read(bytes, field.span()?)?),
                12 => graph.outputs.push(ValueInfo::read(bytes, field.span()?)?),
                _ => {}
            }
        }
        Ok(graph)
    }

    /// Names that its nodes read, or those of graphs within it, and that it does not make.
    pub(super) fn captured(&self) -> Vec<&str> {
        let made: std::collections::HashSet<&str> = self
            .nodes
            .iter()
            .flat_map(|node| node.outputs.iter().map(String::as_str))
            .chain(self.initializers.iter().map(|tensor| tensor.name.as_str()))
            .chain(self.inputs.iter().map(|input| input.name.as_str()))
            .collect();
        let outputs = self.outputs.iter().map(|output| output.name.as_str());
        let read = self.nodes.iter().flat_map(Node::reads).chain(outputs);
        read.filter(|name| !made.contains(name)).collect()
    }
}

impl Node {
    fn read(bytes: &[u8], span: Span) -> Result<Self, ModelError> {
        let mut node = Self::default();
        let mut reader = Reader::new(bytes, &span);
        while let Some((number, field, _)) = reader.next()? {
            match number {
                1 => node.inputs.push(reader.text(&field)?),
                2 => node.outputs.push(reader.text(&field)?),
                3 => node.name = reader.text(&field)?,
                4 => node.operator = reader.text(&field)?,
                5 => node.attributes.push(Attribute::read(bytes, field.span()?)?),
                7 => node.domain = reader.text(&field)?,
                _ => {}
            }
        }
        node.span = span;
        Ok(node)
    }

    /// A name for every node; not every exporter gives one.
    pub(super) fn label(&self) -> String {
        let unnamed = || self.outputs.first().cloned().unwrap_or_default();
        if self.name.is_empty() { unnamed() } else { self.name.clone() }
    }

    /// The operator with its domain.
    pub(super) fn full_operator(&self) -> String {
        match self.domain.as_str() {
            "" | "ai.onnx" => self.operator.clone(),
            domain => format!("{domain}.{}", self.operator),
        }
    }

    /// Whether its operator is one of the standard.
    pub(super) fn is_standard(&self) -> bool {
        matches!(self.domain.as_str(), "" | "ai.onnx")
    }

    /// Names of all values it reads, those that graphs within it take from outside included.
    pub(super) fn reads(&self) -> Vec<&str> {
        let inputs = self.inputs.iter().map(String::as_str).filter(|name| !name.is_empty());
        let graphs = self.attributes.iter().flat_map(|attribute| &attribute.graphs);
        inputs.chain(graphs.flat_map(Graph::captured)).collect()
    }

    pub(super) fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }

    pub(super) fn int(&self, name: &str, default: i64) -> i64 {
        self.attribute(name).map_or(default, |attribute| attribute.int.unwrap_or(0))
    }

    pub(super) fn ints(&self, name: &str) -> Option<&[i64]> {
        self.attribute(name).map(|attribute| attribute.ints.as_slice())
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.attribute(name).map(|attribute| attribute.text.as_deref().unwrap_or(""))
    }
}

impl Attribute {
    fn read(bytes: &[u8], span: Span) -> Result<Self, ModelError> {
        let mut attribute = Self::default();
        let mut reader = Reader::new(bytes, &span);
        while let Some((number, field, _)) = reader.next()? {
            match number {
                1 => attribute.name = reader.text(&field)?,
                2 => attribute.float = field.floats(bytes)?.first().copied(),
                3 => attribute.int = Some(field.int()?),
                4 => attribute.text = Some(reader.text(&field)?),
                5 | 10 => attribute.tensors.push(Tensor::read(bytes, field.span()?)?),
                6 | 11 => attribute.graphs.push(Graph::read(bytes, &field.span()?)?),
                7 => attribute.floats.extend(field.floats(bytes)?),
                8 => attribute.ints.extend(field.ints(bytes)?),
                _ => {}
            }
        }
        attribute.span = span;
        Ok(attribute)
    }
}

impl Tensor {
    fn read(bytes: &[u8], span: Span) -> Result<Self, ModelError> {
        let mut tensor = Self::default();
        let (mut entries, mut is_external) = (External::default(), false);
        let mut reader = Reader::new(bytes, &span);
        while let Some((number, field, _)) = reader.next()? {
            match number {
                1 => tensor.dims.extend(field.ints(bytes)?),
                2 => tensor.element = i32::try_from(field.int()?).unwrap_or(-1),
                4 | 5 | 7 | 10 | 11 => {
                    tensor.typed_count += field.count(number, bytes);
                    tensor.typed.push((number, field));
                }
                8 => tensor.name = reader.text(&field)?,
                9 => tensor.raw = Some(field.span()?),
                13 => entries.read(bytes, &field.span()?)?,
                14 => is_external = field.int()? == 1,
                _ => {}
            }
        }
        tensor.external = is_external.then_some(entries);
        tensor.span = span;
        Ok(tensor)
    }

    /// How many numbers its shape says.
    pub(super) fn len(&self) -> Option<u64> {
        self.dims.iter().try_fold(1_u64, |product, &extent| product.checked_mul(extent.try_into().ok()?))
    }

    /// Its numbers where they are integers in the file; none if they are not, or damaged.
    pub(super) fn integers(&self, bytes: &[u8]) -> Option<Vec<i64>> {
        let raw = self.raw.as_ref().map(|span| &bytes[span.clone()]).filter(|raw| !raw.is_empty());
        Some(match (self.element, raw) {
            (element::INT64, Some(raw)) => {
                raw.as_chunks::<8>().0.iter().map(|eight| i64::from_le_bytes(*eight)).collect()
            }
            (element::INT32, Some(raw)) => {
                raw.as_chunks::<4>().0.iter().map(|four| i64::from(i32::from_le_bytes(*four))).collect()
            }
            (element::BOOL, Some(raw)) => raw.iter().map(|&byte| i64::from(byte != 0)).collect(),
            (element::INT64 | element::INT32 | element::BOOL, None) => {
                let fields = self.typed.iter().map(|(_, field)| field.ints(bytes));
                fields.collect::<Result<Vec<_>, _>>().ok()?.concat()
            }
            _ => return None,
        })
    }

    /// The same for numbers of single precision.
    pub(super) fn floats(&self, bytes: &[u8]) -> Option<Vec<f32>> {
        let raw = self.raw.as_ref().map(|span| &bytes[span.clone()]).filter(|raw| !raw.is_empty());
        match (self.element, raw) {
            (element::FLOAT, Some(raw)) => {
                Some(raw.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four)).collect())
            }
            (element::FLOAT, None) => {
                let fields = self.typed.iter().map(|(_, field)| field.floats(bytes));
                Some(fields.collect::<Result<Vec<_>, _>>().ok()?.concat())
            }
            _ => None,
        }
    }
}

impl External {
    fn read(&mut self, bytes: &[u8], span: &Span) -> Result<(), ModelError> {
        let (mut key, mut value) = (String::new(), String::new());
        let mut reader = Reader::new(bytes, span);
        while let Some((number, field, _)) = reader.next()? {
            match number {
                1 => key = reader.text(&field)?,
                2 => value = reader.text(&field)?,
                _ => {}
            }
        }
        match key.as_str() {
            "location" => self.location = value,
            "offset" => self.offset = Some(value),
            "length" => self.length = Some(value),
            _ => {}
        }
        Ok(())
    }
}

impl ValueInfo {
    fn read(bytes: &[u8], span: Span) -> Result<Self, ModelError> {
        let mut info = Self::default();
        let mut reader = Reader::new(bytes, &span);
        while let Some((number, field, _)) = reader.next()? {
            match number {
                1 => info.name = reader.text(&field)?,
                2 => info.read_type(bytes, &field.span()?)?,
                _ => {}
            }
        }
        info.span = span;
        Ok(info)
    }

    fn read_type(&mut self, bytes: &[u8], span: &Span) -> Result<(), ModelError> {
        let mut reader = Reader::new(bytes, span);
        while let Some((number, field, _)) = reader.next()? {
            // Of all types, tensors.
            if number != 1 {
                continue;
            }
            let mut tensor = Reader::new(bytes, &field.span()?);
            self.element = Some(0);
            while let Some((number, field, _)) = tensor.next()? {
                match number {
                    1 => self.element = Some(i32::try_from(field.int()?).unwrap_or(-1)),
                    2 => self.shape = Some(dimensions(bytes, &field.span()?)?),
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

fn dimensions(bytes: &[u8], span: &Span) -> Result<Vec<Dimension>, ModelError> {
    let mut dimensions = Vec::new();
    let mut reader = Reader::new(bytes, span);
    while let Some((number, field, _)) = reader.next()? {
        if number != 1 {
            continue;
        }
        let mut dimension = Dimension::Open(String::new());
        let mut inner = Reader::new(bytes, &field.span()?);
        while let Some((number, field, _)) = inner.next()? {
            match number {
                1 => dimension = Dimension::Fixed(field.int()?),
                2 => dimension = Dimension::Open(inner.text(&field)?),
                _ => {}
            }
        }
        dimensions.push(dimension);
    }
    Ok(dimensions)
}
