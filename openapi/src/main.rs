//! Writes the document of a server, as it is committed:
//! `cargo run -p ziggurat-openapi > openapi/ziggurat-tools.json`.

use std::io::{self, Write as _};

fn main() -> io::Result<()> {
    let document = ziggurat_openapi::tools::document().map_err(io::Error::other)?;
    let text = serde_json::to_string_pretty(&document)?;
    writeln!(io::stdout(), "{text}")
}
