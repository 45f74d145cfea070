//! Setup of the language models behind `/api/llm` from the configuration.

use anyhow::Context as _;
use ziggurat_chat_api::llm::Proxy;
use ziggurat_llm::{Access, Completer, Http, ModelSource, Provider, Timeouts};

use crate::{
    configuration::{HOSTED, Llm},
    providers::Providers,
};

/// End of the base URLs of two providers, which the configuration may leave out.
const VERSION: &str = "/v1";

/// Prepares every provider with an API key or a base URL; connects to nothing.
pub(crate) fn open(llm: &Llm, providers: &Providers) -> Option<Proxy> {
    if !llm.is_enabled {
        return None;
    }
    let mut proxy = Proxy::new(llm.provider.name(), llm.model.clone())
        .with_max_tokens(llm.max_tokens)
        .with_temperature(llm.temperature);
    for (provider, access) in reachable(llm) {
        let http = providers.http_client(provider, &access);
        let completer = http.and_then(|http| Ok(Completer::new(http, &llm.model)?));
        match completer {
            Ok(completer) => proxy = proxy.with_provider(completer),
            Err(error) => {
                let (provider, reason) = (provider.name(), format!("{error:#}"));
                tracing::error!(provider, reason, "a language model cannot be used");
            }
        }
    }
    if llm.provider == ModelSource::Local {
        proxy = proxy.with_provider(Completer::local());
    }
    Some(proxy)
}

/// Prepares the provider of the model that is used by default, if it is enabled and a server.
pub(crate) fn chosen(llm: &Llm, providers: &Providers) -> Option<anyhow::Result<Http>> {
    if !llm.is_enabled || llm.provider == ModelSource::Local {
        return None;
    }
    let name = llm.provider.name();
    let mut reachable = reachable(llm).into_iter();
    let found = reachable.find(|(provider, _)| provider.name() == name);
    let found = found.with_context(|| format!("there is no API key for {name}"));
    Some(found.and_then(|(provider, access)| providers.http_client(provider, &access)))
}

/// Lists the providers with an API key or a base URL, in a fixed order.
fn reachable(llm: &Llm) -> Vec<(Provider, Access)> {
    let mut reachable = Vec::new();
    for provider in HOSTED.into_iter().chain([Provider::Ollama]) {
        let key = llm.access.keys.get(&provider).cloned();
        let url = llm.access.urls.get(&provider);
        // Ollama and servers that are compatible with OpenAI may need no key.
        let may_lack_key = matches!(provider, Provider::OpenAi | Provider::Ollama);
        if key.is_none() && !(may_lack_key && url.is_some()) {
            continue;
        }
        let has_version = matches!(provider, Provider::Anthropic | Provider::OpenAi);
        let access = Access {
            base_url: url.map(|url| {
                if has_version {
                    versioned(url)
                } else {
                    url.clone()
                }
            }),
            key: key.map(Into::into),
            timeouts: Timeouts {
                attempt: Some(llm.per_attempt_timeout),
                ..Timeouts::default()
            },
            ..Access::default()
        };
        reachable.push((provider, access));
    }
    reachable
}

/// Appends the version to a URL that lacks it.
fn versioned(url: &str) -> String {
    if url.ends_with(VERSION) {
        return url.to_owned();
    }
    format!("{url}{VERSION}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_may_include_the_version() {
        for url in ["http://a:1", "http://a:1/v1"] {
            assert_eq!(versioned(url), "http://a:1/v1");
        }
        assert_eq!(versioned("http://a/b"), "http://a/b/v1");
    }

    #[test]
    fn providers_with_a_key_or_a_base_url_are_reachable() {
        let names = |llm: &Llm| {
            let reachable = reachable(llm).into_iter();
            reachable
                .map(|(provider, _)| provider.name())
                .collect::<Vec<_>>()
        };
        let mut llm = Llm::default();
        assert_eq!(names(&llm), ["ollama"]);
        let urls = &mut llm.access.urls;
        urls.insert(Provider::OpenAi, "http://a".to_owned());
        assert_eq!(names(&llm), ["openai", "ollama"]);
        for provider in [Provider::Gemini, Provider::Anthropic] {
            llm.access.keys.insert(provider, "key".into());
        }
        assert_eq!(names(&llm), ["anthropic", "openai", "gemini", "ollama"]);
    }

    #[test]
    fn nothing_is_opened_that_is_not_enabled() {
        assert!(open(&Llm::default(), &Providers::default()).is_none());
    }
}
