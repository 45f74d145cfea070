//! Masks secrets in text that is not JSON: forms, URLs in a page, `name: value` lines.

use percent_encoding::percent_decode_str;

use crate::http::mask::{MASK, MEMBERS, is_member, scan};

/// Masks the values of `name=value` pairs anywhere in a text, and of `name: value` at the start of
/// a line. Prose such as "invalid token: expired" is unchanged.
pub(super) fn masked(text: &str) -> String {
    if is_form(text) {
        return masked_pairs(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((value, end)) = next_value(rest, shown.is_empty() || shown.ends_with('\n')) {
        shown.push_str(&rest[..value]);
        shown.push_str(MASK);
        rest = &rest[end..];
    }
    shown.push_str(rest);
    shown
}

/// Masks the values of secret pairs in a query or a form, percent-encoded or not.
pub(super) fn masked_pairs(pairs: &str) -> String {
    let masked = pairs.split('&').map(|pair| match pair.split_once('=') {
        Some((name, value)) if !value.is_empty() && is_member(&decoded(name)) => {
            format!("{name}={MASK}")
        }
        _ => pair.to_owned(),
    });
    masked.collect::<Vec<_>>().join("&")
}

/// Returns whether a text that is not complete JSON contains the quoted name of a secret. The end
/// of its value would be uncertain.
pub(super) fn has_quoted_member(text: &str) -> bool {
    let bytes = text.as_bytes();
    let opens = text
        .char_indices()
        .filter(|(_, character)| matches!(character, '"' | '\''));
    for (start, quote) in opens {
        let rest = &bytes[start + 1..];
        let limit = rest.len().min(6 * LONGEST + 2);
        let Some(end) = rest[..limit]
            .iter()
            .position(|&byte| char::from(byte) == quote)
        else {
            continue;
        };
        let name = scan::unescaped(&rest[..end]);
        // In JSON inside a string, a backslash stands before the closing quote of a name.
        if is_member(name.trim_end_matches('\\')) {
            return true;
        }
    }
    false
}

/// Length of the longest name; each letter may be written with six characters.
const LONGEST: usize = {
    let mut longest = 0;
    let mut at = 0;
    while at < MEMBERS.len() {
        if MEMBERS[at].len() > longest {
            longest = MEMBERS[at].len();
        }
        at += 1;
    }
    longest
};

fn is_form(text: &str) -> bool {
    !text.is_empty()
        && text.split('&').all(|pair| {
            pair.split_once('=').is_some_and(|(name, value)| {
                !name.is_empty()
                    && [name, value].iter().all(|part| {
                        part.bytes()
                            .all(|byte| byte.is_ascii_alphanumeric() || b"%+-._~*".contains(&byte))
                    })
            })
        })
}

/// Returns the start and the end of the next secret value.
fn next_value(text: &str, is_line_start: bool) -> Option<(usize, usize)> {
    let mut best: Option<(usize, usize)> = None;
    for member in MEMBERS {
        for (at, _) in text.match_indices(member) {
            if best.is_some_and(|(value, _)| value <= at) {
                break;
            }
            let Some(start) = value_start(text, at, member, is_line_start) else {
                continue;
            };
            let length = text[start..]
                .find(|c: char| c.is_whitespace() || "&,;\"'<>)".contains(c))
                .unwrap_or(text.len() - start);
            if length > 0 {
                best = Some((start, start + length));
                break;
            }
        }
    }
    best
}

fn value_start(text: &str, at: usize, member: &str, is_line_start: bool) -> Option<usize> {
    let before = text[..at].chars().next_back();
    if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
        return None;
    }
    let after = at + member.len();
    let rest = &text[after..];
    if rest.starts_with('=') {
        return Some(after + 1);
    }
    let begins_line = match text[..at].rfind('\n') {
        Some(line) => text[line..at].trim().is_empty(),
        None => is_line_start && text[..at].trim().is_empty(),
    };
    let value = rest.strip_prefix(':')?;
    let blank = value.len() - value.trim_start_matches(' ').len();
    begins_line.then_some(after + 1 + blank)
}

fn decoded(name: &str) -> String {
    let name = name.replace('+', " ");
    percent_decode_str(&name).decode_utf8_lossy().into_owned()
}
