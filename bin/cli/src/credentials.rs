//! Finds the credential of a command, and the address it is sent to.
//!
//! The first of these counts: the pair of flags, the pair of variables, the profile. The keychain
//! is read only if the secret itself is needed, which it is not with a cached token.

use std::{fmt, io::Read as _, path::Path, sync::Arc};

use ziggurat_account_client::{Address, Credential, Error, Kind};
use ziggurat_runtime::Secret;

use crate::{
    config::{Config, Profile},
    context::Context,
    failure::Failure,
    keychain::{self, Keychain, KeychainError},
    output::escape,
};

/// The address of `ziggurat-platform` without any configuration.
const DEFAULT_API_URL: &str = "http://127.0.0.1:8090";

/// Maximum length of a secret.
const LONGEST_SECRET: u64 = 64 * 1024;

/// A credential and its source.
#[derive(Clone, Debug)]
pub(crate) struct Credentials {
    /// The credential id.
    pub(crate) client_id: String,
    pub(crate) source: Source,
    /// Present for a profile with a login.
    login_id: Option<String>,
    /// Known unless it is in the keychain.
    secret: Option<Secret>,
    keychain: Arc<dyn Keychain>,
    /// The name of the secret in the keychain.
    account: String,
    /// The place of the refresh token, if a person signed in.
    person: Option<PersonPlace>,
}

/// The profile with the refresh token of a person.
#[derive(Clone, Debug)]
struct PersonPlace {
    config: Config,
    profile: String,
}

/// The source of a credential.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Source {
    Flags,
    Env,
    Config,
    Keychain,
}

/// Reason why there is no credential.
#[derive(Clone, Debug)]
pub(crate) enum Missing {
    /// The user is not signed in.
    Nothing,
    /// Another reason, with its failure.
    Because(Failure),
}

/// The pair of variables.
const VARIABLES: [&str; 2] = ["ZIGGURAT_CLIENT_ID", "ZIGGURAT_CLIENT_SECRET"];

// === impl Credentials ===

impl Credentials {
    /// Finds the credential, without reading the keychain.
    pub(crate) fn resolve(context: &mut Context<'_>) -> Result<Self, Missing> {
        if let Some((client_id, secret)) = flag_pair(context).map_err(Missing::Because)? {
            return Ok(Self::known(context, client_id, secret, Source::Flags));
        }
        let [id, secret] = VARIABLES.map(|name| context.environment.var(name));
        match (id, secret) {
            (Some(id), Some(secret)) => {
                let (id, secret) = (id.to_owned(), secret.into());
                no_profile_named(context).map_err(Missing::Because)?;
                return Ok(Self::known(context, id, secret, Source::Env));
            }
            (None, None) => {}
            (id, _) => {
                let [id_name, secret_name] = VARIABLES;
                let (given, missing) = match id {
                    Some(_) => (id_name, secret_name),
                    None => (secret_name, id_name),
                };
                return Err(Missing::Because(half_pair(given, missing)));
            }
        }
        let profile = context.config.profile(&context.profile).unwrap_or_default();
        Self::of_profile(context, profile).ok_or(Missing::Nothing)
    }

    /// Returns the credential in the current profile, if it has one.
    pub(crate) fn of_profile(context: &Context<'_>, profile: Profile) -> Option<Self> {
        let is_person = profile.is_person();
        Some(Self {
            client_id: profile.client_id?,
            source: match profile.client_secret {
                Some(_) => Source::Config,
                None => Source::Keychain,
            },
            login_id: profile.login_id,
            secret: profile.client_secret,
            keychain: Arc::clone(&context.keychain),
            account: keychain::account(&context.profile, context.config.path()),
            person: is_person.then(|| PersonPlace {
                config: context.config.clone(),
                profile: context.profile.clone(),
            }),
        })
    }

    /// Returns the secret, from the keychain if it is there.
    pub(crate) fn secret(&mut self) -> Result<Secret, Missing> {
        if let Some(secret) = self.stored() {
            return Ok(secret);
        }
        let secret = self.keychain.read(&self.account).map_err(|error| match error {
            KeychainError::NotFound => Missing::Nothing,
            KeychainError::Unavailable(cause) => Missing::Because(Failure::auth(format!(
                "could not read the client secret from the OS keychain ({cause}) — run 'ziggurat \
                 platform auth login', adding --insecure-storage to keep the secret in the config \
                 file instead"
            ))),
        })?;
        if self.is_person() {
            return Ok(secret.into());
        }
        Ok(self.secret.insert(secret.into()).clone())
    }

    /// Returns the secret in the file. The one of a person may have been replaced by another command.
    fn stored(&self) -> Option<Secret> {
        match &self.person {
            Some(place) => place.config.stored_profile(&place.profile)?.client_secret,
            None => self.secret.clone(),
        }
    }

    /// Returns whether a person signed in.
    pub(crate) fn is_person(&self) -> bool {
        self.person.is_some()
    }

    /// Returns whether tokens may be cached. Tokens for credentials from variables may not.
    pub(crate) fn may_be_cached(&self) -> bool {
        self.source != Source::Env
    }

    fn known(context: &Context<'_>, client_id: String, secret: Secret, source: Source) -> Self {
        Self {
            client_id,
            source,
            login_id: None,
            secret: Some(secret),
            person: None,
            keychain: Arc::clone(&context.keychain),
            account: String::new(),
        }
    }
}

impl Credential for Credentials {
    fn client_id(&self) -> &str {
        &self.client_id
    }

    fn login_id(&self) -> Option<&str> {
        self.login_id.as_deref()
    }

    fn is_person(&self) -> bool {
        Self::is_person(self)
    }

    fn replace(&mut self, refresh: &Secret) -> Result<(), Error> {
        let failed = |cause: &dyn fmt::Display| Error::new(Kind::General, cause.to_string());
        let Some(place) = &self.person else {
            return Ok(());
        };
        if self.source == Source::Keychain {
            let stored = self.keychain.store(&self.account, refresh.expose());
            return stored.map_err(|error| failed(&error));
        }
        let profile = place.config.stored_profile(&place.profile);
        let profile = Profile {
            client_secret: Some(refresh.clone()),
            ..profile.unwrap_or_default()
        };
        let updated = place.config.update_profile(&place.profile, &profile);
        updated.map_err(|failure| failed(&failure))
    }

    fn secret(&mut self) -> Result<Secret, Error> {
        // No failure of this kind has a hint, so the message is all of it.
        Self::secret(self)
            .map_err(|missing| Error::new(Kind::Auth, missing.into_failure().to_string()))
    }
}

// === impl Source ===

impl Source {
    /// Returns the name for a report.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Flags => "flags",
            Self::Env => "env",
            Self::Config => "config",
            Self::Keychain => "keychain",
        }
    }
}

// === impl Missing ===

impl Missing {
    /// Converts it into the failure of the command.
    pub(crate) fn into_failure(self) -> Failure {
        match self {
            Self::Nothing => Failure::auth(
                "no credentials found — use --client-id/--client-secret, set ZIGGURAT_CLIENT_ID \
                 and ZIGGURAT_CLIENT_SECRET, or run 'ziggurat platform auth login'",
            ),
            Self::Because(failure) => failure,
        }
    }

    /// Returns the problem, unless the user is just not signed in.
    pub(crate) fn problem(&self) -> Option<String> {
        match self {
            Self::Nothing => None,
            Self::Because(failure) => Some(failure.to_string()),
        }
    }
}

/// Returns the pair of flags, if it is given; one of them alone is an error.
///
/// # Errors
///
/// Fails if only one of them is given, the secret is given twice, or its file cannot be read.
pub(crate) fn flag_pair(context: &mut Context<'_>) -> Result<Option<(String, Secret)>, Failure> {
    let flags = context.connection.clone();
    match (
        flags.client_id,
        flags.client_secret,
        flags.client_secret_file,
    ) {
        (_, Some(_), Some(_)) => Err(Failure::usage(
            "--client-secret and --client-secret-file exclude each other: give one of them",
        )),
        (None, None, None) => Ok(None),
        (Some(_), None, None) => Err(half_pair("--client-id", "--client-secret")),
        (None, Some(_), None) => Err(half_pair("--client-secret", "--client-id")),
        (None, None, Some(_)) => Err(half_pair("--client-secret-file", "--client-id")),
        (Some(id), Some(secret), None) => Ok(Some((id, secret))),
        (Some(id), None, Some(path)) => Ok(Some((id, secret_of(context, &path)?))),
    }
}

/// Returns the address for requests: from the flag, the variable, the profile, or the default.
///
/// `is_env` is set if the credential is the pair of variables, which ignores the profile.
///
/// # Errors
///
/// Fails if the text is not a valid address of an API.
pub(crate) fn address(context: &Context<'_>, is_env: bool) -> Result<Address, Failure> {
    if let Some(url) = &context.connection.api_url {
        return parsed(url, "--api-url");
    }
    let profile = if is_env {
        None
    } else {
        context.config.profile(&context.profile)
    };
    match profile.and_then(|profile| profile.api_url) {
        Some(url) => parsed(&url, &format!("api_url of profile {:?}", context.profile)),
        None => parsed(DEFAULT_API_URL, "--api-url"),
    }
}

/// Returns the address of a profile.
pub(crate) fn api_url(profile: &Profile) -> &str {
    profile.api_url.as_deref().unwrap_or(DEFAULT_API_URL)
}

/// Removes the secret of a profile from the keychain; a failure is a note if one may be there.
pub(crate) fn forget_secret(context: &mut Context<'_>, profile: &str, is_expected: bool) {
    let account = keychain::account(profile, context.config.path());
    if let Err(KeychainError::Unavailable(cause)) = context.keychain.delete(&account)
        && is_expected
    {
        context.note(format_args!(
            "Warning: could not remove the client secret from the OS keychain: {}",
            escape(&cause)
        ));
    }
}

/// Returns whether either of the two variables is set, so that other commands use them.
pub(crate) fn variables_are_set(context: &Context<'_>) -> bool {
    VARIABLES
        .iter()
        .any(|name| context.environment.var(name).is_some())
}

/// Returns the profile and the address that a command uses, if there is a credential: for a
/// confirmation.
pub(crate) fn profile_and_address(context: &mut Context<'_>) -> Option<(String, String)> {
    let credentials = Credentials::resolve(context).ok()?;
    let is_env = credentials.source == Source::Env;
    let address = address(context, is_env).ok()?;
    Some((context.profile.clone(), address.as_str().to_owned()))
}

/// Removes the credential from a profile.
pub(crate) fn without_credentials(profile: Profile) -> Profile {
    Profile {
        client_id: None,
        client_secret: None,
        login_id: None,
        auth: None,
        ..profile
    }
}

/// Parses an address; `source` is its flag or its position in a file, for the message.
fn parsed(url: &str, source: &str) -> Result<Address, Failure> {
    Address::parse(url).map_err(|error| Failure::usage(format!("invalid {source} {error}")))
}

fn no_profile_named(context: &Context<'_>) -> Result<(), Failure> {
    match &context.globals.profile {
        Some(profile) => Err(Failure::usage(format!(
            "--profile {profile} given while ZIGGURAT_CLIENT_ID and ZIGGURAT_CLIENT_SECRET are \
             set: unset the variables to use the profile, or drop --profile"
        ))),
        None => Ok(()),
    }
}

fn half_pair(given: &str, missing: &str) -> Failure {
    Failure::usage(format!(
        "{given} given without {missing}: supply both or neither"
    ))
}

fn secret_of(context: &mut Context<'_>, path: &str) -> Result<Secret, Failure> {
    let refused = |reason: &dyn fmt::Display| {
        Failure::usage(format!("--client-secret-file {path}: {reason}"))
    };
    let mut text = String::new();
    let read = if path == "-" {
        let stdin = &mut context.streams.stdin;
        stdin.take(LONGEST_SECRET).read_to_string(&mut text)
    } else {
        std::fs::File::open(Path::new(path))
            .and_then(|file| file.take(LONGEST_SECRET).read_to_string(&mut text))
    };
    read.map_err(|error| refused(&error))?;
    let secret = text.strip_suffix('\n').unwrap_or(&text);
    let secret = secret.strip_suffix('\r').unwrap_or(secret);
    if secret.is_empty() {
        return Err(refused(&"it is empty"));
    }
    // Standard input can be read only once, but the credential may be needed twice.
    let secret = Secret::from(secret);
    context.connection.client_secret_file = None;
    context.connection.client_secret = Some(secret.clone());
    Ok(secret)
}

#[cfg(test)]
mod tests;
