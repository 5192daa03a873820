//! Graphs as text: one line per edge, `p,q` or `p,q,weight`, with or without a header line.
//!
//! A first line in which p or q is not a number is a header, and then a third column must be called `weight`: the tables of
//! scores have the same two columns before it.

use csv::ByteRecord;

use super::csv::{number, plain_text};
use super::csv_lines::Lines;
use crate::edge_list::EdgeList;
use crate::error::{Result, excerpt};

/// Bytes of an end of an edge once the graph is made, next to the list that it is made of.
const END: usize = 16;

pub(crate) fn parse(bytes: &[u8], edges: &mut EdgeList<'_>) -> Result<()> {
    let name = edges.name();
    let text = plain_text(bytes, END, name)?;
    for (at, line) in Lines::open(&text, name).enumerate() {
        let line = line?;
        let cells = &line.cells;
        let place = || format!("line {}", line.number);
        if !(2..=3).contains(&cells.len()) {
            let expected = "an edge is p,q or p,q,weight";
            return Err(edges.wrong(place(), expected, format!("{} cells", cells.len())));
        }
        if at == 0 && is_header(cells) {
            check_header(cells, edges)?;
            continue;
        }
        let (p, q) = (node(&cells[0], edges, place)?, node(&cells[1], edges, place)?);
        let weight = match cells.get(2) {
            None => 1.0,
            Some(cell) => number(cell).ok_or_else(|| {
                edges.wrong(place(), "a weight must be a number", format!("`{}`", excerpt(cell)))
            })?,
        };
        edges.push(p, q, weight, place)?;
    }
    Ok(())
}

fn is_header(cells: &ByteRecord) -> bool {
    cells.iter().take(2).any(|cell| number(cell).is_none())
}

fn check_header(cells: &ByteRecord, edges: &EdgeList<'_>) -> Result<()> {
    match cells.get(2) {
        Some(third) if !third.eq_ignore_ascii_case(b"weight") => {
            let expected = "a third column must be called `weight`";
            Err(edges.wrong("line 1".to_owned(), expected, format!("`{}`", excerpt(third))))
        }
        _ => Ok(()),
    }
}

fn node(cell: &[u8], edges: &EdgeList<'_>, place: impl Fn() -> String) -> Result<u64> {
    let parsed = std::str::from_utf8(cell).ok().and_then(|text| text.parse().ok());
    parsed.ok_or_else(|| {
        edges.wrong(place(), "p and q must be whole numbers, counted from 0", format!("`{}`", excerpt(cell)))
    })
}
