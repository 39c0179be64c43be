#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| quad_fuzz_targets::markdoc(data));
