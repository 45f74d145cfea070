//! Environment variables, given as a map and read by name.

use std::{collections::BTreeMap, ffi::OsString, fmt};

/// Environment variables of the process or of a test. An empty variable counts as unset.
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
    /// Keeps the variables that are valid Unicode, and the names of the others.
    pub fn new(
        variables: impl IntoIterator<Item = (impl Into<OsString>, impl Into<OsString>)>,
    ) -> Self {
        let mut environment = Self::default();
        for (name, value) in variables {
            let Ok(name) = name.into().into_string() else {
                continue;
            };
            match value.into().into_string() {
                // The last value of a name wins, so an empty one removes an earlier one.
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

    /// Returns the value of a variable, unless it is empty.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// Returns the names of all variables, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.keys().map(String::as_str)
    }

    /// Returns the names of the variables with values that are not valid Unicode.
    pub fn unreadable(&self) -> impl Iterator<Item = &str> {
        self.unreadable.iter().map(String::as_str)
    }
}

impl fmt::Debug for Environment {
    /// Prints names only, because values may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.variables.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_has_no_values() {
        let environment = Environment::new([("PGPASSWORD", "swordfish")]);
        assert!(!format!("{environment:?}").contains("swordfish"));
    }
}
