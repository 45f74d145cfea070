//! Environment variables: given as a map, and read by name.

use std::{collections::BTreeMap, ffi::OsString, fmt};

/// The environment of the process, or of a test. An empty variable is not there.
///
/// ```
/// use ziggurat_runtime::Environment;
///
/// let environment = Environment::new([("HOME", "/home/me"), ("PGUSER", "")]);
/// assert_eq!(environment.get("HOME"), Some("/home/me"));
/// assert_eq!(environment.get("PGUSER"), None);
/// ```
#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, String>,
    unreadable: Vec<String>,
}

// === impl Environment ===

impl Environment {
    /// Takes variables that are text, and notes those that are not.
    pub fn new(
        variables: impl IntoIterator<Item = (impl Into<OsString>, impl Into<OsString>)>,
    ) -> Self {
        let mut environment = Self::default();
        for (name, value) in variables {
            let Ok(name) = name.into().into_string() else {
                continue;
            };
            match value.into().into_string() {
                // The last value of a name counts, so an empty one takes an earlier one away.
                Ok(value) if value.is_empty() => {
                    environment.variables.remove(&name);
                }
                Ok(value) => {
                    environment.variables.insert(name, value);
                }
                Err(_) => environment.unreadable.push(name),
            }
        }
        environment
    }

    /// The value of a variable, unless it is empty.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// The names of all that are there, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.keys().map(String::as_str)
    }

    /// The names of those whose values are not text.
    pub fn unreadable(&self) -> impl Iterator<Item = &str> {
        self.unreadable.iter().map(String::as_str)
    }
}

impl fmt::Debug for Environment {
    /// Names only: values may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.variables.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_do_not_show() {
        let environment = Environment::new([("PGPASSWORD", "swordfish")]);
        assert!(!format!("{environment:?}").contains("swordfish"));
    }
}
