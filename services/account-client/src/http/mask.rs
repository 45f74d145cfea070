//! Masks credentials in headers, bodies and addresses.
//!
//! Members and headers with credentials are masked by their names. The secrets that this process
//! knows are also masked everywhere, because a server may quote one in a message.

mod scan;
mod text;

use std::fmt::{self, Write as _};

/// Replacement for a secret.
pub(crate) const MASK: &str = "████";

/// Maximum number of characters of a body in a failure.
const EXCERPT: usize = 512;

/// Maximum number of characters of a body in a log.
const DUMP: usize = 8192;

/// Minimum length of a secret that is searched for; shorter ones could match ordinary words.
const SHORTEST_KNOWN: usize = 8;

/// Headers with credentials.
const HEADERS: [&str; 5] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "set-cookie",
    "x-api-key",
];

/// Members with credentials, at any depth.
const MEMBERS: [&str; 20] = [
    "access_token",
    "accept_url",
    "api_key",
    "auth0_secret",
    "azure_key",
    "client_secret",
    "credentials",
    "embedding_api_key",
    "gcs_key",
    "id_token",
    "init_tokens",
    "init_users",
    "jwt_secret",
    "oauth_client_secret",
    "password",
    "private_key",
    "refresh_token",
    "s3_key",
    "s3_key_secret",
    "token",
];

/// Masks printed text; knows the secrets of this process.
#[derive(Default)]
pub struct Mask {
    known: Vec<String>,
}

// === impl Mask ===

impl fmt::Debug for Mask {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Mask").finish_non_exhaustive()
    }
}

impl Mask {
    /// Adds a secret that is masked from now on.
    pub(crate) fn add(&mut self, secret: &str) {
        if secret.len() >= SHORTEST_KNOWN && !self.known.iter().any(|known| known == secret) {
            self.known.push(secret.to_owned());
        }
    }

    /// Returns a header's value, masked.
    pub(crate) fn header(&self, name: &str, value: &str) -> String {
        if HEADERS
            .iter()
            .any(|header| header.eq_ignore_ascii_case(name))
        {
            return MASK.to_owned();
        }
        self.text(value)
    }

    /// Returns a complete body, masked.
    pub(crate) fn body(&self, body: &[u8]) -> String {
        let found = scan::scan(body, is_member);
        if found.is_complete {
            return self.hide(&cut_out(body, &found.spans));
        }
        let text = String::from_utf8_lossy(body);
        if text::has_quoted_member(&text) {
            return redacted(found.keys.as_deref());
        }
        self.hide(&text::masked(&text))
    }

    /// Returns a body for a log or a report: masked, then cut.
    #[must_use]
    pub fn dump(&self, body: &[u8]) -> String {
        cut(&self.body(body), DUMP, body.len())
    }

    /// Returns a body for a failure: masked, cut shorter, without trailing space.
    pub(crate) fn excerpt(&self, body: &[u8]) -> String {
        let masked = self.body(body);
        cut(masked.trim_end(), EXCERPT, body.len())
    }

    /// Masks secrets in a message.
    pub(crate) fn text(&self, text: &str) -> String {
        self.hide(&text::masked(text))
    }

    /// Masks the password and the parameters with credentials in a URL.
    #[must_use]
    pub fn url(&self, url: &str) -> String {
        let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, tail) = rest.split_at(end);
        let mut shown = String::with_capacity(url.len());
        if url.contains("://") {
            let _ = write!(shown, "{scheme}://");
        }
        match authority.rsplit_once('@') {
            Some((user, host)) => {
                let user = user
                    .split_once(':')
                    .map_or_else(|| user.to_owned(), |(user, _)| format!("{user}:xxxxx"));
                let _ = write!(shown, "{user}@{host}");
            }
            None => shown.push_str(authority),
        }
        match tail.split_once('?') {
            Some((path, query)) => {
                let _ = write!(shown, "{path}?{}", text::masked_pairs(query));
            }
            None => shown.push_str(tail),
        }
        self.hide(&shown)
    }

    fn hide(&self, text: &str) -> String {
        self.known.iter().fold(text.to_owned(), |text, secret| {
            if text.contains(secret.as_str()) {
                text.replace(secret.as_str(), MASK)
            } else {
                text
            }
        })
    }
}

/// Returns whether a body is JSON.
#[must_use]
pub fn is_json(body: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok()
}

fn is_member(name: &str) -> bool {
    MEMBERS.contains(&name)
}

fn cut_out(body: &[u8], spans: &[std::ops::Range<usize>]) -> String {
    let mut shown = String::with_capacity(body.len());
    let mut from = 0;
    for span in spans {
        shown.push_str(&String::from_utf8_lossy(&body[from..span.start]));
        let _ = write!(shown, "\"{MASK}\"");
        from = span.end;
    }
    shown.push_str(&String::from_utf8_lossy(&body[from..]));
    shown
}

fn cut(text: &str, limit: usize, total: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}… (truncated, {total} bytes total)", &text[..end]),
        None => text.to_owned(),
    }
}

fn redacted(keys: Option<&[String]>) -> String {
    match keys {
        Some(keys) if !keys.is_empty() => format!(
            "<redacted: the body carries a credential field; top-level keys: {}>",
            keys.join(", ")
        ),
        _ => "<redacted: the body carries a credential field>".to_owned(),
    }
}

#[cfg(test)]
mod tests;
