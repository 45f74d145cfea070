//! What the commands do, once the command line was understood.

mod api;
mod auth;
pub(crate) mod client;
mod doctor;
mod installation;
pub(crate) mod invite;
pub(crate) mod membership;
mod profile;
pub(crate) mod record;
pub(crate) mod tenant;
mod version;

pub(crate) use self::version::VERSION;

use tokio::runtime;

use crate::{
    completion,
    context::Context,
    failure::Failure,
    help,
    parser::{self, Matches},
    reference,
    tree::{Action, PROGRAM},
};

/// Runs a command.
pub(crate) fn run(
    action: Action,
    context: &mut Context<'_>,
    matches: &Matches,
) -> Result<(), Failure> {
    match action {
        Action::AuthLogout => auth::logout(context),
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
        Action::InviteAccept => invite::accept(context, matches.argument(0)),
        Action::InviteCreate => invite::create(context),
        _ => over_the_network(action, context, matches),
    }
}

/// Runs a command that speaks to a platform. The other ones never pay for the machinery.
fn over_the_network(
    action: Action,
    context: &mut Context<'_>,
    matches: &Matches,
) -> Result<(), Failure> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::general(format!("start: {error}")))?;
    let result = runtime.block_on(spoken(action, context, matches));
    // A name that is still being looked up is nobody's concern any more.
    runtime.shutdown_background();
    result
}

async fn spoken(
    action: Action,
    context: &mut Context<'_>,
    matches: &Matches,
) -> Result<(), Failure> {
    let id = matches.argument(0);
    match action {
        Action::Api => api::api(context, matches).await,
        Action::AuthLogin => auth::login(context, matches).await,
        Action::AuthWhoami => auth::whoami(context).await,
        Action::ClientCreate => client::create(context, matches).await,
        Action::ClientDelete => record::delete(context, &client::CLIENT, matches).await,
        Action::ClientGet => record::get(context, &client::CLIENT, id).await,
        Action::ClientList => record::list(context, &client::CLIENT).await,
        Action::ClientUpdate => client::update(context, matches).await,
        Action::Doctor => installation::run(context, matches).await,
        Action::InviteDelete => record::delete(context, &invite::INVITE, matches).await,
        Action::InviteGet => record::get(context, &invite::INVITE, id).await,
        Action::InviteList => record::list(context, &invite::INVITE).await,
        Action::MembershipDelete => record::delete(context, &membership::MEMBERSHIP, matches).await,
        Action::MembershipList => record::list(context, &membership::MEMBERSHIP).await,
        Action::PlatformDoctor => doctor::doctor(context, matches).await,
        Action::TenantGet => record::get(context, &tenant::TENANT, id).await,
        Action::TenantList => record::list(context, &tenant::TENANT).await,
        Action::TenantUpdate => tenant::update(context, matches).await,
        other => Err(Failure::general(format!("{other:?} is not built yet"))),
    }
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
