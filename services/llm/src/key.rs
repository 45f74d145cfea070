//! Finds the API key of a provider.

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use secrecy::SecretString;
use thiserror::Error;

use crate::Provider;

/// Maximum size of a key file.
const MAX_BYTES: u64 = 64 << 10;

/// The key of a provider, and its source.
#[derive(Clone, Debug)]
pub struct Key {
    /// The key.
    pub secret: SecretString,
    /// The file it was read from, if any, so that changes can be watched.
    pub file: Option<PathBuf>,
}

/// Reason why there is no key. For the operator: it contains paths.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The configured file does not exist.
    #[error("{} API key file not found: {}", .0.title(), .1.display())]
    NotFound(Provider, PathBuf),
    /// It cannot be read.
    #[error("failed to read {} API key", .0.title())]
    Unreadable(Provider, #[source] io::Error),
    /// The file is empty.
    #[error("{} API key file is empty: {}", .0.title(), .1.display())]
    Empty(Provider, PathBuf),
    /// No source has a key.
    #[error(
        "{} API key not found: set {variable} environment variable or create {}",
        .provider.title(), .file.display()
    )]
    Nowhere {
        /// The provider.
        provider: Provider,
        /// The environment variable for its key.
        variable: &'static str,
        /// The default file for its key.
        file: PathBuf,
    },
}

/// Finds a key: only in the configured file, if there is one; otherwise in the environment, then in
/// the default file in the home of the user.
///
/// A provider that takes no key gets `None`, which is not an error.
///
/// # Errors
/// Fails if there is no key.
pub fn find<'a>(
    provider: Provider,
    configured: Option<&Path>,
    environment: impl Fn(&str) -> Option<&'a str>,
    home: Option<&Path>,
) -> Result<Option<Key>, KeyError> {
    let (Some(variable), Some(usual)) = (provider.key_variable(), provider.key_file()) else {
        return Ok(None);
    };
    if let Some(path) = configured {
        let path = at_home(path, home);
        return read(provider, &path).map(Some);
    }
    let value = environment(variable).map(str::trim);
    if let Some(value) = value.filter(|value| !value.is_empty()) {
        return Ok(Some(Key {
            secret: value.into(),
            file: None,
        }));
    }
    let file = at_home(&Path::new("~").join(usual), home);
    match read(provider, &file) {
        Err(KeyError::NotFound(..)) => Err(KeyError::Nowhere {
            provider,
            variable,
            file,
        }),
        found => found.map(Some),
    }
}

/// Reads a key from its file, without surrounding white space.
///
/// # Errors
/// Fails if the file has none.
pub fn read(provider: Provider, path: &Path) -> Result<Key, KeyError> {
    let text = File::open(path)
        .and_then(|file| io::read_to_string(file.take(MAX_BYTES)))
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => KeyError::NotFound(provider, path.to_owned()),
            _ => KeyError::Unreadable(provider, error),
        })?;
    let key = text.trim();
    if key.is_empty() {
        return Err(KeyError::Empty(provider, path.to_owned()));
    }
    Ok(Key {
        secret: key.into(),
        file: Some(path.to_owned()),
    })
}

/// Replaces `~` in a path with the home of the user.
fn at_home(path: &Path, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use secrecy::ExposeSecret as _;

    use super::*;

    fn look(
        home: &Path,
        configured: Option<&str>,
        variable: Option<&'static str>,
    ) -> Result<String, String> {
        let environment = |name: &str| variable.filter(|_| name == "OPENAI_API_KEY");
        let configured = configured.map(Path::new);
        find(Provider::OpenAi, configured, environment, Some(home))
            .map(|key| key.expect("it takes one").secret.expose_secret().to_owned())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_that_is_configured_comes_first_and_nothing_comes_after_it() {
        let home = tempfile::tempdir().expect("a folder");
        let home = home.path();
        fs::write(home.join("key"), "  from the file\n").expect("written");
        fs::write(home.join("empty"), " \n").expect("written");
        fs::write(home.join(".openai-api-key"), "from home").expect("written");
        let found = |configured, variable| look(home, configured, variable);
        assert_eq!(
            found(Some("~/key"), Some("variable")).as_deref(),
            Ok("from the file")
        );
        assert_eq!(found(None, Some(" variable ")).as_deref(), Ok("variable"));
        assert_eq!(found(None, Some(" ")).as_deref(), Ok("from home"));
        assert_eq!(found(None, None).as_deref(), Ok("from home"));
        let missing = home.join("missing").display().to_string();
        assert_eq!(
            found(Some(&missing), Some("variable")),
            Err(format!("OpenAI API key file not found: {missing}"))
        );
        let empty = home.join("empty").display().to_string();
        assert_eq!(
            found(Some("~/empty"), Some("variable")),
            Err(format!("OpenAI API key file is empty: {empty}"))
        );
        let folder = home.display().to_string();
        assert_eq!(
            found(Some(&folder), Some("variable")),
            Err("failed to read OpenAI API key".to_owned())
        );
    }

    #[test]
    fn the_error_for_a_missing_key_names_its_possible_sources() {
        let home = tempfile::tempdir().expect("a folder");
        let file = home.path().join(".openai-api-key");
        assert_eq!(
            look(home.path(), None, None),
            Err(format!(
                "OpenAI API key not found: set OPENAI_API_KEY environment variable or create {}",
                file.display()
            ))
        );
    }

    #[test]
    fn a_provider_without_keys_needs_none() {
        let key = find(Provider::Ollama, None, |_| Some("x"), None);
        assert!(key.expect("no error").is_none());
    }

    #[test]
    fn a_key_is_not_in_debug_output() {
        let key = find(Provider::Voyage, None, |_| Some("swordfish"), None);
        let shown = format!("{:?}", key.expect("found"));
        assert!(!shown.contains("swordfish"), "{shown}");
    }
}
