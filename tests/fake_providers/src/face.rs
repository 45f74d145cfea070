//! Which provider is played.

/// A provider that is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "they are called what they are")]
pub enum Face {
    Anthropic,
    Gemini,
    Ollama,
    OpenAi,
    Voyage,
}

// === impl Face ===

impl Face {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Anthropic,
        Self::Gemini,
        Self::Ollama,
        Self::OpenAi,
        Self::Voyage,
    ];

    /// Its name in lower case, as in configuration files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
            Self::OpenAi => "openai",
            Self::Voyage => "voyage",
        }
    }

    /// What its usual address ends in.
    pub(crate) const fn version(self) -> &'static str {
        match self {
            Self::Anthropic | Self::OpenAi | Self::Voyage => "/v1",
            Self::Gemini | Self::Ollama => "",
        }
    }

    /// Whose path this is, and the rest of it.
    pub(crate) fn of(path: &str) -> Option<(Self, &str)> {
        let (name, rest) = path.strip_prefix('/')?.split_once('/')?;
        let face = Self::ALL.into_iter().find(|face| face.name() == name)?;
        Some((face, rest))
    }
}
