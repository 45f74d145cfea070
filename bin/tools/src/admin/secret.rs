//! Secrets that an administrator types.

use anyhow::Context as _;
use secrecy::SecretString;
use ziggurat_runtime::console::Console;

/// Asks for a secret, which the terminal does not show.
///
/// # Errors
/// Fails at the end of input.
pub(super) fn ask_secret(
    console: &mut Console<'_>,
    question: &str,
) -> anyhow::Result<SecretString> {
    console.print(question)?;
    if console.is_terminal {
        let secret = rpassword::read_password().context("cannot read the terminal")?;
        return Ok(secret.into());
    }
    let line = console.read_answer(question)?;
    // Spaces may belong to a password; the end of the line does not.
    Ok(line.trim_end_matches(['\r', '\n']).into())
}
