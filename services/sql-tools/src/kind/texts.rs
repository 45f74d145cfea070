//! Dates, times and UUIDs in the forms of RFC 3339 and RFC 9562.

use jiff::{Timestamp, civil::Date};

/// Limit on the bytes of a date with a time: the offset, and nine digits of a second.
const MAX_TIMESTAMP: usize = 40;

/// Reads a date such as `2026-01-31`. PostgreSQL has no year zero.
pub(super) fn date(text: &str) -> Option<Date> {
    if !looks_like(text, "0000-00-00") {
        return None;
    }
    let date: Date = text.parse().ok()?;
    (date.year() > 0).then_some(date)
}

/// Reads a date and time with an offset, such as `2026-01-31T12:00:00.5+01:00`.
pub(super) fn timestamp(text: &str) -> Option<Timestamp> {
    let text = text.to_ascii_uppercase();
    let (start, rest) = text.split_at_checked("0000-00-00T00:00:00".len())?;
    let zone = rest.find(['Z', '+', '-'])?;
    let (fraction, zone) = rest.split_at(zone);
    let is_fraction = fraction.is_empty()
        || fraction.strip_prefix('.').is_some_and(|digits| {
            !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
        });
    let is_zone = zone == "Z" || looks_like(&zone[1..], "00:00");
    if text.len() > MAX_TIMESTAMP
        || !looks_like(start, "0000-00-00T00:00:00")
        || !is_fraction
        || !is_zone
    {
        return None;
    }
    let time: Timestamp = text.parse().ok()?;
    let first: Timestamp = "0001-01-01T00:00:00Z".parse().ok()?;
    (time >= first).then_some(time)
}

pub(super) fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Compares with a form in which `0` stands for any digit.
fn looks_like(text: &str, form: &str) -> bool {
    text.len() == form.len()
        && text.bytes().zip(form.bytes()).all(|(byte, form)| {
            if form == b'0' {
                byte.is_ascii_digit()
            } else {
                byte == form
            }
        })
}
