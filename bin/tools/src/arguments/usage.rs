//! Text of `-help`, and what the manual page and the completions are made of.

use std::fmt::Write as _;

use ziggurat_runtime::flags::{self, Described, Reference};

use crate::{
    arguments::flags::{GROUPS, HELP},
    interface::{NAME, VERSION},
};

/// The program in one line.
const SUMMARY: &str = "an MCP server for PostgreSQL";

/// Columns before the help texts.
const INDENT: usize = 36;

/// The form of a command line.
pub(super) const LINE: &str = "Usage: ziggurat-tools [flags] [postgres://user@host:port/database]";

const HEAD: &str = "
Flags are written -flag or --flag, values -flag value or -flag=value. Settings without a flag are
taken from the environment variables [in brackets], then from the configuration file. With a
connection URL after the flags, that database is the only one, and the server talks over standard
input and output unless -http is given. DATABASE_URL is used if nothing else names a database.
";

const TAIL: &str = "
More settings, and more than one database, are in the configuration file; the commented
ziggurat-tools.example.yaml names every key. In the environment, ZIGGURAT_DB_1_NAME,
ZIGGURAT_DB_1_HOST, ZIGGURAT_DB_1_USER and so on describe several databases, and
ZIGGURAT_MCP_LOG_LEVEL (debug, info, warn, error), ZIGGURAT_DB_LOG_LEVEL and
ZIGGURAT_LLM_LOG_LEVEL (none, info, debug, trace) say how much is logged to standard error.
ZIGGURAT_LOG (a level, or a list such as info,ziggurat::database=debug) comes before them, and
ZIGGURAT_LOG_FORMAT is text or json.

Examples:

  A client that starts the server itself, and talks to it over standard input and output; the
  password is in PGPASSWORD or in the password file:
    ziggurat-tools postgres://reader@localhost/shop

  HTTP for yourself, on this machine only:
    ziggurat-tools -http -addr 127.0.0.1:8080 -no-auth -db-name shop -db-user reader

  HTTPS for others, each with a token of their own:
    ziggurat-tools -config /etc/ziggurat/ziggurat-tools.yaml -add-token -token-note reports \\
      -token-expiry 90d
    ziggurat-tools -config /etc/ziggurat/ziggurat-tools.yaml -http -tls -cert server.crt \\
      -key server.key
";

/// Inserts the flags between the texts above, in groups.
pub(crate) fn render() -> String {
    let mut text = format!("{NAME}: {SUMMARY}.\n\n{LINE}\n{HEAD}");
    for (heading, flags) in GROUPS {
        let _ = writeln!(text, "\n{heading}:");
        for flag in *flags {
            let value = flag.placeholder().map(|value| format!(" <{value}>"));
            let word = format!("  -{}{}", flag.name, value.unwrap_or_default());
            flags::explain(&mut text, &word, flag.help, INDENT);
        }
    }
    text.push_str("\nHelp:\n");
    flags::explain(&mut text, "  -h, -help", "Print this", INDENT);
    text.push_str(TAIL);
    text
}

/// Describes the command line for the manual page and the completions.
pub(crate) fn reference() -> Reference {
    let groups = GROUPS.iter().chain(&[("Help", HELP)]);
    let groups = groups.map(|(heading, flags)| (*heading, flags.to_vec()));
    Reference {
        program: NAME,
        version: VERSION,
        summary: SUMMARY,
        commands: vec![Described {
            words: String::new(),
            about: format!("{LINE}\n{HEAD}"),
            groups: groups.collect(),
        }],
        more: TAIL,
    }
}
