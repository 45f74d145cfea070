//! Codes of authenticator apps (RFC 6238): SHA-1, six digits, a step of 30 seconds.

use aws_lc_rs::hmac;

use crate::keys::digest;

/// Seconds of a step.
const STEP: u64 = 30;

/// Number of codes of six digits.
const CODES: u32 = 1_000_000;

/// Letters of a secret in base32.
pub(crate) const LETTERS: usize = 32;

/// The secret of an authenticator app.
pub(crate) type Secret = [u8; 20];

/// Returns the step of a code, at most one step before or after a moment.
pub(crate) fn step(secret: &Secret, typed: &str, now: u64) -> Option<u64> {
    let typed: String = typed.chars().filter(|c| !c.is_whitespace()).collect();
    let current = now / STEP;
    let steps = [current, current.saturating_sub(1), current + 1];
    // Compared as digests, so that the time says nothing.
    let is_right = |step: &u64| digest(code(secret, *step).as_bytes()) == digest(typed.as_bytes());
    steps.into_iter().find(is_right)
}

/// Returns the code of a step (RFC 4226, section 5.3).
pub(crate) fn code(secret: &Secret, step: u64) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret);
    let proof = hmac::sign(&key, &step.to_be_bytes());
    let proof = proof.as_ref();
    let place = usize::from(proof[proof.len() - 1] & 0xf);
    let number = proof[place..place + 4].iter();
    let number = number.fold(0, |number: u32, byte| number << 8 | u32::from(*byte));
    format!("{:06}", (number & 0x7fff_ffff) % CODES)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &Secret = b"12345678901234567890";

    #[test]
    fn codes_are_those_of_the_rfc() {
        // RFC 6238, appendix B, the last six of eight digits.
        for (moment, expected) in [
            (59, "287082"),
            (1_111_111_109, "081804"),
            (1_111_111_111, "050471"),
            (1_234_567_890, "005924"),
            (2_000_000_000, "279037"),
            (20_000_000_000, "353130"),
        ] {
            assert_eq!(code(SECRET, moment / STEP), expected, "{moment}");
        }
    }

    #[test]
    fn a_code_holds_one_step_before_and_after_its_own() {
        let moment = 1_111_111_109;
        let own = moment / STEP;
        for (steps, expected) in [
            (-2, None),
            (-1, Some(own)),
            (0, Some(own)),
            (1, Some(own)),
            (2, None),
        ] {
            let now = moment.checked_add_signed(steps * 30).expect("a moment");
            assert_eq!(step(SECRET, "081 804", now), expected, "{steps}");
        }
        for typed in ["", "81804", "0081804", "081805"] {
            assert_eq!(step(SECRET, typed, moment), None, "{typed}");
        }
    }
}
