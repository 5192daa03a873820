//! The `spadework` binary; all it does is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(spadework_cli::run(std::env::args_os()))
}
