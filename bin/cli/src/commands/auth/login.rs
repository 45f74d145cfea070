//! `auth login`: tests a credential and stores it if it works.

use serde::Serialize;
use ziggurat_account_client::{Address, Cache, Token, binding};
use ziggurat_runtime::Secret;

use crate::{
    api::Api,
    commands::auth::{HIDDEN_BY_VARIABLES, person, status::shown},
    config::{PERSON, Profile},
    context::Context,
    credentials,
    failure::Failure,
    keychain,
    output::{escape, print},
    terminal,
    tree::parser::Matches,
};

/// The report of a login for `-o json`.
#[derive(Serialize)]
struct LoginReport<'a> {
    profile: &'a str,
    api_url: &'a str,
    credential_id: &'a str,
    storage: &'static str,
    expires_at: String,
}

/// The place where the secret was stored.
enum SecretPlace {
    Keychain,
    /// In the file, with the reason unless the user asked for it.
    File(Option<String>),
}

/// A credential that the platform accepted.
pub(super) struct Accepted<'a> {
    pub(super) address: &'a Address,
    pub(super) client_id: &'a str,
    /// The secret of a client, or the refresh token of a person.
    pub(super) secret: &'a Secret,
    /// Set for a person.
    pub(super) is_person: bool,
    pub(super) token: &'a Token,
}

/// Exchanges the credential for a token and, if that works, stores both.
pub(in crate::commands) async fn login(
    context: &mut Context<'_>,
    matches: &Matches,
) -> Result<(), Failure> {
    if let Some(way) = person::way(context, matches)? {
        return person::login(context, matches, way).await;
    }
    let pair = credentials::flag_pair(context)?;
    let address = credentials::address(context, false)?;
    let (client_id, secret) = match pair {
        Some(pair) => pair,
        None => prompt_for_credential(context)?,
    };
    let mut api = Api::new(context);
    let token = api.exchange(&address, &client_id, secret.expose()).await?;
    let accepted = Accepted {
        address: &address,
        client_id: &client_id,
        secret: &secret,
        is_person: false,
        token: &token,
    };
    store(context, matches, &accepted)
}

/// Stores a credential with its first token, and reports it.
pub(super) fn store(
    context: &mut Context<'_>,
    matches: &Matches,
    accepted: &Accepted<'_>,
) -> Result<(), Failure> {
    let login_id = binding::new_login_id()
        .map_err(|error| Failure::general(format!("create a login id: {error}")))?;
    let insecure = matches.is_on("insecure-storage");
    let storage = keep(context, accepted, &login_id, insecure)?;
    let fingerprint = binding::of_login(accepted.address, accepted.client_id, &login_id);
    let cache = Cache::of(&context.config.cache_folder(), &context.profile);
    if let Err(error) = cache.save(accepted.token, &fingerprint)
        && (context.globals.verbose || context.globals.debug)
    {
        context.note(format_args!("Warning: the token cannot be cached: {error}"));
    }
    note_storage(context, accepted, &storage);
    let profile = context.profile.clone();
    let report = LoginReport {
        profile: &profile,
        api_url: accepted.address.as_str(),
        credential_id: accepted.client_id,
        storage: match storage {
            SecretPlace::Keychain => "keychain",
            SecretPlace::File(_) => "file",
        },
        expires_at: shown(accepted.token.expires_at),
    };
    print::outcome(context, &report)
}

/// Stores the secret, then the profile. If the profile cannot be saved, the secret is removed.
fn keep(
    context: &Context<'_>,
    accepted: &Accepted<'_>,
    login_id: &str,
    insecure: bool,
) -> Result<SecretPlace, Failure> {
    let account = keychain::account(&context.profile, context.config.path());
    let storage = if insecure {
        SecretPlace::File(None)
    } else {
        match context.keychain.store(&account, accepted.secret.expose()) {
            Ok(()) => SecretPlace::Keychain,
            Err(error) => SecretPlace::File(Some(error.to_string())),
        }
    };
    let is_in_file = matches!(storage, SecretPlace::File(_));
    let profile = Profile {
        api_url: Some(accepted.address.as_str().to_owned()),
        client_id: Some(accepted.client_id.to_owned()),
        client_secret: is_in_file.then(|| accepted.secret.clone()),
        login_id: Some(login_id.to_owned()),
        auth: accepted.is_person.then(|| PERSON.to_owned()),
        ..context.config.profile(&context.profile).unwrap_or_default()
    };
    if let Err(failure) = context.config.update_profile(&context.profile, &profile) {
        if !is_in_file {
            // An entry that cannot be removed is overwritten by the next login.
            let _ = context.keychain.delete(&account);
        }
        return Err(Failure::config(format!("save credentials: {failure}")));
    }
    if insecure {
        // Removes the entry of an earlier login, which is not used any more; a failure does not
        // matter.
        let _ = context.keychain.delete(&account);
    }
    Ok(storage)
}

fn note_storage(context: &mut Context<'_>, accepted: &Accepted<'_>, storage: &SecretPlace) {
    let path = context.config.path().display().to_string();
    let expires = shown(accepted.token.expires_at);
    let (secret, rest) = if accepted.is_person {
        (
            "refresh token",
            "Refresh token saved to the OS keychain; API URL",
        )
    } else {
        (
            "client secret",
            "Client secret saved to the OS keychain; client ID and API URL",
        )
    };
    let streams = &mut *context.streams;
    streams.note(format_args!("Authenticated. Token expires {expires}."));
    match storage {
        SecretPlace::Keychain => streams.note(format_args!("{rest} saved to {path}")),
        SecretPlace::File(cause) => {
            if let Some(cause) = cause {
                streams.note(format_args!(
                    "Warning: the OS keychain could not be used ({}), so the {secret} is stored \
                     in plain text.",
                    escape(cause)
                ));
            }
            streams.note(format_args!("Credentials saved to {path}"));
        }
    }
    if credentials::variables_are_set(context) {
        context.note(HIDDEN_BY_VARIABLES);
    }
}

fn prompt_for_credential(context: &mut Context<'_>) -> Result<(String, Secret), Failure> {
    let flags = "pass --client-id and --client-secret, or --client-secret-file";
    if context.globals.no_input {
        return Err(Failure::usage(format!(
            "input is needed, but --no-input is given: {flags}"
        )));
    }
    let unreadable = |what: &str, error: &std::io::Error| {
        Failure::usage(format!("read {what}: {error}; {flags}"))
    };
    let ended = |what: &str| Failure::general(format!("read {what}: EOF"));
    context.ask("Client ID: ");
    let id = terminal::read_line(context)
        .map_err(|error| unreadable("client ID", &error))?
        .ok_or_else(|| ended("client ID"))?;
    let secret = terminal::ask_secret(context, "Client Secret: ")
        .map_err(|error| unreadable("secret", &error))?
        .ok_or_else(|| ended("secret"))?;
    let (id, secret) = (id.trim(), secret.trim());
    if id.is_empty() || secret.is_empty() {
        return Err(Failure::general("client ID and secret are required"));
    }
    Ok((id.to_owned(), secret.into()))
}
