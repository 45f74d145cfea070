//! Authentication, and limits on failed attempts.

use std::{num::NonZeroU32, path::PathBuf, time::Duration};

use ziggurat_runtime::{Places, config::Section};
use ziggurat_sign_in_state::SignInSection;
use ziggurat_tokens::issuer::TrustedIssuer;

use crate::configuration::Http;

/// Path of what tokens of an issuer are for.
const PATH: &str = "/mcp";

/// Longest window for failures, a leap year.
const MAX_MINUTES: u32 = 366 * 24 * 60;

/// Default number of failures of an address.
const MAX_ATTEMPTS: NonZeroU32 = NonZeroU32::new(10).expect("ten is more than nothing");

/// Authentication over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Auth {
    /// True if clients need a token.
    pub(crate) is_enabled: bool,
    /// File with the API tokens.
    pub(crate) token_file: PathBuf,
    /// File with the user accounts.
    pub(crate) user_file: PathBuf,
    /// Number of failures in a row that lock an account; none for no lock.
    pub(crate) lockout: Option<NonZeroU32>,
    /// Time for which a failure of an address counts.
    pub(crate) window: Duration,
    /// Number of failures of an address within that time after which it is blocked.
    pub(crate) max_attempts: NonZeroU32,
    /// Least number of characters of a new password.
    pub(crate) min_password_length: usize,
    /// External issuer of tokens that are accepted too.
    pub(crate) issuer: Option<TrustedIssuer>,
    /// Databases that tokens of the issuer give access to; empty for all.
    pub(crate) issuer_databases: Vec<String>,
    /// Sign-in of people with their browsers, if it is on.
    pub(crate) oauth: Option<SignInSection>,
}

/// Returns whether clients need a token.
pub(super) fn is_enabled(file: &Section<'_>) -> bool {
    let enabled = file.key("enabled").var("ZIGGURAT_AUTH_ENABLED").boolean();
    let no_auth = file.flags().text("no-auth").map(|value| value == "false");
    no_auth.or(enabled).unwrap_or(true)
}

/// Reads the section. `places` has the default places of the account files.
pub(super) fn read(file: &Section<'_>, is_enabled: bool, places: &Places) -> Auth {
    let path = |key: &str, variable: &str, flag: &str, usual: &str| {
        let key = file.key(key).var(variable).flag(flag);
        key.path()
            .unwrap_or_else(|| places.account_file(&key, usual))
    };
    let number = |key: &str, variable: &str, range| file.key(key).var(variable).whole(range);
    let lockout = number(
        "max_failed_attempts_before_lockout",
        "ZIGGURAT_AUTH_MAX_FAILED_ATTEMPTS_BEFORE_LOCKOUT",
        0..=u32::MAX,
    );
    let minutes = number(
        "rate_limit_window_minutes",
        "ZIGGURAT_AUTH_RATE_LIMIT_WINDOW_MINUTES",
        1..=MAX_MINUTES,
    );
    let attempts = number(
        "rate_limit_max_attempts",
        "ZIGGURAT_AUTH_RATE_LIMIT_MAX_ATTEMPTS",
        1..=u32::MAX,
    );
    // bcrypt uses at most 72 bytes of a password.
    let length = number(
        "min_password_length",
        "ZIGGURAT_AUTH_MIN_PASSWORD_LENGTH",
        1..=72,
    );
    let issuer = file.section("issuer");
    let oauth = file.section("oauth");
    let oauth_enabled = oauth.key("enabled").var("ZIGGURAT_AUTH_OAUTH_ENABLED");
    Auth {
        is_enabled,
        token_file: path(
            "token_file",
            "ZIGGURAT_AUTH_TOKEN_FILE",
            "token-file",
            "ziggurat-tools-tokens.yaml",
        ),
        user_file: path(
            "user_file",
            "ZIGGURAT_AUTH_USER_FILE",
            "user-file",
            "ziggurat-tools-users.yaml",
        ),
        lockout: lockout.and_then(NonZeroU32::new),
        window: Duration::from_mins(minutes.unwrap_or(15).into()),
        max_attempts: attempts.and_then(NonZeroU32::new).unwrap_or(MAX_ATTEMPTS),
        min_password_length: length.map_or(12, |length| usize::try_from(length).unwrap_or(72)),
        issuer: TrustedIssuer::read(&issuer, PATH),
        issuer_databases: issuer.key("databases").texts().unwrap_or_default(),
        oauth: SignInSection::read(&oauth, &oauth_enabled.flag("oauth")),
    }
}

// === impl Auth ===

impl Auth {
    /// Returns whether no client could authenticate without API tokens.
    pub(crate) fn needs_tokens(&self) -> bool {
        self.is_enabled && self.issuer.is_none() && self.oauth.is_none()
    }

    /// Checks what the sign-in needs of the other settings. A client that starts the server as a child
    /// process has no sign-in.
    pub(super) fn check_sign_in(
        &mut self,
        file: &Section<'_>,
        http: Option<&Http>,
        is_child: bool,
    ) {
        if self.oauth.is_none() {
            return;
        }
        let root = "http.auth.oauth";
        let problem = match http {
            _ if is_child => None,
            None => Some("needs http.enabled"),
            _ if !self.is_enabled => Some("needs http.auth.enabled"),
            Some(http) if http.public_url.is_none() && !http.address.is_loopback() => {
                Some("needs http.public_url")
            }
            Some(http) if !http.is_public_url_safe() => {
                file.complain(format!(
                    "{root}: http.public_url must be https, or http on a loopback host"
                ));
                None
            }
            _ => None,
        };
        if let Some(problem) = problem {
            file.complain(format!("{root} {problem}"));
        }
        if self.issuer.is_some() && !is_child {
            file.complain(format!("{root} and http.auth.issuer exclude each other"));
        }
        if is_child {
            self.oauth = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::configuration::fixture::Case;

    fn case(more: &str) -> Case {
        Case::new().file(&format!(
            "http: {{auth: {{issuer: {{url: 'https://accounts.example', public_url: \
             'https://tools.example/'{more}}}}}}}"
        ))
    }

    #[test]
    fn an_issuer_makes_this_server_a_protected_resource() {
        let issuer = case(", scopes: [mcp, read]").configuration().auth.issuer;
        let issuer = issuer.expect("one");
        assert_eq!(issuer.resource(), "https://tools.example/mcp");
        let metadata: serde_json::Value = serde_json::from_str(&issuer.metadata("")).expect("JSON");
        assert_eq!(
            metadata["authorization_servers"][0],
            "https://accounts.example"
        );
        assert_eq!(metadata["scopes_supported"][1], "read");
        let settings = issuer.settings().expect("good");
        assert_eq!(settings.audience, ["https://tools.example/mcp"]);
        assert_eq!(Case::new().configuration().auth.issuer, None);
    }

    #[test]
    fn invalid_issuer_settings_are_refused() {
        let wrong = |more: &str, key: &str, reason: &str| {
            let error = case(more).error();
            let expected = format!("invalid configuration: http.auth.issuer.{key}: {reason}");
            assert_eq!(error, expected);
        };
        let safe = "must be https, unless it is on this machine";
        wrong(", jwks_url: 'http://a.example/k'", "jwks_url", safe);
        wrong(
            ", revocations_url: 'http://a.example'",
            "revocations_url",
            safe,
        );
        let two = "'maybe' is neither 'refuse' nor 'accept'";
        let minute = "must be between 1s and 1m";
        wrong(", poll_interval: 2m", "poll_interval", minute);
        wrong(", when_unreachable: maybe", "when_unreachable", two);
        let words = "must be a list of words without spaces and quotes";
        wrong(", scopes: ['a b']", "scopes", words);
        let error = Case::new().file("http: {auth: {issuer: {url: 'https://a.example'}}}");
        assert!(error.error().contains("http.auth.issuer.public_url: "));
    }
}
