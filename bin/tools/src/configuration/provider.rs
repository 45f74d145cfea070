//! Shared parts of the sections about providers.

use std::{collections::HashMap, time::Duration};

use ziggurat_llm::{ModelSource, Provider};
use ziggurat_runtime::{
    Secret,
    config::{Section, Value},
    file,
};

/// Maximum size of a key file, larger than any key.
const MAX_BYTES: u64 = 64 << 10;

/// API keys and base URLs of the providers of a section.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Access {
    /// API keys; the one of `OpenAI` may be for a compatible server.
    pub(crate) keys: HashMap<Provider, Secret>,
    /// Base URL of Ollama, and of others if not the default.
    pub(crate) urls: HashMap<Provider, String>,
}

// === impl Access ===

impl Access {
    /// Reads the keys and the variables that begin with the prefixes. `openai_url` is the rest of the
    /// variable with the base URL of `OpenAI`, which is not the same everywhere.
    pub(super) fn read(
        file: &Section<'_>,
        hosted: [Provider; 3],
        prefixes: (&str, &str),
        openai_url: &str,
    ) -> Self {
        let (mut keys, mut urls) = (HashMap::new(), HashMap::new());
        let ollama = url(&prefixed(file, prefixes, "ollama_url", "OLLAMA_URL"));
        let ollama = ollama.unwrap_or_else(|| Provider::Ollama.base_url().to_owned());
        urls.insert(Provider::Ollama, ollama);
        for provider in hosted {
            let secret = api_key(file, prefixes, provider.name());
            keys.extend(secret.map(|secret| (provider, secret)));
            let key = format!("{}_base_url", provider.name());
            let variable = match provider {
                Provider::OpenAi => openai_url,
                _ => &key.to_uppercase(),
            };
            let url = url(&prefixed(file, prefixes, &key, variable));
            urls.extend(url.map(|url| (provider, url)));
        }
        Self { keys, urls }
    }
}

/// Returns a key and its variable, with their prefixes.
pub(super) fn prefixed<'a>(
    file: &Section<'a>,
    (keys, variables): (&str, &str),
    key: &str,
    variable: &str,
) -> Value<'a> {
    let key = file.key(&format!("{keys}{key}"));
    key.var(&format!("{variables}{variable}"))
}

/// Reads a secret: the first of these variables that is set, or the file that `<key>_file` names,
/// or the value.
pub(super) fn secret(file: &Section<'_>, key: &str, names: &[&str]) -> Option<Secret> {
    let (direct, path_key) = (file.key(key), file.key(&format!("{key}_file")));
    // All variables are read, so that none is reported as unknown.
    let values: Vec<_> = names.iter().map(|name| file.variable(name)).collect();
    if let Some(secret) = values.into_iter().flatten().next() {
        return Some(secret.into());
    }
    if let Some(path) = path_key.path() {
        let reason = match file::text(&path, MAX_BYTES) {
            Ok(text) if text.trim().is_empty() => "it is empty".to_owned(),
            Ok(text) => return Some(Secret::from(text.trim())),
            Err(error) => error.to_string(),
        };
        let path = path.display();
        file.warn(format!("no key in {path}, named by {path_key}: {reason}"));
    }
    direct.secret()
}

/// Reads the API key of a provider. Its key and its variable begin with the prefixes; the variable
/// without a prefix is the provider's own.
fn api_key(file: &Section<'_>, (keys, variables): (&str, &str), provider: &str) -> Option<Secret> {
    let own = format!("{}_API_KEY", provider.to_uppercase());
    let names = [&*format!("{variables}{own}"), &*own];
    secret(file, &format!("{keys}{provider}_api_key"), &names)
}

/// Finds the source with a name: Ollama, another provider, or one of the server's own. An unknown
/// name is a problem.
pub(super) fn choice(
    value: &Value<'_>,
    hosted: [Provider; 3],
    own: &[ModelSource],
) -> Option<ModelSource> {
    let known = hosted.into_iter().chain([Provider::Ollama]);
    let known = known.map(ModelSource::Provider).chain(own.iter().copied());
    value.parsed(|name| {
        known
            .clone()
            .find(|known| known.name() == name)
            .ok_or_else(|| {
                let names: Vec<_> = known.map(ModelSource::name).collect();
                format!("'{name}' is none of {}", names.join(", "))
            })
    })
}

/// Reads the base URL of a provider, without the slash at its end.
fn url(value: &Value<'_>) -> Option<String> {
    value.parsed(|text| {
        let is_url = text.parse::<http::Uri>().is_ok_and(|uri| {
            matches!(uri.scheme_str(), Some("http" | "https")) && uri.query().is_none()
        });
        // The error does not show the text, because it may contain a password.
        let problem = "is not an http:// or https:// URL";
        let url = text.trim_end_matches('/').to_owned();
        is_url.then_some(url).ok_or(problem)
    })
}

/// Reads the timeout of an attempt.
pub(super) fn attempt_timeout(file: &Section<'_>) -> Duration {
    let timeout = file.key("per_attempt_timeout").time();
    timeout.unwrap_or(Duration::from_mins(1))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use ziggurat_runtime::{config::Input, flags::Flags};

    use super::*;
    use crate::configuration::fixture::{secrets, sources};

    const NAMES: &[&str] = &["ZIGGURAT_OTHER_KEY", "OTHER_KEY"];

    #[test]
    fn a_key_is_taken_from_the_first_place_that_has_one() {
        let home = tempfile::tempdir().expect("a folder");
        fs::write(home.path().join("key"), "  from the file\n").expect("written");
        fs::write(home.path().join("empty"), "\n").expect("written");
        let config = home.path().join("config");
        let home = home.path().to_str().expect("a path");
        for (variable, file, direct, expected, warnings) in [
            ("from outside", "~/key", "direct", Some("from outside"), 0),
            ("", "~/key", "direct", Some("from the file"), 0),
            ("", "~/empty", "direct", Some("direct"), 1),
            ("", "~/missing", "direct", Some("direct"), 1),
            ("", "", "direct", Some("direct"), 0),
            ("", "~/missing", "", None, 1),
        ] {
            let sources = sources(&[("OTHER_KEY", variable), ("HOME", home)]);
            let text = format!("other_key: '{direct}'\nother_key_file: '{file}'");
            fs::write(&config, text).expect("written");
            let flags = Flags::default();
            let input = Input::new(&sources, &flags);
            let found = input.load(Some(&config), |file| secret(file, "other_key", NAMES));
            let found = found.expect("good");
            assert_eq!(
                secrets(found.value.as_ref()),
                expected,
                "{variable} {file} {direct}"
            );
            assert_eq!(found.warnings.len(), warnings, "{file}");
        }
    }

    #[test]
    fn the_variable_of_ziggurat_comes_before_that_of_the_provider() {
        let sources = sources(&[("ZIGGURAT_OTHER_KEY", "ours"), ("OTHER_KEY", "theirs")]);
        let flags = Flags::default();
        let found =
            Input::new(&sources, &flags).load(None, |file| secret(file, "other_key", NAMES));
        let found = found.expect("good").value;
        assert_eq!(secrets(found.as_ref()), Some("ours"));
    }
}
