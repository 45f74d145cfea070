//! Inputs of a configuration besides its file and the command line.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use crate::Environment;

/// The environment, and the folders that are searched for files.
#[derive(Clone, Debug, Default)]
pub struct ConfigSources {
    /// The environment variables.
    pub environment: Environment,
    /// Folder in which administrators keep configuration files.
    pub system_folder: PathBuf,
    /// Folder of the program.
    pub binary_folder: PathBuf,
}

// === impl ConfigSources ===

impl ConfigSources {
    /// Returns the sources of this process.
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

    /// Returns the home folder of the user.
    #[must_use]
    pub fn home(&self) -> Option<&Path> {
        self.environment.get("HOME").map(Path::new)
    }

    /// Returns the paths at which a configuration file is searched if no path is given, in order.
    #[must_use]
    pub fn usual_files(&self, name: &str) -> [PathBuf; 2] {
        [&self.system_folder, &self.binary_folder].map(|folder| folder.join(name))
    }

    /// Replaces a leading `~` by the home folder of the user.
    #[must_use]
    pub fn at_home(&self, path: PathBuf) -> PathBuf {
        match (path.strip_prefix("~"), self.home()) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => path,
        }
    }

    /// Replaces a leading `~` by the home folder of the user; returns `None` for an empty path.
    #[must_use]
    pub fn path(&self, path: Option<PathBuf>) -> Option<PathBuf> {
        let path = path.filter(|path| !path.as_os_str().is_empty())?;
        Some(self.at_home(path))
    }
}
