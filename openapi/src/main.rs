//! Writes the document of a server, as it is committed:
//! `cargo run -p ziggurat-openapi > openapi/ziggurat-tools.json`, and
//! `cargo run -p ziggurat-openapi -- rag > openapi/ziggurat-rag.json`; likewise for `platform`.

use std::{
    env,
    io::{self, Write as _},
};

fn main() -> io::Result<()> {
    let document = match env::args().nth(1).as_deref() {
        None | Some("tools") => ziggurat_openapi::tools::document(),
        Some("rag") => ziggurat_openapi::rag::document(),
        Some("platform") => ziggurat_openapi::platform::document(),
        Some(other) => return Err(io::Error::other(format!("there is no document of {other}"))),
    };
    let text = serde_json::to_string_pretty(&document.map_err(io::Error::other)?)?;
    writeln!(io::stdout(), "{text}")
}
