//! Parses the lifetime of tokens.

use std::str::FromStr;

use jiff::{SignedDuration, Timestamp};
use thiserror::Error;

const HOURS_A_DAY: i64 = 24;
const DAYS_A_WEEK: i64 = 7;
const DAYS_A_YEAR: i64 = 365;

/// A thousand years: more is a typing error, and dates end with the year 9999.
const MAX_HOURS: i64 = 1000 * DAYS_A_YEAR * HOURS_A_DAY;

/// Lifetime of a token.
///
/// Written as a whole number and a unit: hours (`h`), days (`d`), weeks (`w`) or years of 365 days
/// (`y`), or as `never`. Months have no fixed length and are refused.
///
/// ```
/// use ziggurat_tokens::Expiry;
///
/// let now = "2024-10-30T10:15:30Z".parse()?;
/// let expiry: Expiry = "1y".parse()?;
/// assert_eq!(expiry.after(now).map(|at| at.to_string()).as_deref(), Some("2025-10-30T10:15:30Z"));
/// assert_eq!("never".parse::<Expiry>()?.after(now), None);
///
/// let error = "6m".parse::<Expiry>().unwrap_err();
/// assert_eq!(error.to_string(), "invalid duration unit: m (use h, d, w, or y)");
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expiry {
    hours: Option<i64>,
}

/// The text is not a lifetime. The message is for the administrator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidExpiry {
    /// The text is too short for a number and a unit.
    #[error("invalid duration format")]
    Format,
    /// The unit is unknown.
    #[error("invalid duration unit: {0} (use h, d, w, or y)")]
    Unit(char),
    /// The text before the unit is not a number, or is out of range.
    #[error("invalid number in duration: {0}")]
    Number(&'static str),
}

// === impl Expiry ===

impl Expiry {
    /// Lifetime of a token that never expires.
    pub(crate) const NEVER: Self = Self { hours: None };

    /// Returns the expiry date of a token created at `now`, or `None` if it never expires.
    #[must_use]
    pub fn after(self, now: Timestamp) -> Option<Timestamp> {
        // A date after the end of the calendar counts as never.
        now.checked_add(SignedDuration::from_hours(self.hours?))
            .ok()
    }
}

impl FromStr for Expiry {
    type Err = InvalidExpiry;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        if text.eq_ignore_ascii_case("never") {
            return Ok(Self::NEVER);
        }
        let unit = text.chars().next_back().ok_or(InvalidExpiry::Format)?;
        let digits = &text[..text.len() - unit.len_utf8()];
        if digits.is_empty() {
            return Err(InvalidExpiry::Format);
        }
        let number = number(digits)?;
        let hours = match unit {
            'h' => 1,
            'd' => HOURS_A_DAY,
            'w' => DAYS_A_WEEK * HOURS_A_DAY,
            'y' => DAYS_A_YEAR * HOURS_A_DAY,
            other => return Err(InvalidExpiry::Unit(other)),
        };
        number
            .checked_mul(hours)
            .filter(|hours| *hours <= MAX_HOURS)
            .map(|hours| Self { hours: Some(hours) })
            .ok_or(TOO_LARGE)
    }
}

const TOO_LARGE: InvalidExpiry = InvalidExpiry::Number("it is more than 1000 years");

/// Parses digits only; the parser of the standard library also accepts a sign.
fn number(digits: &str) -> Result<i64, InvalidExpiry> {
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(InvalidExpiry::Number("it must be a whole number"));
    }
    match digits.parse() {
        Ok(0) => Err(InvalidExpiry::Number("it must be at least 1")),
        Ok(number) => Ok(number),
        Err(_) => Err(TOO_LARGE),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn now() -> Timestamp {
        "2026-11-21T12:00:00Z".parse().expect("a date")
    }

    #[test]
    fn a_number_and_a_unit_make_a_date() {
        let cases = [
            ("1h", Some("2026-11-21T13:00:00Z")),
            ("30d", Some("2026-12-21T12:00:00Z")),
            (" 2w\n", Some("2026-12-05T12:00:00Z")),
            ("1y", Some("2027-11-21T12:00:00Z")),
            ("1000y", Some("3026-03-24T12:00:00Z")),
            ("never", None),
            ("Never", None),
        ];
        for (text, expected) in cases {
            let expiry: Expiry = text.parse().expect(text);
            let at = expiry.after(now()).map(|at| at.to_string());
            assert_eq!(at.as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn invalid_lifetimes_are_refused_with_a_reason() {
        let cases = [
            ("", "invalid duration format"),
            ("d", "invalid duration format"),
            ("6m", "invalid duration unit: m (use h, d, w, or y)"),
            ("30", "invalid duration unit: 0 (use h, d, w, or y)"),
            ("7ü", "invalid duration unit: ü (use h, d, w, or y)"),
            ("3D", "invalid duration unit: D (use h, d, w, or y)"),
            ("0d", "invalid number in duration: it must be at least 1"),
            (
                "-1d",
                "invalid number in duration: it must be a whole number",
            ),
            (
                "+1d",
                "invalid number in duration: it must be a whole number",
            ),
            (
                "1.5y",
                "invalid number in duration: it must be a whole number",
            ),
            (
                "1 d",
                "invalid number in duration: it must be a whole number",
            ),
            (
                "ever",
                "invalid number in duration: it must be a whole number",
            ),
            (
                "1001y",
                "invalid number in duration: it is more than 1000 years",
            ),
            (
                "99999999999999999999h",
                "invalid number in duration: it is more than 1000 years",
            ),
            (
                "9223372036854775807y",
                "invalid number in duration: it is more than 1000 years",
            ),
        ];
        for (text, reason) in cases {
            let error = text.parse::<Expiry>().expect_err(text);
            assert_eq!(error.to_string(), reason, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_an_expiry_in_the_future_or_an_error(text in "\\PC*|[0-9]{0,20}[hdwymHD]?") {
            if let Ok(expiry) = text.parse::<Expiry>() {
                prop_assert!(expiry.after(now()).is_none_or(|at| at > now()));
            }
        }

        #[test]
        fn every_number_of_days_is_that_many_days(days in 1..=365_000_i64) {
            let expiry: Expiry = format!("{days}d").parse().expect("in range");
            let at = expiry.after(now()).expect("a date");
            prop_assert_eq!(at.duration_since(now()), SignedDuration::from_hours(days * 24));
        }
    }
}
