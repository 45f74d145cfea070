//! Headers that the operator adds to the requests of a client.

use http::{HeaderMap, HeaderName, HeaderValue, header};

/// Headers of the connection, or that the client sets itself.
const RESERVED: [HeaderName; 9] = [
    header::ACCEPT,
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    header::HOST,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// A header that cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidHeader {
    /// The name is invalid.
    #[error("'{0}' is not the name of a header")]
    Name(String),
    /// The value is invalid; it is not shown, because it may be secret.
    #[error("the value of the header '{0}' cannot be sent")]
    Value(String),
}

/// Merges headers from several sources: of equal names, the last counts.
///
/// ```
/// use ziggurat_llm::headers;
///
/// let everywhere = [("X-Team", "search"), ("X-Cost-Center", "7")];
/// let here = [("x-team", "support")];
/// let merged = headers::merge(everywhere.into_iter().chain(here))?;
/// assert_eq!(merged["X-Team"], "support");
/// assert_eq!(merged.len(), 2);
/// # Ok::<_, headers::InvalidHeader>(())
/// ```
///
/// # Errors
/// Fails on an invalid name or value.
pub fn merge<'a>(
    headers: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<HeaderMap, InvalidHeader> {
    let mut merged = HeaderMap::new();
    for (name, value) in headers {
        let Ok(known) = name.parse::<HeaderName>() else {
            return Err(InvalidHeader::Name(name.to_owned()));
        };
        let Ok(mut value) = HeaderValue::from_str(value) else {
            return Err(InvalidHeader::Value(name.to_owned()));
        };
        // It may be a key.
        value.set_sensitive(true);
        merged.insert(known, value);
    }
    Ok(merged)
}

/// Returns the client's headers, and the configured ones that the client does not set itself.
pub(super) fn under(own: HeaderMap, configured: &HeaderMap) -> HeaderMap {
    let mut headers = configured.clone();
    for name in RESERVED {
        headers.remove(name);
    }
    headers.extend(own);
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configured_header_never_replaces_one_of_the_client() {
        let configured = merge([
            ("X-Api-Key", "theirs"),
            ("content-type", "text/plain"),
            ("Content-Length", "3"),
            ("X-Team", "search"),
        ])
        .expect("headers");
        let own = merge([("x-api-key", "ours")]).expect("a header");
        let headers = under(own, &configured);
        assert_eq!(headers["x-api-key"], "ours");
        assert_eq!(headers["x-team"], "search");
        assert_eq!(headers.len(), 2, "{headers:?}");
    }

    #[test]
    fn an_invalid_header_is_refused_without_its_value() {
        let error = merge([("X Team", "a")]).expect_err("no name");
        assert_eq!(error.to_string(), "'X Team' is not the name of a header");
        let error = merge([("X-Team", "swordfish\n")]).expect_err("no value");
        assert!(!error.to_string().contains("swordfish"), "{error}");
    }

    #[test]
    fn values_are_not_in_debug_output() {
        let merged = merge([("X-Team", "swordfish")]).expect("headers");
        assert!(!format!("{merged:?}").contains("swordfish"));
    }
}
