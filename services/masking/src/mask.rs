//! Masks of values.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation as _;
use ziggurat_sql::normalized;

use crate::{Key, Pattern, patterns};

/// Characters that `last4` keeps.
const KEPT: usize = 4;

/// Characters of the shortest text of which `last4` keeps some.
const LONG_ENOUGH: usize = 8;

/// Mask of the values of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mask {
    shape: Shape,
    text: String,
}

/// Form of a masked value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shape {
    /// The text of the mask.
    Fixed,
    /// NULL.
    Null,
    /// Digits that are equal for equal values under the same label.
    Hash {
        /// The key.
        key: Key,
        /// Text before the value.
        label: String,
    },
    /// The text of the mask and the last four characters of a long text.
    Last4,
    /// The first character and the domain of an address.
    Email,
    /// Nothing: the result does not have the column.
    Drop,
    /// The value, with the text of the mask in place of each find.
    Patterns(Vec<Pattern>),
    /// The value, which is a statement, with `?` for literals.
    Statement,
}

// === impl Mask ===

impl Mask {
    /// Makes a mask with a text, which stands for values that the shape cannot keep a part of.
    #[must_use]
    pub fn new(shape: Shape, text: &str) -> Self {
        Self {
            shape,
            text: text.to_owned(),
        }
    }

    /// Returns the mask that hides the whole value and its column keeps its place.
    #[must_use]
    pub fn whole(text: &str) -> Self {
        Self::new(Shape::Fixed, text)
    }

    /// Returns whether the result does not have the column.
    #[must_use]
    pub fn drops(&self) -> bool {
        self.shape == Shape::Drop
    }

    /// Returns whether the column is masked only where a value has a pattern in it.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        matches!(self.shape, Shape::Patterns(_))
    }

    /// Returns the mask of a text of a statement.
    #[must_use]
    pub fn statement() -> Self {
        Self::new(Shape::Statement, "?")
    }

    /// Masks a value; `None` is NULL.
    #[must_use]
    pub fn apply<'a>(&'a self, value: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        let fixed = Cow::Borrowed(self.text.as_bytes());
        Some(match &self.shape {
            Shape::Null | Shape::Drop => return None,
            Shape::Fixed => fixed,
            Shape::Hash { key, label } => Cow::Owned(key.hash(label, value).into_bytes()),
            Shape::Last4 => {
                let masked = str::from_utf8(value).ok().and_then(last4);
                masked.map_or(fixed, |end| self.joined(&["", end]))
            }
            Shape::Email => {
                let masked = str::from_utf8(value).ok().and_then(email);
                masked.map_or(fixed, |(first, domain)| self.joined(&[first, domain]))
            }
            Shape::Patterns(list) => match str::from_utf8(value) {
                Ok(text) => match patterns::replaced(text, list, &self.text) {
                    Some(replaced) => Cow::Owned(replaced.into_bytes()),
                    None => Cow::Borrowed(value),
                },
                Err(_) => fixed,
            },
            Shape::Statement => match str::from_utf8(value) {
                Ok(text) => Cow::Owned(normalized(text).into_bytes()),
                Err(_) => fixed,
            },
        })
    }

    /// Returns the text of the mask between two others.
    fn joined(&self, [before, after]: &[&str; 2]) -> Cow<'_, [u8]> {
        let parts = [before.as_bytes(), self.text.as_bytes(), after.as_bytes()];
        Cow::Owned(parts.concat())
    }
}

/// Returns the last characters of a text that is long enough.
fn last4(text: &str) -> Option<&str> {
    let mut ends = text.grapheme_indices(true).rev();
    let (at, _) = ends.nth(KEPT - 1)?;
    ends.nth(LONG_ENOUGH - KEPT - 1)?;
    Some(&text[at..])
}

/// Returns the first character of an address, and its end from the `@` on.
fn email(text: &str) -> Option<(&str, &str)> {
    let (name, domain) = text.split_once('@')?;
    if domain.is_empty() || domain.contains('@') {
        return None;
    }
    Some((name.graphemes(true).next()?, &text[name.len()..]))
}
