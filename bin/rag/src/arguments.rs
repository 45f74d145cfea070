//! The command line.
//!
//! Flags have one dash or two, and a value follows `=` or is the next word. The first word that is
//! not a flag ends them; only the files of an audit trail may follow.

use std::{ffi::OsString, ops::RangeInclusive, path::PathBuf, str::FromStr};

use ziggurat_audit::Verification;
use ziggurat_doctor::{
    Options,
    flags::{DOCTOR, HEALTHCHECK, JSON, STRICT, TIMEOUT},
};
use ziggurat_runtime::flags::{self, Described, Flag, Flags, Reference, Refusal, Shell, Words};
use ziggurat_tokens::{Claims, NewClaims, TokenCommand, TokenOptions};

use crate::{
    adopt::{self, AdoptOptions},
    eval::{self, EvalOptions, GenerateOptions},
    ingest::{IngestOptions, READ_DOCUMENT},
    serving::{
        prove::PROVE,
        stdio::{self, StdioOptions},
    },
    sync::{self, SyncOptions},
};

/// Beginning of the text of `-help`.
const HEAD: &str = "\
Usage: ziggurat-rag [flags]

Answers questions from the tables of PostgreSQL, over HTTP. Without flags it serves the
pipelines of the configuration file it finds in /etc/ziggurat or next to itself.

";

/// The flags, in the order of the usage.
const FLAGS: &[Flag] = &[
    Flag::path("config", "PATH", "configuration file"),
    Flag::switch(
        "check-config",
        "print every problem of the configuration, and exit",
    ),
    DOCTOR,
    JSON,
    STRICT,
    TIMEOUT,
    HEALTHCHECK,
    Flag::switch("add-token", "create an API token, and exit"),
    Flag::text(
        "token-note",
        "TEXT",
        "with -add-token: a note about its use; a terminal asks for it",
    ),
    Flag::text(
        "token-expiry",
        "TIME",
        "with -add-token: its lifetime, such as 30d; never is the default, and a terminal asks for it",
    ),
    Flag::text(
        "token-claim",
        "NAME=VALUE",
        "with -add-token: a claim of its holder, for identity of a database; repeat for more",
    ),
    Flag::switch("list-tokens", "list the API tokens, and exit"),
    Flag::text(
        "remove-token",
        "ID",
        "remove an API token, by its id or the start of its hash, and exit",
    ),
    Flag::path(
        "verify-audit",
        "FILE",
        "verify the files of an audit trail, all in one run, and exit; more files may follow",
    ),
    Flag::path(
        "audit-key-file",
        "FILE",
        "with -verify-audit: the file of audit.key_file, if there is one",
    ),
    Flag::text(
        "expect-first",
        "RECORD",
        "with -verify-audit: the first record, if earlier ones are kept elsewhere",
    ),
    Flag::text(
        "expect-last",
        "CHAIN",
        "with -verify-audit: the chain of the last record, which finds a removed end",
    ),
    Flag::switch("openapi", "print the OpenAPI document, and exit"),
    Flag::switch("version", "print the version, and exit"),
    flags::MAN,
    flags::COMPLETION,
    Flag::switch("help", "print this help, and exit"),
];

/// The flags of the command `ingest`.
const INGEST_FLAGS: &[Flag] = &[
    Flag::path("config", "PATH", "configuration file"),
    Flag::text(
        "pipeline",
        "NAME",
        "pipeline whose table is written; need not be named if there is only one",
    ),
    Flag::switch(
        "dry-run",
        "only print what would be done: nothing is embedded or written",
    ),
    Flag::switch("keep-missing", "keep documents that no longer exist"),
    Flag::switch(
        "remove",
        "remove documents that no longer exist even if they are many",
    ),
    Flag::text(
        "source",
        "NAME",
        "source of the documents; the path of the folder or file if not given",
    ),
    Flag::text("concurrency", "N", "groups of documents at once (4)"),
    Flag::switch("help", "print this help, and exit"),
];

/// Beginning of the help of `ingest`.
const INGEST_HEAD: &str = "
Usage: ziggurat-rag ingest [flags] PATH...

Loads documents into the table of a pipeline: those in folders and files, or with the path - the
lines of JSON on standard input. Unchanged documents are not embedded again, and documents that are
gone are deleted. It ends with 1 if a document could not be read, and with 2 if more than a fifth of
the documents of a folder, and more than 10, are gone: then none is deleted.

";

/// The short form of `-help`.
const SHORT: &[Flag] = &[Flag::switch("h", "the same as -help")];

/// A parsed command line.
#[derive(Debug, PartialEq)]
pub(crate) struct Arguments {
    pub(crate) command: Command,
    pub(crate) config: Option<PathBuf>,
}

/// The command. If several are given, the first in this order is run.
#[derive(Debug, PartialEq)]
pub(crate) enum Command {
    Help,
    Version,
    /// Prints the manual page.
    Manual,
    /// Prints the completions for a shell.
    Completion(Shell),
    Describe,
    Check,
    /// Checks the installation, and prints what to do about each finding.
    Examine(Options),
    /// Asks the running server whether it runs, or whether it is ready.
    AskHealth {
        is_ready: bool,
    },
    /// Verifies files of an audit trail.
    VerifyAudit(Verification),
    /// Creates, lists or removes API tokens.
    Tokens(TokenCommand),
    /// Loads documents.
    Ingest(IngestOptions),
    /// Measures a pipeline.
    Eval(EvalOptions),
    /// Drafts questions to measure it with.
    GenerateQuestions(GenerateOptions),
    /// Keeps the vectors of tables in step with their texts.
    Sync(SyncOptions),
    /// Converts the vectorizers of pgai.
    Adopt(AdoptOptions),
    /// Reads a document from standard input; the process of `ingest` starts it.
    ReadDocument(Vec<String>),
    /// Answers questions from standard input; `ziggurat-tools -prove` starts it.
    ProveQuestions,
    Serve,
    /// Serves the tools over standard input and output.
    ServeStdio(StdioOptions),
}

// === impl Arguments ===

impl Arguments {
    /// Parses the words after the name of the program.
    ///
    /// # Errors
    /// Fails on an invalid value, and on a word or a flag that the command does not take.
    pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Self, Refusal> {
        let mut words = words.into_iter().peekable();
        if words.next_if(|word| word == "ingest").is_some() {
            return Self::ingest(words);
        }
        if words.next_if(|word| word == "eval").is_some() {
            return match words.next_if(|word| word == "generate") {
                Some(_) => Self::of(words, eval::GENERATE_FLAGS, eval::generate_command),
                None => Self::of(words, eval::FLAGS, eval::eval_command),
            };
        }
        if words.next_if(|word| word == "stdio").is_some() {
            return Self::of(words, stdio::FLAGS, stdio::stdio_command);
        }
        if words.next_if(|word| word == "sync").is_some() {
            return Self::of(words, sync::FLAGS, sync::sync_command);
        }
        if words.next_if(|word| word == "adopt").is_some() {
            return Self::of(words, adopt::FLAGS, adopt::adopt_command);
        }
        if words.next_if(|word| word == READ_DOCUMENT).is_some() {
            let words = words.map(flags::text).collect::<Result<_, _>>()?;
            return Ok(Self {
                command: Command::ReadDocument(words),
                config: None,
            });
        }
        if words.next_if(|word| word == PROVE).is_some() {
            return Self::of(words, &FLAGS[..1], |_, _| Ok(Command::ProveQuestions));
        }
        let (flags, rest) = flags::parse(words, &[FLAGS, SHORT], Words::Last)?;
        let commands = [
            ("help", Command::Help),
            ("h", Command::Help),
            ("version", Command::Version),
            ("man", Command::Manual),
            ("openapi", Command::Describe),
            ("check-config", Command::Check),
        ];
        let command = commands.into_iter().find(|(name, _)| flags.has(name));
        let command = command.map(|(_, command)| command);
        let command = command.or(flags.shell()?.map(Command::Completion));
        let command = command.or(examination(&flags)?);
        let tokens = tokens(&flags)?;
        let verify = verify_audit(&flags, rest)?;
        Ok(Self {
            command: command.or(tokens).or(verify).unwrap_or(Command::Serve),
            config: flags.path("config"),
        })
    }

    /// Parses the words after the name of a command.
    fn of(
        words: impl Iterator<Item = OsString>,
        known: &'static [Flag],
        command: impl FnOnce(&Flags, &[OsString]) -> Result<Command, Refusal>,
    ) -> Result<Self, Refusal> {
        let (flags, rest) = flags::parse(words, &[known, SHORT], Words::Anywhere)?;
        let is_help = flags.has("help") || flags.has("h");
        Ok(Self {
            command: if is_help {
                Command::Help
            } else {
                command(&flags, &rest)?
            },
            config: flags.path("config"),
        })
    }

    /// Parses the words after `ingest`.
    fn ingest(words: impl Iterator<Item = OsString>) -> Result<Self, Refusal> {
        let (flags, rest) = flags::parse(words, &[INGEST_FLAGS, SHORT], Words::Anywhere)?;
        let options = IngestOptions {
            pipeline: flags.owned("pipeline"),
            paths: rest.into_iter().map(PathBuf::from).collect(),
            dry_run: flags.has("dry-run"),
            keep_missing: flags.has("keep-missing"),
            remove: flags.has("remove"),
            source: flags.owned("source"),
            concurrency: concurrency(&flags)?,
        };
        let is_help = flags.has("help") || flags.has("h");
        Ok(Self {
            command: if is_help {
                Command::Help
            } else {
                Command::Ingest(options)
            },
            config: flags.path("config"),
        })
    }
}

/// Returns the number of groups at once, if it is given.
pub(crate) fn concurrency(flags: &Flags) -> Result<Option<usize>, Refusal> {
    number(flags, "concurrency", 1..=64, "from 1 to 64")
}

/// Returns the number of a flag, if it is given.
pub(crate) fn number<N: FromStr + PartialOrd>(
    flags: &Flags,
    name: &str,
    range: RangeInclusive<N>,
    expected: &str,
) -> Result<Option<N>, Refusal> {
    let Some(text) = flags.text(name) else {
        return Ok(None);
    };
    let number = text.parse().ok().filter(|number| range.contains(number));
    let refusal = || Refusal::Leftover(format!("{text} (-{name} is {expected})"));
    number.ok_or_else(refusal).map(Some)
}

/// Returns the command that checks the installation, or asks the running server.
fn examination(flags: &Flags) -> Result<Option<Command>, Refusal> {
    if flags.has(DOCTOR.name) {
        let options = Options::of_flags(flags);
        let options = options.map_err(|error| Refusal::Leftover(error.to_string()))?;
        return Ok(Some(Command::Examine(options)));
    }
    let details = [JSON, STRICT, TIMEOUT];
    if let Some(detail) = details.iter().find(|flag| flags.is_given(flag.name)) {
        return Err(Refusal::Leftover(format!("-{}", detail.name)));
    }
    let is_ready = flags.text(HEALTHCHECK.name) == Some("ready");
    let asks = flags.has(HEALTHCHECK.name);
    Ok(asks.then_some(Command::AskHealth { is_ready }))
}

/// Returns the command about API tokens, if one is given.
fn tokens(flags: &Flags) -> Result<Option<Command>, Refusal> {
    let command = if flags.has("add-token") {
        TokenCommand::Add(TokenOptions {
            note: flags.owned("token-note"),
            database: None,
            expiry: flags.owned("token-expiry"),
            claims: claims(flags)?,
            toolsets: Vec::new(),
        })
    } else if let Some(detail) = ["token-note", "token-expiry", "token-claim"]
        .into_iter()
        .find(|name| flags.is_given(name))
    {
        return Err(Refusal::Leftover(format!("-{detail}")));
    } else if flags.has("list-tokens") {
        TokenCommand::List
    } else if flags.is_given("remove-token") {
        // An empty text counts too: a script with an empty variable must not start a server.
        TokenCommand::Remove(flags.owned("remove-token").unwrap_or_default())
    } else {
        return Ok(None);
    };
    Ok(Some(Command::Tokens(command)))
}

/// Returns the claims of a new token.
fn claims(flags: &Flags) -> Result<Claims, Refusal> {
    let claims = NewClaims::read(flags.texts("token-claim")).and_then(NewClaims::into_claims);
    claims.map_err(|error| Refusal::Leftover(format!("-token-claim: {error}")))
}

/// Returns the command `-verify-audit`, if it is given, with the files that follow the flags.
fn verify_audit(flags: &Flags, rest: Vec<OsString>) -> Result<Option<Command>, Refusal> {
    // An empty path counts too: a script with an empty variable must not start a server.
    if flags.is_given("verify-audit") {
        let files = flags.paths("verify-audit");
        return Ok(Some(Command::VerifyAudit(Verification {
            files: files.chain(rest.into_iter().map(PathBuf::from)).collect(),
            key_file: flags.path("audit-key-file"),
            expect_first: number(
                flags,
                "expect-first",
                0..=u64::MAX,
                "the number of a record",
            )?,
            expect_last: flags.owned("expect-last"),
        })));
    }
    let mut details = ["audit-key-file", "expect-first", "expect-last"].into_iter();
    let detail = details.find(|name| flags.is_given(name));
    let word = rest.first().map(|word| word.display().to_string());
    let leftover = word.or_else(|| detail.map(|name| format!("-{name}")));
    leftover.map_or(Ok(None), |word| Err(Refusal::Leftover(word)))
}

/// The commands, with the text before their flags.
const COMMANDS: [(&str, &str, &[Flag]); 7] = [
    ("", HEAD, FLAGS),
    ("stdio", stdio::HEAD, stdio::FLAGS),
    ("ingest", INGEST_HEAD, INGEST_FLAGS),
    ("eval", eval::HEAD, eval::FLAGS),
    ("eval generate", eval::GENERATE_HEAD, eval::GENERATE_FLAGS),
    ("sync", sync::HEAD, sync::FLAGS),
    ("adopt", adopt::HEAD, adopt::FLAGS),
];

/// Describes the command line for the manual page and the completions.
pub(crate) fn reference() -> Reference {
    let commands = COMMANDS.iter().map(|(words, about, flags)| Described {
        words: (*words).to_owned(),
        about: (*about).to_owned(),
        groups: vec![("Flags", flags.to_vec())],
    });
    Reference {
        program: "ziggurat-rag",
        version: env!("CARGO_PKG_VERSION"),
        summary: "a server that answers questions from PostgreSQL",
        commands: commands.collect(),
        more: "",
    }
}

/// Returns the text that `-help` prints.
pub(crate) fn usage() -> String {
    let mut text = String::new();
    for (_, head, flags) in COMMANDS {
        text.push_str(head);
        for flag in flags {
            let word = match (flag.name, flag.placeholder()) {
                ("help", _) => "  -help, -h".to_owned(),
                (name, Some(value)) => format!("  -{name} {value}"),
                (name, None) => format!("  -{name}"),
            };
            flags::explain(&mut text, &word, flag.help, 25);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use ziggurat_runtime::committed;

    use super::*;

    fn parse(line: &str) -> Result<Arguments, Refusal> {
        Arguments::parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn flags_have_one_or_two_dashes_and_values_follow_an_equals_sign_or_a_space() {
        for line in [
            "-config a.yaml",
            "--config a.yaml",
            "-config=a.yaml",
            "--config=a.yaml",
            "-config b.yaml -config a.yaml",
        ] {
            let arguments = parse(line).expect(line);
            assert_eq!(arguments.config.as_deref(), Some("a.yaml".as_ref()));
            assert_eq!(arguments.command, Command::Serve);
        }
    }

    #[test]
    fn help_wins_over_the_version_and_that_over_the_document() {
        for (line, command) in [
            ("", Command::Serve),
            ("-openapi", Command::Describe),
            ("-openapi -version", Command::Version),
            ("-version --openapi -help", Command::Help),
            ("-h -version -nonsense", Command::Help),
            ("-check-config -openapi", Command::Describe),
            ("-check-config -config x", Command::Check),
            ("-version=false", Command::Serve),
            ("-version=true --", Command::Version),
        ] {
            assert_eq!(parse(line).expect(line).command, command, "{line}");
        }
    }

    #[test]
    fn files_of_an_audit_trail_follow_the_flags() {
        let verify = |files: &[&str], key_file: Option<&str>, expect_last: Option<&str>| {
            Command::VerifyAudit(Verification {
                files: files.iter().map(PathBuf::from).collect(),
                key_file: key_file.map(PathBuf::from),
                expect_first: key_file.map(|_| 49),
                expect_last: expect_last.map(str::to_owned),
            })
        };
        for (line, command) in [
            ("-verify-audit=", verify(&[""], None, None)),
            ("-verify-audit a b c", verify(&["a", "b", "c"], None, None)),
            (
                "-audit-key-file k -expect-first 49 -expect-last c0ff -verify-audit a -verify-audit b c",
                verify(&["a", "b", "c"], Some("k"), Some("c0ff")),
            ),
            ("-verify-audit a -check-config", Command::Check),
        ] {
            assert_eq!(parse(line).expect(line).command, command, "{line}");
        }
    }

    #[test]
    fn ingest_has_flags_of_its_own_between_its_paths() {
        let line = "ingest -pipeline docs a -dry-run b -remove -source manual -concurrency=8 -config c.yaml -";
        let arguments = parse(line).expect(line);
        assert_eq!(arguments.config.as_deref(), Some("c.yaml".as_ref()));
        let expected = IngestOptions {
            pipeline: Some("docs".to_owned()),
            paths: ["a", "b", "-"].map(PathBuf::from).to_vec(),
            dry_run: true,
            keep_missing: false,
            remove: true,
            source: Some("manual".to_owned()),
            concurrency: Some(8),
        };
        assert_eq!(arguments.command, Command::Ingest(expected));
        assert_eq!(parse("ingest -h").expect("help").command, Command::Help);
        for (line, reason) in [
            ("ingest -openapi", "flag provided but not defined: -openapi"),
            (
                "ingest -concurrency 0 a",
                "unexpected argument: 0 (-concurrency is from 1 to 64)",
            ),
        ] {
            assert_eq!(parse(line).expect_err(line).to_string(), reason);
        }
    }

    #[test]
    fn unknown_flags_and_other_words_are_refused() {
        for (line, reason) in [
            ("-nonsense", "flag provided but not defined: -nonsense"),
            (
                "--nonsense=1 -help",
                "flag provided but not defined: -nonsense",
            ),
            ("---help", "bad flag syntax: ---help"),
            ("-=x", "bad flag syntax: -=x"),
            ("-config", "flag needs an argument: -config"),
            (
                "-version=maybe",
                "invalid boolean value \"maybe\" for -version",
            ),
            ("serve", "unexpected argument: serve"),
            ("- -version", "unexpected argument: -"),
            ("-expect-last c0ff", "unexpected argument: -expect-last"),
            ("-token-claim a=b", "unexpected argument: -token-claim"),
            (
                "-verify-audit a -expect-first all",
                "unexpected argument: all (-expect-first is the number of a record)",
            ),
            ("-- serve", "unexpected argument: serve"),
        ] {
            let refusal = parse(line).expect_err(line);
            assert_eq!(refusal.to_string(), reason, "{line}");
        }
    }

    #[test]
    fn the_usage_names_every_flag() {
        let usage = usage();
        for flag in FLAGS {
            let name = flag.name;
            assert!(usage.contains(&format!("\n  -{name}")), "{name}");
        }
    }

    #[test]
    fn the_reference_of_the_manual_shows_every_flag() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/FLAGS.txt");
        committed::assert_current(path, &usage());
    }
}
