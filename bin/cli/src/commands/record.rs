//! What can be done with records of any kind: list, show, change, delete.

use std::borrow::Cow;

use ::http::Method;
use bytes::Bytes;
use serde::Serialize;

use crate::{
    confirm,
    context::Context,
    dry_run,
    failure::Failure,
    http::{Api, Sent},
    id,
    output::{self, Column, Format, Node, View},
    parser::Matches,
};

/// A kind of record.
#[derive(Debug)]
pub(crate) struct Kind {
    /// As it stands in messages: `client`.
    pub(crate) noun: &'static str,
    /// As it begins a sentence: `API client`.
    pub(crate) title: &'static str,
    /// The collection of the API: `clients`.
    pub(crate) plural: &'static str,
    /// As a list without records is noted: `API clients`.
    pub(crate) titles: &'static str,
    pub(crate) columns: &'static [Column],
    /// What is asked before one is deleted; `{}` is the id.
    pub(crate) question: &'static str,
    /// The question shows the id as it was typed.
    pub(crate) asks_as_typed: bool,
}

#[derive(Serialize)]
struct Deleted<'a> {
    id: &'a str,
    deleted: bool,
}

// === impl Kind ===

impl Kind {
    /// The id in its one spelling.
    pub(super) fn id(&self, typed: &str) -> Result<String, Failure> {
        id::parse(&format!("{} ID", self.noun), typed)
    }

    fn path(&self) -> String {
        format!("/account/v1/{}", self.plural)
    }

    fn path_of(&self, id: &str) -> String {
        format!("/account/v1/{}/{id}", self.plural)
    }
}

/// Lists the records.
pub(super) async fn list(context: &mut Context<'_>, kind: &Kind) -> Result<(), Failure> {
    let action = format!("list {}", kind.plural);
    let answer = Api::new(context).get(&action, &kind.path()).await?;
    let records = match decoded(&action, &answer.body)? {
        None => Vec::new(),
        Some(Node::Array(records)) => records,
        Some(_) => return Err(undecodable(&action, "the answer is no list")),
    };
    let none = format!("No {} found.", kind.titles);
    output::list(context, kind.columns, &none, &records)
}

/// Shows a record.
pub(super) async fn get(
    context: &mut Context<'_>,
    kind: &Kind,
    matches: &Matches,
) -> Result<(), Failure> {
    let id = kind.id(matches.argument(0))?;
    let action = format!("get {}", kind.noun);
    let answer = Api::new(context).get(&action, &kind.path_of(&id)).await?;
    show(context, kind, &action, &answer.body)
}

/// Changes a record: the members given, and no others.
pub(super) async fn update(
    context: &mut Context<'_>,
    kind: &Kind,
    id: &str,
    members: &[(&str, &str)],
) -> Result<(), Failure> {
    let action = format!("update {}", kind.noun);
    let sent = send(
        context,
        &action,
        Method::PATCH,
        &kind.path_of(id),
        Some(body(members)),
        &[],
    )
    .await?;
    match sent {
        None => Ok(()),
        Some(answered) => show(context, kind, &action, &answered),
    }
}

/// Deletes a record, after the person said so.
pub(super) async fn delete(
    context: &mut Context<'_>,
    kind: &Kind,
    matches: &Matches,
) -> Result<(), Failure> {
    let typed = matches.argument(0);
    let id = kind.id(typed)?;
    let is_forced = matches.is_on("force");
    let checks: &[&str] = if is_forced {
        &[]
    } else {
        &[dry_run::WOULD_CONFIRM]
    };
    if !is_forced && !context.dry_run {
        let shown = if kind.asks_as_typed { typed } else { &id };
        confirm::ask(context, &kind.question.replace("{}", shown), true)?;
    }
    let action = format!("delete {}", kind.noun);
    let sent = send(
        context,
        &action,
        Method::DELETE,
        &kind.path_of(&id),
        None,
        checks,
    )
    .await?;
    if sent.is_none() {
        return Ok(());
    }
    context
        .streams
        .note(format_args!("{} {id} deleted.", kind.title));
    if context.globals.output == Format::Text {
        return Ok(());
    }
    let deleted = Deleted {
        id: &id,
        deleted: true,
    };
    output::report(context, &deleted, View::Plain(String::new()))
}

/// Sends a request that writes. `None` when a dry run stopped it, which was reported.
pub(super) async fn send(
    context: &mut Context<'_>,
    action: &str,
    method: Method,
    path: &str,
    body: Option<Vec<u8>>,
    checks: &[&str],
) -> Result<Option<Bytes>, Failure> {
    let sent = Api::new(context).send(action, method, path, body).await;
    match sent {
        Ok(Sent::Answer(answer)) => Ok(Some(answer.body)),
        Ok(Sent::Stopped(recorded)) => {
            dry_run::report(context, Some(&recorded), checks)?;
            Ok(None)
        }
        Err(failure) => {
            if context.dry_run {
                dry_run::stopped(context, checks);
            }
            Err(failure)
        }
    }
}

/// A JSON object of these members, in this order.
pub(super) fn body(members: &[(&str, &str)]) -> Vec<u8> {
    let members: Vec<Cow<'_, str>> = members
        .iter()
        .map(|(name, value)| {
            Cow::Owned(format!(
                "{}:{}",
                output::quoted(name),
                output::quoted(value)
            ))
        })
        .collect();
    format!("{{{}}}", members.join(",")).into_bytes()
}

/// The value of a body; `None` when there is none, or it is `null`.
pub(super) fn decoded(action: &str, body: &[u8]) -> Result<Option<Node>, Failure> {
    if body.trim_ascii().is_empty() {
        return Ok(None);
    }
    match Node::read(body) {
        None => Err(undecodable(action, "the answer is no JSON")),
        Some(node) if node == Node::null() => Ok(None),
        Some(node) => Ok(Some(node)),
    }
}

fn undecodable(action: &str, reason: &str) -> Failure {
    Failure::server(format!("{action}: {reason}"))
}

fn show(context: &mut Context<'_>, kind: &Kind, action: &str, body: &[u8]) -> Result<(), Failure> {
    match decoded(action, body)? {
        Some(record @ Node::Object(_)) => output::record(context, kind.columns, &record),
        Some(_) => Err(undecodable(action, "the answer is no object")),
        None if context.globals.output == Format::Text => {
            context
                .streams
                .note(format_args!("No {} data returned.", kind.noun));
            Ok(())
        }
        None => output::structured(context, &Node::null()),
    }
}
