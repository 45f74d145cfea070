//! Limits of callers.

use ziggurat_calls::limits::Settings;
use ziggurat_runtime::config::Section;

/// Reads the section, and warns of limits that have no effect.
pub(super) fn read(limits: &Section<'_>) -> Settings {
    for entry in limits.key("callers").list().unwrap_or_default() {
        let entry = entry.into_section();
        for key in ["max_cost", "max_changed_rows"] {
            let limit = entry.key(key);
            if limit.is_present() {
                limits.warn(format!(
                    "{limit} has no effect: clients of this server send no statements"
                ));
            }
        }
    }
    Settings::read(limits)
}
