//! The command line of `sync`.

use std::ffi::OsString;

use ziggurat_runtime::flags::{Flag, Flags, Refusal};

use crate::arguments::{Command, concurrency};

/// The flags of the command `sync`.
pub(crate) const FLAGS: &[Flag] = &[
    Flag::path("config", "PATH", "configuration file"),
    Flag::text(
        "pipeline",
        "NAME",
        "only the tables of this pipeline, not of all that have such tables",
    ),
    Flag::switch(
        "apply",
        "with install and uninstall: run the statements instead of printing them",
    ),
    Flag::switch(
        "all",
        "with backfill: also rows that have a vector, for another model",
    ),
    Flag::text(
        "concurrency",
        "N",
        "with run and backfill: batches at once (4)",
    ),
    Flag::switch("help", "print this help, and exit"),
];

/// Beginning of the help of `sync`.
pub(crate) const HEAD: &str = "
Usage: ziggurat-rag sync install|uninstall|run|backfill|status|retry [flags]

Keeps the vectors of tables with sync: true in step with their texts. install prints the statements
that add a queue and triggers to the tables, uninstall those that remove them. run makes the vectors
of new and changed rows until it is stopped; any number of such processes share the work. backfill
makes those of rows from before the triggers. status shows the queues and failed rows, retry puts
failed rows back.

";

/// The options of the command `sync`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SyncOptions {
    pub(crate) action: SyncAction,
    pub(crate) pipeline: Option<String>,
    pub(crate) applies: bool,
    /// Also rows that have a vector.
    pub(crate) every: bool,
    pub(crate) concurrency: Option<usize>,
}

/// The action of `sync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SyncAction {
    Install,
    Uninstall,
    Run,
    Backfill,
    Status,
    Retry,
}

// === impl SyncAction ===

impl SyncAction {
    const NAMES: [(&'static str, Self); 6] = [
        ("install", Self::Install),
        ("uninstall", Self::Uninstall),
        ("run", Self::Run),
        ("backfill", Self::Backfill),
        ("status", Self::Status),
        ("retry", Self::Retry),
    ];

    fn parse(rest: &[OsString]) -> Result<Self, Refusal> {
        let [word] = rest else {
            let word = rest.get(1).map_or("sync", |_| "a second word");
            let reason = "name one of install, uninstall, run, backfill, status, retry after sync";
            return Err(Refusal::Leftover(format!("{word} ({reason})")));
        };
        let found = Self::NAMES.iter().find(|(name, _)| word == name);
        let refusal = || Refusal::Leftover(word.display().to_string());
        found.map(|(_, action)| *action).ok_or_else(refusal)
    }

    /// Returns the flags that only some actions take, without the flags of this action.
    fn foreign_flags(self) -> impl Iterator<Item = &'static str> {
        let own: &[_] = match self {
            Self::Install | Self::Uninstall => &["apply"],
            Self::Run => &["concurrency"],
            Self::Backfill => &["all", "concurrency"],
            Self::Status | Self::Retry => &[],
        };
        let special = ["apply", "all", "concurrency"].into_iter();
        special.filter(move |name| !own.contains(name))
    }
}

/// Returns the command `sync`.
///
/// # Errors
/// Fails on an invalid value, and on a word or a flag that the action does not take.
pub(crate) fn sync_command(flags: &Flags, rest: &[OsString]) -> Result<Command, Refusal> {
    let action = SyncAction::parse(rest)?;
    if let Some(name) = action.foreign_flags().find(|name| flags.is_given(name)) {
        return Err(Refusal::Leftover(format!("-{name}")));
    }
    Ok(Command::Sync(SyncOptions {
        action,
        pipeline: flags.owned("pipeline"),
        applies: flags.has("apply"),
        every: flags.has("all"),
        concurrency: concurrency(flags)?,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Arguments;

    fn parse(line: &str) -> Result<Arguments, Refusal> {
        Arguments::parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn sync_has_an_action_and_the_flags_that_it_takes() {
        let line = "sync -pipeline docs install -apply -config c.yaml";
        let arguments = parse(line).expect(line);
        assert_eq!(arguments.config.as_deref(), Some("c.yaml".as_ref()));
        let expected = SyncOptions {
            action: SyncAction::Install,
            pipeline: Some("docs".to_owned()),
            applies: true,
            every: false,
            concurrency: None,
        };
        assert_eq!(arguments.command, Command::Sync(expected));
        assert_eq!(parse("sync -h").expect("help").command, Command::Help);
        for (line, reason) in [
            (
                "sync",
                "unexpected argument: sync (name one of install, uninstall, run, backfill, status, \
                 retry after sync)",
            ),
            (
                "sync run status",
                "unexpected argument: a second word (name one of install, uninstall, run, \
                 backfill, status, retry after sync)",
            ),
            ("sync walk", "unexpected argument: walk"),
            ("sync run -apply", "unexpected argument: -apply"),
            (
                "sync status -concurrency 2",
                "unexpected argument: -concurrency",
            ),
            ("sync install -all", "unexpected argument: -all"),
        ] {
            assert_eq!(parse(line).expect_err(line).to_string(), reason, "{line}");
        }
    }
}
