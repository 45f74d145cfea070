//! Labels of metrics, and the values that each may have.
//!
//! Every label has a bounded set of values, so that clients cannot make series. Callers are never
//! labels, only their kind.

use crate::known::Set;

/// A label of a metric.
#[derive(Debug)]
pub(crate) struct Label {
    pub(crate) name: &'static str,
    pub(crate) values: Values,
}

/// Values of a label. Any other value is counted as `other`.
#[derive(Debug)]
pub(crate) enum Values {
    /// The same values in every program.
    Fixed(&'static [&'static str]),
    /// The names that a program has configured.
    Known(Set),
    /// One value, which the build decides.
    Build,
}

const fn known(name: &'static str, set: Set) -> Label {
    Label {
        name,
        values: Values::Known(set),
    }
}

const fn fixed(name: &'static str, values: &'static [&'static str]) -> Label {
    Label {
        name,
        values: Values::Fixed(values),
    }
}

pub(crate) static METHOD: Label = known("method", Set::Methods);
pub(crate) static TOOL: Label = known("tool", Set::Tools);
pub(crate) static DATABASE: Label = known("database", Set::Databases);
pub(crate) static PIPELINE: Label = known("pipeline", Set::Pipelines);
pub(crate) static PROVIDER: Label = known("provider", Set::Providers);
pub(crate) static ENDPOINT: Label = known("endpoint", Set::Endpoints);

/// Ends of a call, as in the audit trail.
pub(crate) static VERDICT: Label = fixed(
    "verdict",
    &[
        "ok",
        "error",
        "refused",
        "unknown",
        "denied",
        "limited",
        "asked",
        "cancelled",
        "timeout",
        "failed",
        "lost",
    ],
);

pub(crate) static CALLER_KIND: Label = fixed(
    "caller_kind",
    &["token", "user", "client", "local", "anonymous"],
);
pub(crate) static POOL_STATE: Label = fixed("state", &["idle", "busy"]);
pub(crate) static STATUS_CLASS: Label = fixed("status", &["1xx", "2xx", "3xx", "4xx", "5xx"]);
pub(crate) static REASON: Label = fixed("reason", &["token", "limit", "origin", "host", "size"]);

/// Limits of callers by the names of their keys; `requests` is the limit of a client address,
/// `logins` the limit on failed logins.
pub(crate) static LIMIT: Label = fixed(
    "limit",
    &[
        "calls",
        "concurrent",
        "rows_per_day",
        "bytes_per_day",
        "max_cost",
        "max_changed_rows",
        "requests",
        "logins",
    ],
);

pub(crate) static RELOAD_RESULT: Label = fixed("result", &["ok", "failed"]);
pub(crate) static TOKEN_RESULT: Label = fixed("result", &["ok", "refused", "limited", "failed"]);
pub(crate) static GRANT_TYPE: Label = fixed(
    "grant_type",
    &[
        "authorization_code",
        "refresh_token",
        "client_credentials",
        "device_code",
        "jwt-bearer",
    ],
);
pub(crate) static SIGN_IN_WAY: Label = fixed(
    "way",
    &["password", "second_factor", "upstream", "assertion"],
);
pub(crate) static SIGN_IN_RESULT: Label = fixed("result", &["ok", "failed", "locked"]);
pub(crate) static PROVIDER_KIND: Label = fixed("kind", &["completion", "embedding", "rerank"]);
pub(crate) static OUTCOME: Label = fixed("outcome", &["ok", "error", "timeout", "cancelled"]);
pub(crate) static DIRECTION: Label = fixed("direction", &["input", "output"]);

pub(crate) static STAGE: Label = fixed("stage", &["embed", "vector", "keyword", "rerank", "model"]);

pub(crate) static ACCOUNT_KIND: Label = fixed("kind", &["tenant", "user", "client", "invite"]);

pub(crate) static GRANT_KIND: Label = fixed("kind", &["code", "device", "assertion", "console"]);

pub(crate) static PROGRAM: Label = Label {
    name: "program",
    values: Values::Build,
};

pub(crate) static VERSION: Label = Label {
    name: "version",
    values: Values::Build,
};
