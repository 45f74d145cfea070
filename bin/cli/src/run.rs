//! Runs a command line, in this order: the command, its flags, help, arguments, configuration,
//! required flags, profile, and then the action of the command.

use crate::{
    commands,
    context::Streams,
    environment::Environment,
    failure::Failure,
    setup::{ErrorStyle, guard, set_up},
    tree::{Action, help, parser},
};

/// Runs a command line and returns the exit code of the process.
pub(crate) fn run(words: &[String], environment: &Environment, streams: &mut Streams) -> u8 {
    // Errors before the format is known are plain text.
    let mut style = ErrorStyle::default();
    let Err(failure) = execute(words, environment, streams, &mut style) else {
        return 0;
    };
    let text = failure.render(style.format, environment.terminals().stderr);
    match text.strip_prefix("Error:") {
        Some(message) if style.colours => streams.ask(format_args!("{RED}Error:{PLAIN}{message}")),
        _ => streams.ask(text),
    }
    failure.exit()
}

const RED: &str = "\u{1b}[31m";
const PLAIN: &str = "\u{1b}[0m";

fn execute(
    words: &[String],
    environment: &Environment,
    streams: &mut Streams,
    style: &mut ErrorStyle,
) -> Result<(), Failure> {
    let matches = parser::parse(words)?;
    if matches.is_on("help") {
        return streams.print(help::page(&matches.path, matches.command).as_bytes());
    }
    let action = match matches.command.action {
        Some(action) => action,
        None if matches.is_on("version") => Action::Version,
        None => return streams.print(help::page(&matches.path, matches.command).as_bytes()),
    };
    parser::count(&matches)?;
    let mut context = set_up(&matches, action, environment, streams, style)?;
    parser::require(&matches)?;
    guard(&context, action)?;
    if let Some(warning) = context.config.warning() {
        context.note(warning);
    }
    commands::run(action, &mut context, &matches)
}

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;
