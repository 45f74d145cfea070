//! The signature algorithms.

/// A signature algorithm (RFC 7518, RFC 8037). All others, HMAC and `none` among them, are unknown.
///
/// ```
/// use ziggurat_layers::access_token::{Algorithm, Rules};
///
/// let rules = Rules::new("https://accounts.example", ["https://api.example"])?
///     .with_algorithms([Algorithm::Es256, Algorithm::EdDsa]);
/// # let _ = rules;
/// # Ok::<_, ziggurat_layers::access_token::InvalidRules>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// RSA with PKCS #1 v1.5 padding and SHA-256.
    Rs256,
    /// RSA with PSS padding and SHA-256.
    Ps256,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// ECDSA on P-384 with SHA-384.
    Es384,
    /// Ed25519.
    EdDsa,
}

impl Algorithm {
    pub(super) const ALL: [Self; 5] = [
        Self::Rs256,
        Self::Ps256,
        Self::Es256,
        Self::Es384,
        Self::EdDsa,
    ];

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }

    /// The name in the header of a token.
    ///
    /// ```
    /// use ziggurat_layers::access_token::Algorithm;
    ///
    /// assert_eq!(Algorithm::EdDsa.name(), "EdDSA");
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Ps256 => "PS256",
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::EdDsa => "EdDSA",
        }
    }
}
