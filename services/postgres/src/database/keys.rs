//! Keys of a configuration file that say how to reach a database.
//!
//! Only the file sets them: no flag, no variable and no URL does. Entries of all programs read them
//! here, so they mean the same everywhere.

use std::time::Duration;

use secrecy::ExposeSecret as _;
use ziggurat_runtime::{Secret, config::Section};

use crate::database::{CommandLine, InvalidDatabase, Password, PasswordCommand, Settings};

/// Values of the keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConnectKeys {
    /// Variable with the password, and its value.
    variable: Option<(String, Option<Secret>)>,
    /// Program that prints the password.
    program: Option<PasswordCommand>,
    /// Program that connects.
    tunnel: Option<CommandLine>,
}
/// Default time that a program may take to print a password.
const PASSWORD_TIMEOUT: Duration = Duration::from_secs(30);

// === impl ConnectKeys ===

impl ConnectKeys {
    /// Reads the keys of an entry, and the variable that it names.
    #[must_use]
    pub fn read(file: &Section<'_>) -> Self {
        let variable = file.key("password_env").text().map(|name| {
            let value = file.environment().get(&name).map(Secret::from);
            (name, value)
        });
        let times = ["password_lifetime", "password_command_timeout"].map(|name| file.key(name));
        let [lifetime, timeout] = times;
        let (lifetime, timeout) = (lifetime.time(), timeout.some_time());
        let program = command(file, "password_command").map(|command| PasswordCommand {
            command,
            lifetime: lifetime.unwrap_or_default(),
            timeout: timeout.unwrap_or(PASSWORD_TIMEOUT),
        });
        Self {
            variable,
            program,
            tunnel: command(file, "connect_command"),
        }
    }

    /// Returns whether the entry says where its password comes from.
    #[must_use]
    pub fn has_password(&self) -> bool {
        self.variable.is_some() || self.program.is_some()
    }

    /// Returns the name of the variable with the password.
    #[must_use]
    pub fn password_env(&self) -> Option<&str> {
        self.variable.as_ref().map(|(name, _)| &**name)
    }

    /// Returns the keys of programs, and whether each is set.
    #[must_use]
    pub fn programs(&self) -> [(&'static str, bool); 2] {
        [
            ("password_command", self.program.is_some()),
            ("connect_command", self.tunnel.is_some()),
        ]
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
        let sources = [is_given, self.variable.is_some(), self.program.is_some()];
        if sources.into_iter().filter(|is_there| *is_there).count() > 1 {
            return Err(InvalidDatabase::Exclusive {
                name: name(),
                keys: "password, password_env and password_command",
            });
        }
        if let Some((variable, value)) = &self.variable {
            let value = value
                .clone()
                .ok_or_else(|| InvalidDatabase::UnsetVariable {
                    name: name(),
                    variable: variable.clone(),
                })?;
            settings.password = Password::Given(value.into());
        }
        if let Some(program) = &self.program {
            named(&program.command, settings, "password_command")?;
            settings.password = Password::Command(program.clone());
        }
        if let Some(tunnel) = &self.tunnel {
            named(tunnel, settings, "connect_command")?;
            if settings.hosts.len() > 1 {
                return Err(InvalidDatabase::Exclusive {
                    name: settings.name.clone(),
                    keys: "connect_command and hosts",
                });
            }
            settings.connect_command = Some(tunnel.clone());
        }
        Ok(())
    }
}

fn command(file: &Section<'_>, key: &str) -> Option<CommandLine> {
    CommandLine::new(file.key(key).texts()?)
}

fn named(
    command: &CommandLine,
    settings: &Settings,
    setting: &'static str,
) -> Result<(), InvalidDatabase> {
    let is_named = command.is_named().then_some(());
    is_named.ok_or_else(|| InvalidDatabase::OutOfRange {
        name: settings.name.clone(),
        setting,
        range: "a list of a program and its arguments",
    })
}
