//! Any body of a request to an MCP server, in any revision: each answer is one of the protocol.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ziggurat_mcp::protocol::Revision;

fuzz_target!(|input: (u8, &[u8])| {
    let (revision, body) = input;
    let revision = Revision::ALL.get(usize::from(revision) % (Revision::ALL.len() + 1));
    ziggurat_fuzz::over_http(revision.copied(), body);
});
