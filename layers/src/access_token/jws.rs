//! The compact form of a signed token (RFC 7515, section 3.1).

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};

use crate::access_token::{Algorithm, members::Members};

/// A token in three parts; nothing in it is proved yet.
#[derive(Debug)]
pub(super) struct Jws<'a> {
    pub(super) header: Header,
    /// The text that is signed.
    pub(super) signed: &'a [u8],
    pub(super) payload: Vec<u8>,
    pub(super) signature: Vec<u8>,
}

/// The header of a token. Keys in it (`jku`, `jwk`, `x5u`, `x5c`) are not read.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) algorithm: Algorithm,
    pub(super) kid: Option<String>,
}

impl<'a> Jws<'a> {
    /// Parses a token of one of these types; returns `None` if it is malformed, or if its header
    /// rules out this use.
    pub(super) fn parse(token: &'a str, types: &[&str]) -> Option<Self> {
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, payload) = signed.split_once('.')?;
        if payload.contains('.') {
            return None;
        }
        let header = Header::parse(&decode(header)?, types)?;
        Some(Self {
            header,
            signed: signed.as_bytes(),
            payload: decode(payload)?,
            signature: decode(signature)?,
        })
    }
}

impl Header {
    fn parse(document: &[u8], types: &[&str]) -> Option<Self> {
        let members = Members::parse(document)?;
        // RFC 7515, section 4.1.11: no extension is understood here.
        if members.has("crit") {
            return None;
        }
        let algorithm: String = members.get("alg").ok()??;
        let typ: Option<String> = members.get("typ").ok()?;
        let typ = typ.as_deref().unwrap_or("JWT");
        // RFC 7515, section 4.1.9: the prefix may be omitted, and the case does not matter.
        let is_type = |name: &str| {
            let prefix = "application/";
            let (start, rest) = typ.split_at_checked(prefix.len()).unwrap_or(("", typ));
            let typ = if start.eq_ignore_ascii_case(prefix) {
                rest
            } else {
                typ
            };
            typ.eq_ignore_ascii_case(name)
        };
        if !types.iter().any(|name| is_type(name)) {
            return None;
        }
        Some(Self {
            algorithm: Algorithm::named(&algorithm)?,
            kid: members.get("kid").ok()?,
        })
    }
}

/// Decodes base64url without padding; unused bits must be zero, so each text has one spelling.
fn decode(text: &str) -> Option<Vec<u8>> {
    BASE64_URL_SAFE_NO_PAD.decode(text).ok()
}
