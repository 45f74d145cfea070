//! Commands about API tokens. They start no server; a running server reloads the file by itself.

use std::{path::Path, process::ExitCode};

use anyhow::Context as _;
use ziggurat_audit::AdminAudit;
use ziggurat_runtime::console::{self, Console};
use ziggurat_tokens::{TokenCommand, TokenFile, TokenTargets};

use crate::{
    commands::ended,
    configuration::{ConfigSources, Configuration},
    find,
};

/// Runs the command, and returns its exit code.
pub(crate) fn run(config: Option<&Path>, command: TokenCommand) -> ExitCode {
    ended(administer(config, command))
}

fn administer(config: Option<&Path>, command: TokenCommand) -> anyhow::Result<()> {
    let sources = ConfigSources::of_process();
    let path = find(config, &sources)?;
    let loaded = Configuration::load(&path, &sources).context("failed to load configuration")?;
    console::print_warnings(&loaded.warnings);
    let auth = loaded.value.server.auth.as_ref();
    let token_file = auth.and_then(|auth| auth.token_file.as_ref());
    let token_file = token_file.with_context(|| {
        let path = path.display();
        format!("{path} names no file for tokens: set server.auth.token_file")
    })?;
    // Every token may use every pipeline that is for it, so it is bound to no database.
    let targets = TokenTargets::default();
    let file = TokenFile::new(token_file);
    let trail = loaded.value.audit.as_ref();
    Console::of_process(|console| {
        AdminAudit::run(trail, command.flag(), || {
            command.run(&file, targets, console)?;
            Ok(())
        })
    })
}
