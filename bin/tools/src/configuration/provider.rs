//! What the sections about providers have in common.

use super::Invalid;

/// Where Ollama usually is.
pub(super) const OLLAMA: &str = "http://localhost:11434";

/// A text, unless it is empty.
pub(super) fn said(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

/// The value of a name, where there has to be one.
pub(super) fn find<T: Copy>(
    name: Option<String>,
    key: &'static str,
    known: &[(&str, T)],
) -> Result<Option<T>, Invalid> {
    let Some(name) = said(name) else {
        return Ok(None);
    };
    if let Some((_, value)) = known.iter().find(|(known, _)| *known == name) {
        return Ok(Some(*value));
    }
    let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
    let reason = format!("'{name}' is none of {}", names.join(", "));
    Err(Invalid::key(key, reason))
}

/// The base of addresses of a provider, without the slash at its end.
pub(super) fn url(text: Option<String>, key: &'static str) -> Result<Option<String>, Invalid> {
    let Some(text) = said(text) else {
        return Ok(None);
    };
    let is_url = text.parse::<http::Uri>().is_ok_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https")) && uri.query().is_none()
    });
    // The text is not shown: somebody may have put a password into it.
    if !is_url {
        return Err(Invalid::key(key, "is not an http:// or https:// URL"));
    }
    Ok(Some(text.trim_end_matches('/').to_owned()))
}
