//! `doctor` of the program itself: checks the installation and the platform of each profile.

use std::{path::Path, time::Duration};

use serde::Serialize;
use tokio::time::Instant;

use crate::{
    api::Api,
    context::Context,
    credentials::api_url,
    failure::Failure,
    keychain,
    output::{View, print},
    tree::{PROGRAM, VERSION, parser::Matches},
};

/// Maximum time for the response of a platform.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Serialize)]
struct InstallationReport {
    version: &'static str,
    latest_version: LatestVersion,
    config: ConfigReport,
    shell: ShellReport,
    install_method: &'static str,
    connections: Vec<Connection>,
}

/// There is no published list of releases yet, so the latest version is not checked.
#[derive(Serialize)]
struct LatestVersion {
    checked: bool,
    current: &'static str,
}

#[derive(Serialize)]
struct ConfigReport {
    dir: String,
    path: String,
    config_exists: bool,
}

#[derive(Serialize)]
struct ShellReport {
    shell: String,
    in_path: bool,
}

#[derive(Serialize)]
struct Connection {
    module: &'static str,
    profile: String,
    url: String,
    has_credentials: bool,
    status: &'static str,
    detail: String,
}

/// Checks the installation; with `--strict`, a problem is a failure.
pub(super) async fn run(context: &mut Context<'_>, matches: &Matches) -> Result<(), Failure> {
    let mut names: Vec<String> = context.config.profile_names().map(str::to_owned).collect();
    if names.is_empty() {
        names.push(context.profile.clone());
    }
    let mut connections = Vec::new();
    for name in names {
        connections.push(connection(context, name).await);
    }
    let config = context.config.path();
    let report = InstallationReport {
        version: VERSION,
        latest_version: LatestVersion {
            checked: false,
            current: VERSION,
        },
        config: ConfigReport {
            dir: config.parent().unwrap_or(config).display().to_string(),
            path: config.display().to_string(),
            config_exists: context.config.exists(),
        },
        shell: ShellReport {
            shell: shell(context),
            in_path: is_in_path(context),
        },
        install_method: install_method(context.environment.program()),
        connections,
    };
    let has_error = report.connections.iter().any(|c| c.status == "error");
    let view = View::Table {
        columns: vec![
            ("check", "CHECK"),
            ("status", "STATUS"),
            ("details", "DETAILS"),
        ],
        rows: report.rows(matches.is_on("no-version-check")),
    };
    print::report(context, &report, view)?;
    if has_error && matches.is_on("strict") {
        return Err(Failure::general("a check found an error"));
    }
    Ok(())
}

// === impl InstallationReport ===

impl InstallationReport {
    fn rows(&self, skips_version: bool) -> Vec<Vec<String>> {
        let row = |check: &str, status: &str, details: String| {
            vec![check.to_owned(), status.to_owned(), details]
        };
        let latest = if skips_version {
            "not checked (--no-version-check)"
        } else {
            "not checked: no list of releases is available"
        };
        let config = if self.config.config_exists {
            self.config.path.clone()
        } else {
            format!("{} (does not exist yet)", self.config.path)
        };
        let shell = match (self.shell.shell.as_str(), self.shell.in_path) {
            ("", true) => format!("{PROGRAM} is on PATH"),
            ("", false) => format!("{PROGRAM} is not on PATH"),
            (shell, true) => format!("{shell}, {PROGRAM} is on PATH"),
            (shell, false) => format!("{shell}, {PROGRAM} is not on PATH"),
        };
        let on_path = if self.shell.in_path { "ok" } else { "warning" };
        let mut rows = vec![
            row("Version", "ok", self.version.to_owned()),
            row("Latest version", "ok", latest.to_owned()),
            row("Config", "ok", config),
            row("Shell", on_path, shell),
            row("Install method", "ok", self.install_method.to_owned()),
        ];
        rows.extend(self.connections.iter().map(|connection| {
            let credentials = if connection.has_credentials {
                "credentials stored"
            } else {
                "no credentials stored"
            };
            row(
                "Connection",
                connection.status,
                format!(
                    "{}: {}, {}, {credentials}",
                    connection.profile, connection.url, connection.detail
                ),
            )
        }));
        rows
    }
}

async fn connection(context: &mut Context<'_>, name: String) -> Connection {
    let profile = context.config.profile(&name).unwrap_or_default();
    let url = api_url(&profile).to_owned();
    let has_secret = profile.client_secret.is_some() || {
        let account = keychain::account(&name, context.config.path());
        profile.client_id.is_some() && context.keychain.read(&account).is_ok()
    };
    let has_credentials = profile.client_id.is_some() && has_secret;
    let begun = Instant::now();
    let probed = Api::new(context).probe(url.clone(), PROBE_TIMEOUT).await;
    let (status, detail) = match probed {
        Ok(answer) => {
            let status = if has_credentials { "ok" } else { "warning" };
            let elapsed = begun.elapsed().as_millis();
            (status, format!("{} in {elapsed}ms", answer.status.as_u16()))
        }
        Err(_) => ("error", "unreachable".to_owned()),
    };
    Connection {
        module: "platform",
        profile: name,
        url,
        has_credentials,
        status,
        detail,
    }
}

fn shell(context: &Context<'_>) -> String {
    let path = context.environment.var("SHELL").unwrap_or_default();
    let name = Path::new(path).file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn is_in_path(context: &Context<'_>) -> bool {
    let folders = context.environment.var("PATH").unwrap_or_default();
    std::env::split_paths(folders)
        .any(|folder| folder.join(PROGRAM).is_file() || folder.join("ziggurat.exe").is_file())
}

/// Returns the install method, as far as the program's path shows it.
fn install_method(program: Option<&Path>) -> &'static str {
    let Some(program) = program else {
        return "unknown";
    };
    let path = program.to_string_lossy().replace('\\', "/");
    if path.contains("/.cargo/bin/") {
        "cargo"
    } else if path.contains("/Cellar/") || path.contains("/homebrew/") {
        "homebrew"
    } else if path.contains("/target/") || path.contains("/debug/") || path.contains("/release/") {
        "built from source"
    } else if path.starts_with("/usr/bin/") {
        "system package"
    } else {
        "unknown"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_the_program_shows_how_it_was_installed() {
        for (path, method) in [
            ("/home/ada/.cargo/bin/ziggurat", "cargo"),
            ("/opt/homebrew/bin/ziggurat", "homebrew"),
            ("/usr/bin/ziggurat", "system package"),
            ("/src/target/debug/ziggurat", "built from source"),
            ("/opt/ziggurat", "unknown"),
        ] {
            assert_eq!(install_method(Some(Path::new(path))), method, "{path}");
        }
    }
}
