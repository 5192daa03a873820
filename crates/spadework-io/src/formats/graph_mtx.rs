//! Graphs as Matrix Market files: `matrix coordinate real|integer|pattern general|symmetric`, counted from 1.

use super::csv::{longest_line, unpacked};
use crate::edge_list::EdgeList;
use crate::error::{Error, Result, excerpt};

pub(crate) const MAGIC: &[u8] = b"%%MatrixMarket";

const BANNER: &str = "the file must begin with `%%MatrixMarket matrix coordinate`, then real, integer or pattern, then general or symmetric";
const SIZE: &str = "the line of sizes must be rows, columns and entries";

/// Bytes of an entry, which is a line, once the graph is made, next to the list that it is made of.
const ENTRY: usize = 32;

pub(crate) fn parse(bytes: &[u8], edges: &mut EdgeList<'_>) -> Result<()> {
    let text = unpacked(bytes, ENTRY, edges.name())?;
    check_lines(&text, longest_line(bytes), edges.name())?;
    let lines = (1_u64..).zip(text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii));
    let mut lines = lines.map(|(number, line)| (number, String::from_utf8_lossy(line)));
    let (_, banner) = lines.next().unwrap_or_default();
    let has_weights = weights_of(&banner).ok_or_else(|| {
        edges.wrong("line 1".to_owned(), BANNER, format!("`{}`", excerpt(banner.as_bytes())))
    })?;
    let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('%'));
    let (number, sizes) = lines.next().unwrap_or_default();
    let wrong_sizes = |edges: &EdgeList<'_>| {
        edges.wrong(format!("line {number}"), SIZE, format!("`{}`", excerpt(sizes.as_bytes())))
    };
    let whole = |cell: &str| cell.parse::<u64>().ok();
    let Some([rows, columns, entries]) = cells(&sizes).map(|cells| cells.map(whole)) else {
        return Err(wrong_sizes(edges));
    };
    let (Some(rows), Some(columns), Some(entries)) = (rows, columns, entries) else {
        return Err(wrong_sizes(edges));
    };
    edges.set_shape(rows, columns)?;
    let mut count = 0;
    for (number, line) in lines {
        let place = || format!("line {number}");
        let (p, q, weight) = entry(&line, has_weights).ok_or_else(|| {
            let expected =
                if has_weights { "an entry is row, column and value" } else { "an entry is row and column" };
            edges.wrong(place(), expected, format!("`{}`", excerpt(line.as_bytes())))
        })?;
        let (Some(p), Some(q)) = (p.checked_sub(1), q.checked_sub(1)) else {
            return Err(edges.wrong(place(), "rows and columns are counted from 1", "0".to_owned()));
        };
        edges.push(p, q, weight, place)?;
        count += 1;
    }
    if count != entries {
        return Err(
            edges.misshapen(format!("the line of sizes promises {entries} entries"), count.to_string())
        );
    }
    Ok(())
}

/// Refuses a line that could not be copied.
fn check_lines(text: &[u8], most: usize, name: &str) -> Result<()> {
    match text.split(|&byte| byte == b'\n').position(|line| line.len() > most) {
        Some(at) => Err(Error::LongLine { name: name.to_owned(), line: at + 1, most }),
        None => Ok(()),
    }
}

/// Whether entries have values; `None` for a banner of another kind.
fn weights_of(banner: &str) -> Option<bool> {
    let banner = banner.to_ascii_lowercase();
    let [first, object, format, field, symmetry] = cells(&banner)?;
    let known = first.as_bytes().eq_ignore_ascii_case(MAGIC) && object == "matrix" && format == "coordinate";
    // An edge is one edge, whichever end it is given from, so both symmetries are read alike.
    match (known && matches!(symmetry, "general" | "symmetric"), field) {
        (true, "real" | "integer") => Some(true),
        (true, "pattern") => Some(false),
        _ => None,
    }
}

fn entry(line: &str, has_weights: bool) -> Option<(u64, u64, f64)> {
    if has_weights {
        let [p, q, weight] = cells(line)?;
        return Some((p.parse().ok()?, q.parse().ok()?, weight.parse().ok()?));
    }
    let [p, q] = cells(line)?;
    Some((p.parse().ok()?, q.parse().ok()?, 1.0))
}

/// Exactly N words.
fn cells<const N: usize>(line: &str) -> Option<[&str; N]> {
    let mut words = line.split_ascii_whitespace();
    let mut cells = [""; N];
    for cell in &mut cells {
        *cell = words.next()?;
    }
    words.next().is_none().then_some(cells)
}
