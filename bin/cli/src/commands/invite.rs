//! `platform invite`: people who were asked to join.

use super::record::Kind;
use crate::{
    context::Context,
    failure::Failure,
    id,
    output::{Column, Show, escape},
};

/// Invites.
pub(crate) static INVITE: Kind = Kind {
    noun: "invite",
    title: "Invite",
    plural: "invites",
    titles: "invites",
    columns: &[
        Column::new("id", "ID", Show::Text),
        Column::new("email", "EMAIL", Show::Text),
        Column::new("invited_by", "INVITED BY", Show::Text),
        Column::new("team_name", "TEAM", Show::Text),
        Column::new("expires_at", "EXPIRES", Show::Day),
        Column::new("created_at", "CREATED", Show::Day),
    ],
    question: "Delete invite {}? This cannot be undone.",
    asks_as_typed: false,
};

/// Says why an invite cannot be created here, and where it can. Nothing is sent.
pub(super) fn create(context: &Context<'_>) -> Result<(), Failure> {
    let place = match web_url(context) {
        Some(url) => format!("the Team page at {url}"),
        None => "the Team page of the web UI".to_owned(),
    };
    Err(needs_a_person(
        "create",
        &format!("Invite people on {place}."),
    ))
}

/// Says why an invite cannot be accepted here, and where it can. Nothing is sent.
pub(super) fn accept(context: &Context<'_>, typed: &str) -> Result<(), Failure> {
    id::parse("invite ID", typed)?;
    let place = match web_url(context) {
        Some(url) => format!("sign in at {url}"),
        None => "sign in to the web UI".to_owned(),
    };
    Err(needs_a_person(
        "accept",
        &format!("Open the link in the invitation mail, or {place}."),
    ))
}

fn needs_a_person(verb: &str, advice: &str) -> Failure {
    Failure::forbidden(format!(
        "invite {verb} needs a signed-in user. This program signs in with a client id and secret, \
         which stand for an application and not for a person, so the platform refuses this \
         whatever the credential. {advice}"
    ))
}

fn web_url(context: &Context<'_>) -> Option<String> {
    let profile = context.config.profile(&context.profile)?;
    Some(escape(&profile.web_url?))
}
