//! The context of a command: its process, the flags that every command has, and the profile.

use std::{
    ffi::OsString,
    fmt,
    io::{self, BufRead, BufReader, IsTerminal, Write},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use ziggurat_runtime::Secret;

use crate::{
    config::Config,
    failure::Failure,
    keychain::Keychain,
    output::{self, Format},
};

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

/// The three streams of a command.
pub struct Streams {
    /// The source of answers and data.
    pub stdin: Box<dyn BufRead + Send>,
    /// The destination of the result, and of nothing else.
    pub stdout: Box<dyn Write + Send>,
    /// The destination of prompts, notes and errors.
    pub stderr: Box<dyn Write + Send>,
}

/// The context of the running command.
pub(crate) struct Context<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) streams: &'a mut Streams,
    pub(crate) globals: Globals,
    pub(crate) config: Config,
    /// The name of the profile in use.
    pub(crate) profile: String,
    pub(crate) connection: ConnectionFlags,
    pub(crate) keychain: Arc<dyn Keychain>,
    /// Set if no request that writes may be sent.
    pub(crate) dry_run: bool,
}

/// The flags of the root, resolved.
#[derive(Clone, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a separate flag on the command line"
)]
pub(crate) struct Globals {
    /// The file named by `--config` or its variable.
    pub(crate) config: Option<String>,
    /// The profile from `--profile`; not one from a variable or the file.
    pub(crate) profile: Option<String>,
    pub(crate) output: Format,
    pub(crate) no_color: bool,
    pub(crate) verbose: bool,
    pub(crate) debug: bool,
    /// Set if no question may be asked.
    pub(crate) no_input: bool,
    /// The members to print; all if empty.
    pub(crate) fields: Vec<String>,
    pub(crate) jq: Option<String>,
}

/// The flags of the commands that call a platform. No value is empty.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConnectionFlags {
    /// From `--api-url` or its variable.
    pub(crate) api_url: Option<String>,
    pub(crate) client_id: Option<String>,
    pub(crate) client_secret: Option<Secret>,
    /// A path, or `-` for standard input.
    pub(crate) client_secret_file: Option<String>,
    /// Maximum time for one request; `None` for no limit.
    pub(crate) timeout: Option<Duration>,
    /// Maximum number of retries of a GET.
    pub(crate) retries: u32,
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

// === impl Streams ===

impl Streams {
    /// Returns the streams of this process. Standard output is buffered; every print flushes it.
    #[must_use]
    pub fn of_process() -> Self {
        Self {
            stdin: Box::new(BufReader::new(io::stdin())),
            stdout: Box::new(io::BufWriter::with_capacity(64 * 1024, io::stdout())),
            stderr: Box::new(io::stderr()),
        }
    }

    /// Writes the complete result, and flushes.
    ///
    /// # Errors
    ///
    /// Fails if the stream cannot be written; a closed stream ends the command without a message.
    pub(crate) fn print(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.stdout
            .write_all(bytes)
            .and_then(|()| self.stdout.flush())
            .map_err(|error| match error.kind() {
                io::ErrorKind::BrokenPipe => Failure::closed_pipe(),
                _ => Failure::general(format!("write standard output: {error}")),
            })
    }

    /// Writes a note to standard error. A failure of that cannot be reported.
    pub(crate) fn note(&mut self, text: impl fmt::Display) {
        let _ = writeln!(self.stderr, "{text}");
    }

    /// Writes a question to standard error, without a newline.
    pub(crate) fn ask(&mut self, text: impl fmt::Display) {
        let _ = write!(self.stderr, "{text}").and_then(|()| self.stderr.flush());
    }
}

impl fmt::Debug for Streams {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Streams").finish_non_exhaustive()
    }
}

// === impl Context ===

impl Context<'_> {
    /// Writes a complete result with data of a server, and flushes. On a terminal, control
    /// characters are escaped; a pipe gets the bytes unchanged.
    ///
    /// # Errors
    ///
    /// Fails if the stream cannot be written; a closed stream ends the command without a message.
    pub(crate) fn print(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if self.environment.terminals().stdout {
            self.streams.print(output::visible(bytes).as_bytes())
        } else {
            self.streams.print(bytes)
        }
    }

    /// Returns whether standard output may have colour.
    pub(crate) fn colours_stdout(&self) -> bool {
        self.environment.terminals().stdout
            && self.globals.output == Format::Text
            && !self.globals.no_color
            && self.environment.allows_colour()
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

    #[test]
    fn a_secret_on_the_command_line_is_not_in_debug_output() {
        let flags = ConnectionFlags {
            client_secret: Some("hush".into()),
            ..ConnectionFlags::default()
        };
        assert!(!format!("{flags:?}").contains("hush"));
    }
}
