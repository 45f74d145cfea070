//! Reads lines from standard input, with echo or without it.

pub(crate) mod confirm;
pub(crate) mod interrupt;

use std::io::{self, BufRead as _, Read as _};

use ziggurat_runtime::terminal;

use crate::context::Context;

/// Maximum length of an answer.
const LONGEST: u64 = 64 * 1024;

/// Reads one line of standard input; `None` at its end. The last line may lack a newline.
pub(crate) fn read_line(context: &mut Context<'_>) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let read = context
        .streams
        .stdin
        .by_ref()
        .take(LONGEST)
        .read_until(b'\n', &mut line)?;
    let line = String::from_utf8(line)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "not UTF-8"))?;
    Ok((read > 0).then_some(line))
}

/// Asks for one line and reads it without echo, if that is possible.
pub(crate) fn ask_secret(context: &mut Context<'_>, question: &str) -> io::Result<Option<String>> {
    let ask = |context: &mut Context<'_>, text: &str| {
        context.ask(text);
        Ok(())
    };
    terminal::ask_secret(context, question, ask, read_line)
}
