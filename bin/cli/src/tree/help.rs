//! The pages of `--help`.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthStr;

use crate::tree::{self, Argument, Command, Flag, Takes, ValueKind, parser::full_name};

/// Maximum length of a line of prose.
const WIDTH: usize = 80;

/// Returns the help of a command.
pub(crate) fn page(path: &[&str], command: &Command) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}", command.summary);
    if !command.about.is_empty() {
        let _ = writeln!(text, "\n{}", wrapped(command.about, WIDTH, 0));
    }
    if !command.examples.is_empty() {
        text.push_str("\nExamples:\n");
        let examples = command.examples.iter();
        let examples = examples.map(|(effect, line)| format!("  # {effect}\n  {line}\n"));
        text.push_str(&examples.collect::<Vec<_>>().join("\n"));
    }
    let _ = writeln!(text, "\nUsage:\n  {}", usage(path, command));
    let own = ("Flags", command.own_flags());
    for (title, rows) in sections(command, [own, ("Inherited flags", tree::above(path))]) {
        let _ = writeln!(text, "\n{title}:");
        push_rows(&mut text, rows);
    }
    if command.is_group() {
        let _ = writeln!(
            text,
            "\nRun \"{} <command> --help\" for more about a command.",
            full_name(path)
        );
    }
    text
}

/// Returns the sections of a page: rows of a name and its meaning. Empty sections are left out.
pub(crate) fn sections<const N: usize>(
    command: &Command,
    flags: [(&'static str, Vec<&Flag>); N],
) -> impl Iterator<Item = (&'static str, Vec<(String, String)>)> {
    let commands = command.listed();
    let commands = commands.map(|child| (child.name.to_owned(), child.summary.to_owned()));
    let arguments = command.arguments.iter();
    let arguments = arguments.map(|it| (placeholder(it), it.meaning.to_owned()));
    let flags = flags.map(|(title, flags)| {
        let rows = flags.into_iter();
        (
            title,
            rows.map(|flag| (flag_name(flag), flag_meaning(flag)))
                .collect(),
        )
    });
    [
        ("Commands", commands.collect()),
        ("Arguments", arguments.collect::<Vec<_>>()),
    ]
    .into_iter()
    .chain(flags)
    .filter(|(_, rows)| !rows.is_empty())
}

/// Returns the usage of a command, on one line.
pub(crate) fn usage(path: &[&str], command: &Command) -> String {
    let mut line = full_name(path);
    if command.is_group() {
        line.push_str(" <command>");
    }
    for argument in command.arguments {
        line.push(' ');
        line.push_str(&placeholder(argument));
    }
    line.push_str(" [flags]");
    line
}

/// `<name>`, `[name]` or `[name...]`.
fn placeholder(argument: &Argument) -> String {
    match argument.takes {
        Takes::One => format!("<{}>", argument.name),
        Takes::AtMostOne => format!("[{}]", argument.name),
        Takes::Any => format!("[{}...]", argument.name),
    }
}

/// `-o, --output format`.
fn flag_name(flag: &Flag) -> String {
    let short = match flag.short {
        Some(short) => format!("-{short}, "),
        None => String::new(),
    };
    let value = match flag.value {
        ValueKind::Switch => String::new(),
        ValueKind::Text(name) | ValueKind::Integer(name) => format!(" <{name}>"),
        ValueKind::Duration => " <duration>".to_owned(),
        ValueKind::Optional(bare) => format!("[={bare}]"),
    };
    format!("{short}--{}{value}", flag.name)
}

/// Returns the meaning of a flag, with its default.
fn flag_meaning(flag: &Flag) -> String {
    let mut meaning = flag.meaning.to_owned();
    if flag.is_required {
        meaning.push_str(" (required)");
    }
    if flag.is_repeatable {
        meaning.push_str(" (repeatable)");
    }
    if !flag.default.is_empty() {
        let _ = write!(meaning, " (default: {})", flag.default);
    }
    meaning
}

/// Wraps prose into lines; all but the first are indented.
fn wrapped(prose: &str, width: usize, indent: usize) -> String {
    let mut text = String::new();
    let mut column = indent;
    for word in prose.split_whitespace() {
        if column > indent && column + 1 + word.width() > width {
            text.push('\n');
            text.extend(std::iter::repeat_n(' ', indent));
            column = indent;
        } else if column > indent {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += word.width();
    }
    text
}

fn push_rows(text: &mut String, mut rows: Vec<(String, String)>) {
    for (name, _) in &mut rows {
        // Long names of flags are aligned, with or without a short one.
        if name.starts_with("--") {
            name.insert_str(0, "    ");
        }
    }
    let width = rows.iter().map(|(name, _)| name.width()).max().unwrap_or(0);
    for (name, meaning) in rows {
        let pad = " ".repeat(width - name.width());
        let meaning = wrapped(&meaning, WIDTH.max(width + 40), width + 4);
        let _ = writeln!(text, "  {name}{pad}  {meaning}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_summary_a_paragraph_an_example_and_its_usage() {
        for (path, command) in tree::commands() {
            let name = full_name(&path);
            assert!(!command.summary.is_empty(), "{name}");
            assert!(!command.summary.ends_with('.'), "{name}");
            assert!(command.about.ends_with('.'), "{name}");
            assert!(!command.examples.is_empty(), "{name}");
            let page = page(&path, command);
            for part in [command.summary, "\nExamples:\n", "\nUsage:\n"] {
                assert!(page.contains(part), "{name}: {part}");
            }
            assert_eq!(
                page.contains("\nInherited flags:\n"),
                !path.is_empty(),
                "{name}"
            );
        }
    }

    #[test]
    fn every_example_is_a_command_line_that_is_understood() {
        for (path, command) in tree::commands() {
            for example in command.examples {
                let (_, line) = example;
                let start = line.find("ziggurat").expect("it calls the program");
                let words = shell_words(&line[start + "ziggurat".len()..]);
                let matches = tree::parser::parse(&words)
                    .and_then(|matches| tree::parser::count(&matches).map(|()| matches))
                    .unwrap_or_else(|failure| panic!("{line}: {failure}"));
                assert!(
                    matches.path.starts_with(&path),
                    "{line} is no example of {path:?}"
                );
            }
        }
    }

    /// Returns the words of a line up to a pipe or a bracket; text in single quotes is one word.
    fn shell_words(line: &str) -> Vec<String> {
        let mut words = Vec::new();
        for (at, part) in line.split('\'').enumerate() {
            if at % 2 == 1 {
                words.push(part.to_owned());
                continue;
            }
            let end = part.find(['|', ')']);
            let call = &part[..end.unwrap_or(part.len())];
            words.extend(call.split_whitespace().map(str::to_owned));
            if end.is_some() {
                break;
            }
        }
        words
    }

    #[test]
    fn no_two_flags_of_a_command_share_a_name() {
        for (path, command) in tree::commands() {
            let flags: Vec<_> = command.flags.iter().chain(tree::inherited(&path)).collect();
            for (at, flag) in flags.iter().enumerate() {
                for other in &flags[at + 1..] {
                    assert_ne!(flag.name, other.name, "{path:?}");
                    assert!(
                        flag.short.is_none() || flag.short != other.short,
                        "{path:?}: {:?}",
                        flag.short
                    );
                }
            }
        }
    }

    #[test]
    fn prose_is_broken_between_words() {
        assert_eq!(wrapped("one two three", 9, 2), "one two\n  three");
    }

    #[test]
    fn a_page_reads_well() {
        let (path, command) = tree::commands()
            .into_iter()
            .find(|(path, _)| *path == ["platform", "membership", "delete"])
            .expect("it is there");
        let page = page(&path, command);
        let begin = "\
Remove a person from the account

Removes a person from the account. The owner cannot be removed.

Examples:
  # Delete without confirmation
  ziggurat platform membership delete 7a4a2f64-60a0-4d7d-b3b3-1f5ad1bb8a11 --force

Usage:
  ziggurat platform membership delete <membership_id> [flags]

Arguments:
  <membership_id>  id of the membership

Flags:
      --dry-run[=checks]  check the input and print the request only
      --force             do not ask for confirmation

Inherited flags:
      --config <path>";
        assert!(page.starts_with(begin), "{page}");
    }
}
