//! The section for the sign-in of people.

use std::time::Duration;

use http::Uri;
use ziggurat_mcp_auth::{Database, ManualClient, Resource, Settings};
use ziggurat_runtime::config::{Section, Value};
use ziggurat_sign_in_state::SignInSection;

use crate::configuration::ServerSettings;

/// Id of the command line as a client.
pub(crate) const COMMAND_LINE: &str = "ziggurat-cli";

/// Settings of the sign-in of people.
#[derive(Clone, Debug)]
pub(crate) struct SignInSettings {
    pub(crate) section: SignInSection,
    /// The servers that people get tokens for.
    pub(crate) resources: Vec<Resource>,
}

// === impl SignInSettings ===

impl SignInSettings {
    /// Reads the section; returns `None` if the sign-in is off.
    pub(super) fn read(file: &Section<'_>, server: &ServerSettings) -> Option<Self> {
        let resources = resources(&file.key("resources"));
        let section = SignInSection::read_with(file, &file.key("enabled"), usual())?;
        let host = server.public_url.as_deref().map(is_safe);
        let problem = match host {
            None if !server.is_loopback() => Some("sign_in needs server.public_url"),
            Some(false) => {
                Some("sign_in: server.public_url must be https, or http on a loopback host")
            }
            _ => None,
        };
        let no_resource = resources.is_empty().then_some("sign_in.resources is empty");
        for problem in [problem, no_resource].into_iter().flatten() {
            file.complain(problem);
        }
        Some(Self { section, resources })
    }
}

/// Returns the settings that hold where the section has none.
fn usual() -> Settings {
    let command_line = ManualClient {
        id: COMMAND_LINE.to_owned(),
        name: "The command line of Ziggurat".to_owned(),
        redirect_uris: vec!["http://127.0.0.1/callback".to_owned()],
        secret_hash: None,
        skip_consent: false,
    };
    Settings {
        access_lifetime: Duration::from_hours(1),
        clients: vec![command_line],
        device_clients: vec![COMMAND_LINE.to_owned()],
        ..Settings::default()
    }
}

/// Returns whether passwords may be sent to an address.
fn is_safe(url: &str) -> bool {
    let uri = url.parse::<Uri>().ok();
    let host = uri.as_ref().and_then(Uri::host).unwrap_or_default();
    url.starts_with("https://") || matches!(host, "localhost" | "127.0.0.1" | "[::1]")
}

fn resources(list: &Value<'_>) -> Vec<Resource> {
    let entries = list.list().unwrap_or_default().into_iter();
    entries
        .map(|entry| resource(&entry.into_section()))
        .collect()
}

fn resource(file: &Section<'_>) -> Resource {
    let (key, title) = (file.key("uri"), file.key("title"));
    let uri = key.required(key.text());
    let is_address = uri.parse::<Uri>().is_ok_and(|uri| {
        let is_web = matches!(uri.scheme_str(), Some("http" | "https"));
        is_web && uri.authority().is_some() && uri.query().is_none()
    });
    key.check(
        is_address,
        "must be the address of a server, such as https://tools.example/mcp",
    );
    let write = file.key("write").boolean().unwrap_or(false);
    let databases = file.key("databases").list().unwrap_or_default();
    let databases = databases.into_iter().map(|entry| {
        let entry = entry.into_section();
        let name = entry.key("name");
        let text = name.required(name.text());
        Database {
            title: entry.key("title").text().unwrap_or_else(|| text.clone()),
            name: text,
            is_writable: write,
        }
    });
    let title = title.text().unwrap_or_else(|| uri.clone());
    Resource::new(uri, title).with_databases(databases.collect(), write)
}
