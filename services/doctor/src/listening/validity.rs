//! Reads the end of the validity of a certificate.
//!
//! The libraries of TLS check it and do not tell it. A parser of certificates would bring ten
//! crates for one date.

use jiff::{Timestamp, civil::DateTime, tz::Offset};

/// Tags of ASN.1, as X.690 numbers them.
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// Returns the last moment at which a certificate is valid (RFC 5280, section 4.1.2.5).
pub(super) fn not_after(certificate: &[u8]) -> Option<Timestamp> {
    let (_, certificate, _) = element(certificate)?;
    let (_, mut rest, _) = element(certificate)?;
    // The version may be missing; the serial number, the algorithm and the issuer may not.
    if rest.first() == Some(&VERSION) {
        rest = element(rest)?.2;
    }
    for _ in 0..3 {
        rest = element(rest)?.2;
    }
    let (tag, validity, _) = element(rest)?;
    if tag != SEQUENCE {
        return None;
    }
    let (_, _, second) = element(validity)?;
    let (tag, end, _) = element(second)?;
    moment(tag, std::str::from_utf8(end).ok()?)
}

/// Splits the first element off: its tag, its content, and what follows.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&first, mut rest) = rest.split_first()?;
    let mut length = usize::from(first);
    if first >= 0x80 {
        let (digits, after) = rest.split_at_checked(usize::from(first & 0x7f))?;
        if digits.len() > 4 {
            return None;
        }
        length = digits
            .iter()
            .fold(0, |sum, &digit| sum << 8 | usize::from(digit));
        rest = after;
    }
    let (content, after) = rest.split_at_checked(length)?;
    Some((tag, content, after))
}

/// Reads `YYMMDDHHMMSSZ` or `YYYYMMDDHHMMSSZ`.
fn moment(tag: u8, text: &str) -> Option<Timestamp> {
    let text = match tag {
        GENERALIZED_TIME => text.to_owned(),
        // Years from 50 on are of the last century.
        UTC_TIME if text.as_bytes().first()? >= &b'5' => format!("19{text}"),
        UTC_TIME => format!("20{text}"),
        _ => return None,
    };
    let moment = DateTime::strptime("%Y%m%d%H%M%SZ", text).ok()?;
    Offset::UTC.to_timestamp(moment).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_time_are_read() {
        let second = |tag, text| moment(tag, text).map(|it| it.to_string());
        let new = Some("2049-12-31T23:59:59Z".to_owned());
        assert_eq!(second(UTC_TIME, "491231235959Z"), new);
        assert_eq!(second(GENERALIZED_TIME, "20491231235959Z"), new);
        let old = Some("1950-01-01T00:00:00Z".to_owned());
        assert_eq!(second(UTC_TIME, "500101000000Z"), old);
        assert_eq!(second(UTC_TIME, "5001"), None);
        assert_eq!(second(SEQUENCE, "500101000000Z"), None);
    }

    #[test]
    fn damaged_certificates_have_no_end_and_do_no_harm() {
        let key = rcgen::KeyPair::generate().expect("a key");
        let params = rcgen::CertificateParams::new(["a.example".to_owned()]).expect("a name");
        let whole = params.self_signed(&key).expect("signed");
        let whole = whole.der();
        assert!(not_after(whole).is_some());
        for length in 0..whole.len() {
            assert_eq!(not_after(&whole[..length]), None);
        }
    }
}
