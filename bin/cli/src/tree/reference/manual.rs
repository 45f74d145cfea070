//! Manual pages, for man(1).

use std::fmt::Write as _;

use ziggurat_runtime::flags::roff;

use crate::tree::{
    self, Command, VERSION, help,
    reference::{exit_codes, file_name},
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
    let own = ("Options", command.own_flags());
    for (title, rows) in help::sections(command, [own, ("Inherited options", tree::above(path))]) {
        let _ = writeln!(text, ".SH {}", title.to_uppercase());
        for (below, meaning) in rows {
            if title == "Commands" {
                push(
                    &mut text,
                    &format!(".BR {} (1)", roff(&format!("{name}-{below}"))),
                    &meaning,
                );
            } else {
                push(&mut text, &format!(".B {}", roff(&below)), &meaning);
            }
        }
    }
    if command.action.is_some() {
        text.push_str(".SH EXIT STATUS\n");
        for (code, meaning) in exit_codes(path, command) {
            push(&mut text, &format!(".B {code}"), meaning);
        }
    }
    text.push_str(".SH EXAMPLES\n");
    for (effect, line) in command.examples {
        let _ = write!(
            text,
            "{}:\n.PP\n.nf\n.RS 4\n{}\n.RE\n.fi\n.PP\n",
            roff(effect),
            roff(line)
        );
    }
    if let Some((_, above)) = path.split_last() {
        let _ = writeln!(text, ".SH SEE ALSO\n.BR {} (1)", roff(&file_name(above)));
    }
    text
}

fn push(text: &mut String, tag: &str, meaning: &str) {
    let _ = writeln!(text, ".TP\n{tag}\n{}", roff(meaning));
}
