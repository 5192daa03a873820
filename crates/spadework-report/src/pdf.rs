//! Drawings as PDF: shapes filled and stroked with plain colors, text as outlines.
//!
//! Our charts need nothing else. Embedding fonts would require a font library that takes longer to compile than the rest of
//! this crate. Anything else is refused, not left out.

use std::collections::BTreeMap;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use pdf_writer::types::{LineCapStyle, LineJoinStyle};
use pdf_writer::writers::ExtGraphicsState;
use pdf_writer::{Content, Filter, Finish as _, Name, Pdf, Rect, Ref};
use resvg::tiny_skia::{PathSegment, Transform};
use resvg::usvg::{
    Color, Fill, FillRule, Group, LineCap, LineJoin, Node, Opacity, Paint, Path, Stroke, Tree,
};

/// CSS pixels, which drawings are measured in, to points: 96 and 72 of them make an inch.
const POINTS: f32 = 0.75;

const CATALOG: Ref = Ref::new(1);
const PAGES: Ref = Ref::new(2);
const PAGE: Ref = Ref::new(3);
const CONTENT: Ref = Ref::new(4);

/// A document of one page, as large as the drawing; or what in the drawing has no place in it.
pub(crate) fn document(tree: &Tree) -> Result<Vec<u8>, &'static str> {
    let [width, height] = [tree.size().width() * POINTS, tree.size().height() * POINTS];
    let mut drawing = Drawing { content: Content::new(), opacities: BTreeMap::new() };
    // Pages have their origin at the lower left.
    drawing.content.transform([POINTS, 0.0, 0.0, -POINTS, 0.0, height]);
    drawing.group(tree.root(), Opacity::ONE)?;

    let mut pdf = Pdf::new();
    pdf.catalog(CATALOG).pages(PAGES);
    pdf.pages(PAGES).kids([PAGE]).count(1);
    let mut page = pdf.page(PAGE);
    page.parent(PAGES).media_box(Rect::new(0.0, 0.0, width, height)).contents(CONTENT);
    let mut resources = page.resources();
    let mut states = resources.ext_g_states();
    for (name, [fill, stroke]) in drawing.opacities.values() {
        states
            .insert(Name(name.as_bytes()))
            .start::<ExtGraphicsState<'_>>()
            .non_stroking_alpha(*fill)
            .stroking_alpha(*stroke);
    }
    states.finish();
    resources.finish();
    page.finish();
    pdf.stream(CONTENT, &deflated(&drawing.content.finish())).filter(Filter::FlateDecode);
    Ok(pdf.finish())
}

struct Drawing {
    content: Content,
    /// Pairs of opacities, of fill and stroke, and the names that the page knows them by.
    opacities: BTreeMap<[u32; 2], (String, [f32; 2])>,
}

impl Drawing {
    fn group(&mut self, group: &Group, opacity: Opacity) -> Result<(), &'static str> {
        if group.clip_path().is_some() || group.mask().is_some() || !group.filters().is_empty() {
            return Err("clipped, masked and filtered shapes cannot be written as PDF");
        }
        let opacity = opacity * group.opacity();
        // From group to group: the outlines of a text do not know how the text itself is turned.
        self.content.save_state();
        self.content.transform(matrix(group.transform()));
        for node in group.children() {
            match node {
                Node::Group(inner) => self.group(inner, opacity)?,
                Node::Path(path) => self.path(path, opacity)?,
                Node::Text(text) => self.group(text.flattened(), opacity)?,
                Node::Image(_) => return Err("pictures cannot be written as PDF"),
            }
        }
        self.content.restore_state();
        Ok(())
    }

    fn path(&mut self, path: &Path, opacity: Opacity) -> Result<(), &'static str> {
        if !path.is_visible() {
            return Ok(());
        }
        self.content.save_state();
        self.opacity(
            path.fill().map_or(Opacity::ONE, Fill::opacity) * opacity,
            path.stroke().map_or(Opacity::ONE, Stroke::opacity) * opacity,
        );
        if let Some(fill) = path.fill() {
            let [red, green, blue] = color(fill.paint())?;
            self.content.set_fill_rgb(red, green, blue);
        }
        if let Some(stroke) = path.stroke() {
            self.stroke(stroke)?;
        }
        self.outline(path);
        match (path.fill().map(Fill::rule), path.stroke().is_some()) {
            (None, false) => self.content.end_path(),
            (None, true) => self.content.stroke(),
            (Some(FillRule::NonZero), false) => self.content.fill_nonzero(),
            (Some(FillRule::EvenOdd), false) => self.content.fill_even_odd(),
            (Some(FillRule::NonZero), true) => self.content.fill_nonzero_and_stroke(),
            (Some(FillRule::EvenOdd), true) => self.content.fill_even_odd_and_stroke(),
        };
        self.content.restore_state();
        Ok(())
    }

    fn opacity(&mut self, fill: Opacity, stroke: Opacity) {
        let pair = [fill.get(), stroke.get()];
        if pair == [1.0, 1.0] {
            return;
        }
        let number = self.opacities.len();
        let (name, _) =
            self.opacities.entry(pair.map(f32::to_bits)).or_insert_with(|| (format!("o{number}"), pair));
        self.content.set_parameters(Name(name.as_bytes()));
    }

    fn stroke(&mut self, stroke: &Stroke) -> Result<(), &'static str> {
        let [red, green, blue] = color(stroke.paint())?;
        self.content
            .set_stroke_rgb(red, green, blue)
            .set_line_width(stroke.width().get())
            .set_line_cap(match stroke.linecap() {
                LineCap::Butt => LineCapStyle::ButtCap,
                LineCap::Round => LineCapStyle::RoundCap,
                LineCap::Square => LineCapStyle::ProjectingSquareCap,
            })
            .set_line_join(match stroke.linejoin() {
                LineJoin::Miter | LineJoin::MiterClip => LineJoinStyle::MiterJoin,
                LineJoin::Round => LineJoinStyle::RoundJoin,
                LineJoin::Bevel => LineJoinStyle::BevelJoin,
            })
            .set_miter_limit(stroke.miterlimit().get());
        if let Some(dashes) = stroke.dasharray() {
            self.content.set_dash_pattern(dashes.iter().copied(), stroke.dashoffset());
        }
        Ok(())
    }

    fn outline(&mut self, path: &Path) {
        // PDF has curves of the third degree alone; one of the second is one of them.
        let mut at = [0.0_f32; 2];
        for segment in path.data().segments() {
            match segment {
                PathSegment::MoveTo(to) => {
                    self.content.move_to(to.x, to.y);
                    at = [to.x, to.y];
                }
                PathSegment::LineTo(to) => {
                    self.content.line_to(to.x, to.y);
                    at = [to.x, to.y];
                }
                PathSegment::QuadTo(by, to) => {
                    let third = |end: f32, by: f32| end + 2.0 / 3.0 * (by - end);
                    self.content.cubic_to(
                        third(at[0], by.x),
                        third(at[1], by.y),
                        third(to.x, by.x),
                        third(to.y, by.y),
                        to.x,
                        to.y,
                    );
                    at = [to.x, to.y];
                }
                PathSegment::CubicTo(first, second, to) => {
                    self.content.cubic_to(first.x, first.y, second.x, second.y, to.x, to.y);
                    at = [to.x, to.y];
                }
                PathSegment::Close => {
                    self.content.close_path();
                }
            }
        }
    }
}

fn matrix(transform: Transform) -> [f32; 6] {
    [transform.sx, transform.ky, transform.kx, transform.sy, transform.tx, transform.ty]
}

fn color(paint: &Paint) -> Result<[f32; 3], &'static str> {
    let &Paint::Color(Color { red, green, blue }) = paint else {
        return Err("gradients and patterns cannot be written as PDF");
    };
    Ok([red, green, blue].map(|part| f32::from(part) / 255.0))
}

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    // Memory takes all that it is given.
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::ZlibDecoder;

    use crate::charts::{Cell, heat_map};
    use crate::figure_file::tree;

    /// Where the outlines of a figure begin, as a reader of PDF finds them: matrices multiply from outside to inside.
    fn places(content: &str) -> Vec<[f64; 2]> {
        let identity = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0];
        let (mut matrix, mut kept, mut places): (_, Vec<[f64; 6]>, _) = (identity, Vec::new(), Vec::new());
        for line in content.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let numbers: Vec<f64> = words.iter().filter_map(|word| word.parse().ok()).collect();
            match (words.last().copied(), numbers.as_slice()) {
                (Some("q"), _) => kept.push(matrix),
                (Some("Q"), _) => matrix = kept.pop().unwrap(),
                (Some("cm"), &[a, b, c, d, e, f]) => {
                    let [p, q, r, s, t, u] = matrix;
                    matrix = [
                        a * p + b * r,
                        a * q + b * s,
                        c * p + d * r,
                        c * q + d * s,
                        e * p + f * r + t,
                        e * q + f * s + u,
                    ];
                }
                (Some("m"), &[x, y]) => {
                    let [p, q, r, s, t, u] = matrix;
                    places.push([x * p + y * r + t, x * q + y * s + u]);
                }
                _ => {}
            }
        }
        places
    }

    /// Names above the columns are turned; all of them lie on the page, and some above the cells.
    #[test]
    fn turned_text_lies_where_it_belongs() {
        let names = ["one".to_owned(), "two".to_owned()];
        let cells = [Cell { row: 0, column: 1, value: 1.0, count: 3 }];
        let drawing = tree(&heat_map("pairs", "Pairs", &names, &cells).standalone()).unwrap();
        let file = super::document(&drawing).unwrap();
        let start = file.windows(7).position(|part| part == b"stream\n").unwrap() + 7;
        let mut content = String::new();
        ZlibDecoder::new(&file[start..]).read_to_string(&mut content).unwrap();
        let (width, height) =
            (f64::from(drawing.size().width()) * 0.75, f64::from(drawing.size().height()) * 0.75);
        let places = places(&content);
        assert!(places.iter().all(|&[x, y]| (0.0..=width).contains(&x) && (0.0..=height).contains(&y)));
        // Cells begin 84 units from the left and from the top.
        let above = places.iter().filter(|&&[x, y]| x > 84.0 * 0.75 && y > height - 80.0 * 0.75).count();
        assert!(above >= 6, "{above} outlines of letters above the columns");
    }
}
