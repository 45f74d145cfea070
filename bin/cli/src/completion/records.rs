//! Completes ids of records if a token is cached.

use std::{sync::Arc, time::Duration};

use tokio::runtime;

use super::offer::Offer;
use crate::{
    commands::{self, record::Kind},
    context::{Environment, Streams},
    http::Api,
    keychain::NoKeychain,
    output::Node,
    parser,
    run::{self, ErrorStyle},
    tree::{Action, Command},
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
    let Some((kind, note)) = command.action.and_then(kind) else {
        return Vec::new();
    };
    listed(environment, kind, before)
        .unwrap_or_default()
        .iter()
        .filter_map(|record| Some(Offer::new(record.text("id")?, record.text(note)?)))
        .collect()
}

/// Returns the kind of record whose id a command takes, and the member that describes a record.
fn kind(action: Action) -> Option<(&'static Kind, &'static str)> {
    Some(match action {
        Action::ClientDelete | Action::ClientGet | Action::ClientUpdate => {
            (&commands::client::CLIENT, "name")
        }
        Action::InviteAccept | Action::InviteDelete | Action::InviteGet => {
            (&commands::invite::INVITE, "email")
        }
        Action::MembershipDelete => (&commands::membership::MEMBERSHIP, "user_email"),
        Action::TenantGet | Action::TenantUpdate => (&commands::tenant::TENANT, "name"),
        _ => return None,
    })
}

fn listed(environment: &Environment, kind: &Kind, before: &[String]) -> Option<Vec<Node>> {
    // The shell must not show any message.
    let mut silence = Streams {
        stdin: Box::new(std::io::empty()),
        stdout: Box::new(std::io::sink()),
        stderr: Box::new(std::io::sink()),
    };
    let matches = parser::parse(before).ok()?;
    let action = matches.command.action?;
    let mut style = ErrorStyle::default();
    let mut context = run::set_up(&matches, action, environment, &mut silence, &mut style).ok()?;
    run::guard(&context, action).ok()?;
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
    let path = format!("/account/v1/{}", kind.plural);
    let asked = async {
        let mut api = Api::new(&mut context).with_cached_token_alone();
        tokio::time::timeout(TIMEOUT, api.get("list", &path)).await
    };
    let answer = runtime.block_on(asked).ok()?.ok()?;
    match Node::read(&answer.body)? {
        Node::Array(records) => Some(records),
        _ => None,
    }
}
