//! Commands that write a configuration: of this server, anew or from another one, or of its clients.
//! They start no server.

pub(crate) mod adopt;
pub(crate) mod clients;
pub(crate) mod init;

use std::{ffi::OsString, path::Path};

use anyhow::anyhow;

use crate::arguments::{Arguments, Overrides};

/// Returns the command line of a server with this configuration.
fn overrides(configuration: &Path) -> anyhow::Result<Overrides> {
    let words = [OsString::from("-config"), configuration.into()];
    let arguments = Arguments::parse(words).map_err(|refusal| anyhow!("{refusal}"))?;
    Ok(arguments.overrides)
}
