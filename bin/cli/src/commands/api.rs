//! `platform api`: calls any path of the platform.
//!
//! The address comes from the configuration and only the path from the user, so the credential
//! cannot be sent to another server.

mod check;

use std::io::Read as _;

use bytes::Bytes;
use http::{HeaderValue, Method, header};
use serde_json::value::RawValue;
use ziggurat_account_client::{Call, Incoming, Sent, shown_headers};

use crate::{
    api::Api,
    context::Context,
    dry_run,
    failure::Failure,
    output::{self, Format, Node, View, print},
    tree::parser::Matches,
};

/// Maximum size of a request body.
const LARGEST: u64 = 64 * 1024 * 1024;

/// Sends one request and prints the response.
pub(super) async fn api(context: &mut Context<'_>, matches: &Matches) -> Result<(), Failure> {
    let typed = matches.argument(1);
    let method = check::method(matches.argument(0))?;
    check::path(typed)?;
    let query: Vec<&str> = matches.values("query").collect();
    let path = check::with_query(typed, &query)?;
    if method == Method::GET && matches.value("data").is_some() {
        return Err(Failure::usage(
            "--data is not sent with GET; use --query for parameters",
        ));
    }
    let given: Vec<&str> = matches.values("header").collect();
    let mut headers = check::headers(&given)?;
    let body = match matches.value("data") {
        Some(data) => body(context, data)?,
        None => None,
    };
    if body.is_some() && !headers.contains_key(header::CONTENT_TYPE) {
        let json = HeaderValue::from_static("application/json");
        headers.insert(header::CONTENT_TYPE, json);
    }
    let action = format!("{method} {typed}");
    let call = Call {
        action: &action,
        method,
        path: &path,
        headers,
        body,
    };
    let mut api = Api::new(context);
    let answer = match api.call(&call).await? {
        Sent::Stopped(recorded) => return dry_run::report(context, Some(&recorded), &[]),
        Sent::Answer(answer) => answer,
    };
    if matches.is_on("include") {
        let head = head(&api, &answer);
        api.context().streams.ask(head);
    }
    let failure = api.failure_of(&call, &answer);
    print(context, &action, &answer, failure)
}

/// Prints the body of a response; of an error response only in the formats for scripts.
fn print(
    context: &mut Context<'_>,
    action: &str,
    answer: &Incoming,
    failure: Option<Failure>,
) -> Result<(), Failure> {
    let format = context.globals.output;
    let raw = serde_json::from_slice::<&RawValue>(&answer.body).ok();
    if let Some(failure) = failure {
        if raw.is_some() && format != Format::Text {
            let text = plain(format, &answer.body);
            context.print(&text)?;
        }
        return Err(failure);
    }
    if answer.body.is_empty() {
        let status = answer.status.as_u16();
        context.note(format_args!("{action}: HTTP {status}, no body."));
        return Ok(());
    }
    let is_selected = context.globals.jq.is_some() || !context.globals.fields.is_empty();
    match raw {
        Some(raw) if is_selected => {
            let text = output::pretty(&answer.body).unwrap_or_default();
            print::report(context, &raw, View::Plain(text + "\n"))
        }
        _ => {
            let text = plain(format, &answer.body);
            context.print(&text)
        }
    }
}

/// Returns the body unchanged, indented or as YAML, with a newline at the end.
fn plain(format: Format, body: &[u8]) -> Vec<u8> {
    let text = match format {
        Format::Text => output::pretty(body).map(String::into_bytes),
        Format::Json => None,
        Format::Yaml => Node::read(body).map(|node| output::yaml_of(&node, 2).into_bytes()),
    };
    let mut text = match (text, format) {
        (Some(text), _) => text,
        (None, Format::Json) => body.trim_ascii().to_vec(),
        (None, _) => body.to_vec(),
    };
    if !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    text
}

/// Returns the status and the headers of a response, masked.
fn head(api: &Api<'_, '_>, answer: &Incoming) -> String {
    let mut text = format!("HTTP {}\n", answer.status.as_u16());
    let shown = shown_headers(&answer.headers, api.mask());
    for group in shown.chunk_by(|one, other| one.0 == other.0) {
        let values: Vec<&str> = group.iter().map(|(_, value)| value.as_str()).collect();
        let line = format!("{}: {}", group[0].0, values.join(", "));
        text.push_str(&output::escape_lines(&line));
        text.push('\n');
    }
    text
}

/// Returns the body of a request: literal, from a file, or from standard input; `None` if it is
/// empty.
fn body(context: &mut Context<'_>, data: &str) -> Result<Option<Bytes>, Failure> {
    let unreadable = |error: std::io::Error| Failure::usage(format!("--data: {error}"));
    let mut bytes = Vec::new();
    match data.strip_prefix('@') {
        Some(path) => {
            let file = std::fs::File::open(path)
                .map_err(|error| Failure::usage(format!("--data: {path}: {error}")))?;
            file.take(LARGEST + 1)
                .read_to_end(&mut bytes)
                .map_err(unreadable)?;
        }
        None if data == "-" => {
            let stdin = &mut context.streams.stdin;
            stdin
                .take(LARGEST + 1)
                .read_to_end(&mut bytes)
                .map_err(unreadable)?;
        }
        None => bytes.extend_from_slice(data.as_bytes()),
    }
    if bytes.len() as u64 > LARGEST {
        return Err(Failure::usage("--data: larger than 64 MiB"));
    }
    Ok((!bytes.is_empty()).then(|| bytes.into()))
}
