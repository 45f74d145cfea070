//! The name of this server among its replicas.

use std::{process, sync::Arc};

/// Returns the name of the machine and the number of the process, such as `tools-1:4711`.
pub(crate) fn name() -> Arc<str> {
    let machine = rustix::system::uname();
    let machine = machine.nodename().to_string_lossy();
    format!("{machine}:{}", process::id()).into()
}
