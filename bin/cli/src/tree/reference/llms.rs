//! The reference for language models: an index and one page per command, plain text.

use std::fmt::Write as _;

use crate::tree::{
    self, Command, Output, help,
    parser::full_name,
    reference::{all_flags, exit_codes},
};

/// Returns the list of pages, with the rules for all commands.
pub(super) fn index() -> String {
    let mut text = format!(
        "# {}\n\n{}\n\n{}\n\n## Commands\n\n",
        tree::PROGRAM,
        tree::ROOT.summary,
        RULES
    );
    for (path, command) in tree::leaves() {
        let writes = if command.writes() { " (writes)" } else { "" };
        let _ = writeln!(text, "- {}: {}{writes}", full_name(&path), command.summary);
    }
    text.push_str("\nOne page per command: ziggurat llms <words of the command>\n");
    text
}

const RULES: &str = "\
Results go to standard output, everything else to standard error. Use -o json for one line of \
JSON: a list is a bare array, a record a bare object. Commands that write take --dry-run, which \
prints the request and sends nothing. Deletions ask unless --force is given, and fail with exit \
code 2 without a terminal to ask on. Under -o json an error is one line of JSON on standard error \
with the members error.code, error.exit_code and error.message. Exit codes: 0 success, 1 failure, \
2 wrong use, 3 timeout, 4 not found, 5 not signed in or refused, 130 interrupted.";

/// Returns the page of a command.
pub(super) fn page(path: &[&str], command: &'static Command) -> String {
    let mut text = format!(
        "# {}\n\n{}.\n\n{}\n\nUsage: {}\n",
        full_name(path),
        command.summary,
        command.about,
        help::usage(path, command)
    );
    for (title, rows) in help::sections(command, [("Flags", all_flags(path, command))]) {
        let _ = writeln!(text, "\n## {title}\n");
        for (name, meaning) in rows {
            let _ = writeln!(text, "- {name}: {meaning}");
        }
    }
    let _ = write!(text, "\n## Output\n\n{}\n", output(command));
    if command.action.is_some() {
        text.push_str("\n## Exit codes\n\n");
        for (code, meaning) in exit_codes(path, command) {
            let _ = writeln!(text, "- {code}: {meaning}");
        }
    }
    text.push_str("\n## Examples\n");
    for (effect, line) in command.examples {
        let _ = write!(text, "\n{effect}:\n\n    {line}\n");
    }
    text
}

/// Describes the output of a command in a sentence.
pub(super) fn output(command: &Command) -> String {
    let members = command.output.members().join(", ");
    match command.output {
        Output::None if command.is_group() => "The help of the group.".to_owned(),
        Output::None => "Nothing on standard output.".to_owned(),
        Output::Text => "Text.".to_owned(),
        Output::Free => "The body of the response.".to_owned(),
        Output::Record(_) => format!("An object with the members {members}."),
        Output::List(_) => format!("A list of objects with the members {members}."),
    }
}
