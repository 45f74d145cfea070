//! `platform invite`: invites for people to join.

use http::Method;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;

use crate::{
    api::undecodable,
    commands::{
        auth,
        record::{self, RecordKind},
    },
    context::Context,
    credentials,
    failure::Failure,
    output::{self, Column, Format, Show, escape, print},
    tree::parser::Matches,
};

/// Characters that a token of an invite does not have.
const ODD: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'=');

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

/// Invites a person for a person who signed in. For a client it fails with the reason why an invite
/// cannot be created here, and where it can, and sends no request; a dry run shows the request.
pub(super) async fn create(context: &mut Context<'_>, matches: &Matches) -> Result<(), Failure> {
    let draft = Draft {
        email: matches.value("email"),
        expiration: matches.value("expiration").and_then(|it| it.parse().ok()),
    };
    if auth::is_signed_in(context) {
        return created(context, &draft).await;
    }
    if context.dry_run {
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

/// Creates an invite, and prints the address of the page at which the person joins.
async fn created(context: &mut Context<'_>, draft: &Draft<'_>) -> Result<(), Failure> {
    if draft.email.is_none() {
        return Err(Failure::usage("invite create needs --email"));
    }
    let action = "create invite";
    let path = "/account/v1/invites";
    let body = Some(output::json(draft).into_bytes());
    let sent = record::send(context, action, Method::POST, path, body, &[]).await?;
    let Some(answer) = sent else { return Ok(()) };
    let Some(invite) = record::decoded(action, &answer)? else {
        return Err(undecodable(action, "the response is empty"));
    };
    let shown = |member| invite.text(member).unwrap_or_default().to_owned();
    if context.globals.output != Format::Text {
        return print::structured(context, &invite);
    }
    let (id, email) = (escape(&shown("id")), escape(&shown("email")));
    context.note(format_args!("Invite for {email} created (id: {id})."));
    context.note("The person joins at this address. It is shown once:");
    let address = shown("accept_url") + "\n";
    context.print(address.as_bytes())
}

/// Prints the address of the page of an invite for a person who signed in. For a client it says why an
/// invite cannot be accepted here, and where it can; a dry run shows the request.
pub(super) async fn accept(context: &mut Context<'_>, matches: &Matches) -> Result<(), Failure> {
    let id = INVITE.id(matches.argument(0))?;
    if auth::is_signed_in(context) {
        let Some(token) = matches.value("token") else {
            return Err(Failure::usage("invite accept needs --token"));
        };
        let address = credentials::address(context, false)?;
        let token = utf8_percent_encode(token, ODD);
        let page = address.join(&format!("/oauth/invite/{id}?token={token}"));
        return context.print(format!("{page}\n").as_bytes());
    }
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
