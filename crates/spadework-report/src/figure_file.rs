//! Figures as files: SVG as it is, PNG through resvg, PDF as shapes.
//!
//! Text is set in DejaVu Sans, which comes with the program, so that a figure looks the same on every machine.

use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use crate::Chart;
use crate::error::{Error, Result};
use crate::pdf;

/// Pixels a unit of the drawing: 12 px text comes out at some 300 dots per inch in a column of a paper.
const PIXELS: f32 = 3.0;

/// Formats of figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FigureFormat {
    /// Scalable, with text as text.
    #[default]
    Svg,
    /// Pixels.
    Png,
    /// Scalable, with text as outlines.
    Pdf,
}

impl FigureFormat {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Svg, Self::Png, Self::Pdf];
}

spadework::words! { written FigureFormat { Svg = "svg", Png = "png", Pdf = "pdf" } }

impl FromStr for FigureFormat {
    type Err = Error;

    fn from_str(word: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|format| format.to_string() == word)
            .ok_or_else(|| Error::UnknownFormat { got: word.to_owned() })
    }
}

impl Chart {
    /// The bytes of the figure's file.
    ///
    /// # Errors
    /// When the figure cannot be drawn in this format, which would be our mistake.
    pub fn file(&self, format: FigureFormat) -> Result<Vec<u8>> {
        let svg = self.standalone();
        match format {
            FigureFormat::Svg => Ok(svg.into_bytes()),
            FigureFormat::Png => png(&tree(&svg)?),
            FigureFormat::Pdf => pdf::document(&tree(&svg)?).map_err(|reason| undrawable(&reason)),
        }
    }
}

/// A drawing, with text in the font that comes with the program.
pub(crate) fn tree(svg: &str) -> Result<Tree> {
    static FONTS: OnceLock<Arc<fontdb::Database>> = OnceLock::new();
    let fonts = FONTS.get_or_init(|| {
        let mut fonts = fontdb::Database::new();
        fonts.load_font_data(dejavu::sans::regular().to_vec());
        Arc::new(fonts)
    });
    let options =
        Options { font_family: "DejaVu Sans".to_owned(), fontdb: Arc::clone(fonts), ..Options::default() };
    Tree::from_str(svg, &options).map_err(|error| undrawable(&error))
}

fn png(tree: &Tree) -> Result<Vec<u8>> {
    let size = tree.size();
    let [width, height] = [size.width(), size.height()].map(|length| (length * PIXELS).ceil() as u32);
    let mut pixels = Pixmap::new(width, height).ok_or_else(|| undrawable(&"no pixels"))?;
    resvg::render(tree, Transform::from_scale(PIXELS, PIXELS), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| undrawable(&error))
}

fn undrawable(cause: &dyn fmt::Display) -> Error {
    Error::Figure { cause: cause.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::bars;

    /// A figure whose text has been drawn has dark pixels next to its bar; without a font there would be none.
    #[test]
    fn text_is_drawn_without_fonts_of_the_machine() {
        let chart = bars("bars", "Bars", &[("wide words".to_owned(), 0.0)]);
        let file = chart.file(FigureFormat::Png).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        assert!(pixels.chunks_exact(4).any(|pixel| pixel[0] < 80));
    }

    /// Names of bars are whole and lie within the figure, however long they are, until there is no room for a bar next to them.
    #[test]
    fn names_of_bars_have_their_room() {
        for name in ["r", "mean distortion of edges, resistance", "resnet18 standard corrupted, 20PGD-100"] {
            let chart = bars("bars", "Bars", &[(name.to_owned(), 1.0), ("short".to_owned(), 0.5)]);
            assert!(chart.standalone().contains(&format!(">{name}</text>")), "{name}");
            let left = tree(&chart.standalone()).unwrap().root().abs_bounding_box().left();
            assert!(left >= 0.0, "{name} begins at {left}");
        }
        let chart = bars("bars", "Bars", &[("very ".repeat(50), 1.0)]);
        assert!(chart.standalone().contains("…</text>"));
    }

    #[test]
    fn files_are_what_they_say() {
        let chart = bars("bars", "Bars", &[("a".to_owned(), 1.0)]);
        let begins = |format: FigureFormat, with: &[u8]| chart.file(format).unwrap().starts_with(with);
        assert!(begins(FigureFormat::Svg, b"<svg "));
        assert!(begins(FigureFormat::Png, b"\x89PNG\r\n"));
        assert!(begins(FigureFormat::Pdf, b"%PDF-"));
        assert!(
            "gif".parse::<FigureFormat>().unwrap_err().to_string().contains("svg, png or pdf, got `gif`")
        );
    }
}
