//! Reader of environment variables that warns of unknown ones.

use std::{collections::BTreeSet, path::PathBuf, str::FromStr};

use ziggurat_runtime::{Environment, Secret, keys};

/// Prefix of all variables of Ziggurat.
const PREFIX: &str = "ZIGGURAT_";

/// Reads variables and records those that were read, to find unknown ones.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    environment: &'a Environment,
    asked: BTreeSet<String>,
    warnings: Vec<String>,
}

// === impl Reader ===

impl<'a> Reader<'a> {
    pub(super) fn new(environment: &'a Environment) -> Self {
        let ours = |name: &&str| name.starts_with(PREFIX) || name.starts_with("PG");
        let unreadable = environment.unreadable().filter(ours);
        Self {
            environment,
            asked: BTreeSet::new(),
            warnings: unreadable
                .map(|name| format!("{name} is not valid UTF-8 and is ignored"))
                .collect(),
        }
    }

    /// Reads a text.
    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        self.get(name).map(ToOwned::to_owned)
    }

    /// Reads a path.
    pub(super) fn path(&mut self, name: &str) -> Option<PathBuf> {
        self.get(name).map(PathBuf::from)
    }

    /// Reads a password or a key.
    pub(super) fn secret(&mut self, name: &str) -> Option<Secret> {
        self.get(name).map(Secret::from)
    }

    /// Reads a boolean; everything except a few words for yes means no.
    pub(super) fn boolean(&mut self, name: &str) -> Option<bool> {
        self.get(name).map(|text| {
            ["true", "1", "yes"]
                .iter()
                .any(|yes| text.eq_ignore_ascii_case(yes))
        })
    }

    /// Reads a number. Anything else is ignored with a warning.
    pub(super) fn integer<T: FromStr>(&mut self, name: &str) -> Option<T> {
        let text = self.get(name)?;
        let number = text.trim().parse().ok();
        if number.is_none() {
            self.warnings.push(format!(
                "{name} is not a number that will do and is ignored"
            ));
        }
        number
    }

    /// Reads a list, separated by commas.
    pub(super) fn list(&mut self, name: &str) -> Option<Vec<String>> {
        self.get(name).map(|text| {
            let items = text.split(',').map(str::trim);
            items
                .filter(|item| !item.is_empty())
                .map(ToOwned::to_owned)
                .collect()
        })
    }

    /// Returns the numbers `n` for which there is a variable `<prefix><n>_…`.
    pub(super) fn numbers(&self, prefix: &str) -> BTreeSet<u32> {
        let names = self.environment.names();
        names
            .filter_map(|name| {
                let (number, rest) = name.strip_prefix(prefix)?.split_once('_')?;
                // Other spellings of the number would not match when the variable is read.
                let is_plain = !number.starts_with(['0', '+']) && !rest.is_empty();
                number.parse().ok().filter(|_| is_plain)
            })
            .collect()
    }

    /// Ignores variables with this prefix.
    pub(super) fn pass_over(&mut self, prefix: &str) {
        let names = self.environment.names();
        let names = names.filter(|name| name.starts_with(prefix));
        self.asked.extend(names.map(str::to_owned));
    }

    /// Adds a warning about the environment.
    pub(super) fn warn(&mut self, warning: String) {
        self.warnings.push(warning);
    }

    /// Returns the warnings, including those for mistyped names.
    pub(super) fn into_warnings(mut self) -> Vec<String> {
        for name in self.environment.names() {
            if !name.starts_with(PREFIX) || self.asked.contains(name) {
                continue;
            }
            // Other Ziggurat programs have variables too, so only names similar to known ones are
            // reported.
            let suffix = &name[PREFIX.len()..];
            let meant = self.asked.iter().find(|asked| {
                asked.strip_prefix(PREFIX).is_some_and(|asked| {
                    let distance = keys::distance(suffix, asked);
                    distance <= 2 && keys::is_near(distance, suffix)
                })
            });
            if let Some(meant) = meant {
                self.warnings
                    .push(format!("unknown variable {name} (did you mean {meant}?)"));
            }
        }
        self.warnings
    }

    /// Returns the value of a variable, unless it is empty.
    pub(super) fn get(&mut self, name: &str) -> Option<&'a str> {
        self.asked.insert(name.to_owned());
        self.environment.get(name)
    }
}

/// Overrides a field with a value of higher precedence, if there is one.
pub(super) fn set<T>(field: &mut Option<T>, value: Option<T>) {
    if value.is_some() {
        *field = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        Environment::new(variables.iter().copied())
    }

    #[test]
    fn a_few_words_are_yes_and_all_others_no() {
        for (text, expected) in [
            ("true", Some(true)),
            ("TRUE", Some(true)),
            ("1", Some(true)),
            ("yes", Some(true)),
            ("false", Some(false)),
            ("on", Some(false)),
            ("0", Some(false)),
            (" ", Some(false)),
            ("", None),
        ] {
            let environment = environment(&[("X", text)]);
            assert_eq!(Reader::new(&environment).boolean("X"), expected, "{text:?}");
        }
        assert_eq!(Reader::new(&environment(&[])).boolean("X"), None);
    }

    #[test]
    fn an_invalid_number_is_ignored_with_a_warning() {
        let environment = environment(&[("A", "12"), ("B", "twelve"), ("C", "70000"), ("D", "")]);
        let mut reader = Reader::new(&environment);
        assert_eq!(reader.integer::<u16>("A"), Some(12));
        assert_eq!(reader.integer::<u16>("B"), None);
        assert_eq!(reader.integer::<u16>("C"), None);
        assert_eq!(reader.integer::<u16>("D"), None);
        assert_eq!(
            reader.into_warnings(),
            [
                "B is not a number that will do and is ignored",
                "C is not a number that will do and is ignored"
            ]
        );
    }

    #[test]
    fn a_mistyped_name_is_a_warning_and_variables_of_other_programs_are_not() {
        let environment = environment(&[
            ("ZIGGURAT_HTTP_ADRESS", ":1"),
            ("ZIGGURAT_PG_BIN", "/usr/bin"),
            ("HTTP_ADRESS", ":1"),
        ]);
        let mut reader = Reader::new(&environment);
        reader.text("ZIGGURAT_HTTP_ADDRESS");
        assert_eq!(
            reader.into_warnings(),
            ["unknown variable ZIGGURAT_HTTP_ADRESS (did you mean ZIGGURAT_HTTP_ADDRESS?)"]
        );
    }

    #[test]
    fn numbered_variables_are_found_in_numerical_order() {
        let environment = environment(&[
            ("X_10_NAME", "ten"),
            ("X_2_NAME", "two"),
            ("X_02_NAME", "not as we write it"),
            ("X_NAME", "no number"),
            ("X_3", "no field"),
        ]);
        let numbers = Reader::new(&environment).numbers("X_");
        assert_eq!(numbers.into_iter().collect::<Vec<_>>(), [2, 10]);
    }
}
