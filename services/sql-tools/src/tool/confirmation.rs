//! Confirmation by the user before a tool changes data.

use std::fmt::Write as _;

use aws_lc_rs::digest::{Context, SHA256};
use ziggurat_answers::{
    checked::WriteTexts,
    confirm::{self, Confirmation},
};
use ziggurat_databases::Current;
use ziggurat_mcp::{Error, Reported, ToolRequest, ToolResult};
use ziggurat_postgres::tsv;

use crate::{
    definition::Definition,
    kind::{Checked, Kind},
};

const CANNOT_ASK: &str =
    "This tool changes data and has to be confirmed by a user, whom this client cannot ask.";

/// Asks the user to confirm a call of a tool that writes. Returns `None` if it may run.
pub(super) async fn question(
    definition: &Definition,
    current: &Current,
    statement: &str,
    values: &[Option<Checked>],
    request: &ToolRequest,
) -> Result<Option<ToolResult>, Error> {
    let Some(write) = definition.write else {
        return Ok(None);
    };
    if !confirm::can_ask(request) {
        return if write.always_confirms {
            Err(Reported::new(CANNOT_ASK).into())
        } else {
            Ok(None)
        };
    }
    let texts = texts(definition, current, statement, values);
    texts.question.question(request).await
}

/// Returns the texts about a call of a tool.
pub(super) fn texts(
    definition: &Definition,
    current: &Current,
    statement: &str,
    values: &[Option<Checked>],
) -> WriteTexts {
    let label = current.label();
    let title = definition.title.as_ref().unwrap_or(&definition.name);
    let mut content = String::new();
    let mut digest = Context::new(&SHA256);
    digest.update(statement.as_bytes());
    for (parameter, value) in definition.parameters.iter().zip(values) {
        let shown = shown(&parameter.kind, value.as_ref());
        digest.update(format!("\0{shown}").as_bytes());
        // What the caller cannot send is no part of the question.
        if parameter.is_open() {
            let shown = if parameter.is_sensitive {
                "***"
            } else {
                &shown
            };
            let name = &parameter.name;
            write!(content, "\n{name}: {shown}").expect("a string takes all that is written");
        }
    }
    let digest = digest.finish();
    let digest = digest
        .as_ref()
        .iter()
        .fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").expect("a string takes all that is written");
            text
        });
    let name = &definition.name;
    let message = format!("May the tool \"{title}\" change data in the database {label}?{content}");
    WriteTexts {
        subject: format!("The tool \"{title}\""),
        content: content.trim_start().to_owned(),
        question: Confirmation {
            state: format!("call {name} in {label}: {digest}"),
            message,
            subject: "call",
            structure: None,
        },
    }
}

/// Writes a value on one line and in quotes, so that it cannot look like another line of the
/// question.
fn quoted(value: &str) -> String {
    let format = tsv::Format {
        is_unambiguous: true,
        shows_hidden: true,
        ..tsv::Format::default()
    };
    let mut out = String::new();
    format.write_text(&mut out, value);
    format!("\"{}\"", out.replace('"', "\\\""))
}

/// Writes a value so that no other one is written the same.
fn shown(kind: &Kind, value: Option<&Checked>) -> String {
    match (value, kind) {
        (None, _) => "NULL".to_owned(),
        (Some(Checked::Text(text)), _) => quoted(text),
        (Some(Checked::Texts(texts)), _) => {
            let texts: Vec<_> = texts.iter().map(|text| quoted(text)).collect();
            format!("[{}]", texts.join(", "))
        }
        (Some(Checked::Name(at)), Kind::Identifier(allowed)) => quoted(&allowed[*at]),
        (Some(Checked::Name(at)), _) => quoted(&at.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_values_are_shown_differently() {
        let texts = |texts: &[&str]| {
            let texts = texts.iter().map(ToString::to_string);
            Some(Checked::Texts(texts.collect()))
        };
        let text = |text: &str| Some(Checked::Text(text.to_owned()));
        for (one, other) in [
            (None, text("NULL")),
            (texts(&["a, b"]), texts(&["a", "b"])),
            (texts(&["a\", \"b"]), texts(&["a", "b"])),
            (texts(&[]), text("[]")),
            (text("\u{202e}"), text("\\u{202e}")),
        ] {
            let kind = Kind::Identifier(Vec::new());
            assert_ne!(shown(&kind, one.as_ref()), shown(&kind, other.as_ref()));
        }
    }
}
