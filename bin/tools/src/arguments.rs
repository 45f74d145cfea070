//! Parsing of the command line.
//!
//! Flags are written with one dash or two, a value follows `=` or is the next word, and the first
//! word that is not a flag ends them; it may be a connection URL.

mod caller;
mod command;
mod flags;
mod prove;
mod setup;
mod sign_in;
#[cfg(test)]
mod tests;
mod usage;

use std::{borrow::Cow, ffi::OsString, fmt, path::PathBuf};

use ziggurat_postgres::url::after_scheme;
use ziggurat_runtime::{
    Secret,
    flags::{Flag, Flags, Refusal as FlagRefusal, Takes, Words, nearest, parse},
};

use self::flags::{GROUPS, HELP};
pub(crate) use self::{
    caller::CallerName,
    command::{AdoptOptions, BuildOptions, CheckOptions, Command, Given, ReceiptOptions},
    prove::{ProveOptions, ProveTarget, ProvedCaller},
    setup::{Admission, Asked, ClientName, Expected, TransportKind},
    sign_in::SignInCommand,
    usage::{reference, render as usage},
};

/// Last line of an error that is printed without the usage.
const HINT: &str = "Run 'ziggurat-tools -help' for the flags.";

/// Command to run, and settings that override the configuration file.
#[derive(Debug)]
pub(crate) struct Arguments {
    pub(crate) command: Command,
    pub(crate) overrides: Overrides,
}

/// Settings of the command line that override the environment and the configuration file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overrides {
    pub(crate) flags: Flags,
    /// Connection URL after the flags.
    pub(crate) database_url: Option<Secret>,
    /// Set for a reload, which does not change the transport: true if clients get the causes of
    /// failed connections.
    pub(crate) tells_causes: Option<bool>,
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
        let words: Vec<_> = words.into_iter().collect();
        let known = known();
        let parsed = parse(words.clone(), &known, Words::Last);
        let (mut flags, mut unexpected_words) = parsed.map_err(from_flag_refusal)?;
        // The files of `-adopt` may stand between its flags.
        if flags.is_given("adopt") {
            let parsed = parse(words, &known, Words::Anywhere);
            (flags, unexpected_words) = parsed.map_err(from_flag_refusal)?;
        }
        if flags.has("h") || flags.has("help") {
            return Ok(Self {
                command: Command::Help,
                overrides: Overrides::default(),
            });
        }
        if let Some(port) = flags
            .text("db-port")
            .filter(|port| port.parse::<u16>().is_err())
        {
            let expected = "a whole number from 0 to 65535";
            return Err(Refusal::value(port, "-db-port <port>", expected));
        }
        let mut command = command::choose(&flags)?;
        let url = match &unexpected_words[..] {
            [] => None,
            // A pattern such as audit*.jsonl becomes several words.
            more if let Command::VerifyAudit(verification) = &mut command => {
                verification.files.extend(more.iter().map(PathBuf::from));
                None
            }
            more if let Command::VerifyReceipt(options) = &mut command
                && !options.verification.audit.is_empty() =>
            {
                let files = &mut options.verification.audit;
                files.extend(more.iter().map(PathBuf::from));
                None
            }
            more if let Command::Adopt(options) = &mut command => {
                options.files.extend(more.iter().map(PathBuf::from));
                None
            }
            [word] => {
                let url = word.to_str().filter(|word| after_scheme(word).is_some());
                Some(url.ok_or_else(|| Refusal::unexpected_words(&unexpected_words))?)
            }
            unexpected_words => return Err(Refusal::unexpected_words(unexpected_words)),
        };
        let database_url = url.map(Secret::from);
        Ok(Self {
            command,
            overrides: Overrides {
                flags,
                database_url,
                tells_causes: None,
            },
        })
    }
}

// === impl Refusal ===

impl Refusal {
    /// Error with the line of the usage, but without the flags, which would hide the message.
    fn usage(message: impl fmt::Display) -> Self {
        Self::conflict(format!("{message}\n\n{}", usage::LINE))
    }

    /// Error for a value that a flag does not take.
    fn value(value: &str, flag: &str, expected: impl fmt::Display) -> Self {
        Self::usage(format!(
            "invalid value '{value}' for '{flag}': expected {expected}"
        ))
    }

    /// Error for flags that exclude each other.
    fn conflict(message: impl fmt::Display) -> Self {
        Self {
            message: format!("Error: {message}\n{HINT}"),
            with_usage: false,
            exit_code: 2,
        }
    }

    fn unexpected_words(words: &[OsString]) -> Self {
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        // A connection URL may contain a password.
        let shown = words.iter().map(|word| match word.split_once("://") {
            Some((scheme, _)) if scheme.bytes().all(|it| it.is_ascii_alphanumeric()) => {
                format!("{scheme}://…")
            }
            Some(_) => "…".to_owned(),
            None => word.clone().into_owned(),
        });
        let shown: Vec<_> = shown.collect();
        let mut message = format!("Error: unexpected arguments: {}\n", shown.join(" "));
        let is_foreign = |word: &Cow<'_, str>| word.contains("://") && after_scheme(word).is_none();
        if words.iter().any(is_foreign) {
            message.push_str("A connection URL starts with postgres:// or postgresql://.\n");
        }
        Self {
            message: message + HINT,
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

/// Returns all flags.
fn known() -> Vec<&'static [Flag]> {
    let groups = GROUPS.iter().map(|(_, flags)| *flags);
    groups.chain([HELP]).collect()
}

fn from_flag_refusal(refusal: FlagRefusal) -> Refusal {
    Refusal::usage(match refusal {
        FlagRefusal::Unknown(name) => match nearest(&name, &known()) {
            Some(flag) => format!(
                "unexpected argument '-{name}' found\n\n  tip: a similar argument exists: '-{flag}'"
            ),
            None => format!("unexpected argument '-{name}' found"),
        },
        FlagRefusal::NoValue(flag) => {
            let value = flag.placeholder().unwrap_or_default();
            let name = flag.name;
            format!("a value is required for '-{name} <{value}>' but none was supplied")
        }
        FlagRefusal::NoBoolean { flag, value } => {
            let expected = match flag.takes {
                Takes::SwitchOr(word) => format!("true, false or {word}"),
                _ => "true or false".to_owned(),
            };
            format!(
                "invalid value '{value}' for '-{}': expected {expected}",
                flag.name
            )
        }
        other => other.to_string(),
    })
}
