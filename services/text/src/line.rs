//! Lines of text that skip escaping for parts that need none.

use crate::scan;

/// A line to which text is appended.
pub trait Line {
    /// Appends text.
    fn push_str(&mut self, text: &str);

    /// Appends text that needs no escape.
    fn push_plain(&mut self, plain: Plain<'_>);

    /// Appends a tab, which ends a field.
    fn push_tab(&mut self);

    /// Appends `\N`, which stands for NULL.
    fn push_null(&mut self);
}

/// Bytes that no format escapes: printable ASCII without quotes and backslashes, as in most fields.
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

    fn push_null(&mut self) {
        self.push_str("\\N");
    }
}

// === impl Plain ===

impl<'a> Plain<'a> {
    /// Wraps bytes if none of them needs an escape.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        scan::is_plain(bytes).then_some(Self(bytes))
    }

    /// Wraps text that the caller knows to need no escape, such as a number.
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
