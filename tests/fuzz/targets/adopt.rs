//! Any text as a configuration of another server: `-adopt` converts it or refuses it.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let _ = ziggurat_fuzz::adopted(text);
});
