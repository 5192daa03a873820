//! What can go wrong.

/// Why a page or a figure could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The numbers of the page cannot be computed.
    #[error(transparent)]
    Core(#[from] spadework::Error),
    /// A figure that cannot be drawn.
    #[error("a figure could not be drawn: {cause}")]
    Figure {
        /// What the library said.
        cause: String,
    },
    /// Pictures that cannot be packed.
    #[error("the pictures could not be packed: {0}")]
    Pictures(#[from] png::EncodingError),
    /// An unknown format of figures.
    #[error("a figure's format must be svg, png or pdf, got `{got}`")]
    UnknownFormat {
        /// The word.
        got: String,
    },
    /// A template that cannot be filled.
    #[error("the page could not be written: {0}")]
    Template(#[from] askama::Error),
}

/// A result with [`Error`].
pub type Result<T> = std::result::Result<T, Error>;
