//! The section `identity` of a database in a configuration.

use std::fs;

use regex::Regex;
use thiserror::Error;
use ziggurat_postgres::database::{SEAL_KEY_BYTES, SealKey, Way};
use ziggurat_runtime::{
    config::{Section, Value},
    private_file,
};
use ziggurat_tokens::{CallerNames, Fact, is_claim_name};

use crate::{Callers, RoleRule, SettingRule, VALUE, Who};

/// A pattern that cannot be used.
#[derive(Debug, Error)]
enum InvalidPattern {
    #[error("must begin with ^ and end with $")]
    Open,
    #[error("invalid pattern: {0}")]
    Regex(#[from] regex::Error),
}

// === impl Callers ===

impl Callers {
    /// Reads the section `identity` of a database to which callers send texts of statements; `None`
    /// without the section.
    #[must_use]
    pub fn read(database: &Section<'_>) -> Option<Self> {
        let section = database.section("identity");
        let strict = section.key("strict").boolean();
        let callers = read(database, &section)?;
        Some(Self {
            is_strict: strict.unwrap_or(true),
            ..callers
        })
    }

    /// Reads the section of a database to which callers send no statement, on a server without
    /// users.
    #[must_use]
    pub fn read_without_users(database: &Section<'_>) -> Option<Self> {
        let section = database.section("identity");
        let callers = read(database, &section)?;
        let has_users = |rule: &RoleRule| match &rule.who {
            Who::Named(names) => !names.users().is_empty(),
            Who::Claim(..) => false,
        };
        let is_of_user = |rule: &SettingRule| rule.from == Fact::User;
        if callers.roles.iter().any(has_users) || callers.settings.iter().any(is_of_user) {
            section.problem("names a user, and this server has no users");
        }
        Some(callers)
    }
}

fn read(file: &Section<'_>, section: &Section<'_>) -> Option<Callers> {
    let mode = section.key("mode");
    let built = mode.parsed(Mode::read);
    let credentials = section.key("credentials");
    let folder = credentials.path();
    let roles = section.key("roles").list().unwrap_or_default().into_iter();
    let roles: Vec<_> = roles.map(|rule| role(&rule.into_section())).collect();
    let otherwise = section.key("otherwise").text();
    let settings = section.key("settings").list().unwrap_or_default();
    let settings: Vec<_> = settings
        .into_iter()
        .map(|rule| setting(&rule.into_section()))
        .collect();
    let seal = seal(&section.key("seal_key_file"), !settings.is_empty());
    // A guard that was begun and not written must not count as none.
    if !section.is_present() && !file.names_key("identity") {
        return None;
    }
    let has_role = !roles.is_empty() || otherwise.is_some();
    let has_mode = section.names_key("mode");
    mode.check(has_mode || !has_role && !settings.is_empty(), "required");
    if has_mode && !has_role {
        section.problem("needs roles, or a role in otherwise");
    }
    let is_login = built == Some(Mode::ConnectAs);
    credentials.check(folder.is_none() || is_login, "is for mode connect_as");
    Some(Callers {
        way: built.map(|mode| match mode {
            Mode::ConnectAs => Way::ConnectAs(folder),
            Mode::SetRole => Way::SetRole,
        }),
        roles,
        otherwise: otherwise.filter(|role| role != "refuse"),
        settings,
        seal,
        ..Callers::default()
    })
}

/// Reads the key of the settings from its file.
fn seal(key: &Value<'_>, has_settings: bool) -> Option<SealKey> {
    let path = key.resolved_path()?;
    key.check(has_settings, "seals settings, and there are none");
    if private_file::is_readable_by_others(&path) {
        key.problem("must be readable by its owner only");
    }
    let bytes = fs::metadata(&path)
        .ok()
        .filter(|about| about.len() == SEAL_KEY_BYTES as u64)
        .and_then(|_| fs::read(&path).ok()?.try_into().ok());
    if bytes.is_none() {
        key.problem(format_args!("must name a file of {SEAL_KEY_BYTES} bytes"));
    }
    bytes.map(SealKey::new)
}

/// The value of `mode`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    ConnectAs,
    SetRole,
}

impl Mode {
    fn read(text: &str) -> Result<Self, &'static str> {
        match text {
            "connect_as" => Ok(Self::ConnectAs),
            "set_role" => Ok(Self::SetRole),
            "oauth" => Err("mode oauth is not built"),
            _ => Err("must be connect_as or set_role"),
        }
    }
}

fn setting(file: &Section<'_>) -> SettingRule {
    let key = file.key("name");
    let name = key.required(key.text());
    if !name.is_empty() {
        key.check(is_setting_name(&name), NO_SETTING);
    }
    let from = file.key("from");
    let fact = from.any().map(|value| fact(&value));
    SettingRule {
        name,
        from: match fact {
            Some(Some(fact)) => fact,
            Some(None) => {
                from.problem("must be user, client, token, caller or {claim: <name>}");
                Fact::Caller
            }
            None => {
                from.problem("required");
                Fact::Caller
            }
        },
        is_required: file.key("required").boolean().unwrap_or(true),
    }
}

/// Reads the name of a fact, or the name of a claim as the only member of a mapping.
fn fact(value: &serde_yaml::Value) -> Option<Fact> {
    if let Some(name) = value.as_str() {
        return Fact::read(name);
    }
    let members = value.as_mapping().filter(|members| members.len() == 1)?;
    let name = members.get("claim")?.as_str()?;
    is_claim_name(name).then(|| Fact::Claim(name.into()))
}

const NO_SETTING: &str = "must be two words with a dot between them, such as app.tenant, and not a \
                          setting of PostgreSQL, of one of its extensions or of this server";

/// The first words of settings that statements of a caller must not depend on.
const OTHERS: [&str; 8] = [
    "auto_explain",
    "pg_stat_statements",
    "pgaudit",
    "plpgsql",
    "set_user",
    "supautils",
    "hnsw",
    "ziggurat",
];

/// Returns whether a setting of this name is free for a caller.
fn is_setting_name(name: &str) -> bool {
    let is_word = |word: &str| {
        word.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_')
            && word
                .chars()
                .all(|it| it.is_ascii_alphanumeric() || it == '_')
    };
    name.split_once('.').is_some_and(|(first, second)| {
        is_word(first) && is_word(second) && !OTHERS.iter().any(|it| it.eq_ignore_ascii_case(first))
    })
}

fn role(file: &Section<'_>) -> RoleRule {
    let key = file.key("role");
    let role = key.required(key.text());
    let (claim, pattern) = (file.key("claim"), file.key("match"));
    let named = CallerNames::read_one(file);
    let written = pattern.parsed(anchored);
    let has_value = role.contains(VALUE);
    let claim_name = claim.text();
    match (&claim_name, named.is_empty()) {
        (Some(_), false) => file.problem("names a claim and a caller"),
        (None, true) => file.problem("names no caller"),
        (Some(name), true) => {
            claim.check(is_claim_name(name), "must be the name of a claim");
            let has_pattern = !has_value || file.names_key("match");
            pattern.check(has_pattern, "required, since the role has {} in it");
        }
        (None, false) => key.check(!has_value, "has {} in it, and the rule has no claim"),
    }
    let who = claim_name.map_or(Who::Named(named), |name| Who::Claim(name, written));
    RoleRule { who, role }
}

/// Reads a pattern that the whole value must match.
fn anchored(text: &str) -> Result<Regex, InvalidPattern> {
    let is_anchored = text.starts_with('^') && text.ends_with('$') && !text.ends_with("\\$");
    if !is_anchored {
        return Err(InvalidPattern::Open);
    }
    // Alternatives would escape the anchors, and so would brackets that close first.
    Regex::new(text)?;
    let inner = &text[1..text.len() - 1];
    Ok(Regex::new(&format!("^(?:{inner})$"))?)
}
