//! Default places of the files that a program writes.

use std::{env, fs, path::PathBuf};

use rustix::{
    fs::{Access, access},
    process::geteuid,
};

use crate::{ConfigSources, config::Value};

/// Folders of the system, where programs are installed and write nothing.
const SYSTEM: [&str; 5] = ["/usr", "/bin", "/sbin", "/opt", "/nix"];

/// Default places of the files of a program, and the places of earlier versions.
///
/// Account files are next to the program and other data is in a folder there, if the program may
/// write into its folder. Otherwise both are in a folder for the state of programs.
#[derive(Clone, Debug)]
pub struct Places {
    accounts: PathBuf,
    data: PathBuf,
    older: Vec<PathBuf>,
    is_named: bool,
}

// === impl Places ===

impl Places {
    /// Returns the places in a folder that the operator names, or else those beside the program,
    /// with this folder for data, or else those in a folder for the state of programs.
    #[must_use]
    pub fn of(sources: &ConfigSources, named: Option<PathBuf>, folder: &str) -> Self {
        let beside = sources.binary_folder.clone();
        let within = beside.join(folder);
        let is_system = SYSTEM.iter().any(|system| beside.starts_with(system));
        let named = sources.path(named);
        let is_named = named.is_some();
        let (accounts, data, older) = if let Some(named) = named {
            (named.clone(), named, vec![beside])
        } else if !is_system && access(&beside, Access::WRITE_OK).is_ok() {
            (beside, within.clone(), vec![within])
        } else {
            let state = state_folder(sources, geteuid().is_root());
            let state = state.unwrap_or_else(|| within.clone());
            (state.clone(), state, vec![beside, within])
        };
        Self {
            accounts,
            data,
            older,
            is_named,
        }
    }

    /// Returns the path of an account file that the key does not set.
    #[must_use]
    pub fn account_file(&self, key: &Value<'_>, name: &str) -> PathBuf {
        let older = self.older.iter().map(|folder| folder.join(name));
        self.existing(key, self.accounts.join(name), older.collect(), |place| {
            place.clone()
        })
    }

    /// Returns the folder of other data, in which `name` is kept.
    #[must_use]
    pub fn data_folder(&self, key: &Value<'_>, name: &str) -> PathBuf {
        let older = if self.is_named { &[] } else { &self.older[..] };
        self.existing(key, self.data.clone(), older.to_vec(), |place| {
            place.join(name)
        })
    }

    /// Returns the first place with an existing file, or else the usual one. Reports a place of an
    /// earlier version, and two places.
    fn existing(
        &self,
        key: &Value<'_>,
        usual: PathBuf,
        older: Vec<PathBuf>,
        file: impl Fn(&PathBuf) -> PathBuf,
    ) -> PathBuf {
        let target = |place: &PathBuf| fs::canonicalize(file(place)).ok();
        let known = target(&usual);
        let mut older = older.into_iter();
        let Some(older) = older.find(|place| target(place).is_some_and(|it| Some(it) != known))
        else {
            return usual;
        };
        let (shown, new, name) = (older.display(), usual.display(), key.place());
        let remedy = format!("remove one of them, or set {name}");
        if known.is_none() {
            let text = format!("{shown} is read, and belongs to {new}: move it, or set {name}");
            key.warn(text);
            return older;
        } else if self.is_named {
            key.warn(format!(
                "{shown} is not read, because there is {new}; {remedy}"
            ));
        } else {
            key.problem(format_args!("there are {shown} and {new}: {remedy}"));
        }
        usual
    }
}

/// Returns the folder for the state of programs: systemd's, the system's, or the user's.
fn state_folder(sources: &ConfigSources, is_root: bool) -> Option<PathBuf> {
    let environment = &sources.environment;
    if let Some(folders) = environment.get("STATE_DIRECTORY") {
        return env::split_paths(folders).next();
    }
    if is_root {
        return Some("/var/lib/ziggurat".into());
    }
    let own = environment.get("XDG_STATE_HOME").map(PathBuf::from);
    let own = own.filter(|folder| folder.is_absolute());
    let usual = || Some(sources.home()?.join(".local/state"));
    Some(own.or_else(usual)?.join("ziggurat"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::Environment;

    fn sources(binary_folder: &Path, variables: &[(&str, &str)]) -> ConfigSources {
        ConfigSources {
            environment: Environment::new(variables.iter().copied()),
            binary_folder: binary_folder.to_owned(),
            ..ConfigSources::default()
        }
    }

    #[test]
    fn files_are_beside_a_program_that_may_write_there_unless_a_folder_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let sources = sources(folder.path(), &[("HOME", "/home/al")]);
        let places = Places::of(&sources, None, "data");
        assert_eq!(places.accounts, folder.path());
        assert_eq!(places.data, folder.path().join("data"));
        let places = Places::of(&sources, Some("~/z".into()), "data");
        assert_eq!(places.accounts, Path::new("/home/al/z"));
        assert_eq!(places.data, Path::new("/home/al/z"));
    }

    #[test]
    fn a_program_of_the_system_keeps_its_files_in_a_folder_for_state() {
        let home = ("HOME", "/home/al");
        for (variables, is_root, expected) in [
            (&[home][..], false, "/home/al/.local/state/ziggurat"),
            (&[home], true, "/var/lib/ziggurat"),
            (&[home, ("XDG_STATE_HOME", "/s")], false, "/s/ziggurat"),
            (
                &[home, ("XDG_STATE_HOME", "s")],
                false,
                "/home/al/.local/state/ziggurat",
            ),
            (&[("STATE_DIRECTORY", "/run/a:/run/b")], true, "/run/a"),
        ] {
            let sources = sources(Path::new("/usr/bin"), variables);
            let folder = state_folder(&sources, is_root).expect("one");
            assert_eq!(folder, Path::new(expected));
        }
        for system in ["/usr/local/bin", "/opt/z", "/nix/store/z/bin", "/bin"] {
            let sources = sources(Path::new(system), &[("STATE_DIRECTORY", "/s")]);
            let places = Places::of(&sources, None, "data");
            assert_eq!(
                (&*places.accounts, &*places.data),
                (Path::new("/s"), Path::new("/s"))
            );
            assert_eq!(
                places.older,
                [system.into(), Path::new(system).join("data")]
            );
        }
    }
}
