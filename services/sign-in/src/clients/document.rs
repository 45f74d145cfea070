//! Documents in which clients describe themselves: the id of such a client is the address of its
//! document.
//!
//! The host of the document vouches for what it says. Addresses in it other than the redirects and
//! the keys are neither fetched nor shown.

use std::{error::Error, fmt};

use serde::de::DeserializeOwned;
use ziggurat_layers::access_token::{Algorithm, Members, PublicKeys};

use crate::{
    clients::{Client, redirect},
    settings::Registration,
};

/// Algorithms with which clients may sign their assertions.
pub(crate) const ALGORITHMS: [Algorithm; 4] = [
    Algorithm::Rs256,
    Algorithm::Ps256,
    Algorithm::Es256,
    Algorithm::EdDsa,
];

/// Longest address of a document.
const LONGEST_URL: usize = 512;

/// Longest name of a client, in characters.
const LONGEST_NAME: usize = 200;

/// Number of redirect addresses.
const MAX_REDIRECTS: usize = 32;

/// The part of a document that only a client with a document has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Published {
    /// The host of the document.
    pub(crate) host: String,
    /// Says that it may prove nothing at the token endpoint.
    pub(crate) takes_none: bool,
    /// The keys that sign its assertions, if it has any.
    pub(crate) keys: Option<ClientKeys>,
}

/// The public keys of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ClientKeys {
    /// They are in the document.
    Written(String),
    /// They are at an address on the host of the document.
    At(String),
}

/// The reason why a document is not taken, for the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BadDocument(&'static str);

// === impl ClientKeys ===

impl ClientKeys {
    /// Returns the keys, or their address.
    pub(crate) fn text(&self) -> &str {
        let (Self::Written(text) | Self::At(text)) = self;
        text
    }
}

// === impl BadDocument ===

impl fmt::Display for BadDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Error for BadDocument {}

/// Returns the host of an address that may be the address of a document.
///
/// Each address has one spelling only, so that all readers see the same host and path.
pub(crate) fn host<'u>(url: &'u str, registration: &Registration) -> Option<&'u str> {
    if url.len() > LONGEST_URL {
        return None;
    }
    let (authority, path) = url.strip_prefix("https://")?.split_once('/')?;
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    };
    let is_private = registration.private_hosts.iter().any(|it| it == host);
    let has_port = port.is_some_and(|port| {
        !is_private || !port.bytes().all(|it| it.is_ascii_digit()) || port.parse::<u16>().is_err()
    });
    let is_name = is_name(host) && (is_private || host.contains('.'));
    (is_name && !has_port && path.split('/').all(is_segment)).then_some(host)
}

/// Returns whether the documents of a host are read.
pub(crate) fn is_admitted(host: &str, registration: &Registration) -> bool {
    let fits = |allowed: &String| match allowed.strip_prefix('*') {
        Some(end) => host.len() > end.len() && host.ends_with(end) && end.starts_with('.'),
        None => allowed == host,
    };
    registration.document_hosts.is_empty() || registration.document_hosts.iter().any(fits)
}

/// Reads the document at an address.
pub(crate) fn read(
    url: &str,
    body: &[u8],
    registration: &Registration,
) -> Result<Client, BadDocument> {
    let members =
        Members::parse(body).ok_or(BadDocument("it is not an object of unique members"))?;
    let id: Option<String> = member(&members, "client_id")?;
    if id.as_deref() != Some(url) {
        return Err(BadDocument("client_id is not its address"));
    }
    if members.has("client_secret") {
        return Err(BadDocument("it has a client_secret"));
    }
    let host = host(url, registration).ok_or(BadDocument("its address cannot be an id"))?;
    let name: Option<String> = member(&members, "client_name")?;
    let is_name = |name: &String| !name.is_empty() && name.chars().count() <= LONGEST_NAME;
    let name = name.filter(is_name);
    let name = name.ok_or(BadDocument("client_name is not a text of 1 to 200 letters"))?;
    let redirect_uris = redirects(&members, registration)?;
    let grants: Option<Vec<String>> = member(&members, "grant_types")?;
    let has_grant = |name: &str| has(grants.as_deref(), name).unwrap_or(true);
    if !has_grant("authorization_code") {
        return Err(BadDocument("grant_types has no authorization_code"));
    }
    let responses: Option<Vec<String>> = member(&members, "response_types")?;
    if has(responses.as_deref(), "code") == Some(false) {
        return Err(BadDocument("response_types has no code"));
    }
    let (takes_none, keys) = proofs(&members, url, registration)?;
    let published = Published {
        host: host.to_owned(),
        takes_none,
        keys,
    };
    Ok(Client {
        id: url.to_owned(),
        name,
        redirect_uris,
        has_refresh: has_grant("refresh_token"),
        secret: None,
        is_manual: false,
        skips_consent: false,
        published: Some(published),
    })
}

/// Returns the redirect addresses that are good, sorted. The others are dropped.
fn redirects(
    members: &Members<'_>,
    registration: &Registration,
) -> Result<Vec<String>, BadDocument> {
    let bad = BadDocument("redirect_uris has not 1 to 32 good addresses");
    let mut good: Vec<String> = member(members, "redirect_uris")?.ok_or(bad)?;
    if good.len() > MAX_REDIRECTS {
        return Err(bad);
    }
    good.retain(|address| redirect::is_good(address, registration));
    good.sort_unstable();
    good.dedup();
    if good.is_empty() { Err(bad) } else { Ok(good) }
}

/// Returns whether a client may prove nothing, and the keys with which it proves itself.
fn proofs(
    members: &Members<'_>,
    url: &str,
    registration: &Registration,
) -> Result<(bool, Option<ClientKeys>), BadDocument> {
    let method: Option<String> = member(members, "token_endpoint_auth_method")?;
    match method.as_deref() {
        None | Some("none") => return Ok((true, None)),
        Some("private_key_jwt") => {}
        Some(_) => {
            let problem = "token_endpoint_auth_method is neither none nor private_key_jwt";
            return Err(BadDocument(problem));
        }
    }
    let others: Option<Vec<String>> = member(members, "token_endpoint_auth_methods_supported")?;
    let takes_none = has(others.as_deref(), "none") == Some(true);
    let written = members.raw("jwks").filter(|keys| *keys != "null");
    let address: Option<String> = member(members, "jwks_uri")?;
    let keys = match (written, address) {
        (Some(keys), None) if PublicKeys::parse(keys.as_bytes(), &ALGORITHMS).is_some() => {
            ClientKeys::Written(keys.to_owned())
        }
        (None, Some(address)) if is_beside(&address, url, registration) => ClientKeys::At(address),
        _ => return Err(BadDocument("it has no keys, or not on its own host")),
    };
    Ok((takes_none, Some(keys)))
}

/// Reads a member. `null` counts as absent.
fn member<T: DeserializeOwned>(
    members: &Members<'_>,
    name: &'static str,
) -> Result<Option<T>, BadDocument> {
    let found = members.get::<Option<T>>(name).map(Option::flatten);
    found.map_err(|_| BadDocument("a member has a value of another type"))
}

/// Returns whether a list has a text, if there is a list.
fn has(list: Option<&[String]>, text: &str) -> Option<bool> {
    list.map(|list| list.iter().any(|it| it == text))
}

/// Returns whether two addresses are on one host and port.
fn is_beside(one: &str, other: &str, registration: &Registration) -> bool {
    let origin = |url: &str| url.split('/').nth(2).map(str::to_owned);
    host(one, registration).is_some() && origin(one) == origin(other)
}

/// Returns whether a host is a name of DNS in lower case, and cannot be an address.
fn is_name(host: &str) -> bool {
    let is_letter = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-';
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(is_letter)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let last = host.rsplit('.').next().unwrap_or_default();
    host.len() <= 253
        && host.split('.').all(is_label)
        && last.starts_with(|first: char| first.is_ascii_lowercase())
}

/// Returns whether a part of a path is read alike everywhere.
fn is_segment(segment: &str) -> bool {
    let is_plain = |it: u8| it.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@%".contains(&it);
    let is_escape = |rest: &str| {
        let digits = rest.as_bytes().get(..2);
        digits.is_some_and(|two| {
            two.iter().all(u8::is_ascii_hexdigit) && two[..] != *b"2e" && two[..] != *b"2E"
        })
    };
    !matches!(segment, "" | "." | "..")
        && segment.bytes().all(is_plain)
        && segment.split('%').skip(1).all(is_escape)
}

#[cfg(test)]
mod tests;
