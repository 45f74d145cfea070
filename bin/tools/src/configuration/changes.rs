//! Changes between two configurations, for a reload.

use super::{Configuration, Entry};

/// Difference between the running and the new configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Changes {
    /// True if databases were added, removed or changed; they are replaced at run time.
    pub(crate) databases: bool,
    /// True if the limits of callers changed; they are replaced at run time.
    pub(crate) callers: bool,
    /// True if the toolsets changed; they are replaced at run time.
    pub(crate) toolsets: bool,
    /// Changed sections that need a restart.
    pub(crate) need_restart: Vec<&'static str>,
}

// === impl Changes ===

impl Changes {
    /// Compares the configurations.
    pub(crate) fn between(running: &Configuration, configured: &Configuration) -> Self {
        let (one, two) = (running, configured);
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
            ("builtins", one.builtins == two.builtins),
            ("schema", one.schema == two.schema),
            ("dba", one.dba == two.dba),
            ("limits", one.limits == two.limits),
            ("mcp", one.protocol == two.protocol),
            ("state", one.state == two.state),
            ("audit", one.audit == two.audit),
            ("telemetry", one.telemetry == two.telemetry),
            ("telemetry.sql_comment", one.sql_comment == two.sql_comment),
            ("log", one.logs == two.logs),
            ("secret_file", one.secret_file == two.secret_file),
            (
                "custom_definitions_path",
                one.custom_definitions == two.custom_definitions,
            ),
            ("data_dir", one.data_folder == two.data_folder),
        ];
        Self {
            databases: !are_same(&one.databases, &two.databases),
            callers: one.callers != two.callers,
            toolsets: one.toolsets != two.toolsets,
            need_restart: sections
                .into_iter()
                .filter_map(|(section, is_same)| (!is_same).then_some(section))
                .collect(),
        }
    }
}

fn are_same(old: &[Entry], new: &[Entry]) -> bool {
    old.len() == new.len() && old.iter().zip(new).all(|(old, new)| old.is_same(new))
}
