//! Values that no error shows: those of bound and of sensitive parameters.

use ziggurat_mcp::Error;

use crate::{definition::Definition, kind::Checked};

/// The text in place of a value.
const HIDDEN: &str = "***";

/// The values of a call that no error shows.
pub(super) struct HiddenValues(Vec<String>);

// === impl HiddenValues ===

impl HiddenValues {
    /// Takes them from the values of the parameters.
    pub(super) fn of(definition: &Definition, values: &[Option<Checked>]) -> Self {
        let mut hidden = Vec::new();
        for (parameter, value) in definition.parameters.iter().zip(values) {
            match value {
                _ if parameter.is_open() && !parameter.is_sensitive => {}
                Some(Checked::Text(text)) => hidden.push(text.clone()),
                Some(Checked::Texts(texts)) => hidden.extend_from_slice(texts),
                Some(Checked::Name(_)) | None => {}
            }
        }
        // A value may be a part of another.
        hidden.sort_by_key(|value| std::cmp::Reverse(value.len()));
        Self(hidden)
    }

    /// Replaces them in an error that the caller reads.
    pub(super) fn hide_in(&self, error: Error) -> Error {
        match error {
            Error::Reported(reported) if !self.0.is_empty() => {
                Error::said(self.hide(reported.as_str().to_owned()))
            }
            error => error,
        }
    }

    /// Replaces them in the text of an error, where they are whole words.
    fn hide(&self, text: String) -> String {
        let values = self.0.iter().filter(|value| !value.is_empty());
        values.fold(text, |text, value| replaced(&text, value))
    }
}

fn replaced(text: &str, value: &str) -> String {
    let (mut out, mut end) = (String::with_capacity(text.len()), 0);
    for (at, _) in text.match_indices(value) {
        let after = &text[at + value.len()..];
        let is_word = is_boundary(&text[..at], value) && is_boundary(value, after);
        if is_word {
            out.push_str(&text[end..at]);
            out.push_str(HIDDEN);
            end = at + value.len();
        }
    }
    out.push_str(&text[end..]);
    out
}

/// Returns whether a word ends between two texts.
fn is_boundary(before: &str, after: &str) -> bool {
    let is_inside = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    !is_inside(before.chars().next_back()) || !is_inside(after.chars().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_are_replaced() {
        for (values, text, expected) in [
            (&["acme"][..], "type uuid: \"acme\"", "type uuid: \"***\""),
            (
                &["acme"],
                "acme acme-1 acmes (acme)",
                "*** ***-1 acmes (***)",
            ),
            (&["1"], "22012: 1/10 = 1", "22012: ***/10 = ***"),
            (&["a b", "a b c"], "<a b c>", "<***>"),
            (&["", "ü"], "ü üü", "*** üü"),
            (&["$x$"], "a$x$b", "a***b"),
            (&["aa"], "aaa aa", "aaa ***"),
        ] {
            let mut values: Vec<_> = values.iter().map(|&value| value.to_owned()).collect();
            values.sort_by_key(|value| std::cmp::Reverse(value.len()));
            let shown = HiddenValues(values).hide(text.to_owned());
            assert_eq!(shown, expected);
        }
    }
}
