//! Lengths of time as Go programs write them: `1m30s`, `1.5h`, `500ms`.

use std::time::Duration;

/// A length of time that may be negative.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Signed {
    pub(crate) is_negative: bool,
    pub(crate) length: Duration,
}

/// Reads a length of time; a reason says what is wrong with it.
pub(crate) fn parse(text: &str) -> Result<Signed, String> {
    let (is_negative, mut rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let invalid = || format!("time: invalid duration {}", quoted(text));
    if rest == "0" {
        return Ok(Signed {
            is_negative: false,
            length: Duration::ZERO,
        });
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total = 0_u128;
    while !rest.is_empty() {
        let (number, behind) = number(rest).ok_or_else(invalid)?;
        let end = behind
            .find(|c: char| c == '.' || c.is_ascii_digit())
            .unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(end);
        if unit.is_empty() {
            return Err(format!("time: missing unit in duration {}", quoted(text)));
        }
        let Some(nanoseconds) = nanoseconds(unit) else {
            return Err(format!(
                "time: unknown unit {} in duration {}",
                quoted(unit),
                quoted(text)
            ));
        };
        let part = number.times(nanoseconds).ok_or_else(invalid)?;
        total = total.checked_add(part).ok_or_else(invalid)?;
        rest = behind;
    }
    // The most negative count is one further away from zero than the most positive.
    let most = u128::from(i64::MAX.unsigned_abs()) + u128::from(is_negative);
    if total > most {
        return Err(invalid());
    }
    let length = Duration::from_nanos(u64::try_from(total).map_err(|_| invalid())?);
    Ok(Signed {
        is_negative: is_negative && total > 0,
        length,
    })
}

/// A decimal number, as its digits before and after the point.
struct Number<'a> {
    whole: &'a str,
    fraction: &'a str,
}

// === impl Number ===

impl Number<'_> {
    /// This many times a unit, cut to whole nanoseconds. `None` when that is too much.
    fn times(&self, unit: u64) -> Option<u128> {
        let whole: u128 = match self.whole {
            "" => 0,
            digits => digits.parse().ok()?,
        };
        let mut total = whole.checked_mul(unit.into())?;
        // More digits than a nanosecond of an hour has say nothing.
        let mut weight = u128::from(unit) * 1_000_000;
        let mut fraction = 0_u128;
        for digit in self.fraction.bytes().take(20) {
            weight /= 10;
            fraction += weight * u128::from(digit - b'0');
        }
        total = total.checked_add(fraction / 1_000_000)?;
        Some(total)
    }
}

fn number(text: &str) -> Option<(Number<'_>, &str)> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let (whole, rest) = text.split_at(digits(text));
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(digits(rest)),
        None => ("", rest),
    };
    let is_number = !whole.is_empty() || !fraction.is_empty();
    is_number.then_some((Number { whole, fraction }, rest))
}

fn nanoseconds(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" => 1,
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

fn quoted(text: &str) -> String {
    crate::output::quoted(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_a_length_of_time_is_read() {
        for (text, nanoseconds) in [
            ("0", 0),
            ("+0", 0),
            ("-0", 0),
            ("0s", 0),
            ("1m30s", 90_000_000_000),
            ("30s1m", 90_000_000_000),
            ("1.5h", 5_400_000_000_000),
            ("500ms", 500_000_000),
            (".5s", 500_000_000),
            ("1.s", 1_000_000_000),
            ("1s1s", 2_000_000_000),
            ("7ns", 7),
            ("1us", 1_000),
            ("1\u{b5}s", 1_000),
            ("1\u{3bc}s", 1_000),
            ("0.000000001s", 1),
            ("0.0000000019s", 1),
            ("9223372036854775807ns", 9_223_372_036_854_775_807),
        ] {
            assert_eq!(
                parse(text),
                Ok(Signed {
                    is_negative: false,
                    length: Duration::from_nanos(nanoseconds)
                }),
                "{text:?}"
            );
        }
        assert!(parse("-1s").expect("a length").is_negative);
        assert!(!parse("-0s").expect("a length").is_negative);
    }

    #[test]
    fn what_is_none_is_refused_with_a_reason() {
        for (text, reason) in [
            ("30", "time: missing unit in duration \"30\""),
            ("1d", "time: unknown unit \"d\" in duration \"1d\""),
            ("x", "time: invalid duration \"x\""),
            ("", "time: invalid duration \"\""),
            ("-", "time: invalid duration \"-\""),
            (".", "time: invalid duration \".\""),
            (".s", "time: invalid duration \".s\""),
            ("1 s", "time: unknown unit \" s\" in duration \"1 s\""),
            ("1s ", "time: unknown unit \"s \" in duration \"1s \""),
            ("1s30", "time: missing unit in duration \"1s30\""),
            ("--1s", "time: invalid duration \"--1s\""),
            (
                "9223372036854775808ns",
                "time: invalid duration \"9223372036854775808ns\"",
            ),
            ("1e3s", "time: unknown unit \"e\" in duration \"1e3s\""),
            (
                "99999999999999999999999999999999999999999h",
                "time: invalid duration \"99999999999999999999999999999999999999999h\"",
            ),
        ] {
            assert_eq!(parse(text), Err(reason.to_owned()), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_a_panic(text in any::<String>()) {
            let _ = parse(&text);
        }

        #[test]
        fn parts_are_added(parts in proptest::collection::vec(0_u32..10_000, 1..6)) {
            let parts_in_words: Vec<String> =
                parts.iter().map(|part| format!("{part}ms")).collect();
            let text = parts_in_words.concat();
            let sum: u64 = parts.iter().map(|part| u64::from(*part)).sum();
            prop_assert_eq!(parse(&text).map(|signed| signed.length), Ok(Duration::from_millis(sum)));
        }
    }
}
