//! The folders of the configuration and the cache.

use std::path::{Path, PathBuf};

use crate::environment::Environment;

/// The two folders of this program.
pub(super) struct Folders {
    pub(super) config: PathBuf,
    pub(super) cache: PathBuf,
}

/// Folder for a user without a home; it cannot contain files. The working directory is not safe,
/// because a file of another user there could choose the platform.
pub(super) const NO_HOME: &str = "/dev/null";

// === impl Folders ===

impl Folders {
    /// Returns `~/.ziggurat` if it exists; otherwise the folders of the XDG variables if they are
    /// usable; otherwise `~/.ziggurat`, which is created later.
    pub(super) fn of(environment: &Environment) -> Self {
        let home = match environment.home() {
            home if home.is_absolute() => home,
            _ => Path::new(NO_HOME),
        };
        let own = home.join(".ziggurat");
        if own.is_dir() {
            return Self {
                cache: own.join("cache"),
                config: own,
            };
        }
        let folder = |name| {
            let folder = PathBuf::from(environment.var(name)?).join("ziggurat");
            is_usable(&folder).then_some(folder)
        };
        let config = folder("XDG_CONFIG_HOME");
        let cache = folder("XDG_CACHE_HOME").unwrap_or_else(|| {
            // A cache in `~/.ziggurat` would create that folder, which then takes precedence over
            // the folder with the configuration.
            match &config {
                Some(_) => home.join(".cache/ziggurat"),
                None => own.join("cache"),
            }
        });
        Self {
            config: config.unwrap_or(own),
            cache,
        }
    }
}

/// Returns whether the folder exists or can be created: its nearest existing parent is writable.
fn is_usable(folder: &Path) -> bool {
    folder.is_absolute()
        && folder
            .ancestors()
            .find(|ancestor| ancestor.exists())
            .is_some_and(|ancestor| ancestor.is_dir() && is_writable(ancestor))
}

fn is_writable(folder: &Path) -> bool {
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok()
}
