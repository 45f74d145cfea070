//! Input and output of the administrator's terminal, or of a script.

use std::io::{BufRead, Write};

use anyhow::{Context as _, bail};
use secrecy::SecretString;

/// Asks questions and prints messages.
pub(crate) struct Console<'a> {
    pub(crate) input: &'a mut dyn BufRead,
    pub(crate) output: &'a mut dyn Write,
    pub(crate) remarks: &'a mut dyn Write,
    /// True if standard input is a terminal, which would show a typed password.
    pub(crate) is_terminal: bool,
    /// True if standard error is a terminal, so that a progress bar can overwrite its line.
    pub(crate) has_screen: bool,
}

impl Console<'_> {
    /// Writes to standard output.
    pub(crate) fn print(&mut self, text: &str) -> anyhow::Result<()> {
        self.output
            .write_all(text.as_bytes())
            .and_then(|()| self.output.flush())
            .context("cannot write to standard output")
    }

    /// Writes to standard error.
    pub(crate) fn print_error(&mut self, text: &str) -> anyhow::Result<()> {
        self.remarks
            .write_all(text.as_bytes())
            .context("cannot write to standard error")
    }

    /// Asks for a line.
    ///
    /// # Errors
    /// Fails at the end of input: a missing answer must not choose a default, such as a token that
    /// never expires.
    pub(crate) fn ask(&mut self, question: &str) -> anyhow::Result<String> {
        self.print(question)?;
        Ok(self.answer(question)?.trim().to_owned())
    }

    fn answer(&mut self, question: &str) -> anyhow::Result<String> {
        let mut line = String::new();
        let read = self
            .input
            .read_line(&mut line)
            .context("cannot read standard input")?;
        if read == 0 {
            let question = question.trim_end_matches([':', ' ']);
            bail!(
                "standard input ended before the answer to \"{question}\"; use a flag instead (see \
                 -help)"
            );
        }
        Ok(line)
    }

    /// Asks for a secret, which the terminal does not show.
    ///
    /// # Errors
    /// Fails like [`ask`](Self::ask).
    pub(crate) fn ask_secret(&mut self, question: &str) -> anyhow::Result<SecretString> {
        self.print(question)?;
        if self.is_terminal {
            let secret = rpassword::read_password().context("cannot read the terminal")?;
            return Ok(secret.into());
        }
        let line = self.answer(question)?;
        // Spaces may belong to a password; the end of the line does not.
        Ok(line.trim_end_matches(['\r', '\n']).into())
    }

    /// Asks for a confirmation; every answer except yes means no.
    pub(crate) fn confirm(&mut self, question: &str) -> anyhow::Result<bool> {
        let answer = self.ask(question)?.to_ascii_lowercase();
        Ok(answer == "y" || answer == "yes")
    }
}
