//! Resolves identifiers to the names that PostgreSQL reads.

use std::borrow::Cow;

/// Folds an unquoted name. In a database with a Turkish single-byte encoding PostgreSQL folds `İ`
/// to `i`; no other letter folds to an ASCII one.
pub(super) fn folded(word: &str) -> Cow<'_, str> {
    if word.is_ascii() || !word.contains('İ') {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(word.replace('İ', "i"))
    }
}

/// Decodes the name in a `U&"…"` with escapes that start with a backslash.
///
/// A broken escape stays as written, since PostgreSQL refuses it.
pub(super) fn unescaped(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let escape = &rest[at + 1..];
        let (digits, skipped) = match escape.strip_prefix('+') {
            Some(digits) => (digits.get(..6), 7),
            None => (escape.get(..4), 4),
        };
        let code = digits
            .filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))
            .and_then(|digits| u32::from_str_radix(digits, 16).ok())
            .and_then(char::from_u32);
        if let Some(code) = code {
            out.push(code);
            rest = &escape[skipped..];
        } else {
            out.push('\\');
            rest = escape.strip_prefix('\\').unwrap_or(escape);
        }
    }
    out + rest
}
