//! The files of a certificate, read again when they change.

use std::{convert::Infallible, error::Error, path::PathBuf, time::Duration};

use tokio::{task::spawn_blocking, time};
use tracing::{error, info};
use ziggurat_runtime::watch::{Folders, Stamp, Stamps, settled};

use crate::tls::Tls;

/// Interval of checking the files, because some file systems do not report changes.
const CHECK_INTERVAL: Duration = Duration::from_mins(1);

/// The PEM files of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate of the server, which others may follow.
    pub cert: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// The certificates of the chain to a well-known one, each issued by the next.
    pub chain: Option<PathBuf>,
}

// === impl TlsFiles ===

impl TlsFiles {
    pub(super) fn stamps(&self) -> Stamps {
        let files = [&self.cert, &self.key];
        Stamp::of_all(files.into_iter().chain(&self.chain).cloned())
    }
}

// === impl Tls ===

impl Tls {
    /// Reads the files again whenever they change. Never ends.
    pub(super) async fn follow(&self) -> Infallible {
        let files = &self.0.files;
        let mut seen = self.0.first.clone();
        let mut folders = Folders::new("certificates");
        folders.follow(seen.keys());
        // A change since the files were first read counts, too.
        folders.trigger();
        loop {
            time::timeout(CHECK_INTERVAL, folders.changed()).await.ok();
            // The two files are written one after the other, so this waits until both are stable.
            if files.stamps() == seen {
                continue;
            }
            let now = settled(|| files.stamps()).await;
            if now == seen {
                continue;
            }
            seen = now;
            let tls = self.clone();
            match spawn_blocking(move || tls.renew()).await {
                Ok(Ok(())) => info!("certificate reloaded"),
                Ok(Err(error)) => {
                    let error: &dyn Error = &error;
                    error!(
                        error,
                        "certificate reload failed; keeping previous certificate"
                    );
                }
                Err(error) => {
                    error!(%error, "certificate reload failed; keeping previous certificate");
                }
            }
            folders.follow(seen.keys());
        }
    }
}
