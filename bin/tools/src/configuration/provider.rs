//! Shared parts of the sections about providers.

use super::Invalid;

/// Default base URL of Ollama.
pub(super) const OLLAMA: &str = "http://localhost:11434";

/// Returns the text, unless it is empty.
pub(super) fn said(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

/// Finds the value of a name; an unknown name is an error.
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

/// Parses the base URL of a provider, without the slash at its end.
pub(super) fn url(text: Option<String>, key: &'static str) -> Result<Option<String>, Invalid> {
    let Some(text) = said(text) else {
        return Ok(None);
    };
    let is_url = text.parse::<http::Uri>().is_ok_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https")) && uri.query().is_none()
    });
    // The error does not show the text, because it may contain a password.
    if !is_url {
        return Err(Invalid::key(key, "is not an http:// or https:// URL"));
    }
    Ok(Some(text.trim_end_matches('/').to_owned()))
}
