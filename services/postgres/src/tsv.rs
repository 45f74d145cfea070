//! Writes values as tab-separated text.
//!
//! A field is the text that PostgreSQL prints, with these exceptions: NULL is empty, booleans are
//! `true` and `false`, timestamps have the form of RFC 3339, in UTC if they have a time zone and
//! without an offset if they have none, JSON has no white space and a JSON string no quotes, and an
//! array is a JSON array. Tabs and line breaks inside a field become `\t`, `\n` and `\r`;
//! backslashes stay as they are. A [`Format`] can tell more apart.
//!
//! All functions write directly into the caller's buffer, which can be any [`Line`].
//!
//! ```
//! use ziggurat_postgres::{kind::Kind, tsv};
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

use jiff::{SignedDuration, civil::DateTime};
use ziggurat_text::{
    Line, Plain,
    hidden::{self, Piece},
    scan,
};

use crate::kind::Kind;

pub(super) use self::array::is_json_number;

/// Output for text, which may escape it.
trait TextOutput {
    fn put(&mut self, text: &str);

    /// Puts text that is known to need no escape.
    fn put_plain(&mut self, text: &str) {
        self.put(text);
    }
}

/// Form of the fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Format {
    /// Set if NULL is `\N` and a backslash is `\\`, as in the text format of COPY: no two values then
    /// look alike.
    pub is_unambiguous: bool,
    /// Set if hidden characters are written as `\u{202e}`; see [`ziggurat_text::hidden`].
    pub shows_hidden: bool,
    /// Set if `</data`, which ends a marked part of an answer, is written as `\u{3c}/data`.
    pub guards_end: bool,
    /// Limit on the bytes of a field: a longer one is cut, and ends with its number of bytes.
    pub max_bytes: Option<usize>,
}

/// Escapes characters that would end a field, and cuts it at its limit.
struct TsvField<'a, L> {
    out: &'a mut L,
    format: Format,
    /// Number of bytes that were put, including those behind the limit.
    bytes: usize,
}

// === impl Format ===

impl Format {
    /// Writes one field, and returns whether it was cut. For NULL do not call it.
    pub fn write_value(self, out: &mut impl Line, kind: Kind, text: &str) -> bool {
        let mut field = TsvField::new(out, self);
        match kind {
            Kind::Text => field.put(text),
            Kind::Bool => match text {
                "t" => field.put_plain("true"),
                "f" => field.put_plain("false"),
                other => field.put(other),
            },
            Kind::Timestamp => put_timestamp(&mut field, text),
            // Held, because a hidden character depends on those around it.
            Kind::Json if self.shows_hidden || self.guards_end => {
                let mut document = String::with_capacity(text.len());
                json::put_document(&mut document, text);
                field.put(&document);
            }
            Kind::Json => json::put_document(&mut field, text),
            Kind::Array(element) => {
                let mut list = String::with_capacity(text.len());
                match array::write(&mut list, element, text) {
                    Some(()) => field.put(&list),
                    // Not in the format of an array, so it is written as text.
                    None => field.put(text),
                }
            }
        }
        field.finish()
    }

    /// Writes a text as one field, such as the name of a column.
    pub fn write_text(self, out: &mut impl Line, text: &str) {
        self.write_value(out, Kind::Text, text);
    }

    /// Writes the field of a value that is NULL.
    pub(super) fn write_null(self, out: &mut impl Line) {
        if self.is_unambiguous {
            out.push_null();
        }
    }

    /// Returns whether plain bytes are written as they are.
    #[inline]
    pub(super) fn keeps(self, plain: &[u8]) -> bool {
        self.fits(plain.len()) && !(self.guards_end && plain.contains(&b'<'))
    }

    fn fits(self, bytes: usize) -> bool {
        self.max_bytes.is_none_or(|max| bytes <= max)
    }
}

/// Writes one field in the default form. For NULL, which is empty, do not call it.
pub fn write_value(out: &mut impl Line, kind: Kind, text: &str) {
    Format::default().write_value(out, kind, text);
}

/// Returns a JSON document without white space between its tokens.
#[must_use]
pub fn compact_json(document: &str) -> String {
    let mut out = String::with_capacity(document.len());
    json::Compact::new(&mut out).put(document);
    out
}

/// Writes a text as one field, such as the name of a column.
pub fn write_text(out: &mut impl Line, text: &str) {
    Format::default().write_text(out, text);
}

impl TextOutput for String {
    fn put(&mut self, text: &str) {
        self.push_str(text);
    }
}

// === impl TsvField ===

impl<'a, L: Line> TsvField<'a, L> {
    fn new(out: &'a mut L, format: Format) -> Self {
        Self {
            out,
            format,
            bytes: 0,
        }
    }

    /// Writes the mark of a field that was cut, and returns whether it was.
    fn finish(self) -> bool {
        let is_cut = !self.format.fits(self.bytes);
        if is_cut {
            let mark = format!("… ({} bytes)", self.bytes);
            self.out.push_str(&mark);
        }
        is_cut
    }

    /// Returns the part of a text that still fits.
    fn room<'t>(&mut self, text: &'t str) -> &'t str {
        let before = self.bytes;
        self.bytes += text.len();
        match self.format.max_bytes {
            Some(max) if self.bytes > max => {
                &text[..text.floor_char_boundary(max.saturating_sub(before))]
            }
            _ => text,
        }
    }

    /// Puts text without hidden characters.
    fn put_visible(&mut self, text: &str) {
        if !self.format.guards_end {
            return self.put_escaped(text);
        }
        let mut parts = text.split("</data");
        self.put_escaped(parts.next().unwrap_or_default());
        for part in parts {
            self.out.push_str("\\u{3c}/data");
            self.put_escaped(part);
        }
    }

    fn put_escaped(&mut self, text: &str) {
        let is_unambiguous = self.format.is_unambiguous;
        let next = |rest| {
            if is_unambiguous {
                scan::control_or_backslash(rest)
            } else {
                scan::control(rest)
            }
        };
        let mut rest = text;
        while let Some(at) = next(rest) {
            let (plain, behind) = rest.split_at(at);
            let (special, behind) = behind.split_at(1);
            self.out.push_str(plain);
            self.out.push_str(match special {
                "\t" => "\\t",
                "\n" => "\\n",
                "\r" => "\\r",
                "\\" => "\\\\",
                other => other,
            });
            rest = behind;
        }
        self.out.push_str(rest);
    }
}

impl<L: Line> TextOutput for TsvField<'_, L> {
    fn put(&mut self, text: &str) {
        let text = self.room(text);
        if !self.format.shows_hidden {
            return self.put_visible(text);
        }
        for piece in hidden::pieces(text) {
            match piece {
                Piece::Visible(text) => self.put_visible(text),
                Piece::Hidden(hidden) => {
                    self.out.push_str(&hidden.escape_unicode().to_string());
                }
            }
        }
    }

    fn put_plain(&mut self, text: &str) {
        let text = self.room(text);
        self.out.push_plain(Plain::known(text));
    }
}

fn boolean(text: &str) -> &str {
    match text {
        "t" => "true",
        "f" => "false",
        other => other,
    }
}

/// Writes a timestamp as [`write_value`] does.
pub fn write_timestamp(out: &mut impl Line, text: &str) {
    put_timestamp(&mut TsvField::new(out, Format::default()), text);
}

/// Writes `2024-01-31 12:34:56.5+00` as `2024-01-31T12:34:56.5Z`, and a `timestamp` without time
/// zone as `2024-01-31T12:34:56.5`.
///
/// Values that RFC 3339 cannot express stay as PostgreSQL prints them: infinity, years before
/// Christ, another `DateStyle`.
fn put_timestamp(out: &mut impl TextOutput, text: &str) {
    let Some((date, time, zone)) = split_timestamp(text) else {
        return out.put(text);
    };
    if !matches!(zone, "" | "+00") {
        // The session is in another time zone.
        return match in_utc(date, time, zone) {
            Some(instant) => out.put_plain(&instant),
            None => out.put(text),
        };
    }
    out.put_plain(date);
    out.put_plain("T");
    out.put_plain(time);
    if !zone.is_empty() {
        out.put_plain("Z");
    }
}

fn in_utc(date: &str, time: &str, zone: &str) -> Option<String> {
    let (whole, fraction) = time.split_at_checked(8)?;
    let local: DateTime = format!("{date}T{whole}").parse().ok()?;
    let units = zone.get(1..)?.split(':').zip([3600, 60, 1]);
    let seconds = units.map(|(count, unit)| Some(count.parse::<i64>().ok()? * unit));
    let offset = SignedDuration::from_secs(seconds.sum::<Option<i64>>()?);
    let utc = if zone.starts_with('-') {
        local.checked_add(offset).ok()?
    } else {
        local.checked_sub(offset).ok()?
    };
    (utc.year() >= 0).then(|| format!("{utc}{fraction}Z"))
}

fn split_timestamp(text: &str) -> Option<(&str, &str, &str)> {
    let (date, rest) = text.split_at_checked(text.bytes().position(|byte| byte == b' ')?)?;
    let rest = &rest[1..];
    let (year, day) = date.split_at_checked(date.len().checked_sub(6)?)?;
    let is_date = year.len() >= 4 && are_digits(year) && looks_like(day, b"-00-00");
    let (whole, rest) = rest.split_at_checked(8)?;
    let is_sign = |byte| matches!(byte, b'+' | b'-');
    let zone = rest.bytes().position(is_sign).unwrap_or(rest.len());
    let (fraction, zone) = rest.split_at(zone);
    let time = &text[date.len() + 1..text.len() - zone.len()];
    let is_time = looks_like(whole, b"00:00:00")
        && (fraction.is_empty()
            || fraction.len() > 1 && fraction.starts_with('.') && are_digits(&fraction[1..]));
    let is_zone = zone.is_empty()
        || looks_like(&zone[1..], b"00")
        || looks_like(&zone[1..], b"00:00")
        || looks_like(&zone[1..], b"00:00:00");
    (is_date && is_time && is_zone).then_some((date, time, zone))
}

fn are_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Compares with a pattern in which `0` stands for any digit.
///
/// The length is fixed and there is no early return, so that the compiler can compare all bytes at
/// once.
fn looks_like<const N: usize>(text: &str, pattern: &[u8; N]) -> bool {
    let Ok(text) = <&[u8; N]>::try_from(text.as_bytes()) else {
        return false;
    };
    let fits = |byte: u8, form: u8| (byte == form) | ((form == b'0') & byte.is_ascii_digit());
    let pairs = text.iter().zip(pattern);
    pairs.fold(true, |all, (byte, form)| all & fits(*byte, *form))
}
