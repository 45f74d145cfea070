//! The APIs of the providers.

/// The API of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "they are called what they are")]
pub enum Api {
    Anthropic,
    Gemini,
    Ollama,
    OpenAi,
    Voyage,
    Cohere,
    Jina,
    Tei,
}

// === impl Api ===

impl Api {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Anthropic,
        Self::Gemini,
        Self::Ollama,
        Self::OpenAi,
        Self::Voyage,
        Self::Cohere,
        Self::Jina,
        Self::Tei,
    ];

    /// The provider's name in lower case, as in configuration files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
            Self::OpenAi => "openai",
            Self::Voyage => "voyage",
            Self::Cohere => "cohere",
            Self::Jina => "jina",
            Self::Tei => "tei",
        }
    }

    /// The end of its usual base URL.
    pub(crate) const fn version(self) -> &'static str {
        match self {
            Self::Anthropic | Self::OpenAi | Self::Voyage | Self::Jina => "/v1",
            Self::Cohere => "/v2",
            Self::Gemini | Self::Ollama | Self::Tei => "",
        }
    }

    /// Splits a path into its provider and the rest.
    pub(crate) fn of(path: &str) -> Option<(Self, &str)> {
        let (name, rest) = path.strip_prefix('/')?.split_once('/')?;
        let api = Self::ALL.into_iter().find(|api| api.name() == name)?;
        Some((api, rest))
    }
}
