//! The flags of `-prove`.

use std::path::PathBuf;

use ziggurat_runtime::{
    Secret,
    flags::{Flag, Flags},
};
use ziggurat_tokens::{Claims, NewClaims};

use crate::arguments::{
    CallerName, Refusal,
    command::{claims, named_caller},
};

/// The group of `-help`.
pub(super) const PROVE: &[Flag] = &[
    Flag::switch(
        "prove",
        "Ask the server as -as, and report what depends on rows of -against; exits with 0, with 3 for \
         errors, with 4 if only some tables could not be tried",
    ),
    Flag::text(
        "against",
        "caller",
        "With -prove: the other caller, in the forms of -as",
    ),
    Flag::text(
        "as-claim",
        "name=value",
        "With -prove: a claim of the client that -as names; repeat for more",
    ),
    Flag::text(
        "against-claim",
        "name=value",
        "With -prove: a claim of the client that -against names; repeat for more",
    ),
    Flag::text(
        "copy",
        "url",
        "With -prove: an empty copy of the database with the mark ziggurat.throw_away, for rows of \
         both callers; connects as its owner",
    ),
    Flag::path(
        "canaries",
        "file",
        "With -prove: values that only -against may see, one a line; nothing is written",
    ),
    Flag::text(
        "database",
        "name",
        "With -prove: the database in the configuration (default: the first one)",
    ),
    Flag::path(
        "rag",
        "file",
        "With -prove: a configuration of ziggurat-rag; its pipelines that read the database are asked, \
         too",
    ),
    Flag::path(
        "sarif",
        "file",
        "With -prove: also write the findings to this file, as SARIF 2.1.0",
    ),
];

/// Options of the command line for a proof.
#[derive(Debug)]
pub(crate) struct ProveOptions {
    /// The one who asks.
    pub(crate) caller: ProvedCaller,
    /// The one with other rows.
    pub(crate) other: ProvedCaller,
    pub(crate) target: ProveTarget,
    pub(crate) database: Option<String>,
    /// A configuration with pipelines to ask.
    pub(crate) rag: Option<PathBuf>,
    pub(crate) sarif: Option<PathBuf>,
}

/// A caller of a proof.
#[derive(Debug)]
pub(crate) struct ProvedCaller {
    pub(crate) name: CallerName,
    /// Claims of a client.
    pub(crate) claims: Claims,
}

/// The rows that a proof is about.
#[derive(Debug)]
pub(crate) enum ProveTarget {
    /// Planted rows in the database of this URL.
    Copy(Secret),
    /// The rows that are there, with the values of this file.
    Canaries(PathBuf),
}

// === impl ProveOptions ===

impl ProveOptions {
    /// Reads the flags.
    ///
    /// # Errors
    /// Fails if one is missing, and if both are about the same caller.
    pub(super) fn of_flags(flags: &Flags) -> Result<Self, Refusal> {
        let target = match (flags.text("copy"), flags.path("canaries")) {
            (Some(url), None) => ProveTarget::Copy(Secret::from(url.to_owned())),
            (None, Some(path)) => ProveTarget::Canaries(path),
            (Some(_), Some(_)) => {
                return Err(Refusal::conflict("-copy and -canaries exclude each other"));
            }
            (None, None) => return Err(Refusal::conflict("-prove needs -copy or -canaries")),
        };
        let [caller, other] = [
            ProvedCaller::of_flags(flags, "as", "as-claim")?,
            ProvedCaller::of_flags(flags, "against", "against-claim")?,
        ];
        let words = |flag| flags.texts(flag).collect::<Vec<_>>();
        if caller.name == other.name && words("as-claim") == words("against-claim") {
            return Err(Refusal::conflict("-as and -against name the same caller"));
        }
        Ok(Self {
            caller,
            other,
            target,
            database: flags.owned("database"),
            rag: flags.path("rag"),
            sarif: flags.path("sarif"),
        })
    }
}

// === impl ProvedCaller ===

impl ProvedCaller {
    fn of_flags(flags: &Flags, flag: &str, claim_flag: &str) -> Result<Self, Refusal> {
        let missing = || Refusal::conflict(format!("-prove needs -{flag} <caller>"));
        let name = named_caller(flags, flag)?.ok_or_else(missing)?;
        if flags.is_given(claim_flag) && !matches!(name, CallerName::Client(..)) {
            let message = format!("-{claim_flag} goes with -{flag} client:ID");
            return Err(Refusal::conflict(message));
        }
        let claims = claims(flags, claim_flag, NewClaims::into_claims)?;
        Ok(Self { name, claims })
    }
}
