//! The pages: HTML without scripts, images or addresses of others.

pub(crate) mod account;
pub(crate) mod device;
pub(crate) mod factor;
pub(crate) mod ticket;

use std::{borrow::Cow, fmt::Write as _, sync::LazyLock};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http::{
    HeaderName, HeaderValue, Response, StatusCode,
    header::{
        CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_FRAME_OPTIONS,
    },
};
use http_body_util::Full;
use ziggurat_text::hidden::{self, Piece};

use crate::{
    answer::{Answer, with_header},
    authorize::{Told, Wish},
    clients::{Client, address},
    keys::digest,
    people::{Database, Person},
    settings::{Resource, Settings},
    store::GivenConsent,
};

/// The style of all pages.
const STYLE: &str = include_str!("look.css");

/// Longest name of a client on a page, in characters.
const LONGEST_NAME: usize = 64;

/// Directives that no page changes. The style is named by its digest.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let style = BASE64_STANDARD.encode(digest(STYLE.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{style}'; form-action 'self'; base-uri 'none'; \
         frame-ancestors 'none'"
    )
});

/// A page before it is written.
pub(crate) struct Page<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) status: StatusCode,
    pub(crate) title: &'a str,
    /// HTML, in which every text is escaped.
    pub(crate) body: String,
    /// The address that the browser goes to by itself.
    pub(crate) next: Option<&'a str>,
}

/// Contents of the consent page.
pub(crate) struct Consent<'a> {
    pub(crate) client: &'a Client,
    pub(crate) wish: &'a Wish,
    /// The address to return to; a device has none.
    pub(crate) redirect: Option<&'a str>,
    pub(crate) person: &'a Person,
    pub(crate) resource: &'a Resource,
    pub(crate) flow: &'a str,
    /// The consent that the person gave before.
    pub(crate) before: Option<&'a GivenConsent>,
    /// The problem of the form before.
    pub(crate) problem: Option<&'a str>,
}

// === impl Page ===

impl<'a> Page<'a> {
    pub(crate) fn new(settings: &'a Settings, title: &'a str, body: String) -> Self {
        Self {
            settings,
            status: StatusCode::OK,
            title,
            body,
            next: None,
        }
    }

    /// Creates a page about a failure.
    pub(crate) fn failure(settings: &'a Settings, status: StatusCode, problem: &str) -> Self {
        let body = format!("<p role=\"alert\">{}</p>", escape(problem));
        Self {
            status,
            ..Self::new(settings, "Sign-in", body)
        }
    }

    /// Writes the page.
    pub(crate) fn answer(self) -> Answer {
        let page = &self.settings.page;
        let title = escape(self.title);
        let mut text = format!(
            "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title>"
        );
        if let Some(next) = self.next {
            let _ = write!(
                text,
                "<meta http-equiv=\"refresh\" content=\"0;url={}\">",
                escape(next)
            );
        }
        let _ = write!(text, "<style>{STYLE}</style></head><body><main>");
        if !page.title.is_empty() {
            let _ = write!(text, "<p class=\"place\">{}</p>", escape(&page.title));
        }
        let _ = write!(text, "<h1>{title}</h1>{}", self.body);
        if !page.notice.is_empty() {
            let _ = write!(text, "<p class=\"notice\">{}</p>", escape(&page.notice));
        }
        if !page.help_url.is_empty() {
            let _ = write!(
                text,
                "<p><a href=\"{}\">Help</a></p>",
                escape(&page.help_url)
            );
        }
        text += "</main></body></html>\n";
        let mut answer = Response::new(Full::new(Bytes::from(text)));
        *answer.status_mut() = self.status;
        answer.headers_mut().insert(
            CONTENT_TYPE,
            HeaderValue::from_static("text/html; charset=utf-8"),
        );
        with_page_headers(answer, self.settings)
    }
}

/// Adds the headers that keep a page for itself.
fn with_page_headers(mut answer: Answer, settings: &Settings) -> Answer {
    let headers = answer.headers_mut();
    for (name, value) in [
        (CACHE_CONTROL, "no-store"),
        (REFERRER_POLICY, "same-origin"),
        (X_FRAME_OPTIONS, "DENY"),
        (HeaderName::from_static("x-content-type-options"), "nosniff"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if settings.issuer.starts_with("https:") {
        let name = HeaderName::from_static("strict-transport-security");
        headers.insert(name, HeaderValue::from_static("max-age=31536000"));
    }
    with_header(answer, CONTENT_SECURITY_POLICY, &POLICY)
}

/// Returns the form for a name and a password.
pub(crate) fn login(
    settings: &Settings,
    client: Option<&Client>,
    flow: &str,
    problem: Option<&str>,
) -> String {
    let what_for = match client {
        Some(client) => format!("connect <strong>{}</strong>", shown_name(&client.name)),
        None => "see your account".to_owned(),
    };
    let problem = alert(problem);
    let form = if settings.password_login {
        password_form(settings, flow)
    } else {
        String::new()
    };
    let upstreams = upstreams(settings, flow);
    format!("<p>Sign in to {what_for}.</p>{problem}{form}{upstreams}")
}

fn password_form(settings: &Settings, flow: &str) -> String {
    let action = escape(&settings.address("/oauth/login"));
    format!(
        "<form method=\"post\" action=\"{action}\">\
         <input type=\"hidden\" name=\"flow\" value=\"{flow}\">\
         <label for=\"name\">Name</label>\
         <input id=\"name\" name=\"name\" autocomplete=\"username\" required autofocus>\
         <label for=\"password\">Password</label>\
         <input id=\"password\" name=\"password\" type=\"password\" \
         autocomplete=\"current-password\" required>\
         <button>Sign in</button></form>"
    )
}

/// Returns a link for each provider that people sign in at.
fn upstreams(settings: &Settings, flow: &str) -> String {
    let mut text = String::new();
    for upstream in &settings.upstreams {
        let path = format!("/oauth/upstream/{}?flow={flow}", upstream.name);
        let address = escape(&settings.address(&path));
        let title = escape(&upstream.title);
        let _ = write!(text, "<p><a href=\"{address}\">{title}</a></p>");
    }
    text
}

/// Returns the form in which a person allows a client something.
pub(crate) fn consent(settings: &Settings, consent: &Consent<'_>) -> String {
    let Consent {
        client,
        wish,
        redirect,
        person,
        resource,
        flow,
        before,
        problem,
    } = consent;
    let name = shown_name(&client.name);
    let vouched = vouched(client);
    let mut body = format!(
        "<p><strong>{name}</strong> wants to use <strong>{}</strong> as you.</p>\
         <dl><dt>Program</dt><dd>{name}: {vouched}</dd>\
         <dt>It returns to</dt><dd>{}</dd>\
         <dt>Account</dt><dd>{}</dd></dl>{}\
         <form method=\"post\" action=\"{}\">\
         <input type=\"hidden\" name=\"flow\" value=\"{flow}\">",
        escape(&resource.title),
        destination(*redirect),
        escape(&person.name),
        alert(*problem),
        escape(&settings.address("/oauth/consent")),
    );
    body += &tenants(person, *before);
    body += &databases(resource.databases_of(person), *before);
    if !settings.write_scope.is_empty() && resource.allows_writes(person) {
        let asks = if wish.wants_to_write(settings) {
            format!(" {name} asks for this.")
        } else {
            String::new()
        };
        let _ = write!(
            body,
            "<p><label><input type=\"checkbox\" name=\"write\" value=\"on\"> May change data</label>\
             {asks}</p>"
        );
    }
    body += &scopes(settings, consent);
    let days = settings.refresh_lifetime.as_secs() / 86_400;
    let _ = write!(
        body,
        "<p>This holds for at most {days} days, and ends when you withdraw it.</p>\
         <p class=\"choices\"><button name=\"decision\" value=\"allow\">Allow</button>\
         <button name=\"decision\" value=\"deny\" class=\"plain\">Deny</button></p></form>",
    );
    body + &another_account(settings, flow)
}

/// Returns the form that ends the session of a browser.
fn another_account(settings: &Settings, flow: &str) -> String {
    format!(
        "<form method=\"post\" action=\"{}\"><input type=\"hidden\" name=\"flow\" value=\"{flow}\">\
         <button class=\"link\">Use another account</button></form>",
        escape(&settings.address("/oauth/logout")),
    )
}

/// Returns the page that sends a browser back to its client.
pub(crate) fn end(settings: &Settings, client: &Client, address: &str) -> Answer {
    let name = shown_name(&client.name);
    let body = format!(
        "<p><a href=\"{}\">Continue to {name}</a></p>",
        escape(address)
    );
    let page = Page::new(settings, "Done", body);
    Page {
        next: Some(address),
        ..page
    }
    .answer()
}

/// Returns the page that names an error, with a link for who wants to go on.
pub(crate) fn told(settings: &Settings, client: &Client, told: &Told, address: &str) -> Answer {
    let name = shown_name(&client.name);
    let body = format!(
        "<p role=\"alert\">The request of {name} cannot be served: {} ({}).</p>\
         <p><a href=\"{}\">Continue to {name}</a></p>",
        escape(told.problem),
        escape(told.code),
        escape(address),
    );
    let page = Page::new(settings, "Sign-in", body);
    Page {
        status: StatusCode::BAD_REQUEST,
        ..page
    }
    .answer()
}

/// Returns who vouches for the name of a client, as HTML.
fn vouched(client: &Client) -> Cow<'static, str> {
    match &client.published {
        Some(published) => format!("published by {}", escape(&published.host)).into(),
        None if client.is_manual => "registered by the administrator".into(),
        None => "a name the program gave itself; nobody has checked it".into(),
    }
}

fn alert(problem: Option<&str>) -> String {
    problem.map_or_else(String::new, |problem| {
        format!("<p role=\"alert\">{}</p>", escape(problem))
    })
}

/// Returns the tenant that a person acts for, with a choice if there are several.
fn tenants(person: &Person, before: Option<&GivenConsent>) -> String {
    let list = match &*person.tenants {
        [] => return String::new(),
        [only] => return format!("<p>Tenant: {}</p>", escape(&only.title)),
        several => several,
    };
    let before = before.and_then(|given| given.tenant.as_ref());
    let mut text = "<label for=\"tenant\">Tenant</label>\
                    <select id=\"tenant\" name=\"tenant\">"
        .to_owned();
    for tenant in list {
        let is_chosen = before == Some(&tenant.id);
        let _ = write!(
            text,
            "<option value=\"{}\"{}>{}</option>",
            escape(&tenant.id),
            if is_chosen { " selected" } else { "" },
            escape(&tenant.title)
        );
    }
    text + "</select>"
}

/// Returns a box for each database, ticked unless the person chose others before.
fn databases(list: &[Database], before: Option<&GivenConsent>) -> String {
    if list.is_empty() {
        return String::new();
    }
    let before = before.and_then(|given| given.databases.as_ref());
    let mut text = String::from("<fieldset><legend>Databases</legend>");
    for database in list {
        let is_ticked = before.is_none_or(|before| before.contains(&database.name));
        let _ = write!(
            text,
            "<p><label><input type=\"checkbox\" name=\"database.{}\" value=\"on\"{}> {}\
             </label></p>",
            escape(&database.name),
            if is_ticked { " checked" } else { "" },
            escape(&database.title)
        );
    }
    text + "</fieldset>"
}

/// Returns a box for each named scope that is asked for and open to the person, ticked unless the
/// person did not allow it before.
fn scopes(settings: &Settings, consent: &Consent<'_>) -> String {
    let asked = consent.wish.scope.iter();
    let named = asked.filter_map(|word| settings.named_scope(word));
    let mut boxes = String::new();
    for scope in named.filter(|scope| scope.may_be_open_to(consent.person)) {
        let allowed = |given: &GivenConsent| given.scope.split(' ').any(|it| it == scope.name);
        let is_ticked = consent.before.is_none_or(allowed);
        let _ = write!(
            boxes,
            "<p><label><input type=\"checkbox\" name=\"scope.{}\" value=\"on\"{}> {}</label></p>",
            escape(&scope.name),
            if is_ticked { " checked" } else { "" },
            escape(&scope.title)
        );
    }
    if boxes.is_empty() {
        return boxes;
    }
    format!("<fieldset><legend>Further rights</legend>{boxes}</fieldset>")
}

/// Returns where a browser goes after the consent, as HTML.
fn destination(address: Option<&str>) -> String {
    let Some(address) = address else {
        return "a device. Only go on if you started this on a device in front of you.".to_owned();
    };
    if let Some(host) = address::shown_host(address) {
        return escape(host);
    }
    "a program on this computer. Allow this only if you have just started to connect it yourself."
        .to_owned()
}

/// Returns the name that a client gave itself, as HTML: without characters that hide or turn text.
fn shown_name(name: &str) -> String {
    let visible = hidden::pieces(name).filter_map(|piece| match piece {
        Piece::Visible(text) => Some(text),
        Piece::Hidden(_) => None,
    });
    let letters = visible.flat_map(str::chars).filter(|c| !c.is_control());
    let name: String = letters.take(LONGEST_NAME).collect();
    let name = name.trim();
    if name.is_empty() {
        return "a program without a name".to_owned();
    }
    escape(name)
}

/// Escapes a text for HTML.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            letter => escaped.push(letter),
        }
    }
    escaped
}
