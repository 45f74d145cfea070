//! Writes arrays as JSON.

use crate::{
    kind::{Element, ScalarKind},
    tsv::{
        TextOutput, boolean,
        json::{Compact, JsonString},
        put_timestamp,
    },
};

/// Writes the text of an array, such as `[0:1]={{1,2},{3,NULL}}`, as a JSON array.
///
/// Returns `None` if it is not one; the output is then unusable.
pub(super) fn write(out: &mut String, element: Element, text: &str) -> Option<()> {
    // Lower bounds other than one are in front of the array; JSON has no form for them.
    let mut rest = match text.strip_prefix('[') {
        Some(_) => text.split_once("]=")?.1,
        None => text,
    };
    let delimiter = char::from(element.delimiter);
    let mut depth = 0_usize;
    loop {
        // Before a value.
        if let Some(inside) = rest.strip_prefix('{') {
            out.push('[');
            depth += 1;
            rest = inside;
            if !rest.starts_with('}') {
                continue;
            }
        } else if depth == 0 {
            return None;
        } else {
            rest = write_element(out, element, rest)?;
        }
        // After a value.
        while let Some(behind) = rest.strip_prefix('}') {
            out.push(']');
            depth = depth.checked_sub(1)?;
            rest = behind;
        }
        if depth == 0 {
            return rest.is_empty().then_some(());
        }
        rest = rest.strip_prefix(delimiter)?;
        out.push(',');
    }
}

/// Writes the first element of a text, and returns the rest.
fn write_element<'a>(out: &mut String, element: Element, text: &'a str) -> Option<&'a str> {
    if let Some(quoted) = text.strip_prefix('"') {
        let end = closing_quote(quoted)?;
        out.push('"');
        put_quoted(out, element.scalar, &quoted[..end]);
        out.push('"');
        return Some(&quoted[end + 1..]);
    }
    let end = text.find([char::from(element.delimiter), '}'])?;
    let (value, behind) = text.split_at(end);
    if value.eq_ignore_ascii_case("null") {
        out.push_str("null");
    } else if element.scalar == ScalarKind::Number && is_json_number(value) {
        out.push_str(value);
    } else {
        out.push('"');
        put_scalar(out, element.scalar, value);
        out.push('"');
    }
    Some(behind)
}

fn closing_quote(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    })
}

/// Writes an element in which a backslash escapes the next character.
fn put_quoted(out: &mut String, scalar: ScalarKind, text: &str) {
    if !text.contains('\\') {
        return put_scalar(out, scalar, text);
    }
    let mut string = JsonString(out);
    // No boolean, number or timestamp needs an escape.
    if scalar == ScalarKind::Json {
        put_without_backslashes(&mut Compact::new(&mut string), text);
    } else {
        put_without_backslashes(&mut string, text);
    }
}

fn put_without_backslashes(out: &mut impl TextOutput, text: &str) {
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.put(&rest[..at]);
        let escaped = &rest[at + 1..];
        let length = escaped.chars().next().map_or(0, char::len_utf8);
        out.put(&escaped[..length]);
        rest = &escaped[length..];
    }
    out.put(rest);
}

fn put_scalar(out: &mut String, scalar: ScalarKind, text: &str) {
    let mut string = JsonString(out);
    match scalar {
        ScalarKind::Bool => string.put(boolean(text)),
        ScalarKind::Timestamp => put_timestamp(&mut string, text),
        ScalarKind::Json => Compact::new(&mut string).put(text),
        ScalarKind::Text | ScalarKind::Number => string.put(text),
    }
}

/// Returns whether a text is a number by RFC 8259, section 6. In PostgreSQL `NaN`, money and names
/// of relations also have the category of numbers.
pub(crate) fn is_json_number(text: &str) -> bool {
    let digits = |text: &str| -> Option<usize> {
        let count = text.bytes().take_while(u8::is_ascii_digit).count();
        (count > 0).then_some(count)
    };
    let number = || {
        let mut rest = text.strip_prefix('-').unwrap_or(text);
        let whole = digits(rest)?;
        if whole > 1 && rest.starts_with('0') {
            return None;
        }
        rest = &rest[whole..];
        if let Some(fraction) = rest.strip_prefix('.') {
            rest = &fraction[digits(fraction)?..];
        }
        if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
            let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            rest = &exponent[digits(exponent)?..];
        }
        Some(rest.is_empty())
    };
    number() == Some(true)
}
