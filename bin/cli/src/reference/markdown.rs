//! The reference in `REFERENCE.md`.

use std::fmt::Write as _;

use crate::{
    help,
    parser::full_name,
    reference::llms,
    tree::{self, Command, Flag},
};

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
    if command.is_group() {
        text.push_str("\n| Command | |\n| --- | --- |\n");
        for child in command.listed() {
            let _ = writeln!(text, "| `{}` | {} |", child.name, child.summary);
        }
    }
    if !command.arguments.is_empty() {
        text.push_str("\n| Argument | |\n| --- | --- |\n");
        for argument in command.arguments {
            let name = help::placeholder(argument);
            let _ = writeln!(text, "| `{name}` | {} |", argument.meaning);
        }
    }
    push_flags(text, command.flags.iter().chain(command.shared));
    if command.action.is_some() {
        let _ = write!(text, "\nOutput: {}\n", llms::output(command));
    }
    for example in command.examples {
        let _ = write!(
            text,
            "\n{}:\n\n```sh\n{}\n```\n",
            example.says, example.line
        );
    }
}

fn push_flags(text: &mut String, flags: impl Iterator<Item = &'static Flag>) {
    let mut flags = flags.peekable();
    if flags.peek().is_none() {
        return;
    }
    text.push_str("\n| Flag | |\n| --- | --- |\n");
    for flag in flags {
        let _ = writeln!(
            text,
            "| `{}` | {} |",
            help::flag_name(flag),
            help::flag_meaning(flag)
        );
    }
}
