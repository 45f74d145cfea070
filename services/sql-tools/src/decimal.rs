//! Decimal numbers of any size, compared exactly.

use std::{cmp::Ordering, fmt};

/// Limits of the type `numeric` on the digits before and behind the decimal point.
const MAX_WHOLE: i64 = 131_072;
const MAX_SCALE: i64 = 16_383;

/// A number as it was written, and its parts for comparisons.
#[derive(Clone, Debug)]
pub(crate) struct Decimal {
    text: String,
    is_negative: bool,
    /// Its digits from the first to the last that is not zero; none for zero.
    digits: String,
    /// Position of the decimal point, counted from the first of the digits.
    point: i64,
}

// === impl Decimal ===

impl Decimal {
    /// Reads a number of JSON; `None` if PostgreSQL cannot hold it as `numeric`.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (is_negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
            None => (rest, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        if whole.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let significant = all.trim_start_matches('0');
        let zeros = i64::try_from(all.len() - significant.len()).ok()?;
        let point = i64::try_from(whole.len()).ok()? - zeros;
        let digits = significant.trim_end_matches('0');
        let point = point.checked_add(exponent)?;
        let scale = i64::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
        if point > MAX_WHOLE || scale > MAX_SCALE {
            return None;
        }
        Some(Self {
            text: text.to_owned(),
            is_negative: is_negative && !digits.is_empty(),
            digits: digits.to_owned(),
            point,
        })
    }

    fn compare(&self, other: &Self) -> Ordering {
        let sizes = || match (self.digits.is_empty(), other.digits.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            // The digits after the point of one that is shorter are zeros.
            (false, false) => (self.point, &self.digits).cmp(&(other.point, &other.digits)),
        };
        match (self.is_negative, other.is_negative) {
            (false, false) => sizes(),
            (true, true) => sizes().reverse(),
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
        }
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Self) -> bool {
        self.compare(other) == Ordering::Equal
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.compare(other))
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_digit_by_digit() {
        let sorted = [
            "-1e400",
            "-10",
            "-9.5",
            "-0.001",
            "0",
            "1e-400",
            "0.00000000000000000001",
            "0.1",
            "0.9999999999999999999999999",
            "1",
            "1.00000000000000000000000001",
            "9",
            "10",
            "99e3",
            "1e400",
        ];
        let read = |text: &str| Decimal::read(text).expect("a number");
        for (index, one) in sorted.iter().enumerate() {
            for (other_index, other) in sorted.iter().enumerate() {
                let found = read(one).partial_cmp(&read(other));
                assert_eq!(found, Some(index.cmp(&other_index)), "{one} {other}");
            }
        }
        for (one, other) in [
            ("1", "1.000"),
            ("100", "1E2"),
            ("-0", "0e9"),
            ("0.10", "1e-1"),
        ] {
            assert_eq!(read(one), read(other));
        }
        for wrong in ["", "-", "x", "1x", "1e", "1e99999999999999999999", ".5"] {
            assert!(Decimal::read(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn a_number_has_as_many_digits_as_postgresql_can_hold() {
        let (whole, fraction) = ("9".repeat(131_072), "0".repeat(16_383));
        for most in [
            &*whole,
            &format!("-{whole}.{fraction}"),
            "1e131071",
            "1e-16383",
        ] {
            assert!(Decimal::read(most).is_some(), "{}", most.len());
        }
        for more in [
            &*format!("1{whole}"),
            &format!("0.{fraction}1"),
            "1e131072",
            "-1e-16384",
            "0e2147483648",
        ] {
            assert!(Decimal::read(more).is_none(), "{}", more.len());
        }
    }
}
