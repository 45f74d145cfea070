//! The reference in `REFERENCE.md`.

use std::fmt::Write as _;

use crate::tree::{self, Command, help, parser::full_name, reference::llms};

/// Returns the whole reference. A test compares it with the committed one.
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "the committed file is what readers see")
)]
pub(super) fn reference() -> String {
    let mut text = HEAD.to_owned();
    for (path, command) in tree::commands() {
        push(&mut text, &path, command);
    }
    text
}

const HEAD: &str = "\
# `ziggurat`, command by command

Made from the tree of commands; to change it, change the tree in `bin/cli/src/tree` and run
`ZIGGURAT_BLESS=1 cargo test -p ziggurat-cli --lib reference`.

Results go to standard output, everything else to standard error. Exit codes: 0 success, 1 failure,
2 wrong use, 3 timeout, 4 not found, 5 not signed in or refused, 130 interrupted.
";

fn push(text: &mut String, path: &[&'static str], command: &'static Command) {
    let _ = write!(
        text,
        "\n## {}\n\n{}. {}\n\n```\n{}\n```\n",
        full_name(path),
        command.summary,
        command.about,
        help::usage(path, command)
    );
    for (title, rows) in help::sections(command, [("Flags", command.own_flags())]) {
        let title = title.trim_end_matches('s');
        let _ = writeln!(text, "\n| {title} | |\n| --- | --- |");
        for (name, meaning) in rows {
            let _ = writeln!(text, "| `{name}` | {meaning} |");
        }
    }
    if command.action.is_some() {
        let _ = write!(text, "\nOutput: {}\n", llms::output(command));
    }
    for (effect, line) in command.examples {
        let _ = write!(text, "\n{effect}:\n\n```sh\n{line}\n```\n");
    }
}
