//! `platform doctor`: checks the connection and changes nothing.

use std::{
    fmt::Write as _,
    path::Path,
    time::{Duration, Instant},
};

use http::{HeaderMap, header};
use jiff::Timestamp;
use serde::Serialize;
use ziggurat_account_client::{Address, CacheUse};

use crate::{
    api::{Api, architecture, operating_system},
    commands::auth::{TokenState, is_trial, look, records, token_state},
    context::Context,
    credentials::{self, Missing, Source},
    failure::Failure,
    keychain::{self, KeychainError},
    output::{self, Format, View, print},
    tree::parser::Matches,
};

/// Maximum time for each of the two requests.
const LIMIT: Duration = Duration::from_secs(10);

/// Maximum difference of the clocks; beyond it, tokens expire at the wrong time.
const CLOCK_SKEW: i64 = 60;

/// The result of a check.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Mark {
    Ok,
    Warning,
    Error,
}

/// One line of the table.
struct Row {
    member: &'static str,
    check: &'static str,
    mark: Mark,
    details: String,
}

#[derive(Serialize)]
struct DoctorReport {
    auth: Auth,
    storage: Storage,
    api: Reached,
    clock: Clock,
    tenant: Tenant,
    environment: Machine,
}

#[derive(Default, Serialize)]
struct Auth {
    authenticated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    #[serde(flatten)]
    token: TokenState,
}

#[derive(Default, Serialize)]
struct Storage {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret_present: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

#[derive(Default, Serialize)]
struct Reached {
    reachable: bool,
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_ms: Option<u64>,
}

#[derive(Serialize)]
struct Clock {
    #[serde(skip_serializing_if = "Option::is_none")]
    offset_seconds: Option<i64>,
}

#[derive(Default, Serialize)]
struct Tenant {
    resolved: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan_trial: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<usize>,
}

#[derive(Serialize)]
struct Machine {
    os: &'static str,
    arch: &'static str,
    no_color_set: bool,
}

/// Runs all checks and prints their results.
pub(super) async fn doctor(context: &mut Context<'_>, matches: &Matches) -> Result<(), Failure> {
    let found = look(context);
    let is_env = matches!(&found, Ok(credentials) if credentials.source == Source::Env);
    let address = credentials::address(context, is_env)?;
    let (auth, auth_row) = auth(context, &found, &address);
    let (storage, storage_row) = storage(context, &found);
    // The checks have their own timeouts, and report failures instead of retrying.
    context.connection.timeout = Some(LIMIT.min(context.connection.timeout.unwrap_or(LIMIT)));
    context.connection.retries = 0;
    let (api, clock, api_row, clock_row) = reach(context, &address).await;
    let (tenant, tenant_row) = tenant(context, found.is_ok()).await;
    let (machine, machine_row) = machine(context);
    let rows = [
        auth_row,
        storage_row,
        api_row,
        clock_row,
        tenant_row,
        machine_row,
    ];
    let report = DoctorReport {
        auth,
        storage,
        api,
        clock,
        tenant,
        environment: machine,
    };
    print(context, &report, &rows)?;
    let errors = rows.iter().filter(|row| row.mark == Mark::Error).count();
    if matches.is_on("strict") && errors > 0 {
        return Err(Failure::general(format!("doctor found {errors} error(s)")));
    }
    if !report.api.reachable {
        return Err(Failure::general("the platform cannot be reached"));
    }
    Ok(())
}

fn print(context: &mut Context<'_>, report: &DoctorReport, rows: &[Row]) -> Result<(), Failure> {
    if context.globals.output != Format::Text {
        return print::report(context, report, View::Plain(String::new()));
    }
    let fields = &context.globals.fields;
    let rows: Vec<Vec<String>> = rows
        .iter()
        .filter(|row| fields.is_empty() || fields.iter().any(|field| field == row.member))
        .map(|row| {
            vec![
                row.check.to_owned(),
                row.mark.word().to_owned(),
                row.details.clone(),
            ]
        })
        .collect();
    let colour = context.colours_stdout();
    let text = output::table(&["CHECK", "STATUS", "DETAILS"], &rows, colour);
    context.streams.print(text.as_bytes())
}

fn auth(
    context: &Context<'_>,
    found: &Result<credentials::Credentials, Missing>,
    address: &Address,
) -> (Auth, Row) {
    let row = |mark, details| Row::new("auth", "Auth", mark, details);
    let mut credentials = match found {
        Ok(credentials) => credentials.clone(),
        Err(missing) => {
            let problem = missing.problem();
            let details = problem
                .clone()
                .unwrap_or_else(|| "not authenticated".to_owned());
            let auth = Auth {
                problem,
                ..Auth::default()
            };
            return (auth, row(Mark::Error, details));
        }
    };
    let token = token_state(context, &mut credentials, address);
    let source = credentials.source.name();
    let (mark, details) = match (&token.expires_at, token.token_valid, token.token_bound) {
        _ if credentials.source == Source::Env => (
            Mark::Ok,
            "authenticated via ZIGGURAT_CLIENT_ID and ZIGGURAT_CLIENT_SECRET (source: env; tokens \
             are never cached)"
                .to_owned(),
        ),
        (Some(expires), true, true) => (
            Mark::Ok,
            format!("authenticated via {source} (expires {expires})"),
        ),
        (Some(_), true, false) => (
            Mark::Warning,
            format!(
                "the cached token was minted with a different credential or API URL — the next \
                 command will re-authenticate (source: {source})"
            ),
        ),
        _ => (
            Mark::Warning,
            format!("token expired or missing (source: {source})"),
        ),
    };
    let auth = Auth {
        authenticated: true,
        source: Some(source),
        problem: None,
        token,
    };
    (auth, row(mark, details))
}

fn storage(
    context: &Context<'_>,
    found: &Result<credentials::Credentials, Missing>,
) -> (Storage, Row) {
    let row = |mark, details: String| Row::new("storage", "Storage", mark, details);
    let profile = context.config.profile(&context.profile).unwrap_or_default();
    let source = found.as_ref().ok().map(|credentials| credentials.source);
    if let Some(source @ (Source::Flags | Source::Env)) = source {
        let kind = source.name();
        let storage = Storage {
            kind,
            ..Storage::default()
        };
        return (
            storage,
            row(Mark::Ok, format!("no stored credential (source: {kind})")),
        );
    }
    if profile.client_secret.is_some() {
        let path = context.config.path();
        let (mark, mode) = mode(path);
        let storage = Storage {
            kind: "file",
            secret_present: Some(true),
            problem: None,
        };
        let details = format!("secret in plain text in {}{mode}", path.display());
        return (storage, row(mark, details));
    }
    let account = keychain::account(&context.profile, context.config.path());
    let (present, problem, mark, details) = match context.keychain.read(&account) {
        Ok(_) => (
            Some(true),
            None,
            Mark::Ok,
            "OS keychain, secret present".to_owned(),
        ),
        Err(KeychainError::NotFound) => {
            let mark = if profile.client_id.is_some() {
                Mark::Warning
            } else {
                Mark::Ok
            };
            (
                Some(false),
                None,
                mark,
                "no secret stored for this profile".to_owned(),
            )
        }
        Err(KeychainError::Unavailable(cause)) => (None, Some(cause.clone()), Mark::Warning, cause),
    };
    let storage = Storage {
        kind: "keychain",
        secret_present: present,
        problem,
    };
    (storage, row(mark, details))
}

fn mode(path: &Path) -> (Mark, String) {
    use std::os::unix::fs::PermissionsExt as _;
    let Ok(meta) = std::fs::metadata(path) else {
        return (Mark::Ok, String::new());
    };
    let mode = meta.permissions().mode() & 0o777;
    let mark = match mode & 0o077 {
        0 => Mark::Ok,
        _ => Mark::Warning,
    };
    (mark, format!(" (mode {mode:04o})"))
}

async fn reach(context: &mut Context<'_>, address: &Address) -> (Reached, Clock, Row, Row) {
    let url = address.as_str().to_owned();
    let begun = Instant::now();
    let answer = Api::new(context).probe(address.join("/"), LIMIT).await;
    let took = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    let row = |mark, details| Row::new("api", "API connectivity", mark, details);
    let now = Timestamp::now();
    let mut reached = Reached {
        url,
        ..Reached::default()
    };
    let Ok(answer) = answer else {
        let (clock, clock_row) = clock(&HeaderMap::new(), now);
        let api_row = row(Mark::Error, format!("{} (unreachable)", reached.url));
        return (reached, clock, api_row, clock_row);
    };
    let status = answer.status.as_u16();
    reached.reachable = true;
    reached.status = Some(status);
    reached.latency_ms = Some(took);
    let (clock, clock_row) = clock(&answer.headers, now);
    let api_row = row(Mark::Ok, format!("{} ({status}, {took}ms)", reached.url));
    (reached, clock, api_row, clock_row)
}

/// The server rejects the cached token once, so the second command obtains a new one.
fn clock(headers: &HeaderMap, now: Timestamp) -> (Clock, Row) {
    let date = headers
        .get(header::DATE)
        .and_then(|date| date.to_str().ok())
        .and_then(|date| {
            jiff::fmt::rfc2822::DateTimeParser::new()
                .parse_timestamp(date)
                .ok()
        });
    let offset = date.map(|date| now.as_second() - date.as_second());
    let (mark, details) = match offset {
        None => (Mark::Ok, "not compared: no server sent its time".to_owned()),
        Some(offset) if offset.abs() > CLOCK_SKEW => (
            Mark::Warning,
            format!("{offset}s off the server's clock: tokens will expire at the wrong time"),
        ),
        Some(offset) => (Mark::Ok, format!("{offset}s off the server's clock")),
    };
    let clock = Clock {
        offset_seconds: offset,
    };
    (clock, Row::new("clock", "Clock", mark, details))
}

async fn tenant(context: &mut Context<'_>, has_credentials: bool) -> (Tenant, Row) {
    let row = |mark, details| Row::new("tenant", "Tenant", mark, details);
    let unknown = || {
        let details = "could not resolve tenant (see Auth above)".to_owned();
        (Tenant::default(), row(Mark::Warning, details))
    };
    if !has_credentials {
        return unknown();
    }
    let mut api = Api::new(context).with_cache_use(CacheUse::ReadOnly);
    let tenants = records(&mut api, "list tenants", "/account/v1/tenants").await;
    let Some((tenant, count)) = tenants
        .ok()
        .and_then(|tenants| Some((tenants.first()?.clone(), tenants.len())))
    else {
        return unknown();
    };
    let text = |member| tenant.text(member).map(str::to_owned);
    let shown = |member| text(member).unwrap_or_else(|| "unknown".to_owned());
    let trial = is_trial(&tenant);
    let mut details = format!(
        "{} ({}, plan: {})",
        shown("name"),
        shown("id"),
        shown("plan")
    );
    if trial {
        details.push_str(" [trial]");
    }
    if count > 1 {
        let _ = write!(details, " — {count} tenants visible, reporting the first");
    }
    let tenant = Tenant {
        resolved: true,
        name: text("name"),
        id: text("id"),
        plan: text("plan"),
        plan_trial: trial.then_some(true),
        count: Some(count),
    };
    (tenant, row(Mark::Ok, details))
}

fn machine(context: &Context<'_>) -> (Machine, Row) {
    let machine = Machine {
        os: operating_system(),
        arch: architecture(),
        no_color_set: context.environment.var("NO_COLOR").is_some(),
    };
    let note = if machine.no_color_set {
        ", NO_COLOR: set"
    } else {
        ""
    };
    let details = format!("{}/{}{note}", machine.os, machine.arch);
    let row = Row::new("environment", "Environment", Mark::Ok, details);
    (machine, row)
}

// === impl Mark ===

impl Mark {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

// === impl Row ===

impl Row {
    fn new(member: &'static str, check: &'static str, mark: Mark, details: String) -> Self {
        Self {
            member,
            check,
            mark,
            details,
        }
    }
}
