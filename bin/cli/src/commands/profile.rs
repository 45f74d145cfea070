//! `profile`: the accounts that this machine knows.

use serde::Serialize;
use ziggurat_account_client::Cache;

use crate::{
    config::{self, DEFAULT_PROFILE},
    context::Context,
    credentials::{self, api_url},
    failure::Failure,
    keychain::{self, KeychainError},
    output::{self, View, escape, print},
    terminal::confirm,
    tree::parser::Matches,
};

#[derive(Serialize)]
struct ListedProfile {
    name: String,
    active: bool,
    resolved: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    platform_url: Option<String>,
}

#[derive(Serialize)]
struct Shown {
    name: String,
    active: bool,
    platform_url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    platform_client_id: Option<String>,
    platform_has_secret: bool,
}

#[derive(Serialize)]
struct Active<'a> {
    name: &'a str,
    active: bool,
}

#[derive(Serialize)]
struct DeletedProfile<'a> {
    name: &'a str,
    deleted: bool,
}

/// Lists the profiles; the active one is always among them.
pub(super) fn list(context: &mut Context<'_>) -> Result<(), Failure> {
    let mut names: Vec<String> = context.config.profile_names().map(str::to_owned).collect();
    if !names.contains(&context.profile) {
        names.push(context.profile.clone());
        names.sort();
    }
    let listed: Vec<ListedProfile> = names
        .into_iter()
        .map(|name| {
            let profile = context.config.profile(&name);
            ListedProfile {
                active: name == context.profile,
                resolved: profile.is_some(),
                platform_url: profile.map(|profile| api_url(&profile).to_owned()),
                name,
            }
        })
        .collect();
    let rows = listed.iter().map(|profile| {
        let active = match (profile.active, profile.resolved) {
            (true, true) => "yes",
            (true, false) => "yes (unresolved)",
            (false, _) => "no",
        };
        let url = profile
            .platform_url
            .as_deref()
            .unwrap_or("(not configured)");
        vec![profile.name.clone(), active.to_owned(), url.to_owned()]
    });
    let view = View::Table {
        columns: vec![
            ("name", "NAME"),
            ("active", "ACTIVE"),
            ("platform_url", "PLATFORM URL"),
        ],
        rows: rows.collect(),
    };
    print::report(context, &listed, view)
}

/// Shows a profile, and whether a secret is kept for it.
pub(super) fn show(context: &mut Context<'_>, matches: &Matches) -> Result<(), Failure> {
    let name = match matches.arguments.first() {
        Some(name) => name.clone(),
        None => context.profile.clone(),
    };
    context.config.require(&name)?;
    let profile = context.config.profile(&name).unwrap_or_default();
    let has_secret = profile.client_secret.is_some() || is_in_keychain(context, &name);
    let shown = Shown {
        active: name == context.profile,
        platform_url: api_url(&profile).to_owned(),
        platform_client_id: profile.client_id,
        platform_has_secret: has_secret,
        name,
    };
    let row = |field: &str, value: &str| vec![field.to_owned(), value.to_owned()];
    let rows = vec![
        row("NAME", &shown.name),
        row("ACTIVE", if shown.active { "yes" } else { "no" }),
        row("PLATFORM URL", &shown.platform_url),
        row(
            "PLATFORM CLIENT ID",
            shown.platform_client_id.as_deref().unwrap_or("(not set)"),
        ),
        row(
            "PLATFORM SECRET",
            if has_secret { "set" } else { "not set" },
        ),
    ];
    let text = output::table(&["FIELD", "VALUE"], &rows, context.colours_stdout());
    print::report(context, &shown, View::Plain(text))
}

/// Makes a profile the active one.
pub(super) fn activate(context: &mut Context<'_>, name: &str) -> Result<(), Failure> {
    config::check_name(name)?;
    // The default profile always works, but it can be chosen only when it is in the file.
    if context.config.profile(name).is_none() && name == DEFAULT_PROFILE {
        return Err(Failure::config(
            "profile \"default\" is not in the configuration file; run 'ziggurat platform auth \
             login' to create it",
        ));
    }
    context.config.require(name)?;
    context.config.use_profile(name)?;
    context.note(format_args!("Active profile set to \"{name}\"."));
    print::outcome(context, &Active { name, active: true })
}

/// Removes a profile: its section, its token and its secret.
pub(super) fn delete(context: &mut Context<'_>, matches: &Matches) -> Result<(), Failure> {
    let name = matches.argument(0);
    config::check_name(name)?;
    context.config.require(name)?;
    if !matches.is_on("force") {
        let question =
            format!("Delete profile {name}? Its credential is removed from this machine.");
        confirm::ask(context, &question, false)?;
    }
    let profile = context.config.profile(name).unwrap_or_default();
    if profile.client_secret.is_none() {
        credentials::forget_secret(context, name, true);
    }
    let cache = Cache::of(&context.config.cache_folder(), name);
    if let Err(error) = cache.clear() {
        context.note(format_args!(
            "Warning: could not remove the cached token: {error}"
        ));
    }
    context.config.delete_profile(name)?;
    context.note(format_args!("Profile {name} deleted."));
    if credentials::variables_are_set(context) {
        context.note(
            "Warning: ZIGGURAT_CLIENT_ID or ZIGGURAT_CLIENT_SECRET is set, so commands still \
             use it.",
        );
    }
    let deleted = true;
    print::outcome(context, &DeletedProfile { name, deleted })
}

fn is_in_keychain(context: &mut Context<'_>, name: &str) -> bool {
    let account = keychain::account(name, context.config.path());
    match context.keychain.read(&account) {
        Ok(_) => true,
        Err(KeychainError::NotFound) => false,
        Err(KeychainError::Unavailable(cause)) => {
            context.note(format_args!(
                "Warning: the OS keychain could not be read: {}",
                escape(&cause)
            ));
            false
        }
    }
}
