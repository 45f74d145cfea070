//! Retries of requests that read, and the wait before them.

use std::time::Duration;

use http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use rand::{TryRng as _, rngs::SysRng};
use ziggurat_runtime::retry_after;

/// Waits before the second and every later attempt.
const WAITS: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(1)];

/// Maximum wait that a server may ask for.
const LONGEST: Duration = Duration::from_secs(10);

/// Returns whether a retry may change a status.
pub(super) fn is_passing(status: StatusCode) -> bool {
    matches!(status.as_u16(), 429 | 502 | 503 | 504)
}

/// Adds the wait that a server asks for to its message.
pub(crate) fn with_wait(said: String, headers: &HeaderMap) -> String {
    match retry_after::read(headers, Timestamp::now()).map(|asked| asked.as_secs()) {
        None => said,
        Some(asked) if said.is_empty() => format!("retry after {asked}s"),
        Some(asked) => format!("{said}, retry after {asked}s"),
    }
}

/// Returns the wait before attempt `next` (the second is 1); `None` if it would be too long.
///
/// `jitter` is from 0 to 1; 0.5 leaves the wait unchanged.
pub(super) fn wait(next: u32, asked: Option<Duration>, jitter: f64) -> Option<Duration> {
    match asked {
        Some(asked) if asked > LONGEST => None,
        Some(asked) => Some(asked),
        None => {
            let at = usize::try_from(next)
                .unwrap_or(usize::MAX)
                .clamp(1, WAITS.len());
            Some(WAITS[at - 1].mul_f64(0.75 + jitter.clamp(0.0, 1.0) / 2.0))
        }
    }
}

/// Returns a random number from 0 to 1; 0.5 if the system has no random bytes.
pub(super) fn jitter() -> f64 {
    let mut byte = [0];
    match SysRng.try_fill_bytes(&mut byte) {
        Ok(()) => f64::from(byte[0]) / 255.0,
        Err(_) => 0.5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_stay_within_a_quarter() {
        for (next, jitter, milliseconds) in [
            (1, 0.5, 250),
            (1, 0.0, 187),
            (1, 1.0, 312),
            (2, 0.5, 1000),
            (2, 0.0, 750),
            (3, 1.0, 1250),
        ] {
            let wait = wait(next, None, jitter).expect("a wait");
            assert_eq!(wait.as_millis(), milliseconds, "{next} {jitter}");
        }
    }

    #[test]
    fn a_server_is_waited_for_up_to_ten_seconds() {
        let seconds = Duration::from_secs;
        assert_eq!(wait(1, Some(seconds(0)), 0.5), Some(seconds(0)));
        assert_eq!(wait(1, Some(seconds(10)), 0.5), Some(seconds(10)));
        assert_eq!(wait(1, Some(seconds(11)), 0.5), None);
    }

    #[test]
    fn only_answers_that_pass_are_tried_again() {
        for status in 100..=599_u16 {
            let expected = [429, 502, 503, 504].contains(&status);
            let status = StatusCode::from_u16(status).expect("a status");
            assert_eq!(is_passing(status), expected, "{status}");
        }
    }
}
