//! Asks for a confirmation before something that cannot be undone.

use std::io::Read as _;

use crate::{context::Context, credentials, failure::Failure, output::escape};

/// Maximum length of an answer.
const LONGEST: u64 = 1024;

/// Asks, and returns only after a yes.
///
/// No keychain, token or network is used before the answer. If the question is about a platform, it
/// names the platform.
///
/// # Errors
///
/// Fails if there is no terminal, or the answer is not yes: exit 2.
pub(crate) fn ask(
    context: &mut Context<'_>,
    question: &str,
    is_about_platform: bool,
) -> Result<(), Failure> {
    if !context.environment.terminals().stdin || context.globals.no_input {
        return Err(Failure::usage(
            "this operation is destructive; run with --force to confirm, or run interactively to \
             be prompted",
        ));
    }
    if is_about_platform && let Some((profile, url)) = credentials::profile_and_address(context) {
        context.note(format_args!(
            "profile \"{}\" at {}",
            escape(&profile),
            escape(&url)
        ));
    }
    context.ask(format_args!("{} [y/N]: ", escape(question)));
    let mut answer = Vec::new();
    // An unreadable answer is no confirmation.
    let _ = std::io::BufRead::read_until(
        &mut context.streams.stdin.by_ref().take(LONGEST),
        b'\n',
        &mut answer,
    );
    let answer = String::from_utf8_lossy(&answer);
    let answer = answer.trim();
    if matches!(answer, "y" | "Y") || answer.eq_ignore_ascii_case("yes") {
        return Ok(());
    }
    Err(Failure::aborted("aborted: not confirmed"))
}
