//! The receipts of a server.

use std::fs;

use axum::response::IntoResponse;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use tokio::task::JoinSet;
use ziggurat_console::PublicUrl;
use ziggurat_receipts::{Keys, Receipts};

use crate::{configuration::Configuration, interface::VERSION};

/// Path of the public keys.
pub(crate) const PUBLIC_KEYS: &str = "/.well-known/ziggurat-receipts";

/// Makes the receipts of a server, if it has a key for them, and starts the task that signs.
///
/// # Errors
/// Fails if a key cannot be read.
pub(crate) fn start(
    configuration: &Configuration,
    tasks: &mut JoinSet<()>,
) -> anyhow::Result<Option<Receipts>> {
    let keys = configuration.receipts.keys()?;
    Ok(keys.map(|keys| with_keys(configuration, keys, tasks)))
}

/// Makes the receipts of a server that signs with these keys.
pub(crate) fn with_keys(
    configuration: &Configuration,
    keys: Keys,
    tasks: &mut JoinSet<()>,
) -> Receipts {
    let http = configuration.http.as_ref();
    let public_url = http.and_then(|http| http.public_url.as_ref());
    let secret = configuration.secret_file.as_ref();
    let secret = secret.and_then(|path| fs::read(path).ok());
    let (receipts, task) = Receipts::new(
        keys,
        configuration.receipts.clone(),
        public_url.map(PublicUrl::origin),
        VERSION,
        secret.as_deref().filter(|secret| !secret.is_empty()),
    );
    tasks.spawn(task.run());
    receipts
}

/// Answers with the public keys.
pub(crate) fn published(receipts: &Receipts) -> impl IntoResponse + use<> {
    let headers = [
        (CONTENT_TYPE, "application/jwk-set+json"),
        // After a rotation the new key is soon needed.
        (CACHE_CONTROL, "max-age=60"),
    ];
    (headers, receipts.published())
}
