//! The documents that `ziggurat-rag ingest` loads before the servers start.

use std::{
    ffi::{OsStr, OsString},
    fs, io,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

use anyhow::{Context as _, bail};

use crate::sample;

/// The pipeline that loads the documents.
pub(crate) const PIPELINE: &str = "handbook";

/// First word of the command line for a process that is `ziggurat-rag`.
const LOAD: &str = "ingest";

/// Runs `ziggurat-rag`, if the words are for it.
pub(crate) fn run(words: &[OsString]) -> Option<ExitCode> {
    let is_for_it = words.first().is_some_and(|word| *word == *LOAD);
    is_for_it.then(|| ziggurat_rag::run(words.iter().cloned(), |_| {}))
}

/// Writes the handbook into a folder inside this one: a file of Markdown for each section.
pub(crate) fn write(folder: &Path) -> io::Result<PathBuf> {
    let folder = folder.join(PIPELINE);
    fs::create_dir_all(&folder)?;
    for (name, text) in sample::handbook_files() {
        fs::write(folder.join(name), text)?;
    }
    Ok(folder)
}

/// Loads a folder as the command does, and returns what it prints.
///
/// # Errors
/// Fails if the command does, which has printed the reason.
pub(crate) fn load(program: &Path, configuration: &Path, folder: &Path) -> anyhow::Result<String> {
    let words: [&OsStr; 6] = [
        LOAD.as_ref(),
        "-pipeline".as_ref(),
        PIPELINE.as_ref(),
        "-config".as_ref(),
        configuration.as_ref(),
        folder.as_ref(),
    ];
    let loading = Command::new(program)
        .args(words)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("loading the handbook")?;
    if !loading.status.success() {
        bail!("the handbook was not loaded");
    }
    Ok(String::from_utf8_lossy(&loading.stdout).into_owned())
}
