//! Manual pages, for man(1).

use std::fmt::Write as _;

use crate::{
    help,
    parser::full_name,
    reference::{exit_codes, file_name},
    tree::{self, Command, Flag, VERSION},
};

/// Returns the manual page of a command.
pub(super) fn page(path: &[&str], command: &'static Command) -> String {
    let name = file_name(path);
    let mut text = format!(
        ".TH \"{}\" 1 \"\" \"ziggurat {VERSION}\" \"Ziggurat\"\n.SH NAME\n{} \\- {}\n",
        roff(&name.to_uppercase()),
        roff(&name),
        roff(command.summary)
    );
    let _ = write!(
        text,
        ".SH SYNOPSIS\n.B {}\n.SH DESCRIPTION\n{}\n",
        roff(&help::usage(path, command)),
        roff(command.about)
    );
    push_commands(&mut text, path, command);
    if !command.arguments.is_empty() {
        text.push_str(".SH ARGUMENTS\n");
        for argument in command.arguments {
            push(&mut text, &help::placeholder(argument), argument.meaning);
        }
    }
    push_flags(
        &mut text,
        "OPTIONS",
        command.flags.iter().chain(command.shared),
    );
    if let Some((_, above)) = path.split_last() {
        push_flags(&mut text, "INHERITED OPTIONS", tree::inherited(above));
    }
    if command.action.is_some() {
        text.push_str(".SH EXIT STATUS\n");
        for (code, meaning) in exit_codes(path, command) {
            push(&mut text, &code.to_string(), meaning);
        }
    }
    text.push_str(".SH EXAMPLES\n");
    for example in command.examples {
        let _ = write!(
            text,
            "{}:\n.PP\n.nf\n.RS 4\n{}\n.RE\n.fi\n.PP\n",
            roff(example.says),
            roff(example.line)
        );
    }
    if !path.is_empty() {
        let above = &path[..path.len() - 1];
        let _ = write!(
            text,
            ".SH SEE ALSO\n.BR {} (1)\n",
            roff(&full_name(above).replace(' ', "-"))
        );
    }
    text
}

fn push_commands(text: &mut String, path: &[&str], command: &'static Command) {
    if !command.is_group() {
        return;
    }
    text.push_str(".SH COMMANDS\n");
    for child in command.listed() {
        let mut below = path.to_vec();
        below.push(child.name);
        let page = file_name(&below);
        let _ = write!(
            text,
            ".TP\n.BR {} (1)\n{}\n",
            roff(&page),
            roff(child.summary)
        );
    }
}

fn push_flags(text: &mut String, title: &str, flags: impl IntoIterator<Item = &'static Flag>) {
    let mut flags = flags.into_iter().peekable();
    if flags.peek().is_none() {
        return;
    }
    let _ = writeln!(text, ".SH {title}");
    for flag in flags {
        push(text, &help::flag_name(flag), &help::flag_meaning(flag));
    }
}

fn push(text: &mut String, name: &str, meaning: &str) {
    let _ = write!(text, ".TP\n.B {}\n{}\n", roff(name), roff(meaning));
}

/// Escapes text so that roff finds no request in it.
fn roff(text: &str) -> String {
    let escaped = text.replace('\\', "\\e").replace('-', "\\-");
    if escaped.starts_with(['.', '\'']) {
        format!("\\&{escaped}")
    } else {
        escaped
    }
}
