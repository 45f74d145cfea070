//! The files of a program, and its environment.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tempfile::TempDir;

/// A folder with the files of one program; also its home.
#[derive(Debug)]
pub struct Folder {
    folder: TempDir,
    environment: Vec<(String, String)>,
}

impl Folder {
    /// Makes an empty folder.
    #[expect(clippy::new_without_default, reason = "it makes something")]
    pub fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a folder"),
            environment: Vec::new(),
        }
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the path of a file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Sets an environment variable for the commands made from now on.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        self.environment.push((name.to_owned(), value.into()));
    }

    /// Replaces a file by renaming, as editors do; only its owner can read it.
    pub fn replace(&self, path: &Path, text: &str) {
        let new = self.file("new");
        fs::write(&new, text).expect("written");
        fs::set_permissions(&new, Permissions::from_mode(0o600)).expect("ours");
        fs::rename(&new, path).expect("renamed");
    }

    /// A command with these arguments, and only the environment of this folder.
    pub fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.path())
            .env_clear()
            .env("HOME", self.path())
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}
