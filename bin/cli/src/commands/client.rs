//! `platform client`: API clients.

use http::Method;

use crate::{
    commands::record::{self, RecordKind},
    context::Context,
    failure::Failure,
    output::{self, Column, Format, Node, Show, escape, print},
    tree::parser::Matches,
};

/// API clients.
pub(crate) static CLIENT: RecordKind = RecordKind {
    noun: "client",
    title: "API client",
    plural: "clients",
    titles: "API clients",
    columns: &[
        Column::new("id", "ID", Show::Text),
        Column::new("name", "NAME", Show::Text),
        Column::new("description", "DESCRIPTION", Show::Text),
        Column::new("credential_id", "CREDENTIAL ID", Show::Text),
        Column::new("created_at", "CREATED", Show::Day),
        Column::new("updated_at", "UPDATED", Show::Day),
    ],
    question: "Delete API client {}? Any application using its credentials will stop being able \
               to authenticate.",
    asks_as_typed: true,
    has_names: true,
};

/// Creates a client. Only this response contains its secret.
pub(super) async fn create(context: &mut Context<'_>, matches: &Matches) -> Result<(), Failure> {
    let name = not_empty(matches, "name")?.unwrap_or_default();
    let description = not_empty(matches, "description")?.unwrap_or_default();
    let mut members = vec![("description", description), ("name", name)];
    members.extend(role(matches)?.map(|role| ("role", role)));
    let body = record::body(&members);
    let action = "create client";
    let path = "/account/v1/clients";
    let sent = record::send(context, action, Method::POST, path, Some(body), &[]).await?;
    let Some(answered) = sent else {
        return Ok(());
    };
    let Some(created @ Node::Object(_)) = Node::read(&answered).map(record::named) else {
        return Err(Failure::server(
            "client created but the API returned no body — the client secret is unrecoverable; \
             delete the client and retry",
        ));
    };
    let secret = filled(&created, "credential_secret");
    if context.globals.output == Format::Text {
        announce(context, name, &created);
    }
    let Some(secret) = secret else {
        context.note(
            "Warning: the API returned no client secret. It cannot be retrieved later — delete \
             this client and create another.",
        );
        return match context.globals.output {
            Format::Text => Ok(()),
            Format::Json | Format::Yaml => print::record(context, CLIENT.columns, &created),
        };
    };
    let printed = if context.globals.output == Format::Text {
        context.ask("Client secret: ");
        context.print(format!("{secret}\n").as_bytes())
    } else {
        print::record(context, CLIENT.columns, &created)
    };
    if printed.is_err() {
        let id = created.text("id").unwrap_or_default();
        return Err(Failure::general(format!(
            "the client secret could not be written to standard output and is lost; delete client \
             {} and create another",
            escape(id)
        )));
    }
    if context.globals.output == Format::Text {
        context.note("Save the secret now — it is shown once and cannot be retrieved again.");
    }
    Ok(())
}

/// Changes the name, the description, the role, or several of them.
pub(super) async fn update(context: &mut Context<'_>, matches: &Matches) -> Result<(), Failure> {
    let target = CLIENT.target(matches.argument(0))?;
    let name = matches.value("name");
    let description = matches.value("description");
    let role = role(matches)?;
    if name.is_none() && description.is_none() && role.is_none() {
        return Err(Failure::usage(
            "nothing to update — pass --name and/or --description",
        ));
    }
    not_empty(matches, "name")?;
    let members: Vec<(&str, &str)> = [("description", description), ("name", name), ("role", role)]
        .into_iter()
        .filter_map(|(member, value)| Some((member, value?)))
        .collect();
    record::update(context, &CLIENT, target, &members).await
}

/// The value of `--role`.
fn role(matches: &Matches) -> Result<Option<&str>, Failure> {
    match matches.value("role") {
        None => Ok(None),
        Some(role @ ("admin" | "reader")) => Ok(Some(role)),
        Some(other) => Err(Failure::usage(format!(
            "invalid argument {} for \"--role\" flag: want admin or reader",
            output::quoted(other)
        ))),
    }
}

/// The value of a flag that may be absent and must not be empty.
pub(super) fn not_empty<'a>(matches: &'a Matches, flag: &str) -> Result<Option<&'a str>, Failure> {
    match matches.value(flag) {
        Some("") => Err(Failure::usage(format!("--{flag} must not be empty"))),
        other => Ok(other),
    }
}

fn announce(context: &mut Context<'_>, name: &str, created: &Node) {
    let name = escape(created.text("name").unwrap_or(name)).replace('"', "\\\"");
    let id = escape(created.text("id").unwrap_or_default());
    context.note(format_args!("API client \"{name}\" created (id: {id})."));
    if let Some(id) = filled(created, "credential_id") {
        context.note(format_args!("Credential ID: {}", escape(id)));
    }
}

fn filled<'a>(record: &'a Node, name: &str) -> Option<&'a str> {
    record.text(name).filter(|text| !text.is_empty())
}
