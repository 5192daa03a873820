//! The command from end to end: files, a call, what it prints, its exit code.

mod bad_calls;
mod bad_files;
mod check;
mod compare;
mod connectivity;
mod crash;
mod data;
mod demo;
mod determinism;
mod distortion;
mod formats;
mod graphs;
mod help;
mod interrupt;
mod models;
mod new_samples;
mod report;
mod result_folder;
mod score;
mod search;
mod select;
mod spectra;
mod stages;
mod streams;
mod support;
mod sweep;
