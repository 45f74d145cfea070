//! Connection URLs in other configurations. They may have variables in place of any part.

use thiserror::Error;
use ziggurat_runtime::Secret;
use ziggurat_text::percent;

use crate::variables::{mask, unmask};

/// Starts of connection URLs of PostgreSQL.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// Parameters that hold a secret.
const SECRET_PARAMETERS: [&str; 2] = ["password", "sslpassword"];

/// Reason why a URL is not understood. It shows no part of the URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum InvalidUrl {
    #[error("the connection URL does not start with postgres:// or postgresql://")]
    Scheme,
    #[error("the connection URL is malformed: special characters have to be percent-encoded")]
    Malformed,
}

/// A connection URL in parts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Url {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<Secret>,
    /// The host with its port, or several of them, as written.
    pub(crate) hosts: String,
    pub(crate) database: Option<String>,
    /// The parameters without a secret.
    pub(crate) parameters: Vec<(String, String)>,
    /// The URL without a password.
    pub(crate) bare: String,
}

/// Returns whether a text is a connection URL.
pub(crate) fn is_url(text: &str) -> bool {
    SCHEMES.iter().any(|scheme| text.starts_with(scheme))
}

/// Takes a URL apart.
pub(crate) fn read(url: &str) -> Result<Url, InvalidUrl> {
    let scheme = SCHEMES.iter().find(|scheme| url.starts_with(**scheme));
    let scheme = scheme.ok_or(InvalidUrl::Scheme)?;
    let (masked, names) = mask(&url[scheme.len()..]);
    if masked.contains(char::is_control) {
        return Err(InvalidUrl::Malformed);
    }
    let end = masked.find(['/', '?']).unwrap_or(masked.len());
    let (authority, rest) = masked.split_at(end);
    let (path, parameters) = rest.split_once('?').unwrap_or((rest, ""));
    // An '@' in the path means that a password contains an unencoded '/' or '?'.
    if path.contains('@') || authority.matches('@').count() > 1 {
        return Err(InvalidUrl::Malformed);
    }
    let decoded = |text: &str| {
        let text = percent::decode(text).ok_or(InvalidUrl::Malformed)?;
        Ok(unmask(&text, &names))
    };
    let (account, hosts) = match authority.split_once('@') {
        Some((account, hosts)) => (Some(account), hosts),
        None => (None, authority),
    };
    let (user, password) = match account.map(|it| it.split_once(':')) {
        Some(Some((user, password))) => (Some(user), Some(password)),
        _ => (account, None),
    };
    let at = user.map(|user| format!("{user}@")).unwrap_or_default();
    let mut read = Url {
        user: user.filter(|it| !it.is_empty()).map(decoded).transpose()?,
        password: password
            .filter(|it| !it.is_empty())
            .map(decoded)
            .transpose()?
            .map(Secret::from),
        hosts: decoded(hosts)?,
        ..Url::default()
    };
    let database = path.strip_prefix('/').unwrap_or(path);
    if !database.is_empty() {
        read.database = Some(decoded(database)?);
    }
    let mut kept = Vec::new();
    for pair in parameters.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').ok_or(InvalidUrl::Malformed)?;
        let (name, value) = (decoded(name)?, decoded(value)?);
        if SECRET_PARAMETERS.contains(&name.as_str()) {
            read.password = Some(value.into());
        } else {
            kept.push(pair);
            read.parameters.push((name, value));
        }
    }
    let mark = if kept.is_empty() { "" } else { "?" };
    let bare = format!("{at}{hosts}{path}{mark}{}", kept.join("&"));
    read.bare = format!("{scheme}{}", unmask(&bare, &names));
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart_and_loses_its_password() {
        for (url, bare, password) in [
            (
                "postgres://u:p%40w@h:1/d",
                "postgres://u@h:1/d",
                Some("p@w"),
            ),
            (
                "postgresql://h/d?sslmode=require",
                "postgresql://h/d?sslmode=require",
                None,
            ),
            (
                "postgres://u@h/d?password=pw&a=b",
                "postgres://u@h/d?a=b",
                Some("pw"),
            ),
            (
                "postgres://u:${P:a@/b}@${HOST}/d",
                "postgres://u@${HOST}/d",
                Some("${P:a@/b}"),
            ),
            ("postgres://:pw@/d", "postgres://@/d", Some("pw")),
            ("postgres://", "postgres://", None),
        ] {
            let read = read(url).expect(url);
            assert_eq!(read.bare, bare, "{url}");
            assert_eq!(
                read.password.as_ref().map(Secret::expose),
                password,
                "{url}"
            );
        }
        let read = read("postgres://a%20b@h,i:2/d%2Fe").expect("a URL");
        let parts = (read.user.as_deref(), &*read.hosts, read.database.as_deref());
        assert_eq!(parts, (Some("a b"), "h,i:2", Some("d/e")));
    }

    #[test]
    fn an_ambiguous_url_is_refused_and_no_part_of_it_is_shown() {
        for url in [
            "mysql://u@h/d",
            "postgres://u:a@swordfish@h/d",
            "postgres://u:a/swordfish@h/d",
            "postgres://u:%swordfish@h/d",
            "postgres://u@h/d?swordfish",
        ] {
            let error = read(url).expect_err(url).to_string();
            assert!(!error.contains("swordfish"), "{error}");
        }
    }
}
