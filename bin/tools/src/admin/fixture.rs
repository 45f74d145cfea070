//! A terminal with a typing administrator, for tests.

use std::path::PathBuf;

use tempfile::TempDir;
use ziggurat_accounts::{UserFile, UserRecord};
use ziggurat_runtime::console::Console;

use super::AdminContext;
use crate::{
    arguments::{Command, Overrides},
    configuration::{ConfigSources, Configuration},
};

/// A terminal, and the folder of the account files.
pub(super) struct Terminal(TempDir);

// === impl Terminal ===

impl Terminal {
    pub(super) fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    pub(super) fn user_file(&self) -> PathBuf {
        self.0.path().join("users.yaml")
    }

    pub(super) fn users(&self) -> Vec<UserRecord> {
        UserFile::new(self.user_file()).list().expect("read")
    }

    /// Runs a command with these answers; returns its output and result.
    pub(super) fn run(&self, command: Command, answers: &str) -> (String, anyhow::Result<()>) {
        let loaded = Configuration::load(&Overrides::default(), &ConfigSources::default());
        let configuration = loaded.expect("the defaults").value;
        let admin_context = AdminContext {
            token_file: &self.0.path().join("tokens.yaml"),
            user_file: &self.user_file(),
            data_folder: self.0.path(),
            min_password_length: 12,
            refuses_short_passwords: false,
            knowledgebase: &configuration.knowledgebase,
            databases: Vec::new(),
            toolsets: Vec::new(),
            state: None,
        };
        let (mut output, mut remarks) = (Vec::new(), Vec::new());
        let mut console = Console {
            input: &mut answers.as_bytes(),
            output: &mut output,
            remarks: &mut remarks,
            is_terminal: true,
            has_screen: false,
        };
        let result = super::run(command, &admin_context, &mut console);
        let text = String::from_utf8(output).expect("text");
        // Where the tests have a terminal, a newline follows each secret.
        (text.replace(": \n", ": "), result)
    }
}
