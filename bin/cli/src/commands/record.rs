//! Lists, shows, changes and deletes records of any kind.

use std::borrow::Cow;

use bytes::Bytes;
use http::Method;
use serde::Serialize;
use ziggurat_account_client::Sent;

use crate::{
    api::{Api, undecodable},
    context::Context,
    dry_run,
    failure::Failure,
    id,
    output::{self, Column, Format, Node, print},
    terminal::confirm,
    tree::{PROGRAM, parser::Matches},
};

/// A kind of record.
#[derive(Debug)]
pub(crate) struct RecordKind {
    /// Word in messages: `client`.
    pub(crate) noun: &'static str,
    /// Word at the beginning of a sentence: `API client`.
    pub(crate) title: &'static str,
    /// Collection of the API: `clients`.
    pub(crate) plural: &'static str,
    /// Word in the note about an empty list: `API clients`.
    pub(crate) titles: &'static str,
    pub(crate) columns: &'static [Column],
    /// Question before a deletion; `{}` is the id.
    pub(crate) question: &'static str,
    /// Set if the question shows the id as it was typed.
    pub(crate) asks_as_typed: bool,
    /// Set if an argument may be the name of a record.
    pub(crate) has_names: bool,
}

/// Record that an argument refers to.
pub(super) enum Target {
    /// Its id in canonical form.
    Id(String),
    Name(String),
}

#[derive(Serialize)]
struct DeletedRecord<'a> {
    id: &'a str,
    deleted: bool,
}

// === impl Target ===

impl Target {
    /// Returns the checks that a dry run makes to find the record.
    fn checks(&self) -> &'static [&'static str] {
        match self {
            Self::Id(_) => &[],
            Self::Name(_) => &[dry_run::LOOKED_UP],
        }
    }
}

// === impl RecordKind ===

impl RecordKind {
    /// Returns the id in canonical form.
    pub(super) fn id(&self, typed: &str) -> Result<String, Failure> {
        id::parse(&format!("{} ID", self.noun), typed).map_err(|failure| {
            failure.with_hint(format!(
                "An ID has 32 hexadecimal digits in groups of 8-4-4-4-12; see '{PROGRAM} platform \
                 {} list'.",
                self.noun
            ))
        })
    }

    /// Returns the record that an argument refers to, without looking it up.
    pub(super) fn target(&self, typed: &str) -> Result<Target, Failure> {
        if self.has_names && !id::is_like(typed) {
            return Ok(Target::Name(typed.to_owned()));
        }
        self.id(typed).map(Target::Id)
    }

    fn path(&self) -> String {
        format!("/account/v1/{}", self.plural)
    }

    fn path_of(&self, id: &str) -> String {
        format!("/account/v1/{}/{id}", self.plural)
    }
}

/// Lists the records.
pub(super) async fn list(context: &mut Context<'_>, kind: &RecordKind) -> Result<(), Failure> {
    let records = all(&mut Api::new(context), kind).await?;
    let none = format!("No {} found.", kind.titles);
    print::list(context, kind.columns, &none, &records)
}

/// Returns all records of a kind, as the platform lists them.
async fn all(api: &mut Api<'_, '_>, kind: &RecordKind) -> Result<Vec<Node>, Failure> {
    let action = format!("list {}", kind.plural);
    let answer = api.get(&action, &kind.path()).await?;
    match decoded(&action, &answer.body)? {
        None => Ok(Vec::new()),
        Some(Node::Array(records)) => Ok(records),
        Some(_) => Err(undecodable(&action, "the response is not a list")),
    }
}

/// Returns the id of the record; a name is looked up in the list.
async fn found(
    api: &mut Api<'_, '_>,
    kind: &RecordKind,
    target: Target,
) -> Result<String, Failure> {
    let name = match target {
        Target::Id(id) => return Ok(id),
        Target::Name(name) => name,
    };
    let records = all(api, kind).await?;
    let ids: Vec<&str> = records
        .iter()
        .filter(|record| record.text("name") == Some(&name))
        .filter_map(|record| record.text("id"))
        .collect();
    match ids.as_slice() {
        [] => Err(Failure::not_found(format!(
            "no {} has the name {}",
            kind.title,
            output::quoted(&name)
        ))
        .with_hint(format!("See '{PROGRAM} platform {} list'.", kind.noun))),
        // Checked, because it comes from the server and becomes part of a URL.
        [only] => kind.id(only),
        several => Err(Failure::usage(format!(
            "{} {} have the name {}: give the ID of one ({})",
            several.len(),
            kind.titles,
            output::quoted(&name),
            several.join(", ")
        ))),
    }
}

/// Shows a record.
pub(super) async fn get(
    context: &mut Context<'_>,
    kind: &RecordKind,
    matches: &Matches,
) -> Result<(), Failure> {
    let target = kind.target(matches.argument(0))?;
    let action = format!("get {}", kind.noun);
    let mut api = Api::new(context);
    let id = found(&mut api, kind, target).await?;
    let answer = api.get(&action, &kind.path_of(&id)).await?;
    show(context, kind, &action, &answer.body)
}

/// Changes only the given members of a record.
pub(super) async fn update(
    context: &mut Context<'_>,
    kind: &RecordKind,
    target: Target,
    members: &[(&str, &str)],
) -> Result<(), Failure> {
    let action = format!("update {}", kind.noun);
    let checks = target.checks();
    let mut api = Api::new(context);
    let id = found(&mut api, kind, target).await?;
    let body = Some(body(members));
    let sent = api
        .send(&action, Method::PATCH, &kind.path_of(&id), body)
        .await;
    match reported(context, sent, checks)? {
        None => Ok(()),
        Some(answered) => show(context, kind, &action, &answered),
    }
}

/// Deletes a record after a confirmation.
pub(super) async fn delete(
    context: &mut Context<'_>,
    kind: &RecordKind,
    matches: &Matches,
) -> Result<(), Failure> {
    let typed = matches.argument(0);
    let target = kind.target(typed)?;
    let is_forced = matches.is_on("force");
    let mut checks = target.checks().to_vec();
    if !is_forced {
        checks.push(dry_run::WOULD_CONFIRM);
    }
    if !is_forced && !context.dry_run {
        let shown = match &target {
            Target::Id(id) if !kind.asks_as_typed => id,
            _ => typed,
        };
        confirm::ask(context, &kind.question.replace("{}", shown), true)?;
    }
    let action = format!("delete {}", kind.noun);
    let mut api = Api::new(context);
    let (sent, id) = match found(&mut api, kind, target).await {
        Ok(id) => {
            let path = kind.path_of(&id);
            let sent = api.send(&action, Method::DELETE, &path, None).await;
            (sent, id)
        }
        Err(failure) => (Err(failure), String::new()),
    };
    if reported(context, sent, &checks)?.is_none() {
        return Ok(());
    }
    context.note(format_args!("{} {id} deleted.", kind.title));
    let (id, deleted) = (id.as_str(), true);
    print::outcome(context, &DeletedRecord { id, deleted })
}

/// Sends a request that writes. Returns `None` if a dry run stopped it; then it is reported.
pub(super) async fn send(
    context: &mut Context<'_>,
    action: &str,
    method: Method,
    path: &str,
    body: Option<Vec<u8>>,
    checks: &[&str],
) -> Result<Option<Bytes>, Failure> {
    let sent = Api::new(context).send(action, method, path, body).await;
    reported(context, sent, checks)
}

/// Returns the body of a response; `None` if a dry run stopped the request, which is reported.
fn reported(
    context: &mut Context<'_>,
    sent: Result<Sent, Failure>,
    checks: &[&str],
) -> Result<Option<Bytes>, Failure> {
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

/// Builds a JSON object with these members, in this order.
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

/// Returns the value of a body; `None` if it is empty or `null`.
pub(super) fn decoded(action: &str, body: &[u8]) -> Result<Option<Node>, Failure> {
    if body.trim_ascii().is_empty() {
        return Ok(None);
    }
    match Node::read(body) {
        None => Err(undecodable(action, "the response is not JSON")),
        Some(node) if node == Node::null() => Ok(None),
        Some(node) => Ok(Some(named(node))),
    }
}

/// Gives the credential of clients one name. Platforms use the name of a vendor or of a protocol.
pub(super) fn named(node: Node) -> Node {
    const NAMES: [(&str, &str); 4] = [
        ("oauth_client_id", "credential_id"),
        ("auth0_id", "credential_id"),
        ("oauth_client_secret", "credential_secret"),
        ("auth0_secret", "credential_secret"),
    ];
    match node {
        Node::Array(records) => Node::Array(records.into_iter().map(named).collect()),
        Node::Object(mut members) => {
            for (old, new) in NAMES {
                if let Some(value) = members.remove(old) {
                    members.insert(new.to_owned(), value);
                }
            }
            Node::Object(members)
        }
        other => other,
    }
}

fn show(
    context: &mut Context<'_>,
    kind: &RecordKind,
    action: &str,
    body: &[u8],
) -> Result<(), Failure> {
    match decoded(action, body)? {
        Some(record @ Node::Object(_)) => print::record(context, kind.columns, &record),
        Some(_) => Err(undecodable(action, "the response is not an object")),
        None if context.globals.output == Format::Text => {
            context.note(format_args!("No {} data returned.", kind.noun));
            Ok(())
        }
        None => print::structured(context, &Node::null()),
    }
}
