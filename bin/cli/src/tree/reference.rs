//! Documentation that is generated from the tree of commands: pages for language models, manual
//! pages, the list for scripts, and `REFERENCE.md`.

mod list;
mod llms;
mod manual;
mod markdown;

use std::fs;

use crate::{
    context::Context,
    failure::Failure,
    output::{self, View, print},
    tree::{
        self, Command, Flag, PROGRAM,
        parser::{self, Matches},
    },
};

/// `ziggurat commands`.
pub(crate) fn list(context: &mut Context<'_>) -> Result<(), Failure> {
    let commands = list::commands();
    let rows = commands.iter().map(list::ListedCommand::row);
    let view = View::Table {
        columns: list::COLUMNS.to_vec(),
        rows: rows.collect(),
    };
    print::report(context, &commands, view)
}

/// `ziggurat llms`.
pub(crate) fn llms(context: &mut Context<'_>, words: &[String]) -> Result<(), Failure> {
    let page = if words.is_empty() {
        llms::index()
    } else {
        let (path, command) = found(words, "llms")?;
        llms::page(&path, command)
    };
    context.streams.print(page.as_bytes())
}

/// `ziggurat man`.
pub(crate) fn man(context: &mut Context<'_>, matches: &Matches) -> Result<(), Failure> {
    let Some(folder) = matches.value("dir") else {
        let (path, command) = found(&matches.arguments, "man")?;
        let page = manual::page(&path, command);
        return context.streams.print(page.as_bytes());
    };
    if !matches.arguments.is_empty() {
        return Err(Failure::usage(
            "--dir writes every page: name no command with it",
        ));
    }
    let written = fs::create_dir_all(folder).and_then(|()| {
        tree::commands().iter().try_for_each(|(path, command)| {
            let name = format!("{}.1", file_name(path));
            fs::write(
                std::path::Path::new(folder).join(name),
                manual::page(path, command),
            )
        })
    });
    written.map_err(|error| Failure::general(format!("--dir: {folder}: {error}")))
}

/// Returns a name such as `ziggurat-platform-client-list`.
fn file_name(path: &[&str]) -> String {
    parser::full_name(path).replace(' ', "-")
}

fn found(words: &[String], kind: &str) -> Result<(Vec<&'static str>, &'static Command), Failure> {
    parser::command_of(words)
        .filter(|(_, command)| !command.is_hidden)
        .ok_or_else(|| {
            Failure::usage(format!(
                "unknown {kind} page {} — run '{PROGRAM} llms' for the list of pages",
                output::quoted(&words.join(" "))
            ))
        })
}

/// Returns the exit codes of a command, and their meanings.
fn exit_codes(path: &[&str], command: &Command) -> Vec<(u8, &'static str)> {
    let speaks = path.first() == Some(&"platform") && command.action.is_some();
    let takes_id = command
        .arguments
        .iter()
        .any(|argument| argument.name.ends_with("_id"));
    let mut codes = vec![
        (0, "success"),
        (
            1,
            "failure: unreachable, rejected, or an invalid configuration",
        ),
        (2, "invalid command line, or not confirmed"),
    ];
    if speaks {
        codes.push((3, "timeout"));
        if takes_id || path == ["platform", "api"] {
            codes.push((4, "the record does not exist"));
        }
        codes.push((5, "no credential, or it was rejected"));
    }
    codes
}

/// Returns the flags of a command and of its parent groups, with the flags of the root last.
fn all_flags(path: &[&str], command: &'static Command) -> Vec<&'static Flag> {
    let mut shared = tree::inherited(path);
    shared.reverse();
    let mut flags: Vec<&Flag> = command.flags.iter().collect();
    // A stable sort keeps the order of the tree within one group.
    for group in [tree::CONNECTION, tree::GLOBAL] {
        let theirs = group.iter();
        flags.extend(theirs.filter(|flag| shared.iter().any(|other| other.name == flag.name)));
    }
    flags
}

#[cfg(test)]
mod tests;
