//! The section `audit` of a configuration.

use ziggurat_runtime::config::Section;

use crate::{Destination, Settings};

/// Limit on the size of a file of the trail that an operator can set.
const MAX_FILE: u64 = 1 << 40;

/// Limit on the number of old files that an operator can set.
const MAX_KEPT: usize = 1_000_000;

impl Settings {
    /// Reads the section `audit`; `None` if it names no file.
    #[must_use]
    pub fn read(file: &Section<'_>) -> Option<Self> {
        let file = file.section("audit");
        let usual = Settings::new(Destination::Stderr);
        let destination = file.key("file");
        let text = destination.text();
        let trail = Self {
            destination: match text.as_deref().and_then(Destination::parse) {
                Some(Destination::File(path)) => {
                    Destination::File(destination.resolved_path().unwrap_or(path))
                }
                Some(other) => other,
                None => Destination::Stderr,
            },
            required: file.key("required").boolean().unwrap_or(usual.required),
            statement: file.key("statement").parsed(str::parse).unwrap_or_default(),
            arguments: file.key("arguments").boolean().unwrap_or(usual.arguments),
            methods: file.key("methods").parsed(str::parse).unwrap_or_default(),
            fsync: file.key("fsync").parsed(str::parse).unwrap_or_default(),
            max_bytes: file
                .key("max_bytes")
                .whole(0..=MAX_FILE)
                .unwrap_or(usual.max_bytes),
            keep: file.key("keep").whole(0..=MAX_KEPT).unwrap_or(usual.keep),
            key_file: file.key("key_file").resolved_path(),
            state_folder: None,
        };
        if text.is_none() && trail.required {
            destination.problem("is missing, although `audit.required` is true");
        }
        text.map(|_| trail)
    }
}
