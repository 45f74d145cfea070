//! Completes ids of records if a token is cached.

use std::{sync::Arc, time::Duration};

use tokio::runtime;
use ziggurat_account_client::CacheUse;

use crate::{
    api::Api,
    context::Streams,
    environment::Environment,
    keychain::NoKeychain,
    output::Node,
    setup::{ErrorStyle, guard, set_up},
    tree::{Action, Command, completion::offer::Offer, parser},
};

/// Maximum time for the list: the user is waiting.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Returns the ids that can follow these words. It never prompts and never obtains a token, and
/// every failure means no completion.
pub(super) fn offers(
    environment: &Environment,
    command: &'static Command,
    before: &[String],
) -> Vec<Offer> {
    let Some((collection, note)) = command.action.and_then(listed_by) else {
        return Vec::new();
    };
    listed(environment, collection, before)
        .unwrap_or_default()
        .iter()
        .filter_map(|record| Some(Offer::new(record.text("id")?, record.text(note)?)))
        .collect()
}

/// Returns the collection that has the ids for a command, and the member that describes a record.
fn listed_by(action: Action) -> Option<(&'static str, &'static str)> {
    Some(match action {
        Action::ClientDelete | Action::ClientGet | Action::ClientUpdate => ("clients", "name"),
        Action::InviteAccept | Action::InviteDelete | Action::InviteGet => ("invites", "email"),
        Action::MembershipDelete => ("memberships", "user_email"),
        Action::TenantGet | Action::TenantUpdate => ("tenants", "name"),
        _ => return None,
    })
}

fn listed(environment: &Environment, collection: &str, before: &[String]) -> Option<Vec<Node>> {
    // The shell must not show any message.
    let mut silence = Streams {
        stdin: Box::new(std::io::empty()),
        stdout: Box::new(std::io::sink()),
        stderr: Box::new(std::io::sink()),
    };
    let matches = parser::parse(before).ok()?;
    let action = matches.command.action?;
    let mut style = ErrorStyle::default();
    let mut context = set_up(&matches, action, environment, &mut silence, &mut style).ok()?;
    guard(&context, action).ok()?;
    context.keychain = Arc::new(NoKeychain);
    context.connection.timeout = Some(TIMEOUT);
    context.connection.retries = 0;
    if context.connection.client_secret_file.as_deref() == Some("-") {
        return None;
    }
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .ok()?;
    let path = format!("/account/v1/{collection}");
    let asked = async {
        let mut api = Api::new(&mut context).with_cache_use(CacheUse::Only);
        tokio::time::timeout(TIMEOUT, api.get("list", &path)).await
    };
    let answer = runtime.block_on(asked).ok()?.ok()?;
    match Node::read(&answer.body)? {
        Node::Array(records) => Some(records),
        _ => None,
    }
}
