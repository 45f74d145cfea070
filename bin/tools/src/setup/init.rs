//! The command `-init`: writes a configuration, and the statements for the role that it connects
//! with.
//!
//! The connection of the administrator is used once, if at all, and never written.

mod answers;
mod files;
mod role;

use std::{process::ExitCode, sync::Arc};

use anyhow::Context as _;
use tokio::{task::JoinSet, time};
use ziggurat_doctor::Options;
use ziggurat_postgres::{database::Database, pool::Pools};
use ziggurat_runtime::{ConfigSources, Secret, console::Console};
use ziggurat_tokens::{TokenCommand, TokenOptions};

use self::{
    answers::{Answers, Transport},
    files::Written,
};
use crate::{
    admin::{self, AdminContext},
    arguments::{Asked, ClientName, Command, Overrides},
    check::{CLOSE_TIMEOUT, doctor},
    configuration::{Configuration, Loaded},
    setup::{clients, overrides},
};

/// Runs the command with the standard streams of the process.
pub(crate) fn run(asked: Asked) -> ExitCode {
    Console::of_process(|console| {
        let outcome = Answers::complete(asked, console).map(|answers| set_up(&answers, console));
        match outcome {
            Ok(Ok(code)) => code,
            Ok(Err(error)) => {
                ziggurat_runtime::console::print_error(&format!("ERROR: {error:#}\n"));
                ExitCode::FAILURE
            }
            Err(refusal) => {
                ziggurat_runtime::console::print_error(&format!("Error: {refusal}\n"));
                2.into()
            }
        }
    })
}

fn set_up(answers: &Answers, console: &mut Console<'_>) -> anyhow::Result<ExitCode> {
    let administrator = administrator(&answers.admin_url)?;
    let password = files::password()?;
    let role = role::statements(answers, &administrator.settings().database, &password);
    let written = files::write(answers, administrator.settings(), &password, &role)?;
    console.print(&written.describe())?;
    let applies = answers.applies
        || console.is_terminal && {
            let question = format!(
                "\nRun role.sql as {} now? (yes/no) ",
                administrator.settings().user
            );
            console.ask(&question)? == "yes"
        };
    if !applies {
        console.print(&written.next_steps())?;
        if answers.has_sign_in() {
            console.print(&written.first_user())?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    apply(&administrator, &role).context("role.sql was not applied")?;
    console.print("role.sql was applied.\n")?;
    finish(answers, &written, console)
}

/// Makes the first token, checks everything, and prints what clients need.
fn finish(
    answers: &Answers,
    written: &Written,
    console: &mut Console<'_>,
) -> anyhow::Result<ExitCode> {
    let overrides = overrides(&written.configuration)?;
    let loaded = load(&overrides)?;
    if answers.needs_token() {
        let context = AdminContext {
            configuration: &loaded.value,
            refuses_short_passwords: false,
        };
        let options = TokenOptions {
            note: Some("made by -init".to_owned()),
            database: Some(String::new()),
            expiry: Some("never".to_owned()),
            ..TokenOptions::default()
        };
        admin::run(
            Command::Tokens(TokenCommand::Add(options)),
            &context,
            console,
        )?;
    }
    console.print("\n")?;
    let code = doctor::run(&overrides, &Options::default());
    let chosen = match answers.transport {
        Transport::Stdio => [ClientName::ClaudeDesktop, ClientName::ClaudeCode],
        Transport::Http(_) => [ClientName::ClaudeCode, ClientName::Cursor],
    };
    let mut text = "\nFor clients:\n".to_owned();
    for client in chosen {
        text.push('\n');
        text.push_str(&clients::text(client, &overrides, &loaded)?);
    }
    text.push_str("\nFor other clients: -print-client\n");
    if answers.has_sign_in() {
        text.push_str(&written.first_user());
    }
    console.print(&text)?;
    Ok(code)
}

/// Returns the database as the administrator connects to it.
fn administrator(url: &Secret) -> anyhow::Result<Arc<Database>> {
    let overrides = Overrides {
        database_url: Some(url.clone()),
        tells_causes: Some(true),
        ..Overrides::default()
    };
    // Without the environment of this process, which may be about another database.
    let loaded = Configuration::load(&overrides, &ConfigSources::default());
    let loaded = loaded.context("the connection URL of the administrator")?;
    let entry = loaded.value.databases.into_iter().next();
    Ok(entry
        .context("the connection URL names no database")?
        .database)
}

/// Runs the statements, all or none.
fn apply(administrator: &Arc<Database>, role: &str) -> anyhow::Result<()> {
    doctor::in_runtime(async {
        let (pools, reaper) = Pools::new();
        let mut tasks = JoinSet::new();
        tasks.spawn(reaper.run());
        let outcome = async {
            let mut lease = pools.connect_once(administrator).await?;
            // PostgreSQL runs one message as one transaction.
            lease.begin().ask(role).await?;
            lease.settle();
            anyhow::Ok(())
        };
        let outcome = outcome.await;
        pools.close_all();
        drop(pools);
        time::timeout(CLOSE_TIMEOUT, tasks.join_next()).await.ok();
        outcome
    })?
}

fn load(overrides: &Overrides) -> anyhow::Result<Loaded> {
    Ok(Configuration::load(
        overrides,
        &ConfigSources::of_process(),
    )?)
}
