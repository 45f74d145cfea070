//! Any input of an MCP server: each line of its output is a message of the protocol.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| ziggurat_fuzz::over_stdio(input));
