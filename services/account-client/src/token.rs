//! Access tokens: their lifetime, their cache, and the exchange that obtains one.

pub mod binding;
pub(crate) mod cache;
pub(crate) mod exchange;

use jiff::{SignedDuration, Timestamp};
use ziggurat_runtime::Secret;

/// Time before its expiry at which a token is exchanged at the latest.
const WINDOW: SignedDuration = SignedDuration::from_mins(5);

/// An access token.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Token {
    /// The text that is sent.
    pub bearer: Secret,
    /// The end of its lifetime.
    pub expires_at: Timestamp,
    /// Unknown for tokens that another program has cached.
    pub issued_at: Option<Timestamp>,
}

// === impl Token ===

impl Token {
    /// Returns whether it has not expired.
    #[must_use]
    pub fn is_valid(&self, now: Timestamp) -> bool {
        now < self.expires_at
    }

    /// Returns whether it can be sent: not in the last five minutes, nor in the last fifth of its
    /// lifetime if that is shorter.
    pub(crate) fn is_fresh(&self, now: Timestamp) -> bool {
        let fifth = self
            .issued_at
            .map(|issued| self.expires_at.duration_since(issued) / 5);
        let window = fifth.map_or(WINDOW, |fifth| fifth.min(WINDOW));
        self.expires_at.duration_since(now) > window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(issued: Option<i64>, expires: i64) -> Token {
        let at = |seconds| Timestamp::from_second(seconds).expect("a time");
        Token {
            bearer: "t".into(),
            expires_at: at(expires),
            issued_at: issued.map(at),
        }
    }

    #[test]
    fn a_token_is_fresh_until_five_minutes_or_a_fifth_before_its_end() {
        for (issued, expires, now, is_fresh) in [
            (None, 1000, 699, true),
            (None, 1000, 700, false),
            (Some(0), 86400, 86099, true),
            (Some(0), 86400, 86100, false),
            (Some(0), 100, 79, true),
            (Some(0), 100, 80, false),
            (Some(500), 100, 99, true),
            (Some(500), 100, 180, false),
        ] {
            let now = Timestamp::from_second(now).expect("a time");
            let token = token(issued, expires);
            assert_eq!(token.is_fresh(now), is_fresh, "{issued:?} {expires} {now}");
        }
    }

    #[test]
    fn a_token_does_not_print_itself() {
        assert!(!format!("{:?}", token(None, 1)).contains("\"t\""));
    }
}
