//! The commands as data.

use serde::Serialize;

use crate::tree::{
    self, Command, Flag, Output, Takes,
    parser::full_name,
    reference::{all_flags, exit_codes},
};

/// A command, as `ziggurat commands -o json` prints it.
#[derive(Debug, Serialize)]
pub(super) struct ListedCommand {
    name: &'static str,
    path: String,
    summary: &'static str,
    args: Vec<ListedArgument>,
    flags: Vec<ListedFlag>,
    writes: bool,
    output: &'static str,
    output_fields: Vec<&'static str>,
    exit_codes: Vec<u8>,
}

#[derive(Debug, Serialize)]
struct ListedArgument {
    name: &'static str,
    summary: &'static str,
    required: bool,
    repeatable: bool,
}

#[derive(Debug, Serialize)]
struct ListedFlag {
    name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    short: Option<char>,
    r#type: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    default: &'static str,
    summary: &'static str,
    required: bool,
    repeatable: bool,
}

/// The columns of the list in text.
pub(super) const COLUMNS: [(&str, &str); 3] = [
    ("path", "COMMAND"),
    ("writes", "WRITES"),
    ("summary", "SUMMARY"),
];

// === impl ListedCommand ===

impl ListedCommand {
    fn of(path: &[&'static str], command: &'static Command) -> Self {
        Self {
            name: command.name,
            path: full_name(path),
            summary: command.summary,
            args: command
                .arguments
                .iter()
                .map(|argument| ListedArgument {
                    name: argument.name,
                    summary: argument.meaning,
                    required: argument.takes == Takes::One,
                    repeatable: argument.takes == Takes::Any,
                })
                .collect(),
            flags: all_flags(path, command)
                .into_iter()
                .map(ListedFlag::of)
                .collect(),
            writes: command.writes(),
            output: match command.output {
                Output::None => "none",
                Output::Text => "text",
                Output::Record(_) => "object",
                Output::List(_) => "list",
                Output::Free => "any",
            },
            output_fields: command.output.members(),
            exit_codes: exit_codes(path, command)
                .into_iter()
                .map(|(code, _)| code)
                .collect(),
        }
    }

    /// Returns the row of the list in text.
    pub(super) fn row(&self) -> Vec<String> {
        let writes = if self.writes { "yes" } else { "no" };
        vec![
            self.path.clone(),
            writes.to_owned(),
            self.summary.to_owned(),
        ]
    }
}

// === impl ListedFlag ===

impl ListedFlag {
    fn of(flag: &Flag) -> Self {
        Self {
            name: flag.name,
            short: flag.short,
            r#type: flag.value.name(),
            default: flag.default,
            summary: flag.meaning,
            required: flag.is_required,
            repeatable: flag.is_repeatable,
        }
    }
}

/// Returns all commands with an action.
pub(super) fn commands() -> Vec<ListedCommand> {
    tree::leaves()
        .into_iter()
        .map(|(path, command)| ListedCommand::of(&path, command))
        .collect()
}
