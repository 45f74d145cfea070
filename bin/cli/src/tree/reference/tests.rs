use ziggurat_runtime::committed;

use super::*;

#[test]
fn every_page_for_language_models_is_small_and_complete() {
    for (path, command) in tree::commands() {
        let page = llms::page(&path, command);
        assert!(page.len() < 25 * 1024, "{path:?}: {} bytes", page.len());
        for part in [
            "Usage: ",
            "\n## Flags\n",
            "\n## Output\n",
            "\n## Examples\n",
        ] {
            assert!(page.contains(part), "{path:?}: {part}");
        }
    }
    let index = llms::index();
    assert!(index.len() < 25 * 1024);
    for (path, _) in tree::leaves() {
        let name = parser::full_name(&path);
        assert!(index.contains(&format!("- {name}: ")), "{name}");
    }
}

#[test]
fn every_manual_page_has_its_sections_and_no_stray_instruction() {
    for (path, command) in tree::commands() {
        let page = manual::page(&path, command);
        for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "EXAMPLES"] {
            assert!(page.contains(&format!("\n.SH {section}\n")), "{path:?}");
        }
        for line in page.lines().filter(|line| line.starts_with('.')) {
            let known = [
                ".TH ", ".SH ", ".B ", ".BR ", ".TP", ".PP", ".nf", ".fi", ".RS 4", ".RE",
            ];
            assert!(known.iter().any(|start| line.starts_with(start)), "{line}");
        }
    }
}

#[test]
fn the_list_names_every_command_with_its_flags() {
    let list: serde_json::Value = serde_json::to_value(list::commands()).expect("a list is data");
    let list = list.as_array().expect("a list");
    assert_eq!(list.len(), tree::leaves().len());
    let create = list
        .iter()
        .find(|command| command["path"] == "ziggurat platform client create")
        .expect("it is there");
    assert_eq!(create["writes"], true);
    assert_eq!(create["exit_codes"], serde_json::json!([0, 1, 2, 3, 5]));
    let flags = create["flags"].as_array().expect("a list");
    let flag = |name: &str| {
        flags
            .iter()
            .find(|flag| flag["name"] == name)
            .unwrap_or_else(|| panic!("{name}"))
    };
    assert_eq!(flag("name")["required"], true);
    assert_eq!(flag("timeout")["type"], "duration");
    assert_eq!(flag("timeout")["default"], "30s");
    assert_eq!(flag("output")["short"], "o");
    assert_eq!(flag("dry-run")["type"], "string");
}

#[test]
fn the_committed_reference_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/REFERENCE.md");
    committed::assert_current(path, &markdown::reference());
}
