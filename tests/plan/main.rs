//! The plan of the crates in `docs/src/architecture.md`, held against the manifests and sources.
//!
//! A crate depends only on crates of lower levels. What only tests and benches need is not
//! planned.

mod cycles;
mod errors;
mod examples;
mod imports;
mod levels;
mod readme;
mod size;
mod tower;
mod visibility;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The crates of the products, by level. A crate names only crates of the levels before its own.
const LEVELS: [&[&str]; 10] = [
    &[
        "layers",
        "services/search",
        "services/sql",
        "services/telemetry",
        "services/text",
    ],
    &[
        "services/masking",
        "services/runtime",
        "services/serve",
        "services/sign-in",
    ],
    &[
        "services/account-client",
        "services/adopt",
        "services/audit",
        "services/documents",
        "services/http",
        "services/llm",
        "services/passwords",
        "services/postgres",
        "services/receipts",
    ],
    &[
        "services/changes",
        "services/knowledge",
        "services/prove",
        "services/state",
        "services/tokens",
        "services/vector-search",
    ],
    &[
        "services/accounts",
        "services/callers",
        "services/calls",
        "services/doctor",
        "services/ingest",
        "services/mcp",
        "services/sign-in-state",
        "services/sync",
    ],
    &["services/databases", "services/mcp-client"],
    &["services/answers"],
    &[
        "services/query-api",
        "services/schema-tools",
        "services/sql-tools",
    ],
    &[
        "services/account-service",
        "services/admin-api",
        "services/chat-api",
        "services/console",
        "services/postgres-tools",
        "services/rag",
        "openapi",
    ],
    &["bin/cli", "bin/platform", "bin/rag", "bin/tools"],
];

/// Returns the folder of the workspace.
fn root() -> &'static Path {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().expect("it is in the workspace")
}

/// Returns what Cargo prints, without a network.
fn cargo(arguments: &[&str]) -> String {
    let cargo = env::var_os("CARGO").expect("Cargo runs the tests");
    let output = Command::new(cargo)
        .args(arguments)
        .args(["--offline", "--locked"])
        .current_dir(root())
        .output()
        .expect("Cargo starts");
    let problem = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo {arguments:?}: {problem}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Returns the planned crates with their levels.
fn planned() -> impl Iterator<Item = (usize, &'static str)> {
    let levels = LEVELS.iter().enumerate();
    levels.flat_map(|(level, crates)| crates.iter().map(move |folder| (level, *folder)))
}

/// Returns the Rust files of the workspace.
fn rust_files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![root().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_dir() && name != "target" && !name.starts_with('.') {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files
}

/// Returns the source files of a crate that are not tests, each with its text up to its tests.
fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    fn add(folder: &Path, files: &mut Vec<(PathBuf, String)>) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_stem().unwrap_or_default();
            if name == "tests" || name == "fixture" {
                continue;
            }
            if path.is_dir() {
                add(&path, files);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("UTF-8");
                let end = text.find("\nmod tests {").unwrap_or(text.len());
                files.push((path, text[..end].to_owned()));
            }
        }
    }

    let mut files = Vec::new();
    add(&root().join(folder).join("src"), &mut files);
    files
}

fn without_comments(text: &str) -> String {
    let code = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    code.collect::<Vec<_>>().join("\n")
}
