//! The token in the `Authorization` header.

use http::{HeaderMap, header};

use super::challenge::Fault;

/// Takes the token out of `Authorization: Bearer <token>`.
///
/// The token is RFC 6750's `b64token` to the letter, so lists, quotes and inner blanks are
/// refused and cannot be read differently by someone further in.
pub(super) fn bearer_token(headers: &HeaderMap) -> Result<&str, Fault> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = values.next().ok_or(Fault::Missing)?;
    if values.next().is_some() {
        return Err(Fault::Malformed);
    }
    let value = value.as_bytes();
    let blank = value.iter().position(|&byte| byte == b' ');
    let (scheme, token) = value.split_at(blank.unwrap_or(value.len()));
    if !scheme.eq_ignore_ascii_case(b"bearer") {
        return Err(Fault::OtherScheme);
    }
    let first = token.iter().position(|&byte| byte != b' ');
    let token = &token[first.unwrap_or(token.len())..];
    if !is_b64token(token) {
        return Err(Fault::Malformed);
    }
    str::from_utf8(token).map_err(|_| Fault::Malformed)
}

/// RFC 6750, section 2.1: letters, digits and `-._~+/`, at least one, then any number of `=`.
pub(super) fn is_b64token(token: &[u8]) -> bool {
    let padding = token.iter().rev().take_while(|&&byte| byte == b'=').count();
    let unpadded = &token[..token.len() - padding];
    // Without an early exit there is one branch for the whole token.
    !unpadded.is_empty()
        && unpadded
            .iter()
            .fold(true, |all, &byte| all & IN_TOKEN[usize::from(byte)])
}

/// Which bytes a token may hold: a look-up, because every byte of every token passes here.
const IN_TOKEN: [bool; 256] = {
    let legal = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/";
    let mut table = [false; 256];
    let mut at = 0;
    while at < legal.len() {
        table[legal[at] as usize] = true;
        at += 1;
    }
    table
};
