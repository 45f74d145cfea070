use std::{collections::BTreeMap, fs};

use serde_json::Value;

use crate::{cargo, planned, root};

fn metadata() -> Value {
    let metadata = cargo(&["metadata", "--no-deps", "--format-version", "1"]);
    serde_json::from_str(&metadata).expect("JSON")
}

/// Returns the packages of the workspace, by folder.
fn packages() -> BTreeMap<String, Value> {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("packages");
    let folder = |package: &Value| {
        let manifest = package["manifest_path"].as_str().expect("a path");
        let folder = manifest.strip_suffix("/Cargo.toml").expect("a manifest");
        let folder = folder.strip_prefix(root().to_str().expect("UTF-8"));
        folder
            .unwrap_or_default()
            .trim_start_matches('/')
            .to_owned()
    };
    packages
        .iter()
        .map(|package| (folder(package), package.clone()))
        .collect()
}

#[test]
fn every_crate_depends_only_on_crates_of_lower_levels() {
    let packages = packages();
    let level_of: BTreeMap<_, _> = planned()
        .map(|(level, folder)| {
            let package = packages.get(folder);
            let package = package.unwrap_or_else(|| panic!("{folder} is planned and not there"));
            (package["name"].as_str().expect("a name"), level)
        })
        .collect();
    for (level, folder) in planned() {
        let dependencies = packages[folder]["dependencies"].as_array();
        for dependency in dependencies.expect("dependencies") {
            let name = dependency["name"].as_str().expect("a name");
            // What only tests need may come from anywhere; so may what a feature for tests adds.
            let is_for_tests = dependency["kind"] == "dev" || dependency["optional"] == true;
            if dependency["path"].is_null() || is_for_tests {
                continue;
            }
            let lower = level_of.get(name).is_some_and(|other| *other < level);
            assert!(lower, "{folder} must not depend on {name}");
        }
    }
}

#[test]
fn every_crate_of_the_products_is_planned() {
    for folder in packages().keys() {
        let is_product = ["services/", "bin/"]
            .iter()
            .any(|top| folder.starts_with(top));
        let is_planned = planned().any(|(_, planned)| planned == folder);
        // The demo starts all programs and a database of its own.
        assert!(
            is_planned || !is_product || folder == "bin/demo",
            "{folder}"
        );
    }
}

#[test]
fn cargo_test_runs_the_tests_of_every_planned_crate() {
    let metadata = metadata();
    let tested = metadata["workspace_default_members"].as_array();
    let tested = tested.expect("the members that `cargo test` takes by itself");
    let packages = packages();
    for (_, folder) in planned() {
        assert!(tested.contains(&packages[folder]["id"]), "{folder}");
    }
}

#[test]
fn the_book_describes_every_crate() {
    let book = fs::read_to_string(root().join("docs/src/architecture.md")).expect("a chapter");
    for (_, folder) in planned() {
        assert!(book.contains(&format!("`{folder}`")), "{folder} is missing");
    }
}

#[test]
fn a_program_is_linked_only_with_what_it_needs() {
    let cases: [(&str, &[&str]); 3] = [
        (
            "ziggurat-rag",
            &["bcrypt", "jsonwebtoken", "ziggurat-accounts"],
        ),
        ("ziggurat-platform", &["ziggurat-llm", "ziggurat-mcp"]),
        ("ziggurat-cli", &["sqlx", "axum", "ziggurat-http"]),
    ];
    for (program, foreign) in cases {
        let tree = cargo(&[
            "tree",
            "--package",
            program,
            "--edges",
            "normal",
            "--prefix",
            "none",
        ]);
        for line in tree.lines() {
            let name = line.split(' ').next().unwrap_or_default();
            assert!(!foreign.contains(&name), "{program} is linked with {name}");
        }
    }
}

#[test]
fn a_program_has_no_code_that_is_only_for_tests() {
    for (_, folder) in planned().filter(|(_, folder)| folder.starts_with("bin/")) {
        let program = folder.replace("bin/", "ziggurat-");
        let tree = cargo(&[
            "tree",
            "--package",
            &program,
            "--edges",
            "normal,features",
            "--prefix",
            "none",
        ]);
        assert!(tree.contains("feature \"default\""), "no features: {tree}");
        let for_tests = tree.lines().find(|line| line.contains("\"test-support\""));
        assert_eq!(for_tests, None, "{program}");
    }
}
