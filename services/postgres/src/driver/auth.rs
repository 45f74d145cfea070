//! Methods of authentication that a server may ask for.

use std::{fmt, str::FromStr};

use thiserror::Error;

/// Methods of authentication that are accepted, as `require_auth` of libpq.
///
/// ```
/// use ziggurat_postgres::database::RequireAuth;
///
/// let accepted: RequireAuth = "!password,!md5".parse()?;
/// assert_eq!(accepted.to_string(), "gss,sspi,scram-sha-256,oauth,none");
/// assert!("password,!none".parse::<RequireAuth>().is_err());
/// # Ok::<(), ziggurat_postgres::database::UnknownAuth>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequireAuth(u8);

/// Method of authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AuthMethod {
    /// The password in clear text.
    Password = 0,
    Md5 = 1,
    Scram = 4,
    /// Nothing is asked for.
    None = 6,
}

/// A text that is not a list of methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "must be a list of password, md5, scram-sha-256, none, gss, sspi and oauth, or of those that \
     are refused, each with an exclamation mark"
)]
pub struct UnknownAuth;

/// Names of the methods; the position is the bit.
const NAMES: [&str; 7] = [
    "password",
    "md5",
    "gss",
    "sspi",
    "scram-sha-256",
    "oauth",
    "none",
];

const ALL: u8 = (1 << NAMES.len()) - 1;

// === impl RequireAuth ===

impl RequireAuth {
    /// Accepts all methods, but the password in clear text only over a private connection.
    pub(crate) fn by_default(is_private: bool) -> Self {
        let password = 1 << AuthMethod::Password as u8;
        Self(if is_private { ALL } else { ALL & !password })
    }

    pub(crate) fn accepts(self, method: AuthMethod) -> bool {
        self.0 & (1 << method as u8) != 0
    }
}

impl FromStr for RequireAuth {
    type Err = UnknownAuth;

    fn from_str(list: &str) -> Result<Self, UnknownAuth> {
        let is_negative = list.trim_start().starts_with('!');
        let named = list.split(',').try_fold(0, |named, word| {
            let word = word.trim();
            let name = match word.strip_prefix('!') {
                Some(name) if is_negative => name,
                None if !is_negative => word,
                _ => return Err(UnknownAuth),
            };
            let bit = NAMES.iter().position(|known| *known == name);
            Ok(named | 1 << bit.ok_or(UnknownAuth)?)
        })?;
        Ok(Self(if is_negative { ALL & !named } else { named }))
    }
}

impl fmt::Display for RequireAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = NAMES.iter().enumerate();
        let names = names.filter(|(bit, _)| self.0 & (1 << bit) != 0);
        let names: Vec<_> = names.map(|(_, name)| *name).collect();
        f.write_str(&names.join(","))
    }
}
