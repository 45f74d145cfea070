//! The sign-in of a person: with a browser of this machine, or with a code on another one.

use std::{
    process::{Command, Stdio},
    time::Duration,
};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use tokio::time;
use ziggurat_account_client::{
    Address,
    person::{CLIENT_ID, DeviceAnswer, PersonIssuer, PersonTokens, Verifier, random_text},
};

use crate::{
    api::{Api, undecodable},
    commands::auth::{
        login::{Accepted, store},
        loopback::{Loopback, Parameters},
        tenant::{TenantReport, shown, text},
        whoami::records,
    },
    context::Context,
    credentials::{self, Credentials},
    failure::Failure,
    output::{Node, View, print},
    tree::parser::Matches,
};

/// Longest wait for a browser.
const PATIENCE: Duration = Duration::from_mins(5);

/// Ways for a person to sign in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Browser,
    Device,
}

#[derive(Serialize)]
struct PersonReport {
    user_email: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_name: Option<String>,
    user_id: Option<String>,
    #[serde(flatten)]
    tenant: TenantReport,
    api_url: String,
}

/// Returns the way in which a person wants to sign in, if it is not a client.
pub(super) fn way(context: &Context<'_>, matches: &Matches) -> Result<Option<Way>, Failure> {
    let (way, flag) = match (matches.is_on("browser"), matches.is_on("device")) {
        (false, false) => return Ok(None),
        (true, true) => {
            return Err(Failure::usage(
                "--browser and --device exclude each other: give one of them",
            ));
        }
        (true, false) => (Way::Browser, "--browser"),
        (false, true) => (Way::Device, "--device"),
    };
    let flags = &context.connection;
    let has_client = flags.client_id.is_some()
        || flags.client_secret.is_some()
        || flags.client_secret_file.is_some();
    if has_client {
        return Err(Failure::usage(format!(
            "{flag} signs a person in: leave out --client-id and --client-secret"
        )));
    }
    Ok(Some(way))
}

/// Signs a person in and stores the refresh token.
pub(super) async fn login(
    context: &mut Context<'_>,
    matches: &Matches,
    way: Way,
) -> Result<(), Failure> {
    let address = credentials::address(context, false)?;
    let mut api = Api::new(context);
    let (mut sign_in, notes) = api.sign_in(&address);
    let issuer = sign_in.issuer(notes).await?;
    let tokens = match way {
        Way::Browser => with_browser(&mut api, &address, &issuer).await?,
        Way::Device => with_device(&mut api, &address, &issuer).await?,
    };
    let accepted = Accepted {
        address: &address,
        client_id: CLIENT_ID,
        secret: &tokens.refresh,
        is_person: true,
        token: &tokens.token,
    };
    store(context, matches, &accepted)
}

async fn with_browser(
    api: &mut Api<'_, '_>,
    address: &Address,
    issuer: &PersonIssuer,
) -> Result<PersonTokens, Failure> {
    let broken = |error: &dyn std::fmt::Display| Failure::general(format!("sign in: {error}"));
    let verifier = Verifier::new().map_err(|error| broken(&error))?;
    let state = random_text().map_err(|error| broken(&error))?;
    let loopback = Loopback::bind().await.map_err(|error| broken(&error))?;
    let redirect = loopback.redirect().map_err(|error| broken(&error))?;
    let page = page(issuer, &redirect, &state, &verifier.challenge);
    let context = api.context();
    context.note(format_args!("Open this page to sign in:\n{page}"));
    if context.environment.terminals().stderr && !context.globals.no_input {
        open(&page);
    }
    let answer = time::timeout(PATIENCE, loopback.answer(&state)).await;
    let answer = answer.map_err(|_| no_answer())?;
    let answer = answer.map_err(|error| broken(&error))?;
    let code = code(&answer, issuer)?;
    let (mut sign_in, notes) = api.sign_in(address);
    let tokens = sign_in.by_code(notes, code, &verifier, &redirect);
    Ok(tokens.await?)
}

/// Returns the address of the page for a person.
fn page(issuer: &PersonIssuer, redirect: &str, state: &str, challenge: &str) -> String {
    let mut page = issuer.authorization_endpoint.clone();
    for (name, value) in [
        ("response_type", "code"),
        ("client_id", CLIENT_ID),
        ("redirect_uri", redirect),
        ("resource", &issuer.issuer),
        ("scope", "mcp offline_access"),
        ("state", state),
        ("code_challenge", challenge),
        ("code_challenge_method", "S256"),
    ] {
        page.push(if page.contains('?') { '&' } else { '?' });
        page.push_str(name);
        page.push('=');
        page.extend(utf8_percent_encode(value, NON_ALPHANUMERIC));
    }
    page
}

/// Returns the code that a browser brought from this issuer (RFC 9207).
fn code<'p>(answer: &'p Parameters, issuer: &PersonIssuer) -> Result<&'p str, Failure> {
    if answer.get("iss") != Some(&issuer.issuer) {
        return Err(Failure::auth(
            "the answer of the browser is from another service",
        ));
    }
    if let Some(error) = answer.get("error") {
        return Err(match &**error {
            "access_denied" => denied(),
            error => Failure::auth(format!("the sign-in failed: {error}")),
        });
    }
    let code = answer.get("code").map(String::as_str);
    code.ok_or_else(|| Failure::auth("the sign-in brought no code"))
}

/// Opens a page in the browser of the person. The address is printed, too, so a failure does not
/// matter.
fn open(page: &str) {
    let opener = match std::env::consts::OS {
        "macos" => "open",
        "windows" => "explorer",
        _ => "xdg-open",
    };
    let _ = Command::new(opener)
        .arg(page)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
}

async fn with_device(
    api: &mut Api<'_, '_>,
    address: &Address,
    issuer: &PersonIssuer,
) -> Result<PersonTokens, Failure> {
    let (mut sign_in, notes) = api.sign_in(address);
    let codes = sign_in.device(notes, &issuer.issuer).await?;
    let context = api.context();
    context.note(format_args!(
        "Open {} on any device, and type this code: {}",
        codes.verification_uri, codes.user_code
    ));
    let mut interval = codes.interval.max(1);
    let mut waited = 0;
    while waited < codes.expires_in {
        time::sleep(Duration::from_secs(interval)).await;
        waited += interval;
        let (mut sign_in, notes) = api.sign_in(address);
        match sign_in.by_device(notes, &codes).await? {
            DeviceAnswer::Tokens(tokens) => return Ok(tokens),
            DeviceAnswer::Waits => {}
            DeviceAnswer::SlowDown => interval += 5,
            DeviceAnswer::Denied => return Err(denied()),
            DeviceAnswer::Expired => break,
        }
    }
    Err(no_answer())
}

fn denied() -> Failure {
    Failure::auth("the sign-in was refused on the page")
}

fn no_answer() -> Failure {
    Failure::new(
        ziggurat_account_client::Kind::Timeout,
        "nothing came back from the page in time: start the sign-in again",
    )
}

/// Ends the sign-in of a person at the platform, as far as it answers.
pub(super) async fn revoke(context: &mut Context<'_>) {
    let Some(mut credentials) = signed_in(context) else {
        return;
    };
    let Ok(address) = credentials::address(context, false) else {
        return;
    };
    let Ok(refresh) = credentials.secret() else {
        return;
    };
    let mut api = Api::new(context);
    let (mut sign_in, notes) = api.sign_in(&address);
    if let Err(error) = sign_in.revoke(notes, &refresh).await {
        context.note(format_args!(
            "Warning: the platform could not be told: {error}"
        ));
    }
}

/// Returns whether a command acts for a person.
pub(in crate::commands) fn is_signed_in(context: &mut Context<'_>) -> bool {
    Credentials::resolve(context).is_ok_and(|found| found.is_person())
}

/// Returns the sign-in in the profile, whatever flags and variables say.
fn signed_in(context: &Context<'_>) -> Option<Credentials> {
    let profile = context.config.profile(&context.profile)?;
    if !profile.is_person() {
        return None;
    }
    Credentials::of_profile(context, profile)
}

/// Shows the person, and the tenant of the sign-in.
pub(super) async fn whoami(context: &mut Context<'_>) -> Result<(), Failure> {
    let mut api = Api::new(context);
    let action = "show the user";
    let answer = api.get(action, "/account/v1/users/me").await?;
    let me = Node::read(&answer.body);
    let me = me.ok_or_else(|| undecodable(action, "the response is not JSON"))?;
    let tenants = records(&mut api, "list tenants", "/account/v1/tenants").await?;
    let api_url = api.session()?.address().as_str().to_owned();
    let tenant = tenants.first();
    let names: Vec<_> = ["first_name", "last_name"]
        .iter()
        .filter_map(|name| me.text(name))
        .filter(|name| !name.is_empty())
        .collect();
    let report = PersonReport {
        user_email: text(Some(&me), "email"),
        user_name: (!names.is_empty()).then(|| names.join(" ")),
        user_id: text(Some(&me), "id"),
        tenant: TenantReport::of(tenant),
        api_url,
    };
    let view = lines(&report);
    print::report(context, &report, view)
}

fn lines(report: &PersonReport) -> View {
    let [tenant, tenant_id, plan] = report.tenant.lines();
    View::Lines {
        width: 15,
        lines: vec![
            ("user_email", "User", shown(report.user_email.as_ref())),
            ("user_name", "Name", shown(report.user_name.as_ref())),
            ("user_id", "User ID", shown(report.user_id.as_ref())),
            tenant,
            tenant_id,
            plan,
            ("api_url", "API URL", report.api_url.clone()),
        ],
    }
}
