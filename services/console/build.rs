//! Compresses the files of `dist/`, and writes a table of them for each program.

use std::{
    env,
    error::Error,
    fmt::Write as _,
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
};

use flate2::{Compression, write::GzEncoder};

/// Describes the other files, and is not served.
const MANIFEST: &str = "manifest.json";

/// Folder of the files of `ziggurat-rag`; all others are of `ziggurat-tools`.
const RAG: &str = "dist/rag";

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new("dist");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut paths = Vec::new();
    add_files(folder, &mut paths)?;
    paths.sort();
    let (rag, tools): (Vec<_>, Vec<_>) = paths.into_iter().partition(|it| it.starts_with(RAG));
    if env::var_os("CARGO_FEATURE_TOOLS").is_some() {
        write_table("tools", folder, &tools)?;
    }
    if env::var_os("CARGO_FEATURE_RAG").is_some() {
        write_table("rag", Path::new(RAG), &rag)?;
    }
    Ok(())
}

/// Compresses the files of a program, and writes the table with their paths below a folder.
fn write_table(program: &str, folder: &Path, paths: &[PathBuf]) -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("Cargo sets OUT_DIR")?);
    let mut table = String::from("&[\n");
    for (index, path) in paths.iter().enumerate() {
        let name = path.strip_prefix(folder)?.to_str();
        let name = name.ok_or_else(|| format!("{} is not UTF-8", path.display()))?;
        if name == MANIFEST {
            continue;
        }
        let compressed = out.join(format!("{program}-{index}.gz"));
        let mut encoder = GzEncoder::new(File::create(&compressed)?, Compression::best());
        encoder.write_all(&fs::read(path)?)?;
        encoder.finish()?;
        let compressed = compressed.to_str().ok_or("OUT_DIR is not UTF-8")?;
        let content_type = content_type(path)?;
        writeln!(
            table,
            "StoredFile {{ path: {name:?}, content_type: {content_type:?}, \
             gzip: include_bytes!({compressed:?}) }},"
        )?;
    }
    table.push(']');
    fs::write(out.join(format!("{program}.rs")), table)?;
    Ok(())
}

fn add_files(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            add_files(&path, paths)?;
        } else {
            paths.push(path);
        }
    }
    Ok(())
}

fn content_type(path: &Path) -> Result<&'static str, String> {
    let extension = path.extension().and_then(|extension| extension.to_str());
    Ok(match extension {
        Some("css") => "text/css; charset=utf-8",
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("json") => "application/json",
        Some("png") => "image/png",
        Some("svg") => "image/svg+xml",
        Some("txt") => "text/plain; charset=utf-8",
        Some("woff2") => "font/woff2",
        _ => return Err(format!("{}: a file of unknown type", path.display())),
    })
}
