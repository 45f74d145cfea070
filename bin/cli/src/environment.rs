//! The environment of a command.

use std::{
    ffi::OsString,
    io::{self, IsTerminal as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::keychain::Keychain;

/// The environment of a command: its variables, its home and the types of its streams.
///
/// A test creates its own, so that no test reads the developer's home.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    variables: ziggurat_runtime::Environment,
    home: PathBuf,
    terminals: Terminals,
    keychain: Option<Arc<dyn Keychain>>,
    program: Option<PathBuf>,
}

/// Streams that are terminals.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terminals {
    /// Set if a user can answer questions.
    pub stdin: bool,
    /// Set if a user reads the result.
    pub stdout: bool,
    /// Set if a user reads the notes.
    pub stderr: bool,
}

// === impl Environment ===

impl Environment {
    /// Creates an environment with these variables, without a terminal. A variable that is not
    /// Unicode counts as unset.
    ///
    /// The home is the variable `HOME`, or `USERPROFILE`.
    pub fn new(
        variables: impl IntoIterator<Item = (impl Into<OsString>, impl Into<OsString>)>,
    ) -> Self {
        let variables = ziggurat_runtime::Environment::new(variables);
        let home = ["HOME", "USERPROFILE"]
            .iter()
            .find_map(|name| variables.get(name))
            .map(PathBuf::from)
            .unwrap_or_default();
        Self {
            variables,
            home,
            ..Self::default()
        }
    }

    /// Returns the environment of this process.
    pub fn of_process(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self::new(variables).with_terminals(Terminals {
            stdin: io::stdin().is_terminal(),
            stdout: io::stdout().is_terminal(),
            stderr: io::stderr().is_terminal(),
        })
    }

    /// Sets the streams that are terminals.
    #[must_use]
    pub fn with_terminals(mut self, terminals: Terminals) -> Self {
        self.terminals = terminals;
        self
    }

    /// Sets the path of the program itself.
    #[must_use]
    pub fn with_program(mut self, program: Option<PathBuf>) -> Self {
        self.program = program;
        self
    }

    /// Returns whether the variables allow colour.
    pub(crate) fn allows_colour(&self) -> bool {
        self.var("NO_COLOR").is_none() && self.var("TERM") != Some("dumb")
    }

    /// Returns the path of the program itself, if it is known.
    pub(crate) fn program(&self) -> Option<&Path> {
        self.program.as_deref()
    }

    /// Replaces the keychain of the system.
    #[cfg(test)]
    pub(crate) fn with_keychain(mut self, keychain: Arc<dyn Keychain>) -> Self {
        self.keychain = Some(keychain);
        self
    }

    /// Returns the replacement for the system's keychain, if any.
    pub(crate) fn keychain(&self) -> Option<Arc<dyn Keychain>> {
        self.keychain.clone()
    }

    /// Returns all variables.
    pub(crate) fn variables(&self) -> &ziggurat_runtime::Environment {
        &self.variables
    }

    /// Returns a variable; an empty one counts as unset.
    pub(crate) fn var(&self, name: &str) -> Option<&str> {
        self.variables.get(name)
    }

    /// Returns the home folder; empty if no variable names it.
    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    /// Returns which streams are terminals.
    pub(crate) fn terminals(&self) -> Terminals {
        self.terminals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_variable_is_unset() {
        let environment = Environment::new([
            ("HOME".to_owned(), "/home/ada".to_owned()),
            ("ZIGGURAT_PROFILE".to_owned(), String::new()),
        ]);
        assert_eq!(environment.var("ZIGGURAT_PROFILE"), None);
        assert_eq!(environment.home(), Path::new("/home/ada"));
    }
}
