//! Recording of metrics by the parts of a program.

use std::{fmt, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use http::StatusCode;

use crate::{
    known::{Known, Names},
    label,
    recorded::RecordedParts,
    sources::{AccountCount, AuditCounts, GrantCount, IdleCount, Sources, SyncCount},
    table::Program,
};

/// The metrics of a program. Clones share them.
///
/// Off, every method is one test and does nothing. Names that are not known are counted as `other`;
/// an empty name is a label that does not apply.
#[derive(Clone, Default)]
pub struct Metrics(Option<Arc<State>>);

/// A call that has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndedCall<'a> {
    /// The method, such as `tools/call`.
    pub method: &'a str,
    /// The tool, if the method has one.
    pub tool: &'a str,
    /// The database, if the call has reached one.
    pub database: &'a str,
    /// The end of the call in the words of the audit trail: `ok`, `error`, `refused`, `unknown`,
    /// `denied`, `limited`, `asked`, `cancelled`, `timeout`, `failed` or `lost`.
    pub verdict: &'a str,
    /// The kind of the caller: `token`, `user`, `client` or `local`.
    pub caller_kind: &'a str,
    /// Time from the arrival of the call to its end.
    pub duration: Duration,
    /// Bytes of the result that were sent to the caller.
    pub bytes: u64,
}

/// Everything that the page is made from.
pub(crate) struct State {
    pub(crate) program: Program,
    pub(crate) version: String,
    pub(crate) names: ArcSwap<Names>,
    pub(crate) recorded: RecordedParts,
    pub(crate) sources: Sources,
}

// === impl Metrics ===

impl Metrics {
    /// Returns metrics that record nothing.
    #[must_use]
    pub const fn off() -> Self {
        Self(None)
    }

    /// Starts the metrics of a program, with the names that have series of their own.
    #[must_use]
    pub fn new(program: Program, version: impl Into<String>, known: &Known) -> Self {
        let metrics = Self(Some(Arc::new(State {
            program,
            version: version.into(),
            names: ArcSwap::default(),
            recorded: RecordedParts::default(),
            sources: Sources::default(),
        })));
        metrics.learn(known);
        metrics
    }

    /// Returns whether anything is recorded. Code that would read a clock only for a metric asks.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) const fn state(&self) -> Option<&Arc<State>> {
        self.0.as_ref()
    }

    /// Adds names after a reload. Those that are gone keep their series, because counters must not
    /// go back.
    pub fn learn(&self, known: &Known) {
        if let Some(shared) = &self.0 {
            shared.names.rcu(|names| {
                let mut names = Names::clone(names);
                names.add(known);
                names
            });
            shared.recorded.first().make(&shared.names.load());
        }
    }
}

/// Recording.
impl Metrics {
    /// Records the end of a call.
    pub fn call_ended(&self, call: &EndedCall<'_>) {
        let Some(shared) = &self.0 else { return };
        let (names, recorded) = (shared.names.load(), shared.recorded.mine());
        let method = names.id(&label::METHOD, call.method);
        let tool = names.id(&label::TOOL, call.tool);
        let database = names.id(&label::DATABASE, call.database);
        let verdict = names.id(&label::VERDICT, call.verdict);
        let caller_kind = names.id(&label::CALLER_KIND, call.caller_kind);
        let calls = recorded.calls.at(method).at(tool).at(database);
        calls.at(verdict).at(caller_kind).add(1);
        let durations = recorded.call_duration.at(method).at(tool);
        durations.observe(call.duration);
        if call.bytes > 0 {
            recorded.result_bytes.at(database).add(call.bytes);
        }
    }

    /// Records a request that was answered.
    pub fn http_request(&self, endpoint: &str, status: StatusCode) {
        let Some(shared) = &self.0 else { return };
        let names = shared.names.load();
        let endpoint = names.id(&label::ENDPOINT, endpoint);
        let class = names.id(&label::STATUS_CLASS, class(status));
        shared
            .recorded
            .mine()
            .http_requests
            .at(endpoint)
            .at(class)
            .add(1);
    }

    /// Records a request that was refused for its `token`, `limit`, `origin`, `host` or `size`.
    pub fn refused(&self, reason: &str) {
        let Some(shared) = &self.0 else { return };
        let reason = shared.names.load().id(&label::REASON, reason);
        shared.recorded.mine().refused.at(reason).add(1);
    }

    /// Records that a limit was reached: a limit of a caller by its key, such as `calls`, the limit
    /// on `requests` of an address, or the limit on failed `logins`.
    pub fn limit_reached(&self, limit: &str) {
        let Some(shared) = &self.0 else { return };
        let limit = shared.names.load().id(&label::LIMIT, limit);
        shared.recorded.mine().limits_reached.at(limit).add(1);
    }

    /// Records a reload of the configuration, `ok` or `failed`.
    pub fn reload(&self, result: &str) {
        let Some(shared) = &self.0 else { return };
        let result = shared.names.load().id(&label::RELOAD_RESULT, result);
        shared.recorded.mine().reloads.at(result).add(1);
    }

    /// Records a request to a provider. `kind` is `completion`, `embedding` or `rerank`; `outcome`
    /// is `ok`, `error`, `timeout` or `cancelled`.
    pub fn provider(&self, provider: &str, kind: &str, outcome: &str, duration: Duration) {
        let Some(shared) = &self.0 else { return };
        let names = shared.names.load();
        let provider = names.id(&label::PROVIDER, provider);
        let kind = names.id(&label::PROVIDER_KIND, kind);
        let outcome = names.id(&label::OUTCOME, outcome);
        let durations = shared
            .recorded
            .mine()
            .provider
            .at(provider)
            .at(kind)
            .at(outcome);
        durations.observe(duration);
    }

    /// Records the tokens of a request to a provider.
    pub fn tokens(&self, provider: &str, input: u64, output: u64) {
        let Some(shared) = &self.0 else { return };
        let names = shared.names.load();
        let provider = names.id(&label::PROVIDER, provider);
        let tokens = shared.recorded.mine().provider_tokens.at(provider);
        for (direction, count) in [("input", input), ("output", output)] {
            tokens.at(names.id(&label::DIRECTION, direction)).add(count);
        }
    }

    /// Records a stage of a question: `embed`, `vector`, `keyword`, `rerank` or `model`.
    pub fn pipeline(&self, pipeline: &str, stage: &str, duration: Duration) {
        let Some(shared) = &self.0 else { return };
        let names = shared.names.load();
        let pipeline = names.id(&label::PIPELINE, pipeline);
        let stage = names.id(&label::STAGE, stage);
        shared
            .recorded
            .mine()
            .pipeline
            .at(pipeline)
            .at(stage)
            .observe(duration);
    }

    /// Records a request for an access token. The result is `ok`, `refused`, `limited` or `failed`.
    pub fn token_issued(&self, grant_type: &str, result: &str) {
        let Some(shared) = &self.0 else { return };
        let names = shared.names.load();
        let grant_type = names.id(&label::GRANT_TYPE, grant_type);
        let result = names.id(&label::TOKEN_RESULT, result);
        let tokens = &shared.recorded.mine().tokens_issued;
        tokens.at(grant_type).at(result).add(1);
    }

    /// Records the sign-in of a person with a browser. The result is `ok`, `failed` or `locked`.
    pub fn sign_in(&self, way: &str, result: &str) {
        let Some(shared) = &self.0 else { return };
        let names = shared.names.load();
        let way = names.id(&label::SIGN_IN_WAY, way);
        let result = names.id(&label::SIGN_IN_RESULT, result);
        shared.recorded.mine().sign_ins.at(way).at(result).add(1);
    }
}

/// Values that are read when the page is. The first function that is set for a value stays. It must
/// not block; if it takes a lock, calls may wait for that lock.
impl Metrics {
    /// Sets the function that counts the open connections of HTTP clients.
    pub fn read_http_connections(&self, read: impl Fn() -> u64 + Send + Sync + 'static) {
        if let Some(shared) = &self.0 {
            shared
                .sources
                .http_connections
                .get_or_init(|| Box::new(read));
        }
    }

    /// Sets the function that counts the open connections to each database that no call uses.
    pub fn read_idle_connections(&self, read: impl Fn() -> Vec<IdleCount> + Send + Sync + 'static) {
        if let Some(shared) = &self.0 {
            let source = &shared.sources.idle_connections;
            source.get_or_init(|| Box::new(read));
        }
    }

    /// Sets the function that reads the counts of the audit trail.
    pub fn read_audit(&self, read: impl Fn() -> AuditCounts + Send + Sync + 'static) {
        if let Some(shared) = &self.0 {
            shared.sources.audit.get_or_init(|| Box::new(read));
        }
    }

    /// Sets the function that counts the spans that were dropped.
    pub fn read_dropped_spans(&self, read: impl Fn() -> u64 + Send + Sync + 'static) {
        if let Some(shared) = &self.0 {
            shared.sources.dropped_spans.get_or_init(|| Box::new(read));
        }
    }

    /// Sets the function that counts the grants of people.
    pub fn read_grants(&self, read: impl Fn() -> Vec<GrantCount> + Send + Sync + 'static) {
        if let Some(shared) = &self.0 {
            shared.sources.grants.get_or_init(|| Box::new(read));
        }
    }

    /// Sets the function that counts the accounts.
    pub fn read_accounts(&self, read: impl Fn() -> Vec<AccountCount> + Send + Sync + 'static) {
        if let Some(shared) = &self.0 {
            shared.sources.accounts.get_or_init(|| Box::new(read));
        }
    }

    /// Sets the function that reads the queues of the tables that are kept in step.
    pub fn read_sync(&self, read: impl Fn() -> Vec<SyncCount> + Send + Sync + 'static) {
        if let Some(shared) = &self.0 {
            shared.sources.sync.get_or_init(|| Box::new(read));
        }
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Metrics").field(&self.0).finish()
    }
}

// === impl State ===

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State")
            .field("program", &self.program)
            .finish_non_exhaustive()
    }
}

fn class(status: StatusCode) -> &'static str {
    match status.as_u16() {
        100..200 => "1xx",
        200..300 => "2xx",
        300..400 => "3xx",
        400..500 => "4xx",
        500..600 => "5xx",
        _ => "other",
    }
}
