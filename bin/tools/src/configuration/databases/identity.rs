//! The role that each caller has in a database.

use regex::Regex;
use thiserror::Error;
use ziggurat_databases::{Callers, RoleRule, Who};
use ziggurat_postgres::database::Way;
use ziggurat_runtime::config::Section;
use ziggurat_tokens::{CallerNames, is_claim_name};

/// The place of the claim in the name of a role.
const VALUE: &str = "{}";

/// A pattern that cannot be used.
#[derive(Debug, Error)]
enum InvalidPattern {
    #[error("must begin with ^ and end with $")]
    Open,
    #[error("invalid pattern: {0}")]
    Regex(#[from] regex::Error),
}

/// Reads the section `identity` of a database; `None` without one.
pub(super) fn read(file: &Section<'_>) -> Option<Callers> {
    let section = file.section("identity");
    let mode = section.key("mode");
    let is_on = mode.parsed(mode_of).is_some();
    let folder = section.key("credentials").path();
    let roles = section.key("roles").list().unwrap_or_default().into_iter();
    let roles: Vec<_> = roles.map(|rule| role(&rule.into_section())).collect();
    let otherwise = section.key("otherwise").text();
    // A guard that was begun and not written must not count as none.
    if !section.is_present() && !file.names_key("identity") {
        return None;
    }
    if !is_on && !section.names_key("mode") {
        mode.problem("required");
    }
    if roles.is_empty() && otherwise.is_none() {
        section.problem("needs roles, or a role in otherwise");
    }
    Some(Callers {
        way: Some(Way::ConnectAs(folder)),
        roles,
        otherwise: otherwise.filter(|role| role != "refuse"),
        ..Callers::default()
    })
}

fn mode_of(text: &str) -> Result<(), &'static str> {
    match text {
        "connect_as" => Ok(()),
        "oauth" => Err("mode oauth is not built"),
        "set_role" => Err("mode set_role is not built"),
        _ => Err("must be connect_as"),
    }
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
