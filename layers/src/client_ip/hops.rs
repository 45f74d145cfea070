//! Reads the addresses in the forwarding headers of a request, the nearest hop first.
//!
//! A hop is `None` if its entry names no address. Everything is read from the right: a client
//! cannot hide the entry of the nearest proxy with anything it put to the left, such as an open
//! quote or bytes that are not text.

use std::{
    iter,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    str,
};

use http::{HeaderMap, HeaderName, header};

/// Size of a node identifier that may contain backslashes: the longest address takes 47 bytes.
const MAX_ESCAPED_NODE: usize = 64;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The hops of `Forwarded` (RFC 7239).
pub(super) fn forwarded(headers: &HeaderMap) -> impl Iterator<Item = Option<IpAddr>> {
    // RFC 7239, section 4: several lines are one list, in the order of the lines.
    let lines = headers.get_all(header::FORWARDED).iter().rev();
    lines
        .flat_map(|line| rsplit_unquoted(line.as_bytes(), b','))
        .filter_map(|element| match element.trim_ascii() {
            // RFC 9110, section 5.6.1.2: empty list elements do not count.
            b"" => None,
            element => Some(forwarded_for(element)),
        })
}

/// The hops of `X-Forwarded-For`.
pub(super) fn x_forwarded_for(headers: &HeaderMap) -> impl Iterator<Item = Option<IpAddr>> {
    let lines = headers.get_all(X_FORWARDED_FOR).iter().rev();
    lines
        .flat_map(|line| line.as_bytes().rsplit(|&byte| byte == b','))
        .filter_map(|entry| match entry.trim_ascii() {
            b"" => None,
            entry => Some(bare_or_node(entry)),
        })
}

/// The one hop of a header such as `X-Real-IP`.
pub(super) fn single(
    headers: &HeaderMap,
    name: &HeaderName,
) -> impl Iterator<Item = Option<IpAddr>> {
    let mut lines = headers.get_all(name).iter();
    let only = lines.next().filter(|_| lines.next().is_none());
    only.map(|line| bare_or_node(line.as_bytes().trim_ascii()))
        .into_iter()
}

/// The address in the `for` parameter of one element of `Forwarded`.
fn forwarded_for(element: &[u8]) -> Option<IpAddr> {
    let mut node = None;
    for pair in rsplit_unquoted(element, b';') {
        let pair = pair.trim_ascii();
        if pair.is_empty() {
            continue;
        }
        let equals = pair.iter().position(|&byte| byte == b'=')?;
        let (name, value) = pair.split_at(equals);
        if name.eq_ignore_ascii_case(b"for") && node.replace(&value[1..]).is_some() {
            // RFC 7239, section 4: a parameter occurs once. With two it is unclear which one is
            // true.
            return None;
        }
    }
    match node? {
        [b'"', quoted @ .., b'"'] => unescape(quoted, self::node),
        bare => self::node(bare),
    }
}

/// Passes the text of a quoted string (RFC 9110, section 5.6.4) to `read` without its backslashes.
fn unescape<T>(quoted: &[u8], read: impl FnOnce(&[u8]) -> Option<T>) -> Option<T> {
    if !quoted.contains(&b'\\') {
        return read(quoted);
    }
    let mut text = [0; MAX_ESCAPED_NODE];
    let mut len = 0;
    let mut bytes = quoted.iter();
    while let Some(&byte) = bytes.next() {
        let plain = if byte == b'\\' { *bytes.next()? } else { byte };
        *text.get_mut(len)? = plain;
        len += 1;
    }
    read(&text[..len])
}

/// An address in `X-Forwarded-For`: like a node, or IPv6 without brackets.
fn bare_or_node(text: &[u8]) -> Option<IpAddr> {
    match str::from_utf8(text).ok()?.parse::<Ipv6Addr>() {
        Ok(address) => Some(IpAddr::V6(address).to_canonical()),
        Err(_) => node(text),
    }
}

/// An address in RFC 7239, section 6: `192.0.2.1` or `[2001:db8::1]`, with an optional port. The
/// other nodes, `unknown` and `_hidden`, name no address.
fn node(text: &[u8]) -> Option<IpAddr> {
    let text = str::from_utf8(text).ok()?;
    let (address, rest) = if let Some(bracketed) = text.strip_prefix('[') {
        let (address, rest) = bracketed.split_once(']')?;
        // The standard library's parser refuses a zone id here, as it should: a zone means nothing
        // to other hosts.
        (address.parse::<Ipv6Addr>().ok()?.into(), rest)
    } else {
        let (address, rest) = text.split_at(text.find(':').unwrap_or(text.len()));
        (address.parse::<Ipv4Addr>().ok()?.into(), rest)
    };
    (rest.is_empty() || is_port(rest.strip_prefix(':')?)).then(|| IpAddr::to_canonical(&address))
}

/// RFC 7239, section 6: up to five digits, or an underscore and a made-up name.
fn is_port(text: &str) -> bool {
    match text.strip_prefix('_') {
        Some(name) => {
            !name.is_empty()
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
        }
        None => (1..=5).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

/// Splits at `separator` from the right, except inside quoted strings.
///
/// In a well-formed value this finds the same parts as reading from the left. In a value that a
/// client damaged, the parts to the right of the damage are still what the proxies wrote.
fn rsplit_unquoted(text: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(text);
    iter::from_fn(move || {
        let text = rest.take()?;
        let mut quoted = false;
        for (at, &byte) in text.iter().enumerate().rev() {
            if byte == b'"' {
                // Inside a string, a quote without a backslash before it is the opening one.
                quoted = !quoted || text[..at].ends_with(b"\\");
            } else if byte == separator && !quoted {
                rest = Some(&text[..at]);
                return Some(&text[at + 1..]);
            }
        }
        Some(text)
    })
}
