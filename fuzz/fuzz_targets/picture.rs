#![no_main]

libfuzzer_sys::fuzz_target!(
    init: spadework_io::fuzzing::stop_at_uncaught_panics_only(),
    |bytes: &[u8]| spadework_io::fuzzing::picture(bytes)
);
