//! `platform invite`: invites for people to join.

use http::Method;
use serde::Serialize;

use crate::{
    commands::record::{self, RecordKind},
    context::Context,
    failure::Failure,
    output::{self, Column, Show, escape},
    tree::parser::Matches,
};

/// Invites.
pub(crate) static INVITE: RecordKind = RecordKind {
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
    has_names: false,
};

/// The body that invites a person.
#[derive(Serialize)]
struct Draft<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    email: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expiration: Option<i64>,
}

/// The body that accepts an invite.
#[derive(Serialize)]
struct Acceptance<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<&'a str>,
}

/// Fails with the reason why an invite cannot be created here, and where it can. Sends no request;
/// a dry run shows the request of a signed-in person.
pub(super) async fn create(context: &mut Context<'_>, matches: &Matches) -> Result<(), Failure> {
    if context.dry_run {
        let draft = Draft {
            email: matches.value("email"),
            expiration: matches.value("expiration").and_then(|it| it.parse().ok()),
        };
        return show(context, "create", "/account/v1/invites", &draft).await;
    }
    let place = match web_url(context) {
        Some(url) => format!("the Team page at {url}"),
        None => "the Team page of the web UI".to_owned(),
    };
    Err(needs_a_person(
        "create",
        &format!(
            "Invite people on {place}; with ziggurat-platform, its operator runs \
             'ziggurat-platform invite create -email ADDRESS'."
        ),
    ))
}

/// Says why an invite cannot be accepted here, and where it can. Nothing is sent; a dry run shows
/// the request of a signed-in person.
pub(super) async fn accept(context: &mut Context<'_>, matches: &Matches) -> Result<(), Failure> {
    let id = INVITE.id(matches.argument(0))?;
    if context.dry_run {
        let acceptance = Acceptance {
            token: matches.value("token"),
        };
        let path = format!("/account/v1/invites/{id}/accept");
        return show(context, "accept", &path, &acceptance).await;
    }
    let place = match web_url(context) {
        Some(url) => format!("sign in at {url}"),
        None => "sign in to the web UI".to_owned(),
    };
    Err(needs_a_person(
        "accept",
        &format!(
            "Open the link in the invitation mail, or {place}; with ziggurat-platform, its \
             operator runs 'ziggurat-platform invite accept {id} -token-file FILE'."
        ),
    ))
}

/// Reports a request that only a signed-in person can send.
async fn show(
    context: &mut Context<'_>,
    verb: &str,
    path: &str,
    body: &impl Serialize,
) -> Result<(), Failure> {
    let action = format!("{verb} invite");
    let body = Some(output::json(body).into_bytes());
    record::send(context, &action, Method::POST, path, body, &[]).await?;
    context.note(format_args!(
        "Note: invite {verb} needs a signed-in user; without --dry-run nothing is sent either."
    ));
    Ok(())
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
