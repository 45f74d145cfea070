//! Values of a configuration that administrators may see.
//!
//! A key is shown only if it is in a list here, so a new one is hidden until it is added. A key with
//! a secret is in a list of its own, and shown as set or not set. Text that looks like a secret is
//! taken out of every value.

use std::{path::Path, sync::Arc, time::Duration};

use secrecy::ExposeSecret as _;
use serde_json::{Value as Json, json};
use ziggurat_admin_api::program::Setting;
use ziggurat_audit::{Destination, Fsync, Methods, StatementForm};
use ziggurat_calls::toolsets::Toolsets;
use ziggurat_console::PublicUrl;
use ziggurat_http::TlsFiles;
use ziggurat_llm::Provider::{Anthropic, Gemini, Ollama, OpenAi, Voyage};
use ziggurat_postgres::database::PreviewSettings;
use ziggurat_runtime::{Secret, config::Sources, redact::Redactor};
use ziggurat_sign_in_state::SignInSection;
use ziggurat_state::StateSettings;
use ziggurat_tokens::issuer::TrustedIssuer;

use crate::configuration::{Configuration, Entry, Http, SqlCommentKind};

#[cfg(test)]
mod tests;

/// Reads the value of a key.
type Read = fn(&Configuration) -> Json;

/// Reads the secret of a key.
type ReadSecret = fn(&Configuration) -> Option<&Secret>;

/// Keys that may be shown.
#[rustfmt::skip] // One key to a line.
const SHOWN: &[(&str, Read)] = &[
    ("http.enabled", |c| json!(c.http.is_some())),
    ("http.address", |c| http(c, |http| json!(http.address.to_string()))),
    ("http.allow_public", |c| http(c, |http| json!(http.allow_public))),
    ("http.allowed_hosts", |c| http(c, |http| json!(http.allowed_hosts))),
    ("http.allowed_origins", |c| http(c, |http| json!(http.allowed_origins))),
    ("http.console", |c| http(c, |http| json!(http.console))),
    ("http.public_url", |c| http(c, |http| json!(http.public_url.as_ref().map(PublicUrl::origin)))),
    ("http.rate_limit", |c| http(c, |http| json!(http.rate_limit.as_ref().map(ToString::to_string)))),
    ("http.tls.enabled", |c| http(c, |http| json!(http.tls.is_some()))),
    ("http.tls.cert_file", |c| tls(c, |tls| path(Some(&tls.cert)))),
    ("http.tls.key_file", |c| tls(c, |tls| path(Some(&tls.key)))),
    ("http.tls.chain_file", |c| tls(c, |tls| path(tls.chain.as_deref()))),
    ("http.auth.enabled", |c| json!(c.auth.is_enabled)),
    ("http.auth.token_file", |c| path(Some(&c.auth.token_file))),
    ("http.auth.user_file", |c| path(Some(&c.auth.user_file))),
    ("http.auth.min_password_length", |c| json!(c.auth.min_password_length)),
    ("http.auth.max_failed_attempts_before_lockout", |c| json!(c.auth.lockout.map_or(0, u32::from))),
    ("http.auth.rate_limit_window_minutes", |c| json!(c.auth.window.as_secs() / 60)),
    ("http.auth.rate_limit_max_attempts", |c| json!(c.auth.max_attempts)),
    ("http.auth.issuer.url", |c| json!(c.auth.issuer.as_ref().map(|issuer| &issuer.url))),
    ("http.auth.issuer.public_url", |c| {
        json!(c.auth.issuer.as_ref().map(TrustedIssuer::public_url))
    }),
    ("http.auth.issuer.databases", |c| json!(c.auth.issuer_databases)),
    ("http.auth.oauth.enabled", |c| json!(c.auth.oauth.is_some())),
    ("http.auth.oauth.access_lifetime", |c| {
        c.auth.oauth.as_ref().map_or(Json::Null, |it| time(it.access_lifetime()))
    }),
    ("http.auth.oauth.write_scope", |c| json!(c.auth.oauth.as_ref().map(SignInSection::write_scope))),
    ("toolsets", |c| json!(c.toolsets.as_ref().map(Toolsets::names))),
    ("dba.enabled", |c| json!(c.dba)),
    ("results.max_cell_bytes", |c| json!(c.results.max_cell_bytes.unwrap_or(0))),
    ("results.fence", |c| json!(c.results.is_fenced)),
    ("schema.max_tokens", |c| json!(c.schema.max_tokens)),
    ("schema.values_max", |c| json!(c.schema.values_max)),
    ("limits.max_connections", |c| json!(c.limits.max_connections)),
    ("limits.max_body_bytes", |c| json!(c.limits.max_body_bytes)),
    ("limits.max_statement_bytes", |c| json!(c.limits.max_statement_bytes)),
    ("limits.header_timeout", |c| time(c.limits.header_timeout)),
    ("limits.body_timeout", |c| time(c.limits.body_timeout)),
    ("limits.shutdown_grace", |c| time(c.limits.shutdown_grace)),
    ("limits.shutdown_delay", |c| time(c.limits.shutdown_delay)),
    ("limits.max_result_bytes", |c| json!(c.limits.max_result_bytes)),
    ("limits.max_rows", |c| json!(c.limits.max_rows)),
    ("limits.max_export_rows", |c| json!(c.limits.max_export_rows)),
    ("limits.max_query_bytes", |c| json!(c.limits.max_query_bytes)),
    ("limits.max_login_workers", |c| json!(c.limits.max_login_workers)),
    ("limits.max_sessions_per_user", |c| json!(c.limits.max_sessions_per_user)),
    ("mcp.stdio_negotiate", |c| json!(c.protocol.stdio_negotiate)),
    ("mcp.structured_output", |c| json!(c.protocol.structured_output)),
    ("compat.server_postgres", |c| json!(c.protocol.server_postgres)),
    ("llm.enabled", |c| json!(c.llm.is_enabled)),
    ("llm.provider", |c| json!(c.llm.provider.name())),
    ("llm.model", |c| json!(c.llm.model)),
    ("llm.max_tokens", |c| json!(c.llm.max_tokens)),
    ("llm.temperature", |c| json!(c.llm.temperature)),
    ("llm.per_attempt_timeout", |c| time(c.llm.per_attempt_timeout)),
    ("llm.ollama_url", |c| json!(c.llm.access.urls.get(&Ollama))),
    ("llm.anthropic_base_url", |c| json!(c.llm.access.urls.get(&Anthropic))),
    ("llm.openai_base_url", |c| json!(c.llm.access.urls.get(&OpenAi))),
    ("llm.gemini_base_url", |c| json!(c.llm.access.urls.get(&Gemini))),
    ("embedding.enabled", |c| json!(c.embedding.is_enabled)),
    ("embedding.provider", |c| json!(c.embedding.vectors.provider.name())),
    ("embedding.model", |c| json!(c.embedding.vectors.model)),
    ("embedding.model_path", |c| path(c.embedding.vectors.model_path.as_deref())),
    ("embedding.per_attempt_timeout", |c| time(c.embedding.per_attempt_timeout)),
    ("embedding.ollama_url", |c| json!(c.embedding.vectors.access.urls.get(&Ollama))),
    ("embedding.voyage_base_url", |c| json!(c.embedding.vectors.access.urls.get(&Voyage))),
    ("embedding.openai_base_url", |c| json!(c.embedding.vectors.access.urls.get(&OpenAi))),
    ("embedding.gemini_base_url", |c| json!(c.embedding.vectors.access.urls.get(&Gemini))),
    ("knowledgebase.enabled", |c| json!(c.knowledgebase.is_enabled)),
    ("knowledgebase.database_path", |c| path(c.knowledgebase.database_path.as_deref())),
    ("knowledgebase.embedding_provider", |c| json!(c.knowledgebase.vectors.provider.name())),
    ("knowledgebase.embedding_model", |c| json!(c.knowledgebase.vectors.model)),
    ("knowledgebase.max_memory_bytes", |c| json!(c.knowledgebase.max_memory_bytes)),
    ("audit.file", |c| {
        audit(c, |audit| match &audit.destination {
            Destination::Stderr => json!("stderr"),
            Destination::File(file) => path(Some(file)),
        })
    }),
    ("audit.required", |c| audit(c, |audit| json!(audit.required))),
    ("audit.statement", |c| {
        audit(c, |audit| {
            json!(match audit.statement {
                StatementForm::None => "none",
                StatementForm::Digest => "digest",
                StatementForm::Normalized => "normalized",
                StatementForm::Text => "text",
            })
        })
    }),
    ("audit.arguments", |c| audit(c, |audit| json!(audit.arguments))),
    ("audit.methods", |c| {
        audit(c, |audit| {
            json!(match audit.methods {
                Methods::Calls => "calls",
                Methods::All => "all",
            })
        })
    }),
    ("audit.fsync", |c| {
        audit(c, |audit| match audit.fsync {
            Fsync::Never => json!("never"),
            Fsync::Always => json!("always"),
            Fsync::Every(interval) => time(interval),
        })
    }),
    ("audit.max_bytes", |c| audit(c, |audit| json!(audit.max_bytes))),
    ("audit.keep", |c| audit(c, |audit| json!(audit.keep))),
    ("audit.key_file", |c| audit(c, |audit| path(audit.key_file.as_deref()))),
    ("receipts.key_file", |c| path(c.receipts.key_file.as_deref())),
    ("receipts.public_keys", |c| json!(c.receipts.public_keys)),
    ("receipts.mode", |c| json!(c.receipts.mode.as_str())),
    ("receipts.snapshot", |c| json!(c.receipts.snapshot)),
    ("receipts.v1", |c| json!(c.receipts.v1)),
    ("telemetry.metrics.address", |c| {
        json!(c.telemetry.metrics_address.as_ref().map(ToString::to_string))
    }),
    ("telemetry.propagate_to_providers", |c| json!(c.telemetry.propagate_to_providers)),
    ("telemetry.sql_comment", |c| {
        json!(match c.sql_comment {
            SqlCommentKind::Off => "off",
            SqlCommentKind::Call => "call",
            SqlCommentKind::Trace => "trace",
        })
    }),
    ("custom_definitions_path", |c| path(c.custom_definitions.as_deref())),
    ("data_dir", |c| path(Some(&c.data_folder))),
    ("secret_file", |c| path(c.secret_file.as_deref())),
];

/// Key with the URL of the database that replicas share.
const STATE_URL: &str = "state.url";

/// Length from which a secret is no ordinary word.
const SHORTEST: usize = 12;

/// Keys with secret values.
#[rustfmt::skip] // One key to a line.
const SECRET: &[(&str, ReadSecret)] = &[
    ("llm.anthropic_api_key", |c| c.llm.access.keys.get(&Anthropic)),
    ("llm.openai_api_key", |c| c.llm.access.keys.get(&OpenAi)),
    ("llm.gemini_api_key", |c| c.llm.access.keys.get(&Gemini)),
    ("embedding.voyage_api_key", |c| c.embedding.vectors.access.keys.get(&Voyage)),
    ("embedding.openai_api_key", |c| c.embedding.vectors.access.keys.get(&OpenAi)),
    ("embedding.gemini_api_key", |c| c.embedding.vectors.access.keys.get(&Gemini)),
    ("knowledgebase.embedding_voyage_api_key", |c| c.knowledgebase.vectors.access.keys.get(&Voyage)),
    ("knowledgebase.embedding_openai_api_key", |c| c.knowledgebase.vectors.access.keys.get(&OpenAi)),
    ("knowledgebase.embedding_gemini_api_key", |c| c.knowledgebase.vectors.access.keys.get(&Gemini)),
    (STATE_URL, |c| c.state.as_ref().and_then(StateSettings::url)),
];

/// Returns the keys that may be shown with their values in use, and the keys with secrets.
pub(crate) fn values(configuration: &Configuration, sources: &Sources) -> Vec<Setting> {
    let redactor = redactor(configuration);
    let shown = |key: String, value: Json| Setting::Shown {
        source: sources.of(&key).as_str(),
        value: without_secrets(value, &redactor),
        key,
    };
    let mut settings: Vec<_> = SHOWN
        .iter()
        .map(|(key, read)| shown((*key).to_owned(), read(configuration)))
        .collect();
    settings.extend(SECRET.iter().map(|(key, read)| Setting::Secret {
        key: (*key).to_owned(),
        is_set: read(configuration).is_some(),
    }));
    for (index, entry) in configuration.databases.iter().enumerate() {
        let place = format!("databases[{index}]");
        let values = of_database(entry).into_iter();
        settings.extend(values.map(|(key, value)| shown(format!("{place}.{key}"), value)));
        settings.push(Setting::Secret {
            key: format!("{place}.password"),
            is_set: entry
                .database
                .passwords()
                .any(|password| !password.expose_secret().is_empty()),
        });
        // An argument of a program may be a secret.
        let programs = entry.connect.programs();
        settings.extend(programs.into_iter().map(|(key, is_set)| Setting::Secret {
            key: format!("{place}.{key}"),
            is_set,
        }));
    }
    settings
}

/// Returns the values of a database that may be shown.
fn of_database(entry: &Entry) -> Vec<(&'static str, Json)> {
    let settings = entry.database.settings();
    let all = settings.all_hosts();
    let hosts = match &*all {
        [only] => vec![("host", json!(only.name)), ("port", json!(only.port))],
        several => {
            let hosts: Vec<_> = several.iter().map(ToString::to_string).collect();
            vec![("hosts", json!(hosts))]
        }
    };
    let rest = [
        ("database", json!(settings.database)),
        ("user", json!(settings.user)),
        ("password_env", json!(entry.connect.password_env())),
        ("application_name", json!(settings.application_name)),
        ("allow_writes", json!(settings.allow_writes)),
        (
            "allow_dangerous_functions",
            json!(settings.allow_dangerous_functions),
        ),
        ("max_changed_rows", json!(settings.max_changed_rows)),
        ("available_to_users", json!(entry.users)),
        ("available_to_clients", json!(entry.clients)),
        ("row_limit", json!(settings.row_limit)),
        ("query_timeout", time(settings.query_timeout)),
        ("connect_timeout", time(settings.connect_timeout)),
        ("lease_timeout", time(settings.lease_timeout)),
        ("metadata_ttl", time(settings.metadata_ttl)),
        ("pool_min_conns", json!(settings.min_connections)),
        ("pool_max_conns", json!(settings.max_connections)),
        ("pool_max_conn_idle_time", time(settings.max_idle)),
        ("pool_max_conn_lifetime", time(settings.max_lifetime)),
        (
            "max_total_connections",
            json!(settings.max_total_connections),
        ),
        (
            "require_auth",
            json!(settings.require_auth.map(|it| it.to_string())),
        ),
        ("sslrootcert", path(settings.ssl_root_cert.as_deref())),
        ("sslcert", path(settings.ssl_cert.as_deref())),
        ("sslkey", path(settings.ssl_key.as_deref())),
    ];
    let name = [("name", json!(settings.name))];
    let preview = of_preview(&settings.preview);
    let name = name.into_iter();
    name.chain(hosts).chain(rest).chain(preview).collect()
}

/// Returns the values of the previews of a database.
fn of_preview(preview: &PreviewSettings) -> [(&'static str, Json); 10] {
    let unreadable = if preview.refuses_unreadable {
        "refuse"
    } else {
        "count"
    };
    [
        ("preview.mode", json!(preview.mode.as_str())),
        ("preview.approve", json!(preview.approval.as_str())),
        ("preview.max_rows", json!(preview.max_rows)),
        ("preview.max_bytes", json!(preview.max_bytes)),
        ("preview.scan_bytes", json!(preview.scan_bytes)),
        ("preview.timeout", time(preview.timeout)),
        ("preview.lock_timeout", time(preview.lock_timeout)),
        ("preview.rounds", json!(preview.rounds)),
        ("preview.ignore", json!(preview.ignored)),
        ("preview.unreadable", json!(unreadable)),
    ]
}

/// Knows the secrets of a configuration. A short one is not hidden where another value repeats it: it
/// may be an ordinary word, such as the name of the role.
fn redactor(configuration: &Configuration) -> Redactor {
    let mut redactor = Redactor::default();
    let mut add = |secret: &str| {
        if secret.len() >= SHORTEST {
            redactor.add(secret.as_bytes());
        }
    };
    // Of a URL only the password is secret.
    for (_, read) in SECRET.iter().filter(|(key, _)| *key != STATE_URL) {
        add(read(configuration).map_or("", Secret::expose));
    }
    let state = configuration.state.as_ref();
    let state = state.and_then(|state| state.database().ok()).map(Arc::new);
    let databases = configuration.databases.iter();
    let databases = databases
        .map(|entry| Arc::clone(&entry.database))
        .chain(state);
    for database in databases {
        for password in database.passwords() {
            add(password.expose_secret());
        }
    }
    redactor
}

/// Removes secrets, and parts that look like secrets, from the texts of a value.
fn without_secrets(value: Json, redactor: &Redactor) -> Json {
    match value {
        Json::String(text) => Json::String(redactor.redact(&text)),
        Json::Array(list) => {
            let list = list.into_iter();
            list.map(|value| without_secrets(value, redactor)).collect()
        }
        other => other,
    }
}

fn http(configuration: &Configuration, read: impl Fn(&Http) -> Json) -> Json {
    configuration.http.as_ref().map_or(Json::Null, read)
}

fn tls(configuration: &Configuration, read: impl Fn(&TlsFiles) -> Json) -> Json {
    http(configuration, |http| {
        http.tls.as_ref().map_or(Json::Null, &read)
    })
}

fn audit(configuration: &Configuration, read: fn(&ziggurat_audit::Settings) -> Json) -> Json {
    configuration.audit.as_ref().map_or(Json::Null, read)
}

fn path(path: Option<&Path>) -> Json {
    json!(path.map(|path| path.display().to_string()))
}

/// Writes a duration as the file has it.
fn time(time: Duration) -> Json {
    json!(format!("{time:?}"))
}
