//! Tools for administrators.

use ziggurat_calls::toolsets::Toolsets;
use ziggurat_runtime::config::Section;
use ziggurat_sql_tools::ADMINISTRATOR_TOOLS;
use ziggurat_tokens::CallerNames;

/// Name of the section, and of its toolset.
const NAME: &str = "dba";

/// Reads the section, and adds its toolset if there are others. Returns whether the server has the
/// tools.
pub(super) fn read(file: &Section<'_>, toolsets: Option<Toolsets>) -> (bool, Option<Toolsets>) {
    let section = file.section(NAME);
    let is_enabled = section.key("enabled").boolean().unwrap_or(false);
    let callers = CallerNames::read_if_any(&section.section("for"));
    if !is_enabled {
        return (false, toolsets);
    }
    let Some(toolsets) = toolsets else {
        if !callers.is_empty() {
            file.warn(
                "dba.for has no effect without toolsets: every caller has the tools".to_owned(),
            );
        }
        return (true, None);
    };
    let tools = ADMINISTRATOR_TOOLS.map(str::to_owned);
    (true, Some(toolsets.with_set(file, NAME, tools, callers)))
}
