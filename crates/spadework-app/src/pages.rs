//! Pages and figures as files.

use std::path::Path;

use spadework_io::check_mapped_files;
use spadework_io::output::{OutputDir, OutputFile, write_bytes};
use spadework_report::{Chart, FigureFormat};

use crate::failure::Failure;

/// Where a page and its figures go.
#[derive(Debug, Clone, Copy)]
pub struct PageRequest<'a> {
    /// The file of the page.
    pub page: Option<&'a Path>,
    /// The folder of the figures.
    pub plots: Option<&'a Path>,
    /// The format of the figures.
    pub format: FigureFormat,
    /// Maximum number of pictures on the page. By default, those that its galleries show, and more if they fit.
    pub pictures: Option<usize>,
}

impl PageRequest<'_> {
    /// Neither a page nor figures.
    pub const NONE: PageRequest<'static> =
        PageRequest { page: None, plots: None, format: FigureFormat::Svg, pictures: None };

    /// Whether there is anything to make.
    pub(crate) fn is_asked(&self) -> bool {
        self.page.is_some() || self.plots.is_some()
    }

    /// Finds out before the work begins that a place cannot be written.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        // Opened and given up again.
        self.page.map(OutputFile::create).transpose()?;
        self.plots.map(OutputDir::create).transpose()?;
        Ok(())
    }

    /// Writes what was asked for; nothing is made that was not.
    pub(crate) fn write(
        &self,
        page: impl FnOnce() -> Result<String, spadework_report::Error>,
        charts: impl FnOnce() -> Vec<Chart>,
    ) -> Result<(), Failure> {
        if let Some(path) = self.page {
            let page = page()?;
            check_mapped_files()?;
            write_bytes(path, page.as_bytes())?;
        }
        if let Some(folder) = self.plots {
            check_mapped_files()?;
            let folder = OutputDir::create(folder)?;
            for chart in charts() {
                let file = folder.path().join(format!("{}.{}", chart.name, self.format));
                write_bytes(&file, &chart.file(self.format)?)?;
            }
            folder.commit()?;
        }
        Ok(())
    }
}
