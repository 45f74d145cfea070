//! Changes between two configurations, for a reload.

use super::{Configuration, Entry};

/// Difference between the running and the new configuration.
#[derive(Clone, Debug)]
pub(crate) struct Changes {
    /// The running configuration with all that needs no restart from the new one.
    pub(crate) next: Configuration,
    /// True if databases were added, removed or changed.
    pub(crate) databases: bool,
    /// Changed sections that need a restart.
    pub(crate) need_restart: Vec<&'static str>,
}

// === impl Changes ===

impl Changes {
    /// Compares the configurations.
    pub(crate) fn between(running: &Configuration, configured: Configuration) -> Self {
        let (one, two) = (running, &configured);
        let (old, new) = (one.http.as_ref(), two.http.as_ref());
        // HTTP keys are compared only if HTTP is on in both; otherwise `http.enabled` names the
        // change.
        let both = old.zip(new);
        let sections = [
            ("http.enabled", old.is_some() == new.is_some()),
            (
                "http.address",
                both.is_none_or(|(a, b)| a.address == b.address),
            ),
            (
                "http.allow_public",
                both.is_none_or(|(a, b)| a.allow_public == b.allow_public),
            ),
            ("http.tls", both.is_none_or(|(a, b)| a.tls == b.tls)),
            ("http.auth", one.auth == two.auth),
            (
                "http.client_ip",
                both.is_none_or(|(a, b)| a.client_ip == b.client_ip),
            ),
            (
                "http.allowed_origins",
                both.is_none_or(|(a, b)| a.allowed_origins == b.allowed_origins),
            ),
            (
                "http.allowed_hosts",
                both.is_none_or(|(a, b)| a.allowed_hosts == b.allowed_hosts),
            ),
            (
                "http.rate_limit",
                both.is_none_or(|(a, b)| a.rate_limit == b.rate_limit),
            ),
            ("embedding", one.embedding == two.embedding),
            ("llm", one.llm == two.llm),
            ("knowledgebase", one.knowledgebase == two.knowledgebase),
            ("limits", one.limits == two.limits),
            ("state", one.state == two.state),
            ("audit", one.audit == two.audit),
            ("telemetry", one.telemetry == two.telemetry),
            ("telemetry.sql_comment", one.sql_comment == two.sql_comment),
            ("log", one.logs == two.logs),
            ("secret_file", one.secret_file == two.secret_file),
            ("data_dir", one.data_folder == two.data_folder),
        ];
        Self {
            databases: !are_same(&one.databases, &two.databases),
            need_restart: sections
                .into_iter()
                .filter_map(|(section, is_same)| (!is_same).then_some(section))
                .collect(),
            next: replaced(running.clone(), configured),
        }
    }
}

/// Replaces what needs no restart.
fn replaced(running: Configuration, configured: Configuration) -> Configuration {
    Configuration {
        databases: configured.databases,
        builtins: configured.builtins,
        results: configured.results,
        schema: configured.schema,
        dba: configured.dba,
        callers: configured.callers,
        toolsets: configured.toolsets,
        identities: configured.identities,
        protocol: configured.protocol,
        custom_definitions: configured.custom_definitions,
        ..running
    }
}

fn are_same(old: &[Entry], new: &[Entry]) -> bool {
    old.len() == new.len() && old.iter().zip(new).all(|(old, new)| old.is_same(new))
}
