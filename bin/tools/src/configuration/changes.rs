//! What a reloaded configuration changes.

use super::Configuration;

/// The difference between what is running and what is configured now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Changes {
    /// Whether databases came, went or changed; they can be replaced while the server runs.
    pub(crate) databases: bool,
    /// The sections that take a restart.
    pub(crate) need_restart: Vec<&'static str>,
}

// === impl Changes ===

impl Changes {
    /// Compares two configurations.
    pub(crate) fn between(running: &Configuration, configured: &Configuration) -> Self {
        let (one, two) = (running, configured);
        let (old, new) = (one.http.as_ref(), two.http.as_ref());
        // A key of HTTP differs if HTTP is on in both, else `http.enabled` says it all.
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
            ("embedding", one.embedding == two.embedding),
            ("llm", one.llm == two.llm),
            ("knowledgebase", one.knowledgebase == two.knowledgebase),
            ("builtins", one.builtins == two.builtins),
            ("limits", one.limits == two.limits),
            ("mcp", one.protocol == two.protocol),
            ("state", one.state == two.state),
            ("log", one.logs == two.logs),
            ("secret_file", one.secret_file == two.secret_file),
            (
                "custom_definitions_path",
                one.custom_definitions == two.custom_definitions,
            ),
            ("data_dir", one.data_folder == two.data_folder),
        ];
        let (old, new) = (&one.databases, &two.databases);
        let are_same = old.len() == new.len() && old.iter().zip(new).all(|(a, b)| a.is_same(b));
        Self {
            databases: !are_same,
            need_restart: sections
                .into_iter()
                .filter_map(|(section, is_same)| (!is_same).then_some(section))
                .collect(),
        }
    }
}
