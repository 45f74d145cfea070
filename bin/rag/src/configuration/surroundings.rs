//! What a configuration depends on besides its file.

use std::{
    fs,
    path::{Path, PathBuf},
};

use ziggurat_services::program::Environment;

/// The environment, and the folders files are looked for in.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings {
    pub(crate) environment: Environment,
    /// Where administrators keep configuration files.
    pub(crate) system_folder: PathBuf,
    /// Where the program is.
    pub(crate) binary_folder: PathBuf,
}

// === impl Surroundings ===

impl Surroundings {
    /// Those of this process.
    pub(crate) fn of_process() -> Self {
        let binary = std::env::current_exe().unwrap_or_default();
        let binary = fs::canonicalize(&binary).unwrap_or(binary);
        Self {
            environment: Environment::new(std::env::vars_os()),
            system_folder: "/etc/ziggurat".into(),
            binary_folder: binary.parent().map(Path::to_owned).unwrap_or_default(),
        }
    }

    /// The home of the user.
    pub(crate) fn home(&self) -> Option<&Path> {
        self.environment.get("HOME").map(Path::new)
    }

    /// The configuration files to look for when none is named, in this order.
    pub(super) fn usual_files(&self) -> [PathBuf; 2] {
        [&self.system_folder, &self.binary_folder].map(|folder| folder.join("ziggurat-rag.yaml"))
    }

    /// A path with `~` for the home of the user.
    pub(super) fn at_home(&self, path: PathBuf) -> PathBuf {
        match (path.strip_prefix("~"), self.home()) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => path,
        }
    }
}
