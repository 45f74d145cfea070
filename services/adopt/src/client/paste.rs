//! Entries as clients read them.

use std::fmt::Write as _;

use serde::{Serialize, Serializer, ser::SerializeMap as _};

/// The way in which a client starts or reaches our server.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Launch {
    Process {
        command: &'static str,
        args: Vec<String>,
        #[serde(skip_serializing_if = "Pairs::is_empty")]
        env: Pairs,
    },
    Http {
        #[serde(rename = "type")]
        kind: &'static str,
        url: String,
        headers: Pairs,
    },
}

/// Names with values, in their order.
#[derive(Debug, Default)]
pub(super) struct Pairs(pub(super) Vec<(&'static str, String)>);

#[derive(Debug)]
pub(super) struct Entry<'a> {
    pub(super) name: &'a str,
    pub(super) launch: Launch,
}

/// A section of the configuration of a client.
#[derive(Debug)]
pub(super) struct Section<'a> {
    pub(super) section: &'a str,
    pub(super) entries: Vec<Entry<'a>>,
}

// === impl Section ===

impl Section<'_> {
    /// Writes the section in the language of its client.
    pub(super) fn render(&self) -> String {
        if self.section == "mcp_servers" {
            return self.toml();
        }
        // Texts and lists of texts can always be written.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    fn toml(&self) -> String {
        let mut text = String::new();
        for Entry { name, launch } in &self.entries {
            let section = format!("{}.{}", self.section, key(name));
            let _ = writeln!(text, "[{section}]");
            let (table, pairs) = match launch {
                Launch::Process { command, args, env } => {
                    let args: Vec<_> = args.iter().map(|it| quoted(it)).collect();
                    let args = args.join(", ");
                    let _ = writeln!(text, "command = {}\nargs = [{args}]", quoted(command));
                    ("env", env)
                }
                Launch::Http { url, headers, .. } => {
                    let _ = writeln!(text, "url = {}", quoted(url));
                    ("http_headers", headers)
                }
            };
            if !pairs.is_empty() {
                let _ = writeln!(text, "\n[{section}.{table}]");
            }
            for (name, value) in &pairs.0 {
                let _ = writeln!(text, "{name} = {}", quoted(value));
            }
        }
        text
    }
}

impl Serialize for Section<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(self.section, &Entries(&self.entries))?;
        map.end()
    }
}

struct Entries<'a>(&'a [Entry<'a>]);

impl Serialize for Entries<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|it| (it.name, &it.launch)))
    }
}

// === impl Pairs ===

impl Pairs {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Pairs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// Writes a string that JSON and TOML read alike.
fn quoted(text: &str) -> String {
    let json = serde_json::to_string(text).unwrap_or_default();
    json.replace('\u{7f}', "\\u007f")
}

fn key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if !name.is_empty() && name.chars().all(is_bare) {
        return name.to_owned();
    }
    quoted(name)
}
