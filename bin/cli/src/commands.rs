//! Runs the command that a command line names.

mod api;
mod auth;
mod client;
mod doctor;
mod installation;
mod invite;
mod membership;
mod profile;
mod record;
mod tenant;
mod version;

use tokio::runtime;

use self::{client::CLIENT, invite::INVITE, membership::MEMBERSHIP, tenant::TENANT};
use crate::{
    context::Context,
    failure::Failure,
    tree::{
        Action, PROGRAM, completion, help,
        parser::{self, Matches},
        reference,
    },
};

/// Runs a command.
pub(crate) fn run(
    action: Action,
    context: &mut Context<'_>,
    matches: &Matches,
) -> Result<(), Failure> {
    match action {
        Action::AuthStatus => auth::status(context),
        Action::Commands => reference::list(context),
        Action::CompleteWords => completion::words(context, &matches.arguments),
        Action::CompletionInstall => completion::install(context, matches),
        Action::CompletionScript(shell) => {
            let script = completion::script(shell);
            context.streams.print(script.as_bytes())
        }
        Action::CompletionUninstall => completion::uninstall(context, matches),
        Action::Help => help_of(context, &matches.arguments),
        Action::Llms => reference::llms(context, &matches.arguments),
        Action::Man => reference::man(context, matches),
        Action::ProfileDelete => profile::delete(context, matches),
        Action::ProfileList => profile::list(context),
        Action::ProfileShow => profile::show(context, matches),
        Action::ProfileUse => profile::activate(context, matches.argument(0)),
        Action::Version => version::run(context),
        Action::Api => wait_for(api::api(context, matches)),
        Action::AuthLogin => wait_for(auth::login(context, matches)),
        Action::AuthLogout => wait_for(auth::logout(context)),
        Action::AuthWhoami => wait_for(auth::whoami(context)),
        Action::Doctor => wait_for(installation::run(context, matches)),
        Action::PlatformDoctor => wait_for(doctor::doctor(context, matches)),
        Action::ClientCreate => wait_for(client::create(context, matches)),
        Action::ClientDelete => wait_for(record::delete(context, &CLIENT, matches)),
        Action::ClientGet => wait_for(record::get(context, &CLIENT, matches)),
        Action::ClientList => wait_for(record::list(context, &CLIENT)),
        Action::ClientUpdate => wait_for(client::update(context, matches)),
        Action::InviteAccept => wait_for(invite::accept(context, matches)),
        Action::InviteCreate => wait_for(invite::create(context, matches)),
        Action::InviteDelete => wait_for(record::delete(context, &INVITE, matches)),
        Action::InviteGet => wait_for(record::get(context, &INVITE, matches)),
        Action::InviteList => wait_for(record::list(context, &INVITE)),
        Action::MembershipDelete => wait_for(record::delete(context, &MEMBERSHIP, matches)),
        Action::MembershipList => wait_for(record::list(context, &MEMBERSHIP)),
        Action::TenantGet => wait_for(record::get(context, &TENANT, matches)),
        Action::TenantList => wait_for(record::list(context, &TENANT)),
        Action::TenantUpdate => wait_for(tenant::update(context, matches)),
    }
}

/// Runs a command that calls a platform. Only these start an asynchronous runtime.
fn wait_for(command: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::general(format!("start: {error}")))?;
    let result = runtime.block_on(command);
    // A name lookup in progress must not delay the end of the process.
    runtime.shutdown_background();
    result
}

fn help_of(context: &mut Context<'_>, words: &[String]) -> Result<(), Failure> {
    let Some((path, command)) = parser::command_of(words) else {
        return Err(Failure::usage(format!(
            "unknown help topic {} — run '{PROGRAM} help' for the command list",
            crate::output::quoted(&words.join(" "))
        )));
    };
    let page = help::page(&path, command);
    context.streams.print(page.as_bytes())
}
