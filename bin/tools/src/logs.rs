//! What goes to standard error while the server runs.

use std::io;

use tracing::Level;

use crate::configuration::Configuration;

/// Takes everything that is logged from now on, once per process.
pub(crate) fn start(configuration: &Configuration) {
    let level = if configuration.debug {
        Level::DEBUG
    } else {
        Level::INFO
    };
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(io::stderr)
        .with_ansi(false)
        .with_target(false)
        .finish();
    // Somebody else logs already, where the program is part of another one.
    tracing::subscriber::set_global_default(subscriber).ok();
}
