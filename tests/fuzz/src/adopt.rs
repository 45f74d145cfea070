//! Configurations of other servers.

use std::str;

use ziggurat_adopt::{Adoption, Form, Input, Surroundings};

/// Converts a text as a configuration of each kind. Every document that is written is YAML without
/// repeated keys, and no line of the report moves the cursor. Returns whether its kind is seen.
///
/// # Panics
/// Panics if a property does not hold.
#[must_use]
pub fn adopted(text: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(text) else {
        return false;
    };
    let input = Input { name: "file", text };
    let surroundings = Surroundings::new("ziggurat-tools.yaml");
    let convert = |form| {
        let Ok(adoption) = Adoption::read(&[input], form, &surroundings) else {
            return false;
        };
        let adopted = adoption.finish();
        for file in &adopted.files {
            let read = serde_yaml::from_str::<serde_yaml::Value>(&file.text);
            assert!(read.is_ok(), "{read:?}: {}", file.text);
        }
        let report = adopted.report.text();
        let moves = |c: char| c.is_control() && c != '\n';
        assert!(!report.contains(moves), "{report:?}");
        true
    };
    for form in [Form::Toolbox, Form::Dbhub, Form::Client] {
        let _ = convert(Some(form));
    }
    convert(None)
}
