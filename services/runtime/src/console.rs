//! Standard output and standard error, and the terminal of an administrator.

use std::{
    fmt, fs,
    io::{self, BufRead, IsTerminal as _, Write},
    path::Path,
};

use jiff::Timestamp;
use secrecy::SecretString;
use thiserror::Error;

use crate::terminal;

/// Writes to standard output.
///
/// # Errors
/// Fails if standard output is closed or full.
pub fn print(text: &str) -> io::Result<()> {
    io::stdout().write_all(text.as_bytes())
}

/// Writes to standard error. A failure is ignored, because there is no other place to report it.
pub fn print_error(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Writes warnings to standard error, one per line.
pub fn print_warnings(warnings: &[String]) {
    for warning in warnings {
        print_error(&format!("warning: {warning}\n"));
    }
}

/// Input and output of the terminal of an administrator, or of a script: asks questions and prints
/// messages. A script is asked nothing, because its input may be meant for another command.
///
/// ```
/// use ziggurat_runtime::console::Console;
///
/// let (mut output, mut remarks) = (Vec::new(), Vec::new());
/// let mut console = Console {
///     input: &mut "nightly report\n".as_bytes(),
///     output: &mut output,
///     remarks: &mut remarks,
///     is_terminal: true,
///     has_screen: false,
/// };
/// assert_eq!(console.ask("Note: ")?, "nightly report");
/// assert!(console.ask("Expiry: ").is_err(), "the end of the input is no answer");
/// console.is_terminal = false;
/// assert_eq!(console.ask("Note: ")?, "");
/// assert!(console.ask_required("username", "-username").is_err());
/// assert_eq!(output, b"Note: Expiry: ");
/// # Ok::<_, ziggurat_runtime::console::ConsoleError>(())
/// ```
pub struct Console<'a> {
    /// Standard input.
    pub input: &'a mut dyn BufRead,
    /// Standard output.
    pub output: &'a mut dyn Write,
    /// Standard error.
    pub remarks: &'a mut dyn Write,
    /// True if standard input is a terminal, where questions can be asked.
    pub is_terminal: bool,
    /// True if standard error is a terminal, so that a progress bar can overwrite its line.
    pub has_screen: bool,
}

/// Reason why a question has no answer, or a message is not printed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConsoleError {
    /// Standard output is closed or full.
    #[error("cannot write to standard output")]
    Output(#[source] io::Error),
    /// Standard error is closed or full.
    #[error("cannot write to standard error")]
    Remarks(#[source] io::Error),
    /// Standard input cannot be read.
    #[error("cannot read standard input")]
    Input(#[source] io::Error),
    /// Standard input ended.
    #[error("standard input ended before the answer to \"{0}\"; use a flag instead (see -help)")]
    NoAnswer(String),
    /// A required value is missing, and there is no terminal to ask for it.
    #[error("{what} is required: give {flag}, because standard input is not a terminal")]
    Missing {
        /// Name of the value.
        what: &'static str,
        /// Flag that sets it.
        flag: &'static str,
    },
}

// === impl Console ===

impl Console<'_> {
    /// Runs a command with the standard streams of the process.
    pub fn of_process<T>(run: impl FnOnce(&mut Console<'_>) -> T) -> T {
        run(&mut Console {
            input: &mut io::stdin().lock(),
            output: &mut io::stdout().lock(),
            remarks: &mut io::stderr().lock(),
            is_terminal: io::stdin().is_terminal(),
            has_screen: io::stderr().is_terminal(),
        })
    }

    /// Writes to standard output.
    ///
    /// # Errors
    /// Fails if it is closed or full.
    pub fn print(&mut self, text: &str) -> Result<(), ConsoleError> {
        let written = self.output.write_all(text.as_bytes());
        written
            .and_then(|()| self.output.flush())
            .map_err(ConsoleError::Output)
    }

    /// Writes to standard error.
    ///
    /// # Errors
    /// Fails if it is closed or full.
    pub fn print_error(&mut self, text: &str) -> Result<(), ConsoleError> {
        let written = self.remarks.write_all(text.as_bytes());
        written.map_err(ConsoleError::Remarks)
    }

    /// Reports that a new file is created, so that a mistyped path is noticed.
    ///
    /// # Errors
    /// Fails if standard error is closed or full.
    pub fn announce(&mut self, path: &Path, what: &str) -> Result<(), ConsoleError> {
        if path.exists() {
            return Ok(());
        }
        self.print_error(&format!("Creating new {what} file: {}\n", path.display()))
    }

    /// Asks for the line of an optional value. A script is not asked, and gives an empty one.
    ///
    /// # Errors
    /// Fails at the end of the input of a terminal.
    pub fn ask(&mut self, question: &str) -> Result<String, ConsoleError> {
        if !self.is_terminal {
            return Ok(String::new());
        }
        self.print(question)?;
        Ok(self.read_answer(question)?.trim().to_owned())
    }

    /// Asks for the line of a required value, which a flag can also give.
    ///
    /// # Errors
    /// Fails like [`ask`](Self::ask), and if there is no terminal.
    pub fn ask_required(
        &mut self,
        what: &'static str,
        flag: &'static str,
    ) -> Result<String, ConsoleError> {
        self.check_terminal(what, flag)?;
        self.ask(&format!("Enter {what}: "))
    }

    /// Asks for a secret, which the terminal does not show.
    ///
    /// # Errors
    /// Fails like [`ask_required`](Self::ask_required).
    pub fn ask_secret(
        &mut self,
        question: &str,
        what: &'static str,
        flag: &'static str,
    ) -> Result<SecretString, ConsoleError> {
        self.check_terminal(what, flag)?;
        let read = |console: &mut Self| console.read_secret(question);
        terminal::ask_secret(self, question, Self::print, read)
    }

    /// Reads a line with a secret.
    ///
    /// # Errors
    /// Fails at the end of the input.
    pub fn read_secret(&mut self, question: &str) -> Result<SecretString, ConsoleError> {
        let line = self.read_answer(question)?;
        // Spaces may belong to a password; the end of the line does not.
        Ok(line.trim_end_matches(['\r', '\n']).into())
    }

    fn check_terminal(&self, what: &'static str, flag: &'static str) -> Result<(), ConsoleError> {
        let missing = ConsoleError::Missing { what, flag };
        self.is_terminal.then_some(()).ok_or(missing)
    }

    /// Reads the answer to a question, with the end of its line.
    fn read_answer(&mut self, question: &str) -> Result<String, ConsoleError> {
        let mut line = String::new();
        match self.input.read_line(&mut line) {
            Ok(0) => {
                let question = question.trim_end_matches([':', ' ']);
                Err(ConsoleError::NoAnswer(question.to_owned()))
            }
            Ok(_) => Ok(line),
            Err(error) => Err(ConsoleError::Input(error)),
        }
    }

    /// Asks for a confirmation, also a script; every answer except yes means no.
    ///
    /// # Errors
    /// Fails at the end of the input.
    pub fn confirm(&mut self, question: &str) -> Result<bool, ConsoleError> {
        self.print(question)?;
        let answer = self.read_answer(question)?.trim().to_ascii_lowercase();
        Ok(answer == "y" || answer == "yes")
    }
}

impl fmt::Debug for Console<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Console")
            .field("is_terminal", &self.is_terminal)
            .field("has_screen", &self.has_screen)
            .finish_non_exhaustive()
    }
}

/// Formats a time for the lists of a console, in UTC.
#[must_use]
pub fn moment(at: Option<Timestamp>, format: &str, otherwise: &str) -> String {
    at.map_or_else(
        || otherwise.to_owned(),
        |at| at.strftime(format).to_string(),
    )
}

/// Replaces control characters, so that a text cannot send commands to the terminal.
#[must_use]
pub fn plain(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

/// Returns the name of the account of the system that runs the program, or its number.
#[must_use]
pub fn account() -> String {
    let id = rustix::process::getuid().as_raw().to_string();
    let accounts = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = accounts.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, _, number) = (fields.next()?, fields.next()?, fields.next()?);
        (number == id).then(|| name.to_owned())
    });
    name.unwrap_or(id)
}
