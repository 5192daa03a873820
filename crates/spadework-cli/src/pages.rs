//! Pages and figures as files.

use std::path::Path;

use spadework::Samples;
use spadework_io::Dataset;
use spadework_io::output::{OutputDir, OutputFile, write_bytes};
use spadework_report::{Chart, FigureFormat, InputArray, Origin};

use crate::args_report::{PageArgs, PlotsArgs};
use crate::failure::Failure;
use crate::stored::command_line;

/// Where a page and its figures go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places<'a> {
    page: Option<&'a Path>,
    plots: Option<&'a Path>,
    format: FigureFormat,
}

impl<'a> Places<'a> {
    /// Finds out before the work begins that a place cannot be written.
    pub(crate) fn new(page: Option<&'a Path>, plots: &'a PlotsArgs) -> Result<Self, Failure> {
        let PlotsArgs { plots, format } = plots;
        // Opened and given up again.
        page.map(OutputFile::create).transpose()?;
        plots.as_deref().map(OutputDir::create).transpose()?;
        Ok(Self { page, plots: plots.as_deref(), format: (*format).into() })
    }

    pub(crate) fn from_args(args: &'a PageArgs) -> Result<Self, Failure> {
        Self::new(args.report.as_deref(), &args.plots)
    }

    /// Writes what was asked for; nothing is made that was not.
    pub(crate) fn write(
        &self,
        page: impl FnOnce() -> Result<String, spadework_report::Error>,
        charts: impl FnOnce() -> Result<Vec<Chart>, spadework_report::Error>,
    ) -> Result<(), Failure> {
        if let Some(path) = self.page {
            write_bytes(path, page()?.as_bytes())?;
        }
        if let Some(folder) = self.plots {
            let folder = OutputDir::create(folder)?;
            for chart in charts()? {
                let file = folder.path().join(format!("{}.{}", chart.name, self.format));
                write_bytes(&file, &chart.file(self.format)?)?;
            }
            folder.commit()?;
        }
        Ok(())
    }
}

/// The call at hand as the origin of a page.
pub(crate) fn this_call() -> Origin {
    Origin { title: None, command: Some(command_line()) }
}

/// InputArray as a page takes them.
pub(crate) fn inputs_of<'a>(data: &'a Dataset, samples: &'a Samples<'a>) -> InputArray<'a> {
    InputArray { samples, shape: data.shape() }
}

impl From<spadework_report::Error> for Failure {
    fn from(error: spadework_report::Error) -> Self {
        match error {
            spadework_report::Error::Core(error) => error.into(),
            other => Failure::usage(other.to_string()),
        }
    }
}
