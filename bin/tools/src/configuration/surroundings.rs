//! What a configuration depends on besides its file and the command line.

use std::path::{Path, PathBuf};

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
        Self {
            environment: Environment::new(std::env::vars_os()),
            system_folder: "/etc/ziggurat".into(),
            binary_folder: binary.parent().map(Path::to_owned).unwrap_or_default(),
        }
    }

    /// The configuration files to look for when none is named, in this order.
    pub(super) fn usual_files(&self) -> [PathBuf; 2] {
        [&self.system_folder, &self.binary_folder].map(|folder| folder.join("ziggurat-tools.yaml"))
    }

    /// A path as it was written, or one next to the program if nothing was.
    pub(super) fn path_or(&self, path: Option<PathBuf>, name: &str) -> PathBuf {
        self.path(path)
            .unwrap_or_else(|| self.binary_folder.join(name))
    }

    /// A path as it was written, with `~` for the home of the user; nothing if it is empty.
    pub(super) fn path(&self, path: Option<PathBuf>) -> Option<PathBuf> {
        let path = path.filter(|path| !path.as_os_str().is_empty())?;
        let home = self.environment.get("HOME");
        Some(match (path.strip_prefix("~"), home) {
            (Ok(rest), Some(home)) => Path::new(home).join(rest),
            _ => path,
        })
    }
}
