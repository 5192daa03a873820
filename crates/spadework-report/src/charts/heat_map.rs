//! A matrix of shades.

use spadework_document::words::short;

use super::{Chart, escape, shortened, text};

const MARGIN: f64 = 84.0;
const MOST: f64 = 520.0;
/// Width of the scale of shades.
const LEGEND: f64 = 160.0;
/// Beyond so many rows the values do not fit into the cells.
const WRITTEN: usize = 14;

/// A cell that has a value; others stay blank.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cell {
    pub(crate) row: usize,
    pub(crate) column: usize,
    pub(crate) value: f64,
    /// What the value is a mean of.
    pub(crate) count: usize,
}

/// A square matrix by names; `cells` on and above the diagonal are mirrored.
pub(crate) fn heat_map(name: &'static str, title: &str, names: &[String], cells: &[Cell]) -> Chart {
    let side = ((MOST - MARGIN) / names.len().max(1) as f64).min(44.0);
    let largest = cells.iter().map(|cell| cell.value).fold(0.0, f64::max);
    let at = |index: usize| MARGIN + index as f64 * side;
    let mut body = String::new();
    for (index, name) in names.iter().enumerate() {
        let middle = at(index) + side / 2.0;
        if side >= 11.0 {
            body += &text(MARGIN - 6.0, middle + 4.0, "end", "", &shortened(name, 10));
            body += &format!(
                "<text transform=\"translate({:.1} {:.1}) rotate(-60)\">{}</text>",
                middle + 4.0,
                MARGIN - 6.0,
                escape(&shortened(name, 10))
            );
        }
    }
    for cell in cells {
        body += &drawn(cell, names, [at(cell.column), at(cell.row)], side, largest);
        if cell.row != cell.column {
            body += &drawn(cell, names, [at(cell.row), at(cell.column)], side, largest);
        }
    }
    let described = cells.iter().max_by(|a, b| a.value.total_cmp(&b.value)).map_or_else(
        || "No cells.".to_owned(),
        |top| format!("The largest is {} with {}: {}.", names[top.row], names[top.column], short(top.value)),
    );
    let size = at(names.len()) + 4.0;
    body += &legend(largest, size);
    let (width, height) = (size.max(MARGIN + LEGEND + 40.0), size + 44.0);
    Chart { name, title: title.to_owned(), description: described, width, height, body }
}

/// What the shades stand for, below the matrix.
fn legend(largest: f64, top: f64) -> String {
    let (steps, y) = (24_u32, top + 8.0);
    let place = |share: f64| MARGIN + share * LEGEND;
    let step = |at: u32| {
        let share = f64::from(at) / f64::from(steps);
        format!(
            "<rect x=\"{:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"12\" fill=\"{}\"/>",
            place(share),
            LEGEND / f64::from(steps) + 0.5,
            shade(share)
        )
    };
    let mut drawn: String = (0..steps).map(step).collect();
    for share in [0.0_f64, 0.5, 1.0] {
        // Shades go by the root.
        drawn += &text(place(share), y + 28.0, "middle", "faint", &short(largest * share.powi(2)));
    }
    drawn
}

fn drawn(cell: &Cell, names: &[String], [x, y]: [f64; 2], side: f64, largest: f64) -> String {
    // Few pairs of labels have nearly all of the score; the root keeps the others apart from nothing.
    let share = if largest > 0.0 { (cell.value.max(0.0) / largest).sqrt() } else { 0.0 };
    let title = format!(
        "{} – {}: {} (mean of {} edges)",
        names[cell.row],
        names[cell.column],
        short(cell.value),
        cell.count
    );
    let mut drawn = format!(
        "<g><title>{}</title><rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\"/>",
        escape(&title),
        side - 1.0,
        side - 1.0,
        shade(share)
    );
    if names.len() <= WRITTEN {
        let ink = if share > 0.55 { "#ffffff" } else { "#1d2733" };
        drawn += &format!(
            "<text class=\"cell-text\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" style=\"fill:{ink}\">{}</text>",
            x + side / 2.0,
            y + side / 2.0 + 3.0,
            brief(cell.value)
        );
    }
    drawn + "</g>"
}

/// Two digits are what fits into a cell.
fn brief(value: f64) -> String {
    if value >= 10.0 {
        format!("{value:.0}")
    } else if value >= 0.095 {
        format!("{value:.1}")
    } else if value >= 0.0095 {
        format!("{value:.2}").trim_start_matches('0').to_owned()
    } else {
        "0".to_owned()
    }
}

/// From near white to dark red; dark text can be read on the light half, white text on the other.
fn shade(share: f64) -> String {
    const STOPS: [[f64; 3]; 4] =
        [[247.0, 244.0, 238.0], [244.0, 177.0, 131.0], [201.0, 71.0, 56.0], [110.0, 14.0, 30.0]];
    let place = share.clamp(0.0, 1.0) * 3.0;
    let below = (place.floor() as usize).min(2);
    let part = place - below as f64;
    let channel = |at: usize| (STOPS[below][at] * (1.0 - part) + STOPS[below + 1][at] * part).round() as u8;
    format!("#{:02x}{:02x}{:02x}", channel(0), channel(1), channel(2))
}
