//! Manual pages, in the language of roff.

use std::fmt::Write as _;

use crate::flags::{Described, Flag, Reference};

/// Beginning of the line with the form of a command line.
const USAGE: &str = "Usage: ";

/// Line before the examples.
const EXAMPLES: &str = "Examples:";

/// Returns the manual page of a server, such as `ziggurat-platform(8)`; `ziggurat-platform(1)` is the
/// page of the command `ziggurat platform`.
pub(super) fn page(reference: &Reference) -> String {
    let Reference {
        program,
        version,
        summary,
        commands,
        more,
    } = reference;
    let name = roff(program);
    let mut text = format!(
        ".TH \"{}\" 8 \"\" \"{name} {version}\" \"Ziggurat\"\n.SH NAME\n{name} \\- {}\n.SH SYNOPSIS\n",
        name.to_uppercase(),
        roff(summary)
    );
    let usages = commands.iter().flat_map(|command| command.about.lines());
    for usage in usages.filter_map(|line| line.strip_prefix(USAGE)) {
        let _ = writeln!(text, ".B {}\n.br", roff(usage));
    }
    for command in commands {
        describe(&mut text, command);
    }
    let (more, examples) = more.split_once(EXAMPLES).unwrap_or((more, ""));
    for (heading, body) in [("NOTES", more), ("EXAMPLES", examples)] {
        if !body.trim().is_empty() {
            let _ = writeln!(text, ".SH {heading}");
            paragraphs(&mut text, body);
        }
    }
    text
}

/// Writes the text and the flags of a command.
fn describe(text: &mut String, command: &Described) {
    let heading = match command.words.as_str() {
        "" => "DESCRIPTION".to_owned(),
        words => roff(&words.to_uppercase()),
    };
    let _ = writeln!(text, ".SH \"{heading}\"");
    paragraphs(text, &command.about);
    for (heading, flags) in &command.groups {
        if !heading.is_empty() {
            let _ = writeln!(text, ".SH \"{}\"", roff(&heading.to_uppercase()));
        }
        for flag in flags {
            explain(text, flag);
        }
    }
}

fn explain(text: &mut String, flag: &Flag) {
    let name = roff(flag.name);
    let word = match flag.placeholder() {
        Some(value) => format!(".BI \\-{name} \" {}\"", roff(value)),
        None => format!(".B \\-{name}"),
    };
    let _ = writeln!(text, ".TP\n{word}\n{}", roff(flag.help));
}

/// Writes paragraphs. Lines that are indented keep their ends.
fn paragraphs(text: &mut String, body: &str) {
    let mut is_kept = false;
    let lines = body.lines().filter(|line| !line.starts_with(USAGE));
    for line in lines.skip_while(|line| line.is_empty()) {
        let keeps = line.starts_with("    ");
        if keeps != is_kept {
            text.push_str(if keeps {
                ".PP\n.nf\n.RS 4\n"
            } else {
                ".RE\n.fi\n"
            });
            is_kept = keeps;
        }
        match line.trim_start() {
            "" => text.push_str(".PP\n"),
            line => {
                let _ = writeln!(text, "{}", roff(line));
            }
        }
    }
    if is_kept {
        text.push_str(".RE\n.fi\n");
    }
}

/// Escapes a text so that roff finds no request in it.
#[must_use]
pub fn roff(text: &str) -> String {
    let escaped = text.replace('\\', "\\e").replace('-', "\\-");
    if escaped.starts_with(['.', '\'']) {
        format!("\\&{escaped}")
    } else {
        escaped
    }
}
