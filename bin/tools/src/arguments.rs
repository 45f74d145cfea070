//! Parsing of the command line.
//!
//! Flags are written with one dash or two, a value follows `=` or is the next word, and the first
//! word that is not a flag ends them; it may be a connection URL. clap parses them; [`words`]
//! converts the words to the form that clap expects.

mod command;
mod flags;
#[cfg(test)]
mod tests;
mod usage;
mod words;

use std::{ffi::OsString, fmt};

use clap::{CommandFactory as _, FromArgMatches as _};

pub(crate) use self::{
    command::Command,
    flags::{AuthFlags, DatabaseFlags, NoAuth, Overrides},
};
use self::{flags::Flags, words::Words};
use crate::configuration::{Secret, is_url};

/// Last line of an error that is printed without the usage.
const HINT: &str = "Run 'ziggurat-tools -help' for the flags there are.";

/// Command to run, and settings that override the configuration file.
#[derive(Debug)]
pub(crate) struct Arguments {
    pub(crate) command: Command,
    pub(crate) overrides: Overrides,
}

/// Error of a command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    message: String,
    with_usage: bool,
    exit_code: u8,
}

// === impl Arguments ===

impl Arguments {
    /// Parses the words after the name of the program.
    ///
    /// # Errors
    /// Fails on an unknown flag, on an invalid value, and on flags that exclude each other. The
    /// error has the text to print and the exit code.
    pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Self, Refusal> {
        let mut clap = clap();
        let words = Words::new(&clap, words).map_err(Refusal::usage)?;
        let flags = clap
            .try_get_matches_from_mut(words.flags)
            .and_then(|matches| Flags::from_arg_matches(&matches))
            .map_err(|error| Refusal::usage(in_our_words(&error)))?;
        if words.help {
            return Ok(Self {
                command: Command::Help,
                overrides: Overrides::default(),
            });
        }
        let url = match &words.leftover[..] {
            [] => None,
            [word] => {
                let url = word.to_str().filter(|word| is_url(word));
                Some(url.ok_or_else(|| Refusal::leftover(&words.leftover))?)
            }
            leftover => return Err(Refusal::leftover(leftover)),
        };
        let (command, mut overrides) = command::choose(flags)?;
        overrides.database_url = url.map(Secret::from);
        Ok(Self { command, overrides })
    }
}

/// Returns the text of `-help`.
pub(crate) fn usage() -> String {
    usage::render(&clap())
}

// === impl Refusal ===

impl Refusal {
    /// Error that prints the message and the usage, and exits with 2.
    fn usage(message: impl Into<String>) -> Self {
        Self {
            message: format!("Error: {}", message.into()),
            with_usage: true,
            exit_code: 2,
        }
    }

    /// Error for flags that exclude each other, without the usage, which would hide the message.
    fn conflict(message: impl fmt::Display) -> Self {
        Self {
            message: format!("Error: {message}\n{HINT}"),
            with_usage: false,
            exit_code: 2,
        }
    }

    fn leftover(words: &[OsString]) -> Self {
        let shown = |word: &OsString| {
            let word = word.to_string_lossy().into_owned();
            // A connection URL may contain a password.
            let is_secret = is_url(&word);
            if is_secret {
                "postgres://…".to_owned()
            } else {
                word
            }
        };
        let words: Vec<_> = words.iter().map(shown).collect();
        let words = words.join(" ");
        Self {
            message: format!("Error: unexpected arguments: {words}\n{HINT}"),
            with_usage: false,
            exit_code: 1,
        }
    }

    fn before_start(message: &str, with_usage: bool) -> Self {
        Self {
            message: format!("ERROR: {message}"),
            with_usage,
            exit_code: 1,
        }
    }

    /// Returns the exit code of the program.
    pub(crate) fn exit_code(&self) -> u8 {
        self.exit_code
    }
}

impl fmt::Display for Refusal {
    /// Writes the text for standard error, in whole lines.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.message)?;
        if self.with_usage {
            write!(f, "\n{}", usage())?;
        }
        Ok(())
    }
}

/// Describes the flags to clap, with optional values for boolean flags.
fn clap() -> clap::Command {
    Flags::command().mut_args(|arg| {
        if flags::is_boolean(&arg) {
            flags::switch(arg)
        } else {
            arg
        }
    })
}

/// Takes the message from an error of clap, without its usage and with one dash instead of two.
fn in_our_words(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let lines = text.lines().take_while(|line| !line.starts_with("Usage:"));
    let message = lines.collect::<Vec<_>>().join("\n").replace("--", "-");
    let message = message.trim();
    message
        .strip_prefix("error: ")
        .unwrap_or(message)
        .to_owned()
}
