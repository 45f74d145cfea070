//! The metrics of the server.

use std::sync::LazyLock;

use serde_json::Value;
use ziggurat_audit::Trail;
use ziggurat_calls::mcp::METHODS;
use ziggurat_llm::Provider;
use ziggurat_mcp::Mcp;
use ziggurat_telemetry::{Known, Metrics, Program, Set};

use crate::{
    configuration::{Configuration, Entry},
    interface::{ENDPOINTS, VERSION},
};

/// Starts the metrics, if there is an address to read them at.
pub(crate) fn start(configuration: &Configuration, trail: Option<&Trail>) -> Metrics {
    if configuration.telemetry.metrics_address.is_none() {
        return Metrics::off();
    }
    let known = databases(&configuration.databases)
        .with(Set::Methods, METHODS)
        .with(Set::Methods, REQUESTS.iter().cloned())
        .with(Set::Providers, Provider::ALL.map(Provider::name))
        .with(Set::Endpoints, ENDPOINTS.iter().copied());
    let metrics = Metrics::new(Program::Tools, VERSION, &known);
    if let Some(trail) = trail {
        let audit = trail.audit().clone();
        metrics.read_audit(move || audit.counts());
    }
    metrics
}

/// Returns the names of databases.
pub(crate) fn databases(entries: &[Entry]) -> Known {
    let names = entries.iter().map(|entry| entry.database.name());
    Known::default().with(Set::Databases, names)
}

/// Gives each tool series of its own.
pub(crate) fn learn_tools(metrics: &Metrics, mcp: &Mcp) {
    metrics.learn(&Known::default().with(Set::Tools, mcp.tool_names()));
}

/// The requests to `/api`, as the description of the server has them, such as
/// `GET /api/conversations/{id}`.
static REQUESTS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let description: Value = serde_json::from_str(ziggurat_openapi::TOOLS).unwrap_or_default();
    let paths = description["paths"].as_object().into_iter().flatten();
    let requests = paths.flat_map(|(path, methods)| {
        let methods = methods.as_object().into_iter().flatten();
        methods.map(move |(method, _)| format!("{} {path}", method.to_uppercase()))
    });
    requests
        .filter(|request| request.contains(" /api/"))
        .collect()
});

/// Returns the described request that a request is, if it is one.
pub(crate) fn described(request: &str) -> Option<&'static str> {
    let is_same = |described: &&String| {
        let mut segments = request.split('/');
        let mut are_same = described.split('/').all(|segment| {
            let found = segments.next();
            found.is_some_and(|found| segment == found || segment.starts_with('{'))
        });
        are_same &= segments.next().is_none();
        are_same
    };
    REQUESTS.iter().find(is_same).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_known_by_their_description() {
        for (request, expected) in [
            ("GET /api/databases", Some("GET /api/databases")),
            (
                "GET /api/conversations/7",
                Some("GET /api/conversations/{id}"),
            ),
            ("GET /api/conversations/7/8", None),
            ("PATCH /api/databases", None),
            ("GET /api", None),
        ] {
            assert_eq!(described(request), expected, "{request}");
        }
    }
}
