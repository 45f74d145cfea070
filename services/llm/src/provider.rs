//! The supported providers.

/// A provider of models, reached over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Provider {
    /// Anthropic: completions.
    Anthropic,
    /// `OpenAI` and compatible servers: completions and vectors.
    OpenAi,
    /// Gemini: completions and vectors.
    Gemini,
    /// Voyage: vectors and reranking.
    Voyage,
    /// Ollama: completions and vectors, on the operator's own machine.
    Ollama,
}

// === impl Provider ===

impl Provider {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Anthropic,
        Self::OpenAi,
        Self::Gemini,
        Self::Voyage,
        Self::Ollama,
    ];

    /// Finds a provider by its name, ignoring case.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|provider| provider.name().eq_ignore_ascii_case(name))
    }

    /// Returns the name in configuration files and responses.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::Gemini => "gemini",
            Self::Voyage => "voyage",
            Self::Ollama => "ollama",
        }
    }

    /// Returns the name in messages.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Anthropic => "Anthropic",
            Self::OpenAi => "OpenAI",
            Self::Gemini => "Gemini",
            Self::Voyage => "Voyage",
            Self::Ollama => "Ollama",
        }
    }

    /// Returns its default base URL.
    ///
    /// For `OpenAI`, Anthropic and Voyage it includes the version, for the others it does not.
    #[must_use]
    pub const fn base_url(self) -> &'static str {
        match self {
            Self::Anthropic => "https://api.anthropic.com/v1",
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Gemini => "https://generativelanguage.googleapis.com",
            Self::Voyage => "https://api.voyageai.com/v1",
            Self::Ollama => "http://localhost:11434",
        }
    }

    /// Returns the default environment variable for its key; `None` if it takes no key.
    #[must_use]
    pub(crate) const fn key_variable(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("ANTHROPIC_API_KEY"),
            Self::OpenAi => Some("OPENAI_API_KEY"),
            Self::Gemini => Some("GEMINI_API_KEY"),
            Self::Voyage => Some("VOYAGE_API_KEY"),
            Self::Ollama => None,
        }
    }

    /// Returns the default file for its key in the home of the user; `None` if it takes no key.
    #[must_use]
    pub const fn key_file(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some(".anthropic-api-key"),
            Self::OpenAi => Some(".openai-api-key"),
            Self::Gemini => Some(".gemini-api-key"),
            Self::Voyage => Some(".voyage-api-key"),
            Self::Ollama => None,
        }
    }

    /// Returns whether it makes vectors of texts.
    #[must_use]
    pub const fn embeds(self) -> bool {
        !matches!(self, Self::Anthropic)
    }

    /// Returns whether it completes prompts.
    #[must_use]
    pub const fn completes(self) -> bool {
        !matches!(self, Self::Voyage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_is_found_by_its_name_in_upper_or_lower_case() {
        for provider in Provider::ALL {
            assert_eq!(Provider::find(provider.name()), Some(provider));
            assert_eq!(Provider::find(provider.title()), Some(provider));
        }
        assert_eq!(Provider::find("cohere"), None);
    }

    #[test]
    fn each_provider_supports_its_operations() {
        let does = |does: fn(Provider) -> bool| {
            Provider::ALL
                .into_iter()
                .filter(|provider| does(*provider))
                .map(Provider::name)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            does(Provider::embeds),
            ["openai", "gemini", "voyage", "ollama"]
        );
        assert_eq!(
            does(Provider::completes),
            ["anthropic", "openai", "gemini", "ollama"]
        );
    }
}
