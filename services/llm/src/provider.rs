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
    /// Cohere: reranking.
    Cohere,
    /// Jina: reranking.
    Jina,
    /// Text Embeddings Inference: reranking, on a machine of the operator.
    Tei,
}

/// The origin of vectors, answers or rankings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelSource {
    /// An external provider.
    Provider(Provider),
    /// A model in memory, from a folder.
    Static,
    /// The server itself, for trials without a provider.
    Local,
}

// === impl Provider ===

impl Provider {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Anthropic,
        Self::OpenAi,
        Self::Gemini,
        Self::Voyage,
        Self::Ollama,
        Self::Cohere,
        Self::Jina,
        Self::Tei,
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
            Self::Cohere => "cohere",
            Self::Jina => "jina",
            Self::Tei => "tei",
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
            Self::Cohere => "Cohere",
            Self::Jina => "Jina",
            Self::Tei => "TEI",
        }
    }

    /// Returns its default base URL.
    ///
    /// For `OpenAI`, Anthropic, Voyage, Cohere and Jina it includes the version, for the others it
    /// does not.
    #[must_use]
    pub const fn base_url(self) -> &'static str {
        match self {
            Self::Anthropic => "https://api.anthropic.com/v1",
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Gemini => "https://generativelanguage.googleapis.com",
            Self::Voyage => "https://api.voyageai.com/v1",
            Self::Ollama => "http://localhost:11434",
            Self::Cohere => "https://api.cohere.com/v2",
            Self::Jina => "https://api.jina.ai/v1",
            Self::Tei => "http://localhost:3000",
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
            Self::Cohere => Some("COHERE_API_KEY"),
            Self::Jina => Some("JINA_API_KEY"),
            Self::Ollama | Self::Tei => None,
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
            Self::Cohere => Some(".cohere-api-key"),
            Self::Jina => Some(".jina-api-key"),
            Self::Ollama | Self::Tei => None,
        }
    }

    /// Returns whether it makes vectors of texts.
    #[must_use]
    pub const fn embeds(self) -> bool {
        !matches!(
            self,
            Self::Anthropic | Self::Cohere | Self::Jina | Self::Tei
        )
    }

    /// Returns whether it completes prompts.
    #[must_use]
    pub const fn completes(self) -> bool {
        !self.reranks()
    }

    /// Returns whether it orders texts by their relevance.
    #[must_use]
    pub const fn reranks(self) -> bool {
        matches!(self, Self::Voyage | Self::Cohere | Self::Jina | Self::Tei)
    }
}

// === impl ModelSource ===

impl ModelSource {
    /// Finds a source by its name, ignoring case.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        let mut own = [Self::Static, Self::Local].into_iter();
        let own = own.find(|source| source.name().eq_ignore_ascii_case(name));
        own.or_else(|| Provider::find(name).map(Self::Provider))
    }

    /// Returns the name in configuration files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Provider(provider) => provider.name(),
            Self::Static => "static",
            Self::Local => "local",
        }
    }

    /// Returns whether the server answers itself, without a provider.
    #[must_use]
    pub fn is_local(self) -> bool {
        self == Self::Local
    }

    /// Returns whether it makes vectors of texts.
    #[must_use]
    pub const fn embeds(self) -> bool {
        match self {
            Self::Provider(provider) => provider.embeds(),
            Self::Static | Self::Local => true,
        }
    }

    /// Returns whether it completes prompts.
    #[must_use]
    pub const fn completes(self) -> bool {
        match self {
            Self::Provider(provider) => provider.completes(),
            Self::Static => false,
            Self::Local => true,
        }
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
        assert_eq!(Provider::find("mistral"), None);
    }

    #[test]
    fn a_source_is_a_provider_or_the_server_itself() {
        for (name, source, embeds, completes) in [
            ("Static", ModelSource::Static, true, false),
            ("local", ModelSource::Local, true, true),
            (
                "VOYAGE",
                ModelSource::Provider(Provider::Voyage),
                true,
                false,
            ),
            (
                "openai",
                ModelSource::Provider(Provider::OpenAi),
                true,
                true,
            ),
        ] {
            assert_eq!(ModelSource::find(name), Some(source));
            assert!(name.eq_ignore_ascii_case(source.name()));
            assert_eq!((source.embeds(), source.completes()), (embeds, completes));
        }
        assert_eq!(ModelSource::find("mistral"), None);
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
        assert_eq!(does(Provider::reranks), ["voyage", "cohere", "jina", "tei"]);
    }
}
