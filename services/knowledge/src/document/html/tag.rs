//! HTML tags.

/// A tag, without its attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag<'a> {
    name: &'a str,
    pub(super) is_start: bool,
    /// Set if it is self-closing.
    pub(super) is_empty: bool,
}

// === impl Tag ===

impl<'a> Tag<'a> {
    /// Parses markup that begins with `<` into the tag and the rest; `None` if it is not a tag. A
    /// tag that is never closed takes the whole rest.
    pub(super) fn read(markup: &'a str) -> Option<(Self, &'a str)> {
        let inside = markup.strip_prefix('<')?;
        let is_start = !inside.starts_with('/');
        let inside = inside.strip_prefix('/').unwrap_or(inside);
        if !inside.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return None;
        }
        let end = inside
            .find(|c: char| c.is_ascii_whitespace() || c == '/' || c == '>')
            .unwrap_or(inside.len());
        let (name, attributes) = inside.split_at(end);
        let (is_empty, rest) = past(attributes);
        let tag = Self {
            name,
            is_start,
            is_empty,
        };
        Some((tag, rest))
    }

    pub(super) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// Returns its level if it is one of the six headings.
    pub(super) fn heading_level(&self) -> Option<u8> {
        match self.name.as_bytes() {
            [b'h' | b'H', digit @ b'1'..=b'6'] => Some(digit - b'0'),
            _ => None,
        }
    }
}

/// Skips attributes: returns whether they end with a slash, and the rest after the tag.
fn past(attributes: &str) -> (bool, &str) {
    let mut quote = None;
    let mut before = b' ';
    for (at, byte) in attributes.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return (before == b'/', &attributes[at + 1..]),
            // A quote counts only at the start of a value: anywhere else it is an apostrophe.
            (None, b'"' | b'\'') if before == b'=' => quote = Some(byte),
            (Some(open), close) if open == close => quote = None,
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            before = byte;
        }
    }
    (false, "")
}

/// Splits at the end tag of an element: returns its content and the rest. Without an end tag,
/// everything is content.
pub(super) fn find_end<'a>(html: &'a str, name: &str) -> (&'a str, &'a str) {
    let mut from = 0;
    while let Some(at) = html[from..].find("</") {
        let begin = from + at;
        from = begin + 2;
        let rest = &html.as_bytes()[from..];
        let is_it = rest
            .get(..name.len())
            .is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes()))
            && rest
                .get(name.len())
                .is_none_or(|next| !next.is_ascii_alphanumeric());
        if is_it {
            let (_, behind) = past(&html[from + name.len()..]);
            return (&html[..begin], behind);
        }
    }
    (html, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_ends_outside_of_quoted_values() {
        for (markup, name, is_start, is_empty, rest) in [
            ("<p>x", "p", true, false, "x"),
            ("</p >x", "p", false, false, "x"),
            ("<br/>x", "br", true, true, "x"),
            ("<a href=\"x>y\" b='>'>z", "a", true, false, "z"),
            ("<a it's>z", "a", true, false, "z"),
            ("<a href = \">\">z", "a", true, false, "z"),
            ("<a href=/x/>z", "a", true, true, "z"),
            ("<p class='", "p", true, false, ""),
        ] {
            let expected = Tag {
                name,
                is_start,
                is_empty,
            };
            assert_eq!(Tag::read(markup), Some((expected, rest)), "{markup}");
        }
        for markup in ["<", "</", "< p>", "<1>", "</>", "p"] {
            assert_eq!(Tag::read(markup), None, "{markup}");
        }
    }

    #[test]
    fn the_end_tag_of_an_element_has_its_name() {
        for (html, inside, behind) in [
            ("a</b></Title >c", "a</b>", "c"),
            ("a</titles></title", "a</titles>", ""),
            ("a</t", "a</t", ""),
        ] {
            assert_eq!(find_end(html, "title"), (inside, behind), "{html}");
        }
    }
}
