//! Problems of files.

use std::{borrow::Cow, io};

use thiserror::Error;

/// Reason why a file, or an entry of it, cannot be used. Print it with its [causes](crate::causes).
///
/// ```
/// use ziggurat_runtime::{Problem, causes};
///
/// let problem = Problem::Missing("name").within("prompt 0");
/// assert_eq!(causes(&problem), "prompt 0: name is required");
/// ```
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Problem {
    /// A key that every entry needs is absent.
    #[error("{0} is required")]
    Missing(&'static str),
    /// A value is of another kind.
    #[error("{0} must be {1}")]
    MustBe(String, &'static str),
    /// A key has a value that does not fit.
    #[error("{0} is not {1}")]
    IsNot(String, String),
    /// A value is not valid.
    #[error("invalid {0}: {1}")]
    Invalid(&'static str, String),
    /// A value is not one of those that are listed.
    #[error("invalid {0} \"{1}\" (must be {2})")]
    NotListed(&'static str, String, &'static str),
    /// Another entry has the same name.
    #[error("duplicate {0}: {1}")]
    Duplicate(&'static str, String),
    /// A text is too long.
    #[error("{0} is longer than {1} characters")]
    TooLong(&'static str, usize),
    /// The entry has another form, or is not YAML.
    #[error(transparent)]
    Form(#[from] serde_yaml::Error),
    /// The file cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A rule is broken that only files of this kind have.
    #[error("{0}")]
    Rule(Cow<'static, str>),
    /// A part has a problem.
    #[error("{0}")]
    Within(String, #[source] Box<Self>),
}

// === impl Problem ===

impl Problem {
    /// Names the part that has the problem.
    #[must_use]
    pub fn within(self, part: impl Into<String>) -> Self {
        Self::Within(part.into(), Box::new(self))
    }
}

impl From<&'static str> for Problem {
    fn from(rule: &'static str) -> Self {
        Self::Rule(rule.into())
    }
}

impl From<String> for Problem {
    fn from(rule: String) -> Self {
        Self::Rule(rule.into())
    }
}
