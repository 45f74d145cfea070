//! The configuration file: profiles, and the active one.
//!
//! The user may edit the file, so commands change it in place: comments, order, indentation and
//! keys of other programs stay.

mod edit;
mod folder;
mod read;

use std::{
    collections::BTreeMap,
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    time::Duration,
};

use ziggurat_runtime::{
    Secret,
    private_file::{self, Lock},
};

use crate::{environment::Environment, failure::Failure, output::escape};

/// The content of the configuration file, and its path.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    path: PathBuf,
    cache: PathBuf,
    /// Set if the folder belongs to this program, which then sets its mode, too.
    owns_folder: bool,
    exists: bool,
    content: Content,
}

/// The parts of the file that this program reads.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
struct Content {
    current: Option<String>,
    output: Option<String>,
    keychain: Option<bool>,
    profiles: BTreeMap<String, Profile>,
}

/// A profile: a platform and a credential for it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Profile {
    pub(crate) api_url: Option<String>,
    /// The credential id.
    pub(crate) client_id: Option<String>,
    /// Set only by a login that could not use the keychain, or was told not to.
    pub(crate) client_secret: Option<Secret>,
    /// Id that binds a cached token to one login.
    pub(crate) login_id: Option<String>,
    /// `person` if a person signed in: then the secret is a refresh token.
    pub(crate) auth: Option<String>,
    /// The address for signing in with a browser.
    pub(crate) web_url: Option<String>,
}

/// Value of `auth` in the profile of a person.
pub(crate) const PERSON: &str = "person";

/// The profile that always exists.
pub(crate) const DEFAULT_PROFILE: &str = "default";

/// Maximum size of the file.
const MAX_BYTES: u64 = 1024 * 1024;

/// Maximum wait for the lock of another process, which writes one small file.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

// === impl Config ===

impl Config {
    /// Reads the named file, or the one in the home. If the home has none, the configuration is
    /// empty.
    ///
    /// # Errors
    ///
    /// Fails if a named file does not exist (unless the command may create it), cannot be read, or
    /// is not a valid configuration.
    pub(crate) fn load(
        environment: &Environment,
        named: Option<&str>,
        may_create: bool,
    ) -> Result<Self, Failure> {
        let folders = folder::Folders::of(environment);
        let path = match named {
            Some(path) => std::path::absolute(path)
                .map_err(|error| Failure::config(format!("config: {path}: {error}")))?,
            None => folders.config.join("config.yaml"),
        };
        let text = match text_of(&path) {
            Ok(text) => Some(text),
            Err(Unreadable::Absent) if named.is_none() || may_create => None,
            Err(Unreadable::Absent) => {
                return Err(Failure::config(format!(
                    "config: {} does not exist (check the path, create the file and any parent \
                     directory, or omit --config to use the default)",
                    path.display()
                )));
            }
            Err(Unreadable::Because(reason)) => {
                return Err(Failure::config(format!("config: {reason}")));
            }
        };
        Ok(Self {
            content: content(&path, text.as_deref())?,
            exists: text.is_some(),
            owns_folder: named.is_none(),
            cache: folders.cache,
            path,
        })
    }

    /// Creates an empty configuration, for commands that read none.
    pub(crate) fn empty(environment: &Environment) -> Self {
        let folders = folder::Folders::of(environment);
        Self {
            path: folders.config.join("config.yaml"),
            cache: folders.cache,
            owns_folder: true,
            exists: false,
            content: Content::default(),
        }
    }

    /// Returns the absolute path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether the file exists.
    pub(crate) fn exists(&self) -> bool {
        self.exists
    }

    /// Returns the folder of cached tokens.
    pub(crate) fn cache_folder(&self) -> PathBuf {
        self.cache.clone()
    }

    /// Returns the active profile according to the file.
    pub(crate) fn current(&self) -> Option<&str> {
        self.content.current.as_deref()
    }

    /// Returns the output format from the file.
    pub(crate) fn output(&self) -> Option<&str> {
        self.content.output.as_deref()
    }

    /// Returns whether the keychain may be used; `keychain: false` forbids it.
    pub(crate) fn allows_keychain(&self) -> bool {
        self.content.keychain != Some(false)
    }

    /// Returns a profile by its name.
    pub(crate) fn profile(&self, name: &str) -> Option<Profile> {
        self.content.profiles.get(name).cloned()
    }

    /// Reads a profile from the file as it is now, which another command may have changed.
    pub(crate) fn stored_profile(&self, name: &str) -> Option<Profile> {
        let text = text_of(&self.path).ok()?;
        let mut content = read::content(&text).ok()?;
        content.profiles.remove(name)
    }

    /// Returns the names of the profiles, sorted.
    pub(crate) fn profile_names(&self) -> impl Iterator<Item = &str> {
        self.content.profiles.keys().map(String::as_str)
    }

    /// Checks that a profile is in the file, except the default, which always exists.
    pub(crate) fn require(&self, name: &str) -> Result<(), Failure> {
        if name == DEFAULT_PROFILE || self.content.profiles.contains_key(name) {
            return Ok(());
        }
        let names: Vec<&str> = self.profile_names().collect();
        let shown = escape(name);
        Err(Failure::config(if names.is_empty() {
            format!(
                "unknown profile \"{shown}\" — no profiles are configured; run 'ziggurat platform \
                 auth login --profile {shown}' to create one"
            )
        } else {
            format!(
                "unknown profile \"{shown}\" — configured profiles: {}",
                names.join(", ")
            )
        }))
    }

    /// Returns a warning if the file contains a secret that other users can read.
    pub(crate) fn warning(&self) -> Option<String> {
        let holds_secret = self
            .content
            .profiles
            .values()
            .any(|profile| profile.client_secret.is_some());
        (holds_secret && private_file::is_readable_by_others(&self.path)).then(|| {
            format!(
                "Warning: {} holds a client secret and other accounts of this machine can read it; \
                 run: chmod 600 {}",
                self.path.display(),
                self.path.display()
            )
        })
    }

    /// Writes a profile; members that are `None` are removed from the file.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be locked, read again, or written.
    pub(crate) fn update_profile(&self, name: &str, profile: &Profile) -> Result<(), Failure> {
        self.change(|document| {
            for (member, value) in profile.members() {
                document.set(&["profiles", name, "platform", member], value);
            }
            document.keep(&["profiles", name, "platform"]);
        })
    }

    /// Makes a profile the active one.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be locked, read again, or written.
    pub(crate) fn use_profile(&self, name: &str) -> Result<(), Failure> {
        self.change(|document| document.set(&["current_profile"], Some(name)))
    }

    /// Removes a profile; it is no longer the active one.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be locked, read again, or written.
    pub(crate) fn delete_profile(&self, name: &str) -> Result<(), Failure> {
        self.change(|document| {
            document.remove(&["profiles", name]);
            if document.is(&["current_profile"], name) {
                document.remove(&["current_profile"]);
            }
        })
    }

    /// Locks, reads the current file, edits and saves it, so that concurrent commands lose no
    /// change.
    fn change(&self, edit: impl FnOnce(&mut edit::Document)) -> Result<(), Failure> {
        let failed = |reason: String| Failure::config(format!("config: {reason}"));
        if self.path.starts_with(folder::NO_HOME) {
            return Err(failed(
                "there is no home folder: set HOME, or name a file with --config".to_owned(),
            ));
        }
        let described = |error: std::io::Error| failed(format!("{}: {error}", self.path.display()));
        let target = private_file::target(&self.path);
        private_file::create_folder(&target, self.owns_folder).map_err(described)?;
        let _lock = Lock::within(&target, LOCK_TIMEOUT).map_err(described)?;
        let text = match text_of(&self.path) {
            Ok(text) => text,
            Err(Unreadable::Absent) => String::new(),
            Err(Unreadable::Because(reason)) => return Err(failed(reason)),
        };
        let mut document = edit::Document::read(&text)
            .map_err(|reason| failed(format!("parse {}: {reason}", self.path.display())))?;
        edit(&mut document);
        private_file::replace(&target, document.text().as_bytes()).map_err(described)
    }
}

// === impl Profile ===

impl Profile {
    /// Returns whether the secret is the refresh token of a person.
    pub(crate) fn is_person(&self) -> bool {
        self.auth.as_deref() == Some(PERSON)
    }

    fn members(&self) -> [(&'static str, Option<&str>); 6] {
        [
            ("api_url", self.api_url.as_deref()),
            ("client_id", self.client_id.as_deref()),
            (
                "client_secret",
                self.client_secret.as_ref().map(Secret::expose),
            ),
            ("login_id", self.login_id.as_deref()),
            ("auth", self.auth.as_deref()),
            ("web_url", self.web_url.as_deref()),
        ]
    }
}

/// Checks that a profile name can be part of a file name.
pub(crate) fn check_name(name: &str) -> Result<(), Failure> {
    let is_fine = (1..=64).contains(&name.len())
        && !name.starts_with(['.', '-'])
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    if is_fine {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "invalid profile name {name:?}: use up to 64 letters, digits, '.', '_' and '-', beginning \
         with none of '.' and '-'"
    )))
}

enum Unreadable {
    Absent,
    Because(String),
}

fn text_of(path: &Path) -> Result<String, Unreadable> {
    let because = |reason: &dyn std::fmt::Display| {
        Unreadable::Because(format!("{}: {reason}", path.display()))
    };
    let meta = fs::metadata(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => Unreadable::Absent,
        _ => because(&error),
    })?;
    if meta.is_dir() {
        return Err(because(&"is a directory"));
    }
    if meta.len() > MAX_BYTES {
        return Err(because(&"is larger than 1 MiB"));
    }
    let bytes = fs::read(path).map_err(|error| because(&error))?;
    String::from_utf8(bytes).map_err(|_| because(&"is not UTF-8"))
}

fn content(path: &Path, text: Option<&str>) -> Result<Content, Failure> {
    let Some(text) = text else {
        return Ok(Content::default());
    };
    read::content(text)
        .map_err(|reason| Failure::config(format!("config: parse {}: {reason}", path.display())))
}

#[cfg(test)]
mod tests;
