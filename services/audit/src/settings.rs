//! Checked values of the `audit` section of a configuration.

mod section;

use std::{path::PathBuf, str::FromStr, time::Duration};

use thiserror::Error;
use ziggurat_runtime::duration;

use crate::line::chain::{Key, KeyError};

/// Settings of an audit trail.
///
/// ```
/// use ziggurat_audit::{Destination, Settings};
///
/// // An empty text means that there is no audit trail.
/// assert!(Destination::parse("").is_none());
/// let file = Destination::parse("audit.jsonl").ok_or("no file")?;
/// let settings = Settings {
///     required: true,
///     fsync: "always".parse()?,
///     ..Settings::new(file)
/// };
/// assert_eq!(settings.max_bytes, 104_857_600);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Place of the records.
    pub destination: Destination,
    /// Is true if nothing may run that cannot be recorded.
    pub required: bool,
    /// Form in which statements are recorded.
    pub statement: StatementForm,
    /// Is true if the arguments of tools are recorded.
    pub arguments: bool,
    /// Methods that are recorded.
    pub methods: Methods,
    /// Times at which a file is synced.
    pub fsync: Fsync,
    /// Size from which the next record goes to a new file; 0 means never.
    pub max_bytes: u64,
    /// Number of old files that are kept; 0 means all.
    pub keep: usize,
    /// File with the key that makes the chain an HMAC.
    pub key_file: Option<PathBuf>,
    /// Folder of the file with the position of the last record, by which the next start notices a
    /// removed end; the link of the trail, if there is no other.
    pub state_folder: Option<PathBuf>,
}

/// Settings of a call, which stay as they were when it began.
#[derive(Clone, Copy)]
pub(crate) struct CallSettings {
    /// Is true if it may not run without a record.
    pub(crate) is_required: bool,
    pub(crate) statement: StatementForm,
    /// Is true if its arguments are recorded.
    pub(crate) has_arguments: bool,
    /// Is true if its `open` line takes as long as a disk or a reader, so that no task may write it.
    pub(crate) is_slow: bool,
}

/// Place of the records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// A file, which is created if it does not exist.
    File(PathBuf),
    /// Standard error, for containers.
    Stderr,
}

/// Form in which statements are recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatementForm {
    /// Nothing of a statement.
    None,
    /// SHA-256 of its text.
    Digest,
    /// SHA-256 of its text, and the text without comments and with `?` for literals.
    #[default]
    Normalized,
    /// SHA-256 and the text itself.
    Text,
}

/// Methods that are recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Methods {
    /// Only calls, such as `tools/call`, `resources/read` and `prompts/get`.
    #[default]
    Calls,
    /// Lists, `initialize` and completion too.
    All,
}

/// Times at which a file is synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fsync {
    /// Leaves it to the operating system.
    Never,
    /// After each write, before a call goes on that waits for its record.
    Always,
    /// After this time, if something was written since the last sync.
    Every(Duration),
}

/// A value that a setting does not accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("must be {0}")]
pub struct InvalidValue(&'static str);

// === impl Settings ===

impl Settings {
    /// Returns these settings with the destination and the key of a running trail.
    #[must_use]
    pub fn in_trail_of(self, running: &Self) -> Self {
        Self {
            destination: running.destination.clone(),
            key_file: running.key_file.clone(),
            state_folder: running.state_folder.clone(),
            ..self
        }
    }

    /// Returns the settings of a call that begins.
    pub(crate) fn of_call(&self) -> CallSettings {
        CallSettings {
            is_required: self.required,
            statement: self.statement,
            has_arguments: self.arguments,
            is_slow: self.fsync == Fsync::Always || self.destination == Destination::Stderr,
        }
    }

    /// Creates the default settings for a destination.
    #[must_use]
    pub fn new(destination: Destination) -> Self {
        Self {
            destination,
            required: false,
            statement: StatementForm::default(),
            arguments: false,
            methods: Methods::default(),
            fsync: Fsync::default(),
            max_bytes: 104_857_600,
            keep: 0,
            key_file: None,
            state_folder: None,
        }
    }

    /// Reads the key, if there is one.
    pub(crate) fn key(&self) -> Result<Option<Key>, KeyError> {
        self.key_file.as_deref().map(Key::read).transpose()
    }
}

// === impl Destination ===

impl Destination {
    /// Reads the value of `file`: `stderr`, a path, or nothing for no audit trail.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "" => None,
            "stderr" => Some(Self::Stderr),
            path => Some(Self::File(path.into())),
        }
    }
}

// === impl StatementForm ===

impl StatementForm {
    /// Returns the form for a question in plain words, which has no literals to replace.
    pub(crate) fn of_question(self) -> Self {
        match self {
            Self::None => Self::None,
            _ => Self::Digest,
        }
    }
}

impl FromStr for StatementForm {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        match text {
            "none" => Ok(Self::None),
            "digest" => Ok(Self::Digest),
            "normalized" => Ok(Self::Normalized),
            "text" => Ok(Self::Text),
            _ => Err(InvalidValue("one of none, digest, normalized, text")),
        }
    }
}

// === impl Methods ===

impl FromStr for Methods {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        match text {
            "calls" => Ok(Self::Calls),
            "all" => Ok(Self::All),
            _ => Err(InvalidValue("one of calls, all")),
        }
    }
}

// === impl Fsync ===

impl Default for Fsync {
    fn default() -> Self {
        Self::Every(Duration::from_secs(1))
    }
}

impl FromStr for Fsync {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        match text {
            "never" => Ok(Self::Never),
            "always" => Ok(Self::Always),
            _ => match duration::parse(text) {
                Ok(every) if !every.is_zero() => Ok(Self::Every(every)),
                _ => Err(InvalidValue("never, always or a duration such as 1s")),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_a_configuration_are_read_and_others_refused() {
        for (text, fsync) in [
            ("never", Ok(Fsync::Never)),
            ("always", Ok(Fsync::Always)),
            ("1s", Ok(Fsync::default())),
            ("250ms", Ok(Fsync::Every(Duration::from_millis(250)))),
            ("0s", Err("must be never, always or a duration such as 1s")),
            (
                "often",
                Err("must be never, always or a duration such as 1s"),
            ),
        ] {
            let read = text.parse::<Fsync>().map_err(|error| error.to_string());
            assert_eq!(read, fsync.map_err(String::from), "{text}");
        }
        assert_eq!("normalized".parse(), Ok(StatementForm::default()));
        assert_eq!("calls".parse(), Ok(Methods::default()));
        assert!("Text".parse::<StatementForm>().is_err());
        assert!("".parse::<Methods>().is_err());
        assert_eq!(Destination::parse("stderr"), Some(Destination::Stderr));
    }
}
