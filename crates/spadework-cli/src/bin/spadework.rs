//! The `spadework` binary; what it does is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    silence_onnxruntime();
    ExitCode::from(spadework_cli::run(std::env::args_os()))
}

/// Keeps onnxruntime, if it is loaded later, from recording events for its makers: version 1.31 keeps them in the home folder
/// and can send them, and its interface cannot prevent the former. Who sets the variable has decided.
#[expect(
    unsafe_code,
    reason = "a variable of the environment is all that the library reads before it is loaded"
)]
fn silence_onnxruntime() {
    const VARIABLE: &str = "ORT_DISABLE_TELEMETRY";
    if std::env::var_os(VARIABLE).is_none() {
        // SAFETY: the program has just begun, so no other thread reads the environment.
        unsafe { std::env::set_var(VARIABLE, "1") };
    }
}
