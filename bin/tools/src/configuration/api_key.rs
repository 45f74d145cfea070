//! Lookup of a provider's API key: in the environment, in its own file, or in the configuration
//! file.

use std::path::PathBuf;

use ziggurat_runtime::file;

use super::{ConfigSources, Secret, environment::Reader};

/// Maximum size of a key file, larger than any key.
const MAX_BYTES: u64 = 64 << 10;

/// Looks up an API key.
///
/// `names` are variables, of which the first that is set wins; `key` is the configuration key, for
/// the warning about a key file that does not exist.
pub(super) fn find(
    names: &[&str],
    key_file: Option<PathBuf>,
    direct: Option<Secret>,
    key: &str,
    (reader, around): (&mut Reader<'_>, &ConfigSources),
) -> Option<Secret> {
    // All variables are read, so that none is reported as unknown.
    let values: Vec<_> = names.iter().map(|name| reader.secret(name)).collect();
    if let Some(secret) = values.into_iter().flatten().next() {
        return Some(secret);
    }
    if let Some(path) = around.path(key_file) {
        let reason = match file::text(&path, MAX_BYTES) {
            Ok(text) if text.trim().is_empty() => "it is empty".to_owned(),
            Ok(text) => return Some(Secret::from(text.trim())),
            Err(error) => error.to_string(),
        };
        let path = path.display();
        reader.warn(format!("no key in {path}, named by {key}_file: {reason}"));
    }
    direct.filter(|direct| !direct.is_empty())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::configuration::fixture::{around, secrets};

    #[test]
    fn a_key_is_taken_from_the_first_place_that_has_one() {
        let home = tempfile::tempdir().expect("a folder");
        fs::write(home.path().join("key"), "  from the file\n").expect("written");
        fs::write(home.path().join("empty"), "\n").expect("written");
        let home = home.path().to_str().expect("a path");
        for (variable, file, direct, expected, warnings) in [
            ("from outside", "~/key", "direct", Some("from outside"), 0),
            ("", "~/key", "direct", Some("from the file"), 0),
            ("", "~/empty", "direct", Some("direct"), 1),
            ("", "~/missing", "direct", Some("direct"), 1),
            ("", "", "direct", Some("direct"), 0),
            ("", "~/missing", "", None, 1),
        ] {
            let around = around(&[("OTHER_KEY", variable), ("HOME", home)]);
            let mut reader = Reader::new(&around.environment);
            let found = find(
                &["ZIGGURAT_OTHER_KEY", "OTHER_KEY"],
                Some(file.into()),
                Some(direct.into()),
                "llm.other_key",
                (&mut reader, &around),
            );
            assert_eq!(
                secrets(found.as_ref()),
                expected,
                "{variable} {file} {direct}"
            );
            assert_eq!(reader.into_warnings().len(), warnings, "{file}");
        }
    }

    #[test]
    fn the_variable_of_ziggurat_comes_before_that_of_the_provider() {
        let around = around(&[("ZIGGURAT_OTHER_KEY", "ours"), ("OTHER_KEY", "theirs")]);
        let found = find(
            &["ZIGGURAT_OTHER_KEY", "OTHER_KEY"],
            None,
            None,
            "llm.other_key",
            (&mut Reader::new(&around.environment), &around),
        );
        assert_eq!(secrets(found.as_ref()), Some("ours"));
    }
}
