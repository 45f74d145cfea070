//! Finds text that looks like a credential, and removes it.
//!
//! Each pass runs from left to right. At every byte where a shape may begin, the matcher for that
//! shape returns the range of the secret; the range is replaced and the pass continues after it.
//! Matchers read the original text, including replaced parts, so a secret that contains the name of
//! the next one does not hide it. The end of a value is often ambiguous; in doubt, too much is
//! removed.
//!
//! Text that begins with [`REDACTED`] is never a secret. Every secret that a pass finds begins so
//! afterwards, so scrubbing twice gives the same result as scrubbing once.

#[cfg(test)]
mod corpus;
#[cfg(test)]
mod tests;
mod words;

use std::{borrow::Cow, ops::Range};

use self::words::{
    LONGEST_NAME, Meaning, SCHEMES, ends_with_word, is_name, is_token68, starts_with_word,
};

/// The replacement for a credential.
///
/// ```
/// use ziggurat_layers::sanitize::{REDACTED, scrub};
///
/// assert!(scrub("password=hunter2").ends_with(REDACTED));
/// ```
pub const REDACTED: &str = "[redacted]";

/// The kind of secret that one pass looks for.
#[derive(Clone, Copy)]
enum Shape {
    /// Credentials in a URL.
    Userinfo,
    /// Everything else.
    Named,
}

/// Iterator over the secrets of a shape, from left to right, none of them empty.
struct Secrets<'a> {
    text: &'a [u8],
    at: usize,
    shape: Shape,
    /// The last run of URL text: its end, and its last `@`.
    url: (usize, Option<usize>),
}

/// The rule for the end of a bare value, which depends on its context.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ValueEnd {
    /// In a query string: at the next parameter.
    Query,
    /// Behind a name in quotes, as in JSON: at the next comma or closing bracket.
    Json,
    /// A header that may hold several secrets: at the end of the line.
    Header,
    /// Anywhere else: at white space, nothing less.
    Plain,
}

/// Replaces text that looks like a credential with [`REDACTED`].
///
/// Recognised are
///
/// - the password in a URL (`postgres://app:secret@host`), or everything before the `@` when there
///   is no user name,
/// - the value of a name such as `password`, `api_key`, `Authorization` or `DB_PASSWORD`, in
///   the forms `name=value`, `name: value`, `"name": "value"` and `name='a b'`, also in JSON
///   inside JSON and in the `Debug` of a value (`password: Some("a b")`),
/// - the same in a query string, where `key` is such a name too,
/// - the text after `Bearer` and `Basic`,
/// - keys with a well-known prefix (`sk-…`, `AIza…`, `ghp_…`, `AKIA…`) and JSON Web Tokens.
///
/// A secret in another shape passes: this is a second line of defence behind the rule that secrets
/// do not belong in messages. A bare value goes up to the next white space, so more than the secret
/// may be lost; the result is meant for people, not for parsers.
///
/// The time is linear in the length of the text, and nothing is allocated if no secret is found.
///
/// ```
/// use ziggurat_layers::sanitize::scrub;
///
/// assert_eq!(
///     scrub("cannot reach postgres://app:hunter2@db/sales: password='no way' is wrong"),
///     "cannot reach postgres://app:[redacted]@db/sales: password='[redacted]' is wrong"
/// );
/// ```
#[must_use]
pub fn scrub(text: &str) -> Cow<'_, str> {
    // URLs first, since a password may look like a parameter; and last, since a replaced value may
    // have hidden the end of a URL.
    [Shape::Userinfo, Shape::Named, Shape::Userinfo]
        .into_iter()
        .fold(Cow::Borrowed(text), without)
}

fn without(text: Cow<'_, str>, shape: Shape) -> Cow<'_, str> {
    let mut scrubbed = String::new();
    let mut copied = 0;
    for secret in Secrets::new(&text, shape) {
        scrubbed.push_str(&text[copied..secret.start]);
        scrubbed.push_str(REDACTED);
        copied = secret.end;
    }
    if copied == 0 {
        return text;
    }
    scrubbed.push_str(&text[copied..]);
    Cow::Owned(scrubbed)
}

// === impl Secrets ===

impl Iterator for Secrets<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        while self.at < self.text.len() {
            let at = self.at;
            self.at += 1;
            let secret = self.secret_at(at).filter(|secret| {
                !secret.is_empty() && !self.text[secret.clone()].starts_with(REDACTED.as_bytes())
            });
            if let Some(secret) = secret {
                // It may end in the separator of the next name: `a_token=b,password= c`.
                self.at = self
                    .separator_before(secret.end)
                    .filter(|&separator| separator >= secret.start)
                    .unwrap_or(secret.end);
                return Some(secret);
            }
        }
        None
    }
}

impl<'a> Secrets<'a> {
    fn new(text: &'a str, shape: Shape) -> Self {
        Self {
            text: text.as_bytes(),
            at: 0,
            shape,
            url: (0, None),
        }
    }

    /// The secret of a shape that begins, or is recognised, at this byte.
    fn secret_at(&mut self, at: usize) -> Option<Range<usize>> {
        match (self.shape, self.text[at]) {
            (Shape::Userinfo, b':') => self.userinfo(at),
            (Shape::Userinfo, _) => None,
            (Shape::Named, b'=' | b':') => self.value(at),
            (Shape::Named, b'B' | b'b') => self.after_scheme(at),
            (Shape::Named, _) => self.well_known_key(at),
        }
    }

    /// The credentials before the `@` of the URL with a scheme that ends at `at`.
    fn userinfo(&mut self, at: usize) -> Option<Range<usize>> {
        let slashes = [&b"://"[..], br":\/\/"]
            .into_iter()
            .find(|slashes| self.text[at..].starts_with(slashes))?;
        let start = at + slashes.len();
        // All URLs of one run share its last `@`; searching it once keeps the time linear.
        if start >= self.url.0 {
            let end = self.past(start, |byte| {
                !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'<' | b'>' | b'`')
            });
            let last = self.text[start..end].iter().rposition(|&byte| byte == b'@');
            self.url = (end, last.map(|last| start + last));
        }
        let last = self.url.1.filter(|&last| last >= start)?;

        let end = self.past(start, |byte| !matches!(byte, b'/' | b'?' | b'#'));
        let authority = &self.text[start..end.min(self.url.0)];
        let at_sign = authority.iter().rposition(|&byte| byte == b'@');
        let user = &authority[..at_sign.unwrap_or(authority.len())];
        let colon = user.iter().position(|&byte| byte == b':');
        match (colon, at_sign) {
            (Some(colon), Some(_)) => Some(start + colon + 1..last),
            // Not a host and port, but a password with a raw `/`, `?` or `#` in it.
            (Some(colon), None) if !user[colon + 1..].iter().all(u8::is_ascii_digit) => {
                Some(start + colon + 1..last)
            }
            (None, Some(at_sign)) => Some(start..start + at_sign),
            (_, None) => None,
        }
    }

    /// The value behind the separator at `at`, if the name before it is one of a secret.
    fn value(&self, at: usize) -> Option<Range<usize>> {
        let kind = self.secret_before(at)?;
        let arrow = self.text[at..].starts_with(b"=>");
        let start = self.past(at + 1 + usize::from(arrow), |byte| {
            byte.is_ascii_whitespace()
        });
        let quote = self.past(start, |byte| byte == b'\\');
        if let Some(&mark) = self.text.get(quote).filter(|&&byte| is_quote(byte)) {
            let (end, _) = self.end_of_quoted(quote + 1, mark, quote - start);
            return Some(quote + 1..end);
        }
        Some(start..self.end_of_bare(start, kind))
    }

    /// The credentials behind the `Bearer` or `Basic` that begins at `at`.
    fn after_scheme(&self, at: usize) -> Option<Range<usize>> {
        let scheme = SCHEMES
            .into_iter()
            .find(|scheme| starts_with_word(&self.text[at..], scheme))?;
        let blank = at + scheme.len();
        let start = self.past(blank, |byte| byte.is_ascii_whitespace());
        let end = self.past(start, is_token68);
        let padded = end
            + self.text[end..]
                .iter()
                .take(2)
                .take_while(|&&byte| byte == b'=')
                .count();
        let run = &self.text[start..end];
        // Long enough to distinguish `Bearer 1b2f` from `bearer of news` and `Basic YTpiYw==` from
        // `Basic authentication`.
        let plausible = if scheme == b"bearer" {
            run.len() >= 8 || run.iter().any(u8::is_ascii_digit)
        } else {
            let word = run.iter().skip(1).all(u8::is_ascii_lowercase);
            run.len() >= 8 && (!word || (padded - start).is_multiple_of(4))
        };
        if start == blank || !plausible {
            return None;
        }
        // `Bearer password="a b"`: the `=` is no padding, but the separator of a name.
        let end = match self.secret_before(end) {
            Some(_) => end,
            None => padded,
        };
        Some(start..self.past_schemes(end, |start| self.past(start, is_token68)))
    }

    /// The key that begins at `at`, if it has a well-known prefix.
    fn well_known_key(&self, at: usize) -> Option<Range<usize>> {
        let length = words::key_length(&self.text[at..], self.starts_word(at))?;
        Some(at..self.past_schemes(at + length, |start| self.past(start, is_token68)))
    }

    /// Returns whether a word begins at `at`; the letter of an escape sequence is not part of it.
    fn starts_word(&self, at: usize) -> bool {
        match &self.text[..at] {
            [.., b'\\', b'n' | b'r' | b't']
            | [.., b'%', _, _]
            | [.., b'\\', b'x', _, _]
            | [.., b'\\', b'u', _, _, _, _]
            | [] => true,
            [.., before] => !before.is_ascii_alphanumeric(),
        }
    }

    /// The separator before `end`, if nothing but white space is between them.
    fn separator_before(&self, end: usize) -> Option<usize> {
        match trim_end(&self.text[..end], |byte| byte.is_ascii_whitespace()) {
            [before @ .., b'=', b'>'] | [before @ .., b'=' | b':'] => Some(before.len()),
            _ => None,
        }
    }

    /// The rule for the end of the value behind the separator at `at`, if its name is a secret's.
    fn secret_before(&self, at: usize) -> Option<ValueEnd> {
        let before = trim_end(&self.text[..at], |byte| byte.is_ascii_whitespace());
        let unquoted = trim_end(before, |byte| {
            is_quote(byte) || matches!(byte, b'\\' | b']')
        });
        let longest = &unquoted[unquoted.len().saturating_sub(LONGEST_NAME)..];
        let rest = trim_end(longest, is_name);
        let name = &longest[rest.len()..];

        let in_quotes = before.get(unquoted.len()).is_some_and(|&byte| byte != b']');
        let before_name = &unquoted[..unquoted.len() - name.len()];
        let in_query =
            self.text.get(at) == Some(&b'=') && matches!(before_name.last(), Some(b'?' | b'&'));
        let meaning = words::meaning(name, before_name, in_query)?;
        Some(match meaning {
            Meaning::Parameter => ValueEnd::Query,
            Meaning::Header | Meaning::Secret if in_quotes => ValueEnd::Json,
            Meaning::Header => ValueEnd::Header,
            Meaning::Secret => ValueEnd::Plain,
        })
    }

    /// Returns the end of the quoted value, and the position behind it.
    ///
    /// The opening quote has `escapes` backslashes before it if the string is inside another quoted
    /// string; the closing one then has as many, and an escaped one more. A doubled quote is an
    /// escaped quote, one with a letter or digit behind it opens an inner string, and one that is
    /// never closed reaches to the end of the text.
    fn end_of_quoted(&self, from: usize, mark: u8, escapes: usize) -> (usize, usize) {
        let mut backslashes = 0;
        let mut at = from;
        while let Some(&byte) = self.text.get(at) {
            at += 1;
            if byte == b'\\' {
                backslashes += 1;
                continue;
            }
            if byte == mark && backslashes % (2 * (escapes + 1)) == escapes {
                match self.text.get(at) {
                    Some(&next) if next == mark && escapes == 0 => at += 1,
                    Some(next) if next.is_ascii_alphanumeric() => {}
                    _ => return (at - 1 - escapes, at),
                }
            }
            backslashes = 0;
        }
        (at, at)
    }

    /// Returns the end of the bare value that begins at `from`.
    fn end_of_bare(&self, from: usize, kind: ValueEnd) -> usize {
        let run = |from| self.end_of_run(from, kind);
        self.past_schemes(run(self.end_of_group(from)), run)
    }

    fn end_of_run(&self, from: usize, kind: ValueEnd) -> usize {
        let mut at = from;
        while let Some(&byte) = self.text.get(at) {
            let ends = match kind {
                ValueEnd::Query => {
                    matches!(byte, b'&' | b'#' | b'"' | b'<' | b'>')
                        || self.text[at..].starts_with(br#"\""#)
                }
                ValueEnd::Json => matches!(byte, b',' | b'}' | b']'),
                ValueEnd::Header => matches!(byte, b'\r' | b'\n'),
                ValueEnd::Plain => false,
            };
            if ends || byte.is_ascii_whitespace() && kind != ValueEnd::Header {
                break;
            }
            at += 1;
            if kind == ValueEnd::Plain && is_quote(byte) {
                at = self.past_opened_quote(from, at);
            }
        }
        at
    }

    /// The end of `Some("a b")`, `["a", "b"]` or `Key { id: 1 }`, if one begins at `from`.
    fn end_of_group(&self, from: usize) -> usize {
        let name = self.past(from, |byte| is_name(byte) || byte == b':');
        let open = name + usize::from(self.text[name..].starts_with(b" {"));
        let mut depth = 0;
        let mut at = open;
        while let Some(&byte) = self.text.get(at) {
            at += 1;
            match byte {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' if depth > 1 => depth -= 1,
                b')' | b']' | b'}' if depth == 1 => return at,
                _ if depth == 0 => return from,
                quote if is_quote(quote) => at = self.past_opened_quote(from, at),
                _ => {}
            }
        }
        if depth == 0 { from } else { at }
    }

    /// The end of the string that the quote before `at` opens, or `at` if it opens none.
    fn past_opened_quote(&self, from: usize, at: usize) -> usize {
        let before = trim_end(&self.text[from..at - 1], |byte| byte == b'\\');
        let opens = match before {
            // `b"..."` and similar.
            [] | [b'b' | b'c' | b'f' | b'r' | b'u'] => true,
            [.., last] => {
                last.is_ascii_whitespace()
                    || matches!(last, b'=' | b'>' | b':' | b',' | b'(' | b'[' | b'{')
            }
        };
        if !opens {
            return at;
        }
        let escapes = at - 1 - from - before.len();
        self.end_of_quoted(at, self.text[at - 1], escapes).1
    }

    /// Continues behind `end` as long as the text there is a scheme with credentials behind it.
    fn past_schemes(&self, mut end: usize, end_of_run: impl Fn(usize) -> usize) -> usize {
        while SCHEMES
            .iter()
            .any(|scheme| ends_with_word(&self.text[..end], scheme))
        {
            let start = self.past(end, |byte| byte.is_ascii_whitespace());
            let next = end_of_run(start);
            if start == end || next == start {
                break;
            }
            end = next;
        }
        end
    }

    fn past(&self, from: usize, belongs: impl Fn(u8) -> bool) -> usize {
        let run = self.text[from..].iter().take_while(|&&byte| belongs(byte));
        from + run.count()
    }
}

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

fn trim_end(text: &[u8], belongs: impl Fn(u8) -> bool) -> &[u8] {
    let kept = text.iter().rposition(|&byte| !belongs(byte));
    &text[..kept.map_or(0, |last| last + 1)]
}
