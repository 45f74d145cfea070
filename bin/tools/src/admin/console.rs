//! Whoever sits at the keyboard, or a script in their place.

use std::io::{BufRead, Write};

use anyhow::{Context as _, bail};
use secrecy::SecretString;

/// Asks questions and says things.
pub(crate) struct Console<'a> {
    pub(crate) input: &'a mut dyn BufRead,
    pub(crate) output: &'a mut dyn Write,
    pub(crate) remarks: &'a mut dyn Write,
    /// Whether what is typed would show.
    pub(crate) is_terminal: bool,
    /// Whether what is remarked shows at once, and can be written over.
    pub(crate) has_screen: bool,
}

impl Console<'_> {
    /// Writes to standard output.
    pub(crate) fn say(&mut self, text: &str) -> anyhow::Result<()> {
        self.output
            .write_all(text.as_bytes())
            .and_then(|()| self.output.flush())
            .context("cannot write to standard output")
    }

    /// Writes to standard error.
    pub(crate) fn remark(&mut self, text: &str) -> anyhow::Result<()> {
        self.remarks
            .write_all(text.as_bytes())
            .context("cannot write to standard error")
    }

    /// Asks for a line.
    ///
    /// # Errors
    /// Fails at the end of input: an answer that was never given decides nothing, such as that a
    /// token never expires.
    pub(crate) fn ask(&mut self, question: &str) -> anyhow::Result<String> {
        self.say(question)?;
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
                "standard input ended without an answer to \"{question}\"; give it as a flag (see \
                 -help)"
            );
        }
        Ok(line)
    }

    /// Asks for something that the screen does not show.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub(crate) fn ask_secret(&mut self, question: &str) -> anyhow::Result<SecretString> {
        self.say(question)?;
        if self.is_terminal {
            let secret = rpassword::read_password().context("cannot read the terminal")?;
            return Ok(secret.into());
        }
        let line = self.answer(question)?;
        // Blanks may belong to a password; the end of the line does not.
        Ok(line.trim_end_matches(['\r', '\n']).into())
    }

    /// Asks for a decision; anything but a yes is a no.
    pub(crate) fn agrees(&mut self, question: &str) -> anyhow::Result<bool> {
        let answer = self.ask(question)?.to_ascii_lowercase();
        Ok(answer == "y" || answer == "yes")
    }
}
