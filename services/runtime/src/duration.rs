//! Durations in the syntax of Go: `300ms`, `10s`, `1h30m`, `1.5h`.
//!
//! ```
//! use std::time::Duration;
//! use ziggurat_runtime::duration;
//!
//! assert_eq!(duration::parse("1.5s"), Ok(Duration::from_millis(1500)));
//! ```

use std::time::Duration;

use thiserror::Error;

/// Longest duration of Go, about 292 years.
const MAX_NANOS: u128 = i64::MAX as u128;

/// The text is not a duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not a duration (write 300ms, 10s, 5m or 1h30m)")]
pub struct InvalidDuration;

/// Reason why a text is not a duration, for programs that report it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason<'a> {
    /// The text is not made of numbers and units, or the duration is too long.
    Invalid,
    /// A number has no unit.
    MissingUnit,
    /// A number has this unit.
    UnknownUnit(&'a str),
}

/// A duration that may be negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signed {
    /// Is true if the duration is less than zero.
    pub is_negative: bool,
    /// Absolute value of the duration.
    pub length: Duration,
}

/// Parses a sequence of numbers with units, or `0` without a unit.
///
/// Negative durations are refused, because no setting accepts one.
///
/// # Errors
/// Fails on any other text.
pub fn parse(text: &str) -> Result<Duration, InvalidDuration> {
    match signed(text) {
        Ok(duration) if !text.starts_with('-') => Ok(duration.length),
        _ => Err(InvalidDuration),
    }
}

/// Parses a duration with an optional sign.
///
/// # Errors
/// Fails on any other text, with the same reason as Go.
pub fn signed(text: &str) -> Result<Signed, Reason<'_>> {
    let has_minus = text.starts_with('-');
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    let mut nanos: u128 = 0;
    if rest == "0" {
        rest = "";
    } else if rest.is_empty() {
        return Err(Reason::Invalid);
    }
    // The minimum of an `i64` has an absolute value one larger than its maximum.
    let max = MAX_NANOS + u128::from(has_minus);
    while !rest.is_empty() {
        let (whole, after) = digits(rest);
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => digits(after),
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return Err(Reason::Invalid);
        }
        let end = after
            .find(|c: char| c == '.' || c.is_ascii_digit())
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        nanos += scaled(whole, fraction, unit_nanos(unit)?).ok_or(Reason::Invalid)?;
        if nanos > max {
            return Err(Reason::Invalid);
        }
        rest = after;
    }
    // The value fits into an `i64`, so it fits into a `u64`.
    let nanos = u64::try_from(nanos).map_err(|_| Reason::Invalid)?;
    Ok(Signed {
        is_negative: has_minus && nanos > 0,
        length: Duration::from_nanos(nanos),
    })
}

fn digits(text: &str) -> (&str, &str) {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    text.split_at(end)
}

fn unit_nanos(unit: &str) -> Result<u64, Reason<'_>> {
    Ok(match unit {
        "" => return Err(Reason::MissingUnit),
        "ns" => 1,
        // Micro sign and Greek letter mu.
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return Err(Reason::UnknownUnit(unit)),
    })
}

/// Returns the nanoseconds of `whole.fraction` units, rounded down.
fn scaled(whole: &str, fraction: &str, unit: u64) -> Option<u128> {
    let mut nanos = if whole.is_empty() {
        0
    } else {
        whole.parse::<u64>().ok()?.into()
    };
    nanos *= u128::from(unit);
    let mut place = u128::from(unit);
    // Exact arithmetic: the remainder of each digit is carried to the next one.
    let mut carry: u128 = 0;
    let mut scale: u128 = 1;
    for digit in fraction.bytes().take(18) {
        scale *= 10;
        carry = carry * 10 + u128::from(digit - b'0');
    }
    place *= carry;
    Some(nanos + place / scale)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts_that_go_accepts_are_accepted() {
        for (text, nanos) in [
            ("0", 0),
            ("+0", 0),
            ("0s", 0),
            ("300ms", 300_000_000),
            ("10s", 10_000_000_000),
            ("1h30m", 5_400_000_000_000),
            ("1.5h", 5_400_000_000_000),
            (".5s", 500_000_000),
            ("5.s", 5_000_000_000),
            ("1h2m3.000000004s", 3_723_000_000_004),
            ("1us", 1_000),
            ("1\u{b5}s", 1_000),
            ("1.9ns", 1),
            ("0.100000000000000000000000001h", 360_000_000_000),
            ("9223372036854775807ns", 9_223_372_036_854_775_807),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_nanos(nanos)), "{text}");
        }
    }

    #[test]
    fn texts_that_go_refuses_and_negative_durations_are_refused() {
        for text in [
            "",
            "+",
            "-",
            ".",
            "1",
            "s",
            ".s",
            "1d",
            "1 s",
            " 1s",
            "1s ",
            "1S",
            "-1s",
            "-0",
            "++1s",
            "1e3s",
            "9223372036854775808ns",
            "3000000h",
            "99999999999999999999s",
            "1.2.3s",
            "½s",
        ] {
            assert_eq!(parse(text), Err(InvalidDuration), "{text}");
        }
    }

    #[test]
    fn the_sign_is_kept_and_the_reason_is_that_of_go() {
        for (text, is_negative, nanos) in [
            ("-1s", true, 1_000_000_000),
            ("-0", false, 0),
            ("-0s", false, 0),
            ("+0", false, 0),
            ("30s1m", false, 90_000_000_000),
            ("-9223372036854775808ns", true, 1 << 63),
        ] {
            let length = Duration::from_nanos(nanos);
            let expected = Signed {
                is_negative,
                length,
            };
            assert_eq!(signed(text), Ok(expected), "{text}");
        }
        for (text, reason) in [
            ("30", Reason::MissingUnit),
            ("1s30", Reason::MissingUnit),
            ("1d", Reason::UnknownUnit("d")),
            ("1 s", Reason::UnknownUnit(" s")),
            ("1e3s", Reason::UnknownUnit("e")),
            ("", Reason::Invalid),
            ("-", Reason::Invalid),
            (".s", Reason::Invalid),
            ("--1s", Reason::Invalid),
            ("9223372036854775808ns", Reason::Invalid),
        ] {
            assert_eq!(signed(text), Err(reason), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_formatted_duration_is_parsed_back(
            hours in 0_u64..1000,
            minutes in 0_u64..60,
            seconds in 0_u64..60,
            nanos in 0_u64..1_000_000_000,
        ) {
            let text = format!("{hours}h{minutes}m{seconds}.{nanos:09}s");
            let expected = Duration::new((hours * 60 + minutes) * 60 + seconds, 0)
                + Duration::from_nanos(nanos);
            prop_assert_eq!(parse(&text), Ok(expected));
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC*|[-+.0-9nuµmsh]{0,40}") {
            let _ = parse(&text);
        }
    }
}
