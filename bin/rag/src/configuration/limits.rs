//! Limits of callers.

use ziggurat_calls::limits::Settings;
use ziggurat_runtime::config::Section;

/// Reads the section, and warns of limits that have no effect.
pub(super) fn read(limits: &Section<'_>) -> Settings {
    for entry in limits.key("callers").list().unwrap_or_default() {
        let max_cost = entry.into_section().key("max_cost");
        if max_cost.is_present() {
            limits.warn(format!(
                "{max_cost} has no effect: clients of this server send no statements"
            ));
        }
    }
    Settings::read(limits)
}
