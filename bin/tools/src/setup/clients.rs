//! The command `-print-client`: what a client needs to know of this server, ready to paste.

use std::{collections::BTreeMap, env, path::Path};

use anyhow::{Context as _, bail};
use serde::Serialize;

use crate::{
    arguments::{ClientName, Overrides},
    configuration::{Configuration, Entry, Http, Loaded},
    interface::NAME,
};

/// Name of the server in the configuration of a client.
const SERVER: &str = "ziggurat";

/// Stands where an API token belongs.
const TOKEN: &str = "<token>";

/// The server, as a client reaches it.
enum Server {
    Child(Child),
    Remote { url: String, has_token: bool },
}

/// A server that the client starts.
#[derive(Serialize)]
struct Child {
    command: String,
    args: Vec<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    env: BTreeMap<&'static str, String>,
}

/// A server at an address. The members are in the order of the texts of the console.
#[derive(Serialize)]
struct Remote<'a> {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    headers: Option<Headers>,
}

#[derive(Serialize)]
struct Headers {
    #[serde(rename = "Authorization")]
    authorization: String,
}

/// Returns the text for a client.
///
/// # Errors
/// Fails if the client cannot reach this server.
pub(crate) fn text(
    client: ClientName,
    overrides: &Overrides,
    loaded: &Loaded,
) -> anyhow::Result<String> {
    let server = Server::of(overrides, loaded)?;
    Ok(match client {
        ClientName::ClaudeDesktop => server.desktop()?,
        ClientName::ClaudeCode => server.command(),
        ClientName::Cursor => server.json("mcpServers", None)?,
        ClientName::VsCode => server.json("servers", Some("http"))?,
        ClientName::Codex => server.toml(),
        ClientName::ClaudeAi => public(
            &server,
            "claude.ai",
            "Settings, Connectors, Add custom connector",
        )?,
        ClientName::ChatGpt => public(
            &server,
            "ChatGPT",
            "Settings, Apps, Advanced settings, Developer mode, Create",
        )?,
    })
}

// === impl Server ===

impl Server {
    fn of(overrides: &Overrides, loaded: &Loaded) -> anyhow::Result<Self> {
        let configured = &loaded.value;
        match &configured.http {
            Some(http) => Ok(Self::Remote {
                url: url(http, configured.auth.oauth.is_some()),
                // Clients sign in by themselves, here or at an issuer.
                has_token: configured.auth.needs_tokens(),
            }),
            None => Child::of(overrides, configured, &loaded.path).map(Self::Child),
        }
    }

    /// Returns the file of a client, with servers in this member.
    fn json(&self, member: &'static str, kind: Option<&'static str>) -> anyhow::Result<String> {
        match self {
            Self::Child(child) => file(member, child),
            Self::Remote { url, has_token } => file(
                member,
                &Remote {
                    kind,
                    url,
                    headers: has_token.then(|| Headers {
                        authorization: format!("Bearer {TOKEN}"),
                    }),
                },
            ),
        }
    }

    /// Returns the file of Claude Desktop, which starts every server itself.
    fn desktop(&self) -> anyhow::Result<String> {
        let Self::Remote { url, has_token } = self else {
            return self.json("mcpServers", None);
        };
        let mut args = vec!["-y".to_owned(), "mcp-remote".to_owned(), url.clone()];
        let mut env = BTreeMap::new();
        if *has_token {
            // Without a space, which some systems would split the argument at.
            args.extend([
                "--header".to_owned(),
                "Authorization:${AUTHORIZATION}".to_owned(),
            ]);
            env.insert("AUTHORIZATION", format!("Bearer {TOKEN}"));
        }
        let command = "npx".to_owned();
        file("mcpServers", &Child { command, args, env })
    }

    /// Returns the command of Claude Code.
    fn command(&self) -> String {
        let mut words = vec!["claude mcp add".to_owned()];
        match self {
            Self::Remote { url, has_token } => {
                words.extend([
                    "--transport http".to_owned(),
                    SERVER.to_owned(),
                    quoted(url),
                ]);
                if *has_token {
                    words.push("--header".to_owned());
                    words.push(quoted(&format!("Authorization: Bearer {TOKEN}")));
                }
            }
            Self::Child(child) => {
                words.push(SERVER.to_owned());
                for (name, value) in &child.env {
                    words.extend(["--env".to_owned(), quoted(&format!("{name}={value}"))]);
                }
                words.extend(["--".to_owned(), quoted(&child.command)]);
                words.extend(child.args.iter().map(|word| quoted(word)));
            }
        }
        words.join(" ") + "\n"
    }

    /// Returns the file of Codex.
    fn toml(&self) -> String {
        // A text in JSON is a text in TOML too.
        let text = |text: &str| serde_json::Value::from(text).to_string();
        let mut lines = vec![format!("[mcp_servers.{SERVER}]")];
        match self {
            Self::Remote { url, has_token } => {
                lines.push(format!("url = {}", text(url)));
                if *has_token {
                    let value = text(&format!("Bearer {TOKEN}"));
                    lines.push(format!("http_headers = {{ \"Authorization\" = {value} }}"));
                }
            }
            Self::Child(child) => {
                let args: Vec<_> = child.args.iter().map(|word| text(word)).collect();
                lines.push(format!("command = {}", text(&child.command)));
                lines.push(format!("args = [{}]", args.join(", ")));
                let env = child.env.iter();
                let env: Vec<_> = env
                    .map(|(name, value)| format!("{name} = {}", text(value)))
                    .collect();
                if !env.is_empty() {
                    lines.push(format!("env = {{ {} }}", env.join(", ")));
                }
            }
        }
        lines.join("\n") + "\n"
    }
}

// === impl Child ===

impl Child {
    fn of(overrides: &Overrides, configured: &Configuration, path: &Path) -> anyhow::Result<Self> {
        let mut variables = BTreeMap::new();
        let args = if let Some(url) = &overrides.database_url {
            let has_password = configured.databases.iter().any(Entry::has_password);
            if has_password {
                variables.insert("PGPASSWORD", "<password>".to_owned());
            }
            vec![without_password(url.expose())]
        } else if path.is_file() {
            let path = path.canonicalize().context("the configuration file")?;
            vec!["-config".to_owned(), path.display().to_string()]
        } else {
            bail!("-print-client needs a configuration file, or a connection URL after the flags");
        };
        let program = env::current_exe().unwrap_or_else(|_| NAME.into());
        let command = program.display().to_string();
        Ok(Self {
            command,
            args,
            env: variables,
        })
    }
}

/// Formats the file of a client.
fn file(member: &'static str, server: &impl Serialize) -> anyhow::Result<String> {
    let file = BTreeMap::from([(member, BTreeMap::from([(SERVER, server)]))]);
    Ok(serde_json::to_string_pretty(&file)? + "\n")
}

/// Returns the address that only clients on the internet use, and where it goes.
fn public(server: &Server, client: &str, place: &str) -> anyhow::Result<String> {
    let Server::Remote { url, has_token } = server else {
        bail!("{client} needs http.public_url with https");
    };
    if !url.starts_with("https://") || url.starts_with("https://localhost") {
        bail!("{client} needs http.public_url with https");
    }
    let note = if *has_token {
        format!(
            "{client} signs in and sends no API token: it needs http.auth.oauth or \
             http.auth.issuer too.\n"
        )
    } else {
        String::new()
    };
    Ok(format!(
        "{url}\n{client}: {place}; paste the address there.\n{note}"
    ))
}

/// Returns the address of the endpoint. Clients that sign in compare it with the address that the server
/// names, which is `localhost` on this machine.
fn url(http: &Http, has_sign_in: bool) -> String {
    if let Some(public) = &http.public_url {
        return format!("{}/mcp", public.origin());
    }
    let scheme = if http.tls.is_some() { "https" } else { "http" };
    let address = http.address.to_string();
    let everywhere = ["", "0.0.0.0", "[::]"];
    let address = match address.rsplit_once(':') {
        Some((host, port)) if has_sign_in || everywhere.contains(&host) => {
            format!("localhost:{port}")
        }
        _ => address,
    };
    format!("{scheme}://{address}/mcp")
}

/// Removes the password from a connection URL.
fn without_password(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("postgres", url));
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (login, place) = place.rsplit_once('@').unwrap_or(("", place));
    let user = login.split(':').next().unwrap_or_default();
    let at = if user.is_empty() { "" } else { "@" };
    let query = query.split('&');
    let query: Vec<_> = query
        .filter(|pair| !pair.is_empty() && !pair.starts_with("password="))
        .collect();
    let mark = if query.is_empty() { "" } else { "?" };
    format!("{scheme}://{user}{at}{place}{mark}{}", query.join("&"))
}

/// Quotes a word for a POSIX shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_url_is_shown_without_its_password() {
        for (url, shown) in [
            (
                "postgres://a:s@h:1/d?sslmode=require",
                "postgres://a@h:1/d?sslmode=require",
            ),
            ("postgresql://a@h/d", "postgresql://a@h/d"),
            (
                "postgres:///d?password=s&host=/run",
                "postgres:///d?host=/run",
            ),
            ("postgres://a:p%40s@h,i/d?password=s", "postgres://a@h,i/d"),
        ] {
            assert_eq!(without_password(url), shown);
        }
    }
}
