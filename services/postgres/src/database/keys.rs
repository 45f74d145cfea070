//! Keys of a configuration file that say how to reach a database.
//!
//! Only the file sets them: no flag, no variable and no URL does. Entries of all programs read them
//! here, so they mean the same everywhere.

use secrecy::ExposeSecret as _;
use ziggurat_runtime::{Secret, config::Section};

use crate::database::{InvalidDatabase, Password, Settings};

/// Values of the keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConnectKeys {
    /// Variable with the password, and its value.
    password_env: Option<(String, Option<Secret>)>,
}

// === impl ConnectKeys ===

impl ConnectKeys {
    /// Reads the keys of an entry, and the variable that it names.
    #[must_use]
    pub fn read(file: &Section<'_>) -> Self {
        let password_env = file.key("password_env").text().map(|name| {
            let value = file.environment().get(&name).map(Secret::from);
            (name, value)
        });
        Self { password_env }
    }

    /// Returns whether the entry says where its password comes from.
    #[must_use]
    pub fn has_password(&self) -> bool {
        self.password_env.is_some()
    }

    /// Returns the name of the variable with the password.
    #[must_use]
    pub fn password_env(&self) -> Option<&str> {
        self.password_env.as_ref().map(|(name, _)| &**name)
    }

    /// Adds the values to the settings of the entry.
    ///
    /// # Errors
    /// Fails if the entry has a second password, or the variable is not set.
    pub fn apply(&self, settings: &mut Settings) -> Result<(), InvalidDatabase> {
        let name = || settings.name.clone();
        let is_given = match &settings.password {
            Password::Given(password) => !password.expose_secret().is_empty(),
            _ => false,
        };
        if is_given && self.has_password() {
            return Err(InvalidDatabase::Exclusive {
                name: name(),
                keys: "password and password_env",
            });
        }
        if let Some((variable, value)) = &self.password_env {
            let value = value
                .clone()
                .ok_or_else(|| InvalidDatabase::UnsetVariable {
                    name: name(),
                    variable: variable.clone(),
                })?;
            settings.password = Password::Given(value.into());
        }
        Ok(())
    }
}
