//! Lines of text that know which of their parts need no escape.

use crate::scan;

/// A line that text is appended to.
pub trait Line {
    /// Appends text.
    fn push_str(&mut self, text: &str);

    /// Appends text that needs no escape.
    fn push_plain(&mut self, plain: Plain<'_>);

    /// Appends a tab, which ends a field.
    fn push_tab(&mut self);
}

/// Bytes that no format escapes: printable ASCII without quotes and backslashes. Most fields are
/// of this kind.
#[derive(Clone, Copy, Debug)]
pub struct Plain<'a>(&'a [u8]);

// === impl Line ===

impl Line for String {
    fn push_str(&mut self, text: &str) {
        self.push_str(text);
    }

    fn push_plain(&mut self, plain: Plain<'_>) {
        self.push_str(str::from_utf8(plain.0).expect("ASCII"));
    }

    fn push_tab(&mut self) {
        self.push('\t');
    }
}

// === impl Plain ===

impl<'a> Plain<'a> {
    /// Takes bytes if none of them needs an escape.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        scan::is_plain(bytes).then_some(Self(bytes))
    }

    /// Takes text of which the caller knows that it needs no escape, such as a number.
    #[must_use]
    pub fn known(text: &'a str) -> Self {
        debug_assert!(scan::is_plain(text.as_bytes()), "it needs an escape");
        Self(text.as_bytes())
    }

    /// Returns the bytes.
    #[must_use]
    pub fn as_bytes(self) -> &'a [u8] {
        self.0
    }
}
