//! The context of a command: its process, the flags that every command has, and the profile.

use std::{
    fmt,
    io::{self, BufRead, BufReader, Write},
    sync::Arc,
    time::Duration,
};

use ziggurat_runtime::Secret;

use crate::{
    config::Config,
    environment::Environment,
    failure::Failure,
    keychain::Keychain,
    output::{self, Format},
};

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
    /// Writes a note to standard error.
    pub(crate) fn note(&mut self, text: impl fmt::Display) {
        self.streams.note(text);
    }

    /// Writes a question to standard error, without a newline.
    pub(crate) fn ask(&mut self, text: impl fmt::Display) {
        self.streams.ask(text);
    }

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
    fn a_secret_on_the_command_line_is_not_in_debug_output() {
        let flags = ConnectionFlags {
            client_secret: Some("hush".into()),
            ..ConnectionFlags::default()
        };
        assert!(!format!("{flags:?}").contains("hush"));
    }
}
