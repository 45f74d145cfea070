//! The pages: HTML without scripts, images or addresses of others.

pub(crate) mod account;
pub(crate) mod consent;
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
    authorize::Told,
    clients::Client,
    keys::digest,
    settings::Settings,
};

/// The style of all pages. The build of the console of Ziggurat writes it and the drawings.
const STYLE: &str = include_str!("look.css");

/// The mark of Ziggurat, as HTML.
const MARK: &str = include_str!("pages/mark.svg");

/// The drawing at the foot of a page with the mark, as HTML.
const TIERS: &str = include_str!("pages/tiers.svg");

/// Attributes of a field for a password that is known.
const CURRENT_PASSWORD: &str = "type=\"password\" autocomplete=\"current-password\" required";

/// Attributes of a field for a new password.
const NEW_PASSWORD: &str = "type=\"password\" autocomplete=\"new-password\" required";

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
        let body = alert(Some(problem));
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
             <meta name=\"viewport\" content=\"width=device-width\">\
             <meta name=\"color-scheme\" content=\"light dark\"><title>{title}</title>"
        );
        if let Some(next) = self.next {
            let _ = write!(
                text,
                "<meta http-equiv=\"refresh\" content=\"0;url={}\">",
                escape(next)
            );
        }
        let (mark, tiers) = if page.has_mark {
            (MARK, TIERS)
        } else {
            ("", "")
        };
        let _ = write!(
            text,
            "<style>{STYLE}</style></head><body class=\"sign-in\"><main class=\"sign-in-box\">\
             <header class=\"sign-in-head\">{mark}<div><h1>{title}</h1><p class=\"muted\">{}</p></div>\
             </header>{}",
            escape(place(self.settings)),
            self.body
        );
        if !page.notice.is_empty() {
            let _ = write!(text, "<p class=\"muted\">{}</p>", escape(&page.notice));
        }
        if !page.help_url.is_empty() {
            let _ = write!(
                text,
                "<p><a href=\"{}\">Help</a></p>",
                escape(&page.help_url)
            );
        }
        let _ = writeln!(text, "</main>{tiers}</body></html>");
        let mut answer = Response::new(Full::new(Bytes::from(text)));
        *answer.status_mut() = self.status;
        answer.headers_mut().insert(
            CONTENT_TYPE,
            HeaderValue::from_static("text/html; charset=utf-8"),
        );
        with_page_headers(answer, self.settings)
    }
}

/// Returns the name of the installation, or its host.
pub(crate) fn place(settings: &Settings) -> &str {
    let title = &*settings.page.title;
    if title.is_empty() {
        let (_, host) = settings.issuer.split_once("://").unwrap_or_default();
        return host;
    }
    title
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
        "{}{}{}{}</form>",
        form(&action, flow),
        field(
            "name",
            "Name",
            "autocomplete=\"username\" required autofocus"
        ),
        field("password", "Password", CURRENT_PASSWORD),
        main_button("Sign in"),
    )
}

/// Returns the beginning of a form.
fn form(action: &str, flow: &str) -> String {
    format!(
        "<form class=\"sign-in-form\" method=\"post\" action=\"{action}\">\
         <input type=\"hidden\" name=\"flow\" value=\"{flow}\">"
    )
}

/// Returns a field with its label. Name and attributes are HTML.
fn field(name: &str, label: &str, attributes: &str) -> String {
    format!(
        "<div class=\"field\"><label for=\"{name}\">{label}</label>\
         <input class=\"control\" id=\"{name}\" name=\"{name}\" {attributes}></div>"
    )
}

/// Returns the button that sends a form.
fn main_button(text: &str) -> String {
    format!("<button class=\"button main wide\">{text}</button>")
}

/// Returns a link for each provider that people sign in at.
fn upstreams(settings: &Settings, flow: &str) -> String {
    let mut text = String::new();
    for upstream in &settings.upstreams {
        let path = format!("/oauth/upstream/{}?flow={flow}", upstream.name);
        let address = escape(&settings.address(&path));
        let title = escape(&upstream.title);
        let _ = write!(
            text,
            "<a class=\"button wide\" href=\"{address}\">{title}</a>"
        );
    }
    text
}

/// Returns a row of a list of facts. Name and value are HTML.
fn fact(name: &str, value: &str) -> String {
    format!("<div><dt>{name}</dt><dd>{value}</dd></div>")
}

/// Returns the form that ends the session of a browser.
fn another_account(settings: &Settings, flow: &str) -> String {
    format!(
        "{}<button class=\"link\">Use another account</button></form>",
        form(&escape(&settings.address("/oauth/logout")), flow),
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
        "<p role=\"alert\" class=\"banner danger\">The request of {name} cannot be served: {} ({}).</p>\
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
        format!(
            "<p role=\"alert\" class=\"banner danger\">{}</p>",
            shown(problem)
        )
    })
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

/// Escapes a text of others for HTML. Characters that are hidden, or that turn the text, are written with
/// their numbers.
pub(crate) fn shown(text: &str) -> String {
    escape(&hidden::escaped(text))
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
