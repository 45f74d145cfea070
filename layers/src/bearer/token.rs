//! The token in the `Authorization` header.

use http::{HeaderMap, header};

use crate::bearer::challenge::BearerFault;

/// Takes the token out of `Authorization: Bearer <token>`, and marks the header as a secret.
///
/// The token is RFC 6750's `b64token` to the letter, so lists, quotes and inner blanks are refused
/// and inner services cannot read them differently.
pub(super) fn bearer_token(headers: &mut HeaderMap) -> Result<&str, BearerFault> {
    // Counting is cheaper than a second look-up: repeated headers are rare.
    if headers.len() > headers.keys_len() && is_repeated(headers) {
        return Err(BearerFault::Malformed);
    }
    let value = headers
        .get_mut(header::AUTHORIZATION)
        .ok_or(BearerFault::Missing)?;
    value.set_sensitive(true);
    let token = credentials(value.as_bytes())?;
    if !is_b64token(token) {
        return Err(BearerFault::Malformed);
    }
    str::from_utf8(token).map_err(|_| BearerFault::Malformed)
}

#[cold]
fn is_repeated(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    values.nth(1).is_some()
}

/// The text after the scheme, which may be in any case (RFC 9110, section 11.1), and the blanks
/// behind it.
fn credentials(value: &[u8]) -> Result<&[u8], BearerFault> {
    // The spelling that nearly every client uses.
    if let Some((b"Bearer ", token)) = value.split_first_chunk()
        && token.first() != Some(&b' ')
    {
        return Ok(token);
    }
    let blank = value.iter().position(|&byte| byte == b' ');
    let (scheme, token) = value.split_at(blank.unwrap_or(value.len()));
    if !scheme.eq_ignore_ascii_case(b"bearer") {
        return Err(BearerFault::OtherScheme);
    }
    let first = token.iter().position(|&byte| byte != b' ');
    Ok(&token[first.unwrap_or(token.len())..])
}

/// RFC 6750, section 2.1: letters, digits and `-._~+/`, at least one, then any number of `=`.
pub(super) fn is_b64token(token: &[u8]) -> bool {
    let padding = token.iter().rev().take_while(|&&byte| byte == b'=').count();
    let unpadded = &token[..token.len() - padding];
    // Checks 16 bytes as one vector. The last vector overlaps the one before it.
    let (vectors, rest) = unpadded.as_chunks::<16>();
    vectors.iter().all(all_in_token)
        && match unpadded.last_chunk::<16>() {
            Some(last) => rest.is_empty() || all_in_token(last),
            None => !rest.is_empty() && rest.iter().all(|&byte| is_in_token(byte)),
        }
}

#[inline]
fn all_in_token(vector: &[u8; 16]) -> bool {
    // No early exit, so that the compiler emits vector instructions.
    vector
        .iter()
        .fold(true, |all, &byte| all & is_in_token(byte))
}

/// Compares with ranges, because a look-up table has no vector form.
#[expect(
    clippy::needless_bitwise_bool,
    reason = "branches have no vector form either"
)]
#[inline]
fn is_in_token(byte: u8) -> bool {
    (byte | 0x20).is_ascii_lowercase()
        | matches!(byte, b'-'..=b'9')
        | (byte == b'+')
        | (byte == b'_')
        | (byte == b'~')
}
