//! `spadework model`: describes a model file.

use spadework_document::model::{
    ExtentDescription, LayerDescription, ModelDescription, PortDescription, SCHEMA,
};
use spadework_model::{Extent, Node, OnnxModel, Outline, Port};

use crate::args_model::DescribeArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::render::{json, printable, table};

pub(crate) fn run(args: &DescribeArgs) -> Result<(), Failure> {
    let model = OnnxModel::open(&args.file)?;
    Console::data(&if args.json { json(&description(&model)) } else { to_text(&model) })
}

fn extents(shape: Option<&Vec<Extent>>) -> Option<Vec<ExtentDescription<'_>>> {
    let extent = |extent| match extent {
        &Extent::Fixed(extent) => ExtentDescription::Fixed(extent),
        Extent::Dynamic(name) => ExtentDescription::Dynamic(name),
    };
    Some(shape?.iter().map(extent).collect())
}

fn description(model: &OnnxModel) -> ModelDescription<'_> {
    let outline = model.outline();
    ModelDescription {
        schema: SCHEMA,
        file: model.name(),
        digest: model.digest(),
        producer: outline.producer.as_deref(),
        opset: outline.opset,
        parameters: outline.parameters,
        inputs: outline.inputs.iter().map(|input| described(input, input.batch(), false)).collect(),
        outputs: outline
            .outputs
            .iter()
            .map(|output| described(output, None, ends_in_softmax(outline, output)))
            .collect(),
        layers: outline.nodes.iter().map(layer).collect(),
        version: env!("CARGO_PKG_VERSION"),
    }
}

fn described(port: &Port, batch: Option<usize>, softmax: bool) -> PortDescription<'_> {
    PortDescription {
        name: &port.name,
        element: &port.element,
        shape: extents(port.shape.as_ref()),
        batch,
        softmax,
    }
}

fn layer(node: &Node) -> LayerDescription<'_> {
    LayerDescription {
        name: &node.name,
        operator: &node.operator,
        shape: extents(node.shape.as_ref()),
        parameters: node.parameters,
    }
}

fn ends_in_softmax(outline: &Outline, output: &Port) -> bool {
    outline.softmax_before(&output.name).is_some()
}

fn to_text(model: &OnnxModel) -> String {
    let outline = model.outline();
    let port = |port: &Port| format!("`{}` {} {}", printable(&port.name), port.element, port.shape_text());
    let inputs = outline.inputs.iter().map(|input| {
        let batch = match input.batch() {
            Some(batch) => format!("batch {batch}"),
            None => "any batch".to_owned(),
        };
        format!("input       {}, {batch}\n", port(input))
    });
    let outputs = outline.outputs.iter().map(|output| {
        let softmax = if ends_in_softmax(outline, output) { ", after a softmax" } else { "" };
        format!("output      {}{softmax}\n", port(output))
    });
    let ports: String = inputs.chain(outputs).collect();
    let rows = outline.nodes.iter().map(|node| {
        let shape =
            Port { name: String::new(), element: String::new(), shape: node.shape.clone() }.shape_text();
        vec![printable(&node.name), printable(&node.operator), shape, node.parameters.to_string()]
    });
    format!(
        "model       {}\n\
         written by  {}, operator set {}\n\
         parameters  {}\n\
         {ports}\n{}",
        model.name(),
        outline.producer.as_deref().map_or_else(|| "-".to_owned(), printable),
        outline.opset,
        outline.parameters,
        table(&["layer", "operator", "output", "parameters"], rows)
    )
}
