//! Where the key of a provider is found.

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use secrecy::SecretString;
use thiserror::Error;

use super::Provider;

/// No key is as long as this.
const MAX_BYTES: u64 = 64 << 10;

/// The key of a provider, and where it was.
#[derive(Clone, Debug)]
pub struct Key {
    /// The key.
    pub secret: SecretString,
    /// The file it was in, if it was in one: to be watched for another key.
    pub file: Option<PathBuf>,
}

/// Why there is no key. For the operator: paths are in it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The file that was configured is not there.
    #[error("{} API key file not found: {}", .0.title(), .1.display())]
    NotFound(Provider, PathBuf),
    /// It cannot be read.
    #[error("failed to read {} API key", .0.title())]
    Unreadable(Provider, #[source] io::Error),
    /// There is nothing in it.
    #[error("{} API key file is empty: {}", .0.title(), .1.display())]
    Empty(Provider, PathBuf),
    /// It is nowhere.
    #[error(
        "{} API key not found: set {variable} environment variable or create {}",
        .provider.title(), .file.display()
    )]
    Nowhere {
        /// Whose key it is.
        provider: Provider,
        /// The variable it could be in.
        variable: &'static str,
        /// The file it could be in.
        file: PathBuf,
    },
}

/// Looks for a key: in the file that is configured, and only there; otherwise in the
/// environment, then in the usual file in the home of the user.
///
/// A provider that takes no key has none, and that is no error.
///
/// # Errors
/// Fails if there is none.
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

/// Reads a key from its file, without the white space around it.
///
/// # Errors
/// Fails if there is none in it.
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

/// A path with `~` for the home of the user.
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
    fn a_key_that_is_nowhere_is_missed_with_the_places_it_could_be_in() {
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
    fn a_key_does_not_show() {
        let key = find(Provider::Voyage, None, |_| Some("swordfish"), None);
        let shown = format!("{:?}", key.expect("found"));
        assert!(!shown.contains("swordfish"), "{shown}");
    }
}
