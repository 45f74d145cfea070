//! A number of requests or failures per period.

use std::{error::Error, fmt, num::NonZeroU32, str::FromStr, time::Duration};

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// Longer periods are typing errors, or limits that a restart would reset.
const MAX_PERIOD: u64 = 366 * DAY;

/// A number of requests or failures per period, parsed from text.
///
/// The text is a count, `per` or `/`, and a period: a unit, or a number of them. Units are seconds
/// (`s`, `sec`, `second`), minutes (`m`, `min`, `minute`), hours (`h`, `hour`) and days (`d`,
/// `day`), with an optional plural `s` and in any case.
///
/// ```
/// use std::time::Duration;
/// use ziggurat_layers::rate_limit::Quota;
///
/// let quota: Quota = "10 per 15 minutes".parse()?;
/// assert_eq!(quota.count(), 10);
/// assert_eq!(quota.period(), Duration::from_secs(900));
///
/// assert_eq!("5/s".parse::<Quota>()?.to_string(), "5 per second");
///
/// let nothing = "0 per hour".parse::<Quota>().unwrap_err();
/// assert_eq!(nothing.to_string(), "not a quota: the count must be at least 1");
/// # Ok::<_, ziggurat_layers::rate_limit::InvalidQuota>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Quota {
    count: NonZeroU32,
    /// Whole seconds, because the `RateLimit-Policy` field has no smaller unit.
    period: Duration,
}

/// A text, or a period, that is not a valid quota.
///
/// ```
/// use ziggurat_layers::rate_limit::Quota;
///
/// let error = "10 per month".parse::<Quota>().unwrap_err();
/// let expected = "not a quota: the period must be in seconds, minutes, hours or days";
/// assert_eq!(error.to_string(), expected);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidQuota {
    reason: &'static str,
}

// === impl Quota ===

impl Quota {
    /// Permits `count` in every `period`.
    ///
    /// ```
    /// use std::{num::NonZeroU32, time::Duration};
    /// use ziggurat_layers::rate_limit::Quota;
    ///
    /// let ten = NonZeroU32::new(10).unwrap();
    /// let quota = Quota::new(ten, Duration::from_secs(900))?;
    /// assert_eq!(quota.to_string(), "10 per 15 minutes");
    /// assert!(Quota::new(ten, Duration::from_millis(900)).is_err());
    /// # Ok::<_, ziggurat_layers::rate_limit::InvalidQuota>(())
    /// ```
    ///
    /// # Errors
    /// Fails on a period that is not a whole number of seconds, or not between one second and
    /// 366 days.
    pub fn new(count: NonZeroU32, period: Duration) -> Result<Self, InvalidQuota> {
        let reason = if period.subsec_nanos() != 0 {
            "the period must be whole seconds"
        } else if period.is_zero() {
            "the period must be at least a second"
        } else if period.as_secs() > MAX_PERIOD {
            "the period must be at most 366 days"
        } else {
            return Ok(Self { count, period });
        };
        Err(InvalidQuota { reason })
    }

    /// The number of requests or failures.
    ///
    /// ```
    /// use ziggurat_layers::rate_limit::Quota;
    ///
    /// assert_eq!("5 per 2 hours".parse::<Quota>()?.count(), 5);
    /// # Ok::<_, ziggurat_layers::rate_limit::InvalidQuota>(())
    /// ```
    #[must_use]
    pub fn count(self) -> u32 {
        self.count.get()
    }

    /// The period.
    ///
    /// ```
    /// use ziggurat_layers::rate_limit::Quota;
    ///
    /// assert_eq!("5 per 2 hours".parse::<Quota>()?.period().as_secs(), 7200);
    /// # Ok::<_, ziggurat_layers::rate_limit::InvalidQuota>(())
    /// ```
    #[must_use]
    pub fn period(self) -> Duration {
        self.period
    }
}

impl FromStr for Quota {
    type Err = InvalidQuota;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = |reason| InvalidQuota { reason };
        let text = text.to_ascii_lowercase();
        let (count, period) = text
            .split_once('/')
            .or_else(|| text.split_once(" per "))
            .ok_or(invalid("expected words like `10 per 15 minutes` or `5/s`"))?;
        let count = number(count.trim()).ok_or(invalid("the count must be a number"))?;
        let count = NonZeroU32::new(count).ok_or(invalid("the count must be at least 1"))?;

        let period = period.trim();
        let digits = period.bytes().take_while(u8::is_ascii_digit).count();
        let (times, unit) = period.split_at(digits);
        let times = match times {
            "" => 1,
            digits => number(digits).ok_or(invalid("the period must be at most 366 days"))?,
        };
        let unit = seconds_in(unit.trim_start()).ok_or(invalid(
            "the period must be in seconds, minutes, hours or days",
        ))?;
        Self::new(count, Duration::from_secs(u64::from(times) * unit))
    }
}

impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.period.as_secs();
        let units = [(DAY, "day"), (HOUR, "hour"), (MINUTE, "minute")];
        let (length, unit) = units
            .into_iter()
            .find(|(length, _)| seconds.is_multiple_of(*length))
            .unwrap_or((1, "second"));
        match seconds / length {
            1 => write!(f, "{} per {unit}", self.count),
            times => write!(f, "{} per {times} {unit}s", self.count),
        }
    }
}

// === impl InvalidQuota ===

impl fmt::Display for InvalidQuota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a quota: {}", self.reason)
    }
}

impl Error for InvalidQuota {}

/// Reads digits only: the parser of the standard library would accept a sign.
fn number(digits: &str) -> Option<u32> {
    let all_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
    all_digits.then(|| digits.parse().ok()).flatten()
}

fn seconds_in(unit: &str) -> Option<u64> {
    match unit {
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1),
        "m" | "min" | "mins" | "minute" | "minutes" => Some(MINUTE),
        "h" | "hour" | "hours" => Some(HOUR),
        "d" | "day" | "days" => Some(DAY),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_become_a_quota_and_words_again() {
        let cases = [
            ("10 per 15 minutes", 10, 900, "10 per 15 minutes"),
            ("5/s", 5, 1, "5 per second"),
            ("100 per hour", 100, 3600, "100 per hour"),
            ("1 per 2 days", 1, 172_800, "1 per 2 days"),
            ("7 / 90 sec", 7, 90, "7 per 90 seconds"),
            ("7/90min", 7, 5400, "7 per 90 minutes"),
            ("7/120M", 7, 7200, "7 per 2 hours"),
            (" 3 PER Day ", 3, 86_400, "3 per day"),
            ("1 per  1  h", 1, 3600, "1 per hour"),
            (
                "4294967295/366d",
                u32::MAX,
                MAX_PERIOD,
                "4294967295 per 366 days",
            ),
        ];
        for (text, count, seconds, shown) in cases {
            let quota: Quota = text.parse().expect(text);
            assert_eq!(quota.count(), count, "{text}");
            assert_eq!(quota.period().as_secs(), seconds, "{text}");
            assert_eq!(quota.to_string(), shown, "{text}");
        }
    }

    #[test]
    fn what_is_no_quota_is_refused_with_a_reason() {
        let words = "expected words like `10 per 15 minutes` or `5/s`";
        let unit = "the period must be in seconds, minutes, hours or days";
        let long = "the period must be at most 366 days";
        let cases = [
            ("", words),
            ("10", words),
            ("10 minutes", words),
            ("10per minute", words),
            ("0/s", "the count must be at least 1"),
            ("00 per hour", "the count must be at least 1"),
            ("-1 per hour", "the count must be a number"),
            ("+1 per hour", "the count must be a number"),
            ("1.5 per hour", "the count must be a number"),
            ("ten per hour", "the count must be a number"),
            ("/s", "the count must be a number"),
            ("4294967296/s", "the count must be a number"),
            ("10 per 0 minutes", "the period must be at least a second"),
            ("10 per 15", unit),
            ("10 per ", unit),
            ("10/", unit),
            ("10 per month", unit),
            ("10 per -1 hour", unit),
            ("10 per 250 ms", unit),
            ("1/s/s", unit),
            ("10 per 367 days", long),
            ("10 per 4294967296 seconds", long),
        ];
        for (text, reason) in cases {
            let error = text.parse::<Quota>().expect_err(text);
            assert_eq!(error.reason, reason, "{text:?}");
        }
        let split = Quota::new(NonZeroU32::MIN, Duration::from_millis(1500));
        let reason = "not a quota: the period must be whole seconds";
        assert_eq!(split.expect_err("not whole").to_string(), reason);
    }

    proptest! {
        #[test]
        fn every_quota_reads_back_from_its_words(count: NonZeroU32, seconds in 1..=MAX_PERIOD) {
            let quota = Quota::new(count, Duration::from_secs(seconds)).expect("in range");
            prop_assert_eq!(quota.to_string().parse(), Ok(quota));
        }

        #[test]
        fn any_text_is_a_quota_or_an_error(text in "\\PC*|[0-9]{0,12} ?(per|/) ?[0-9]{0,12} ?[a-z]*") {
            let _ = text.parse::<Quota>();
        }
    }
}
