//! Form of the values from the database in the texts of results.

use serde_yaml::Value as Yaml;
use ziggurat_answers::{ResultFormat, ShowHidden};
use ziggurat_runtime::config::Section;

/// Limit on the size of a value that an operator can set.
const MAX_CELL: usize = 1 << 30;

/// Reads the section.
pub(super) fn read(file: &Section<'_>) -> ResultFormat {
    let cell = file.key("max_cell_bytes").whole(0..=MAX_CELL);
    let usual = ResultFormat::default();
    ResultFormat {
        show_hidden: show_hidden(file),
        // 0 is no limit.
        max_cell_bytes: cell.map_or(usual.max_cell_bytes, |bytes| {
            Some(bytes).filter(|it| *it > 0)
        }),
        is_fenced: file.key("fence").boolean().unwrap_or(usual.is_fenced),
    }
}

fn show_hidden(file: &Section<'_>) -> ShowHidden {
    let escape = file.key("escape");
    match escape.any() {
        None => ShowHidden::default(),
        Some(Yaml::Bool(true)) => ShowHidden::Always,
        Some(Yaml::Bool(false)) => ShowHidden::Never,
        Some(Yaml::String(word)) => match word.as_str() {
            "auto" => ShowHidden::Negotiated,
            "on" => ShowHidden::Always,
            "off" => ShowHidden::Never,
            _ => {
                escape.problem(format_args!("'{word}' is neither auto, on nor off"));
                ShowHidden::default()
            }
        },
        Some(_) => {
            escape.problem("is neither auto, on nor off");
            ShowHidden::default()
        }
    }
}
