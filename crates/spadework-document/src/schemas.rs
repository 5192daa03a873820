//! JSON Schema files of every document (`docs/schemas`), and the page of their fields (`docs/reference/fields.md`).
//!
//! Both are made of the types and their comments, and the tests fail where they are out of date: `scripts/generate` writes them
//! again. Unknown fields are refused by a schema, so that a field that nobody described fails the tests that validate results
//! (`crates/spadework-py/tests/test_schemas.py`).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::{
    attack, check, clever, comparison, corrupt, data, distortion, eigen, embed, graphs, layers, model, moved, new_samples,
    predict, score, select, stages, sweep, train,
};

/// An object whose fields are another crate's.
type Elsewhere = Map<String, Value>;

/// A document: what prints it, and its schema.
struct Described {
    layout: &'static str,
    printed_by: &'static str,
    schema: Value,
}

impl Described {
    /// `spadework.new-samples/2` is in `new-samples.json`.
    fn name(&self) -> &'static str {
        let name = self.layout.strip_prefix("spadework.").unwrap_or(self.layout);
        name.split_once('/').map_or(name, |(name, _)| name)
    }
}

fn described<T: JsonSchema>(layout: &'static str, printed_by: &'static str) -> Described {
    described_with::<T>(layout, printed_by, &[layout])
}

fn described_with<T: JsonSchema>(layout: &'static str, printed_by: &'static str, layouts: &[&str]) -> Described {
    let schema = SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>();
    let mut schema = Value::from(schema);
    tidy(&mut schema);
    close(&mut schema);
    schema["title"] = json!(layout);
    schema["properties"]["schema"] = match layouts {
        [one] => json!({"description": "Name and version of the layout.", "const": one}),
        _ => json!({"description": "Name and version of the layout.", "enum": layouts}),
    };
    Described { layout, printed_by, schema }
}

fn documents() -> Vec<Described> {
    vec![
        described::<score::ScoreDocument>(score::SCHEMA, "`score --json`, `result.json` of `score --out`"),
        described::<comparison::CompareDocument>(comparison::SCHEMA, "`compare --json`, `result.json` of `compare --out`"),
        described::<sweep::SweepDocument>(sweep::SCHEMA, "`sweep --json`, `result.json` of `sweep --out`"),
        described::<layers::LayersDocument>(layers::SCHEMA, "`layers --json`, `result.json` of `layers --out`"),
        described::<select::SelectDocument>(select::SCHEMA, "`select --json`"),
        described::<moved::MovedDocument>(moved::SCHEMA, "`select --moved --json`"),
        described::<check::CheckDocument>(check::SCHEMA, "`check --json`"),
        described::<distortion::DistortionDocument>(distortion::SCHEMA, "`distortion --json`"),
        described::<embed::EmbedDocument>(embed::SCHEMA, "`embed --json`"),
        described::<graphs::ConstructionsDocument>(graphs::SCHEMA, "`graphs --json`"),
        described::<new_samples::NewSamplesDocument>(new_samples::SCHEMA, "`score --reference --json`"),
        described::<eigen::EigenDocument>(eigen::SCHEMA, "`eigen --json`"),
        described::<stages::GraphStage>(stages::SCHEMA, "`graph --json`, `graphs.json` of a folder of stages"),
        described::<model::ModelDescription<'_>>(model::SCHEMA, "`model --json`"),
        described::<predict::PredictDocument<'_>>(predict::SCHEMA, "`predict --json`"),
        described::<corrupt::CorruptDocument>(corrupt::SCHEMA, "`corrupt --json`"),
        described::<data::DataListDocument>(data::SCHEMA, "`data --json`"),
        described::<data::DataCheckDocument>(data::CHECK_SCHEMA, "`data DIR --json`"),
        described::<attack::AttackDocument<'_>>(attack::SCHEMA, "`attack --json`"),
        described::<clever::CleverDocument<'_>>(clever::SCHEMA, "`clever --json`"),
        described::<train::TrainDocument<'_, Elsewhere, Elsewhere>>(train::SCHEMA, "`train --json`, `result.json` of `train --out`"),
    ]
}

/// Takes out what is about Rust: formats such as `uint`, defaults that only matter for reading, links of rustdoc.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            object.remove("format");
            object.remove("default");
            if let Some(Value::String(text)) = object.get_mut("description") {
                *text = without_links(text);
            }
            object.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}

/// ``[`digest`](spadework_io::digest)`` and ``[`SCHEMA`]`` as `digest` and `SCHEMA`, lines joined.
fn without_links(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("[`") {
        plain.push_str(before);
        let Some((name, after)) = after.split_once("`]") else { break };
        write!(plain, "`{name}`").expect("a string can be written to");
        rest = match after.strip_prefix('(').and_then(|target| target.split_once(')')) {
            Some((_, after)) => after,
            None => after,
        };
    }
    plain.push_str(rest);
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Refuses fields that are not described.
fn close(schema: &mut Value) {
    let opened: Vec<String> = flattened(schema);
    close_each(schema, false);
    if let Some(Value::Object(parts)) = schema.get_mut("$defs") {
        for name in opened {
            if let Some(Value::Object(part)) = parts.get_mut(&name) {
                part.remove("additionalProperties");
            }
        }
    }
}

/// Words of schemas that hold alternatives.
const ALTERNATIVES: [&str; 3] = ["anyOf", "oneOf", "allOf"];

fn close_each(schema: &mut Value, is_part_of_an_object: bool) {
    match schema {
        Value::Object(object) => {
            let has_fields = object.get("properties").is_some_and(Value::is_object);
            let is_mixed = has_fields && ALTERNATIVES.iter().any(|word| object.contains_key(*word));
            let is_open = object.contains_key("additionalProperties");
            if is_mixed {
                object.insert("unevaluatedProperties".to_owned(), json!(false));
            } else if has_fields && !is_open && !is_part_of_an_object {
                object.insert("additionalProperties".to_owned(), json!(false));
            }
            for (word, value) in object.iter_mut() {
                close_each(value, is_mixed && ALTERNATIVES.contains(&word.as_str()));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| close_each(item, is_part_of_an_object)),
        _ => {}
    }
}

/// Parts whose fields are those of the object that refers to them, which is closed in their place.
fn flattened(schema: &Value) -> Vec<String> {
    match schema {
        Value::Object(object) => {
            let mut found: Vec<String> = object.values().flat_map(flattened).collect();
            if object.get("properties").is_some_and(Value::is_object) {
                let alternatives = ALTERNATIVES.iter().filter_map(|word| object.get(*word)?.as_array()).flatten();
                found.extend(alternatives.filter_map(part_referred_to).map(str::to_owned));
            }
            found
        }
        Value::Array(items) => items.iter().flat_map(flattened).collect(),
        _ => Vec::new(),
    }
}

fn part_referred_to(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")
}

/// The page of all fields: a table per document, then one per part, which documents share.
fn page(documents: &[Described]) -> String {
    let mut page = String::from(
        "# Fields of the results\n\n\
         <!-- Made of the types in crates/spadework-document by scripts/generate; do not edit. -->\n\n\
         Every result that a command prints with `--json`, or writes as `result.json`, field by field. The JSON Schema files\n\
         in [schemas](../schemas/score.json) say the same to programs, and the tests validate real results against them. A\n\
         schema refuses fields that it does not describe. The number at the end of a layout's name is raised when a field\n\
         changes its meaning or goes away.\n\n\
         | layout | printed by | schema |\n| --- | --- | --- |\n",
    );
    for document in documents {
        let (name, layout, printed_by) = (document.name(), document.layout, document.printed_by);
        writeln!(page, "| [`{layout}`](#{}) | {printed_by} | [{name}.json](../schemas/{name}.json) |", anchor(layout))
            .expect("a string can be written to");
    }
    let mut parts = BTreeMap::new();
    for document in documents {
        section(&mut page, document.layout, &document.schema);
        let shared = document.schema.get("$defs").and_then(Value::as_object).into_iter().flatten();
        parts.extend(shared.map(|(name, part)| (name.clone(), part.clone())));
    }
    page.push_str("\n# Parts of the results\n");
    for (name, part) in &parts {
        section(&mut page, name, part);
    }
    page
}

/// The anchor of a heading, as GitHub makes it.
fn anchor(heading: &str) -> String {
    heading.to_lowercase().chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect()
}

fn section(page: &mut String, heading: &str, schema: &Value) {
    let text = |schema: &Value| schema.get("description").and_then(Value::as_str).unwrap_or_default().replace('|', "\\|");
    let mut write = |line: String| {
        page.push_str(&line);
        page.push('\n');
    };
    write(format!("\n## {heading}\n\n{}", text(schema)));
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    if let Some(fields) = schema.get("properties").and_then(Value::as_object) {
        write("\n| field | type | |\n| --- | --- | --- |".to_owned());
        for (name, field) in fields {
            let optional = if required.contains(&name.as_str()) { "" } else { ", optional" };
            write(format!("| `{name}` | {}{optional} | {} |", type_of(field), text(field)));
        }
    }
    for word in ALTERNATIVES {
        for alternative in schema.get(word).and_then(Value::as_array).into_iter().flatten() {
            let about = text(alternative);
            let about = if about.is_empty() { String::new() } else { format!(": {about}") };
            write(format!("\n- {}{about}", type_of(alternative)));
        }
    }
}

/// A schema in a few words.
fn type_of(schema: &Value) -> String {
    if let Some(part) = part_referred_to(schema) {
        return format!("[{part}](#{})", anchor(part));
    }
    if let Some(value) = schema.get("const") {
        return format!("`{}`", value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    }
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        let words = words.iter().filter_map(Value::as_str).map(|word| format!("`{word}`"));
        return words.collect::<Vec<_>>().join(" or ");
    }
    if let Some(alternatives) = ALTERNATIVES.iter().find_map(|word| schema.get(*word)?.as_array()) {
        return alternatives.iter().map(type_of).collect::<Vec<_>>().join(" or ");
    }
    match schema.get("type") {
        Some(Value::Array(types)) => types.iter().map(|one| named(one, schema)).collect::<Vec<_>>().join(" or "),
        Some(one) => named(one, schema),
        None => "any".to_owned(),
    }
}

fn named(kind: &Value, schema: &Value) -> String {
    match kind.as_str() {
        Some("array") => {
            let items = schema.get("items").map_or_else(|| "any".to_owned(), type_of);
            format!("list of {items}")
        }
        Some("object") => match schema.get("additionalProperties").filter(|values| values.is_object()) {
            Some(values) => format!("object of {}", type_of(values)),
            None => "object".to_owned(),
        },
        Some(word) => word.to_owned(),
        None => "any".to_owned(),
    }
}

/// Compares what is generated with a file of the repository, or writes it with `UPDATE_SNAPSHOTS=1`.
#[track_caller]
fn is_up_to_date(path: &str, generated: &str) {
    let place: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", path].iter().collect();
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::write(&place, generated).unwrap();
    }
    let kept = fs::read_to_string(&place).unwrap_or_default().replace("\r\n", "\n");
    let differs = kept.lines().zip(generated.lines()).position(|(kept, now)| kept != now);
    let line = differs.unwrap_or_else(|| kept.lines().count().min(generated.lines().count()));
    assert!(kept == generated, "{path} is out of date at line {} (scripts/generate writes it again)", line + 1);
}

#[test]
fn schemas_are_up_to_date() {
    for document in documents() {
        let text = serde_json::to_string_pretty(&document.schema).unwrap() + "\n";
        is_up_to_date(&format!("docs/schemas/{}.json", document.name()), &text);
    }
}

#[test]
fn the_page_of_fields_is_up_to_date() {
    is_up_to_date("docs/reference/fields.md", &page(&documents()));
}

#[test]
fn every_field_is_described() {
    fn undescribed(schema: &Value, path: &str, found: &mut Vec<String>) {
        if let Some(fields) = schema.get("properties").and_then(Value::as_object) {
            let missing = |field: &Value| field.get("description").is_none();
            found.extend(fields.iter().filter(|(_, field)| missing(field)).map(|(name, _)| format!("{path}.{name}")));
        }
        for (name, part) in schema.get("$defs").and_then(Value::as_object).into_iter().flatten() {
            undescribed(part, name, found);
        }
    }
    let mut found = Vec::new();
    for document in documents() {
        undescribed(&document.schema, document.layout, &mut found);
    }
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn links_of_rustdoc_are_plain_text() {
    assert_eq!(without_links("Digest of its numbers (see [`digest`](spadework_io::digest))."), "Digest of its numbers (see `digest`).");
    assert_eq!(without_links("[`SCHEMA`], or\n [a list]"), "`SCHEMA`, or [a list]");
}

#[test]
fn fields_of_flattened_alternatives_are_not_refused_twice() {
    let mut schema = json!({
        "properties": {"a": {}}, "anyOf": [{"$ref": "#/$defs/B"}, {"properties": {"c": {}}}],
        "$defs": {"B": {"properties": {"b": {"properties": {"d": {}}}}}}
    });
    close(&mut schema);
    assert_eq!(schema["unevaluatedProperties"], json!(false));
    assert_eq!(schema["$defs"]["B"].get("additionalProperties"), None);
    assert_eq!(schema["anyOf"][1].get("additionalProperties"), None);
    assert_eq!(schema["$defs"]["B"]["properties"]["b"]["additionalProperties"], json!(false));
}
