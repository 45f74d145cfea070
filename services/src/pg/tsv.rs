//! Writes values as tab-separated text.
//!
//! A field is what PostgreSQL prints, with these exceptions: NULL is empty, booleans are
//! `true` and `false`, timestamps have the form of RFC 3339, JSON has no white space and a JSON
//! string no quotes, and an array is a JSON array. Tabs and line breaks inside a field become
//! `\t`, `\n` and `\r`; backslashes stay as they are.
//!
//! Everything goes straight into the caller's buffer.
//!
//! ```
//! use ziggurat_services::pg::{kind::Kind, tsv};
//!
//! let mut line = String::new();
//! tsv::write_value(&mut line, Kind::Bool, "t");
//! line.push('\t');
//! tsv::write_value(&mut line, Kind::built_in(1009).unwrap(), r#"{a,"b c",NULL}"#);
//! assert_eq!(line, "true\t[\"a\",\"b c\",null]");
//! ```

mod array;
mod json;
#[cfg(test)]
mod tests;

use super::kind::Kind;

/// Where text goes, on its way through one escape or another.
trait Put {
    fn put(&mut self, text: &str);
}

/// Escapes what would end a field.
struct Field<'a>(&'a mut String);

/// Writes one field. NULL is nothing at all, so there is nothing to call for it.
pub fn write_value(out: &mut String, kind: Kind, text: &str) {
    match kind {
        Kind::Text => write_text(out, text),
        Kind::Bool => out.push_str(boolean(text)),
        Kind::Timestamp => put_timestamp(&mut Field(out), text),
        Kind::Json => json::put_document(&mut Field(out), text),
        Kind::Array(element) => {
            let start = out.len();
            if array::write(out, element, text).is_none() {
                // Not what an array looks like: some type has a mind of its own.
                out.truncate(start);
                write_text(out, text);
            }
        }
    }
}

/// Writes a text as one field, such as the name of a column.
pub fn write_text(out: &mut String, text: &str) {
    Field(out).put(text);
}

impl Put for Field<'_> {
    fn put(&mut self, text: &str) {
        let mut rest = text;
        while let Some(at) = rest
            .bytes()
            .position(|b| matches!(b, b'\t' | b'\n' | b'\r'))
        {
            self.0.push_str(&rest[..at]);
            self.0.push_str(match rest.as_bytes()[at] {
                b'\t' => "\\t",
                b'\n' => "\\n",
                _ => "\\r",
            });
            rest = &rest[at + 1..];
        }
        self.0.push_str(rest);
    }
}

fn boolean(text: &str) -> &str {
    match text {
        "t" => "true",
        "f" => "false",
        other => other,
    }
}

/// Writes `2024-01-31 12:34:56.5+00` as `2024-01-31T12:34:56.5Z`.
///
/// What RFC 3339 has no form for stays as PostgreSQL prints it: infinity, years before Christ,
/// offsets with seconds, another `DateStyle`.
fn put_timestamp(out: &mut impl Put, text: &str) {
    let Some((date, time, zone)) = split_timestamp(text) else {
        return out.put(text);
    };
    out.put(date);
    out.put("T");
    out.put(time);
    match zone {
        "" | "+00" => out.put("Z"),
        _ => {
            out.put(zone);
            if zone.len() == 3 {
                out.put(":00");
            }
        }
    }
}

fn split_timestamp(text: &str) -> Option<(&str, &str, &str)> {
    let (date, rest) = text.split_once(' ')?;
    let (year, day) = date.split_at_checked(date.len().checked_sub(6)?)?;
    let is_date =
        year.len() >= 4 && year.bytes().all(|b| b.is_ascii_digit()) && looks_like(day, "-00-00");
    let zone = rest.find(['+', '-']).unwrap_or(rest.len());
    let (time, zone) = rest.split_at(zone);
    let (whole, fraction) = time.split_at_checked(8)?;
    let is_time = looks_like(whole, "00:00:00")
        && (fraction.is_empty()
            || fraction.len() > 1
                && fraction.starts_with('.')
                && fraction[1..].bytes().all(|b| b.is_ascii_digit()));
    let is_zone =
        zone.is_empty() || looks_like(&zone[1..], "00") || looks_like(&zone[1..], "00:00");
    (is_date && is_time && is_zone).then_some((date, time, zone))
}

/// Compares with a pattern in which `0` stands for any digit.
fn looks_like(text: &str, pattern: &str) -> bool {
    text.len() == pattern.len()
        && text
            .bytes()
            .zip(pattern.bytes())
            .all(|(byte, form)| byte == form || form == b'0' && byte.is_ascii_digit())
}
