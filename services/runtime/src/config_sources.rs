//! What a configuration depends on besides its file and the command line.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use super::Environment;

/// The environment, and the folders files are looked for in.
#[derive(Clone, Debug)]
pub struct ConfigSources {
    /// The variables.
    pub environment: Environment,
    /// Where administrators keep configuration files.
    pub system_folder: PathBuf,
    /// Where the program is.
    pub binary_folder: PathBuf,
}

// === impl ConfigSources ===

impl ConfigSources {
    /// Those of this process.
    #[must_use]
    pub fn of_process() -> Self {
        let binary = env::current_exe().unwrap_or_default();
        let binary = fs::canonicalize(&binary).unwrap_or(binary);
        Self {
            environment: Environment::new(env::vars_os()),
            system_folder: "/etc/ziggurat".into(),
            binary_folder: binary.parent().map(Path::to_owned).unwrap_or_default(),
        }
    }

    /// The home of the user.
    #[must_use]
    pub fn home(&self) -> Option<&Path> {
        self.environment.get("HOME").map(Path::new)
    }

    /// Where a configuration file of this name is looked for if none is named, in this order.
    #[must_use]
    pub fn usual_files(&self, name: &str) -> [PathBuf; 2] {
        [&self.system_folder, &self.binary_folder].map(|folder| folder.join(name))
    }

    /// A path with `~` for the home of the user.
    #[must_use]
    pub fn at_home(&self, path: PathBuf) -> PathBuf {
        match (path.strip_prefix("~"), self.home()) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => path,
        }
    }

    /// A path as it was written, with `~` for the home of the user; nothing if it is empty.
    #[must_use]
    pub fn path(&self, path: Option<PathBuf>) -> Option<PathBuf> {
        let path = path.filter(|path| !path.as_os_str().is_empty())?;
        Some(self.at_home(path))
    }

    /// A path as it was written, or one next to the program if nothing was.
    #[must_use]
    pub fn path_or(&self, path: Option<PathBuf>, name: &str) -> PathBuf {
        self.path(path)
            .unwrap_or_else(|| self.binary_folder.join(name))
    }
}
