//! The files that are written, and the password in one of them.

use std::{
    fmt::Write as _,
    io,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use secrecy::ExposeSecret as _;
use ziggurat_postgres::database::{Settings, TargetSessionAttrs};
use ziggurat_runtime::private_file;
use ziggurat_tokens::secret::new_token;

use crate::{
    arguments::Admission,
    interface::NAME,
    setup::init::answers::{Answers, Transport},
};

/// Characters of a password.
const LENGTH: usize = 32;

/// Files that were written.
pub(super) struct Written {
    pub(super) configuration: PathBuf,
    role: PathBuf,
}

/// Makes a password of 32 random characters.
pub(super) fn password() -> anyhow::Result<String> {
    let token = new_token().context("the system has no random bytes")?;
    Ok(token.expose_secret().chars().take(LENGTH).collect())
}

/// Writes the configuration and the statements; nothing if one of the files exists.
pub(super) fn write(
    answers: &Answers,
    administrator: &Settings,
    password: &str,
    role: &str,
) -> anyhow::Result<Written> {
    let folder = answers.folder.canonicalize();
    let folder = folder.with_context(|| format!("-init-dir {}", answers.folder.display()))?;
    let written = Written {
        configuration: folder.join(format!("{NAME}.yaml")),
        role: folder.join("role.sql"),
    };
    for path in [&written.configuration, &written.role] {
        if path.exists() {
            bail!("{} exists; nothing was written", path.display());
        }
    }
    let yaml = configuration(answers, administrator, password);
    create(&written.configuration, &yaml)?;
    create(&written.role, role)?;
    Ok(written)
}

fn create(path: &Path, text: &str) -> anyhow::Result<()> {
    match private_file::create(path, text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            bail!("{} exists", path.display())
        }
        created => created.with_context(|| format!("cannot write {}", path.display())),
    }
}

/// Writes what differs from the defaults.
fn configuration(answers: &Answers, administrator: &Settings, password: &str) -> String {
    let usual = Settings::default();
    let mut yaml = "# Made by -init. The commented ziggurat-tools.example.yaml names every key.\n\
                    databases:\n"
        .to_owned();
    let mut lines = Vec::new();
    let mut line = |key: &str, value: &str| lines.push(format!("{key}: {}", text(value)));
    line("name", &administrator.database);
    let hosts = administrator.all_hosts();
    match &hosts[..] {
        [host] => {
            line("host", &host.name);
            if host.port != usual.port {
                lines.push(format!("port: {}", host.port));
            }
        }
        several => {
            let several: Vec<_> = several.iter().map(|host| text(&host.to_string())).collect();
            lines.push(format!("hosts: [{}]", several.join(", ")));
        }
    }
    let mut line = |key: &str, value: &str| lines.push(format!("{key}: {}", text(value)));
    line("database", &administrator.database);
    line("user", &answers.role);
    line("password", password);
    if administrator.ssl_mode != usual.ssl_mode {
        line("sslmode", &administrator.ssl_mode.to_string());
    }
    if let Some(path) = &administrator.ssl_root_cert {
        line("sslrootcert", &path.display().to_string());
    }
    if administrator.target_session_attrs != TargetSessionAttrs::Any {
        line(
            "target_session_attrs",
            administrator.target_session_attrs.as_str(),
        );
    }
    if answers.writes {
        lines.push("# Statements may change data.".to_owned());
        lines.push("allow_writes: true".to_owned());
    }
    for (at, line) in lines.iter().enumerate() {
        let lead = if at == 0 { "  - " } else { "    " };
        let _ = writeln!(yaml, "{lead}{line}");
    }
    yaml + http(answers.transport)
}

fn http(transport: Transport) -> &'static str {
    match transport {
        Transport::Stdio => "",
        Transport::Http(Admission::Tokens) => {
            "\nhttp:\n  enabled: true\n  \
             # This machine only. For others, add tls, or a proxy and public_url.\n  \
             address: 127.0.0.1:8080\n  \
             auth:\n    token_file: ziggurat-tools-tokens.yaml\n    \
             user_file: ziggurat-tools-users.yaml\n"
        }
        Transport::Http(Admission::SignIn) => {
            "\nhttp:\n  enabled: true\n  \
             # This machine only. For others, set public_url, and add tls or a proxy.\n  \
             address: 127.0.0.1:8080\n  \
             auth:\n    token_file: ziggurat-tools-tokens.yaml\n    \
             user_file: ziggurat-tools-users.yaml\n    \
             # People sign in with a browser, as users of the user file.\n    \
             oauth:\n      enabled: true\n"
        }
        Transport::Http(Admission::Local) => {
            "\nhttp:\n  enabled: true\n  # This machine only: callers need no token.\n  \
             address: 127.0.0.1:8080\n  auth:\n    enabled: false\n"
        }
    }
}

/// Returns a text in double quotes, as JSON has it.
fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

// === impl Written ===

impl Written {
    /// Names the files.
    pub(super) fn describe(&self) -> String {
        let (configuration, role) = (self.configuration.display(), self.role.display());
        format!("wrote {configuration}, with the password of the role\nwrote {role}\n")
    }

    /// Tells how people get accounts.
    pub(super) fn first_user(&self) -> String {
        let configuration = self.configuration.display();
        format!(
            "\nPeople sign in as users. Add the first one:\n  \
             {NAME} -config '{configuration}' -add-user -username <name>\n"
        )
    }

    /// Says what is left to do.
    pub(super) fn next_steps(&self) -> String {
        let (configuration, role) = (self.configuration.display(), self.role.display());
        format!(
            "\nNext, as an administrator of the database:\n  psql -f '{role}' <database>\n\
             Then:\n  {NAME} -config '{configuration}' -doctor\n  \
             {NAME} -config '{configuration}' -print-client <client>\n"
        )
    }
}
