//! The servers that this crate starts, and their folders.

use std::{
    env,
    path::{self, Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

use crate::{
    account::Account,
    error::{Error, Tried},
    folder, hex,
    installation::{Installation, PG_BIN, Search, Version},
    server::{self, Joined, ServerFolder},
};

/// The variable that names the cache folder.
const CACHE_DIR: &str = "ZIGGURAT_CACHE_DIR";

/// A server that this crate starts.
#[derive(Debug)]
pub(crate) enum Instance {
    /// The one that all tests share.
    Shared,
    /// One with its own folder.
    Private(PathBuf),
}

// === impl Instance ===

impl Instance {
    /// Finds binaries, and joins the server or starts it. Blocks.
    pub(crate) fn join(&self) -> Result<(Joined, Version), Error> {
        let account = Account::for_root().map_err(Error::folder(
            "/etc/passwd",
            "no account to run the server under",
        ))?;
        let cache = folder::cache(
            env::var_os(CACHE_DIR),
            env::var_os("XDG_CACHE_HOME"),
            env::var_os("HOME"),
            account.is_some(),
        );
        let cache = cache.ok_or_else(|| Error::Folder {
            path: "~/.cache".into(),
            reason: format!("HOME is not set; set {CACHE_DIR} to a folder for the cache"),
            source: None,
        })?;
        let cache = own(&cache, account.as_ref())?;
        let kept = match self {
            Self::Shared => None,
            // A folder inside, because other users may share the outer one.
            Self::Private(dir) => Some(own(&dir.join("postgresql"), account.as_ref())?),
        };
        let named = env::var_os(PG_BIN).filter(|named| !named.is_empty());
        let path = env::var_os("PATH");
        let search = Search {
            named: named.as_deref().map(Path::new),
            path: path.as_deref(),
            cache: &cache,
            major: kept.as_deref().and_then(server::major_of_data),
        };
        let mut tried = Tried::default();
        tried.push(
            crate::DATABASE_URL,
            match self {
                Self::Shared => "not set",
                Self::Private(_) => "is for tests, and this server is not",
            },
        );
        let (installation, tried) = search.run(tried)?;
        let keeps_data = kept.is_some();
        let folder = match kept {
            Some(folder) => folder,
            None => own(&cache.join(shared_name(&installation)), account.as_ref())?,
        };
        let server_folder = ServerFolder {
            folder,
            installation,
            account,
            keeps_data,
            tried,
        };
        Ok((server_folder.join()?, server_folder.installation.version))
    }
}

/// Different binaries or locales make a different server, because their data differ.
fn shared_name(installation: &Installation) -> String {
    let digest = Sha256::digest(installation.bin.as_os_str().as_encoded_bytes());
    let digest = hex::encode(&digest[..4]);
    format!("shared-{}-{digest}", installation.version.major)
}

fn own(path: &Path, account: Option<&Account>) -> Result<PathBuf, Error> {
    // The server starts in another folder, where a relative path would have another meaning.
    let path = path::absolute(path).map_err(Error::folder(path, "has no absolute path"))?;
    folder::own(&path, account)
}
