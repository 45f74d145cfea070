//! Changes between two configurations, for a reload.

use std::path::Path;

use ziggurat_audit::Destination;

use crate::configuration::{Configuration, Entry, Http, TelemetrySettings};

/// Difference between the running and the new configuration.
#[derive(Clone, Debug)]
pub(crate) struct Changes {
    /// The running configuration with all that needs no restart from the new one.
    pub(crate) next: Configuration,
    /// True if databases were added, removed or changed.
    pub(crate) databases: bool,
    /// Changed keys and sections that are applied without a restart.
    pub(crate) changed: Vec<&'static str>,
    /// Changed keys and sections that need a restart.
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
        let same = |is_same: fn(&Http, &Http) -> bool| both.is_none_or(|(a, b)| is_same(a, b));
        let sections = [
            ("http.enabled", old.is_some() == new.is_some()),
            ("http.address", same(|a, b| a.address == b.address)),
            (
                "http.allow_public",
                same(|a, b| a.allow_public == b.allow_public),
            ),
            ("http.tls", same(|a, b| a.tls == b.tls)),
            ("http.auth", one.auth == two.auth),
            ("http.client_ip", same(|a, b| a.client_ip == b.client_ip)),
            (
                "http.allowed_origins",
                same(|a, b| a.allowed_origins == b.allowed_origins),
            ),
            (
                "http.allowed_hosts",
                same(|a, b| a.allowed_hosts == b.allowed_hosts),
            ),
            ("http.rate_limit", same(|a, b| a.rate_limit == b.rate_limit)),
            ("http.console", same(|a, b| a.console == b.console)),
            ("http.public_url", same(|a, b| a.public_url == b.public_url)),
            ("embedding", one.embedding == two.embedding),
            ("llm", one.llm == two.llm),
            ("knowledgebase", one.knowledgebase == two.knowledgebase),
            ("limits", one.limits == two.limits),
            ("state", one.state == two.state),
            ("audit.file", destination(one) == destination(two)),
            ("audit.key_file", audit_key(one) == audit_key(two)),
            ("receipts.key_file", has_receipts(one) == has_receipts(two)),
            (
                "telemetry.metrics.address",
                one.telemetry.metrics_address == two.telemetry.metrics_address,
            ),
            ("telemetry.otlp", one.telemetry.otlp == two.telemetry.otlp),
            ("log", one.logs == two.logs),
            ("secret_file", one.secret_file == two.secret_file),
            ("data_dir", one.data_folder == two.data_folder),
        ];
        Self {
            databases: !are_same(&one.databases, &two.databases),
            changed: different(applied(one, two)),
            need_restart: different(sections),
            next: replaced(running.clone(), configured),
        }
    }
}

/// Compares the settings that are applied without a restart. Definitions are compared by their path
/// only.
fn applied(one: &Configuration, two: &Configuration) -> [(&'static str, bool); 16] {
    let trail = |configuration: &Configuration| {
        let trail = configuration.audit.clone();
        // Settings that need a restart are left out.
        trail.map(|trail| ziggurat_audit::Settings {
            destination: Destination::Stderr,
            key_file: None,
            state_folder: None,
            ..trail
        })
    };
    let propagates = |it: &Configuration| it.telemetry.propagate_to_providers;
    [
        ("databases", are_same(&one.databases, &two.databases)),
        ("masking", have_same_masks(one, two)),
        ("builtins", one.builtins == two.builtins),
        ("results", one.results == two.results),
        ("schema", one.schema == two.schema),
        ("toolsets", one.toolsets == two.toolsets),
        ("dba", one.dba == two.dba),
        ("limits.callers", one.callers == two.callers),
        ("identity", one.identities == two.identities),
        ("identity.explain", one.shows_plans == two.shows_plans),
        ("mcp", one.protocol == two.protocol),
        (
            "custom_definitions_path",
            one.custom_definitions == two.custom_definitions,
        ),
        (
            "audit",
            // Whether there is a trail needs a restart.
            one.audit.is_none() || two.audit.is_none() || trail(one) == trail(two),
        ),
        (
            "receipts",
            // Whether there are receipts needs a restart.
            has_receipts(one) != has_receipts(two) || one.receipts == two.receipts,
        ),
        (
            "telemetry.propagate_to_providers",
            propagates(one) == propagates(two),
        ),
        ("telemetry.sql_comment", one.sql_comment == two.sql_comment),
    ]
}

fn different<const N: usize>(sections: [(&'static str, bool); N]) -> Vec<&'static str> {
    let sections = sections.into_iter();
    sections
        .filter_map(|(section, is_same)| (!is_same).then_some(section))
        .collect()
}

fn have_same_masks(one: &Configuration, two: &Configuration) -> bool {
    let masks = |configuration: &Configuration| {
        let databases = configuration.databases.iter();
        let masks =
            databases.filter_map(|it| Some((it.database.name().to_owned(), it.masks.clone()?)));
        masks.collect::<Vec<_>>()
    };
    let (one, two) = (masks(one), masks(two));
    let same = one
        .iter()
        .zip(&two)
        .all(|(a, b)| a.0 == b.0 && a.1.is_same(&b.1));
    one.len() == two.len() && same
}

fn destination(configuration: &Configuration) -> Option<&Destination> {
    configuration.audit.as_ref().map(|trail| &trail.destination)
}

fn audit_key(configuration: &Configuration) -> Option<&Path> {
    configuration.audit.as_ref()?.key_file.as_deref()
}

fn has_receipts(configuration: &Configuration) -> bool {
    configuration.receipts.key_file.is_some()
}

/// Replaces what needs no restart.
fn replaced(running: Configuration, configured: Configuration) -> Configuration {
    let receipts = if has_receipts(&running) == has_receipts(&configured) {
        configured.receipts
    } else {
        running.receipts.clone()
    };
    let audit = match (&running.audit, configured.audit) {
        (Some(trail), Some(new)) => Some(new.in_trail_of(trail)),
        _ => running.audit.clone(),
    };
    Configuration {
        audit,
        receipts,
        telemetry: TelemetrySettings {
            propagate_to_providers: configured.telemetry.propagate_to_providers,
            ..running.telemetry.clone()
        },
        sql_comment: configured.sql_comment,
        databases: configured.databases,
        builtins: configured.builtins,
        results: configured.results,
        schema: configured.schema,
        dba: configured.dba,
        callers: configured.callers,
        toolsets: configured.toolsets,
        identities: configured.identities,
        shows_plans: configured.shows_plans,
        protocol: configured.protocol,
        custom_definitions: configured.custom_definitions,
        ..running
    }
}

fn are_same(old: &[Entry], new: &[Entry]) -> bool {
    old.len() == new.len() && old.iter().zip(new).all(|(old, new)| old.is_same(new))
}
