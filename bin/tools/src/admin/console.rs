//! Whoever sits at the keyboard, or a script in their place.

use std::io::{BufRead, Write};

use anyhow::Context as _;
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

    /// Asks for a line. Nothing, when there is nobody to answer.
    pub(crate) fn ask(&mut self, question: &str) -> anyhow::Result<String> {
        self.say(question)?;
        let mut line = String::new();
        self.input
            .read_line(&mut line)
            .context("cannot read standard input")?;
        Ok(line.trim().to_owned())
    }

    /// Asks for something nobody else shall read on the screen.
    pub(crate) fn ask_secret(&mut self, question: &str) -> anyhow::Result<SecretString> {
        self.say(question)?;
        if self.is_terminal {
            let secret = rpassword::read_password().context("cannot read the terminal")?;
            return Ok(secret.into());
        }
        let mut line = String::new();
        self.input
            .read_line(&mut line)
            .context("cannot read standard input")?;
        // Blanks may belong to a password; the end of the line does not.
        Ok(line.trim_end_matches(['\r', '\n']).into())
    }

    /// Asks for a decision; anything but a yes is a no.
    pub(crate) fn agrees(&mut self, question: &str) -> anyhow::Result<bool> {
        let answer = self.ask(question)?.to_ascii_lowercase();
        Ok(answer == "y" || answer == "yes")
    }
}
