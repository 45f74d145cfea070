//! Resolves what all commands have in common: the flags of the root, the configuration, the profile
//! and the connection.

use std::{sync::Arc, time::Duration};

use crate::{
    config::{self, Config, DEFAULT_PROFILE},
    context::{ConnectionFlags, Context, Globals, Streams},
    duration,
    environment::Environment,
    failure::Failure,
    keychain::{self, Keychain},
    output::{Format, Program, quoted},
    tree::{Action, Output, parser::Matches},
};

/// Maximum number of retries; more would only delay the failure.
const MAX_RETRIES: u32 = 10;

/// Style of a failure's message, as far as the flags are parsed.
#[derive(Default)]
pub(crate) struct ErrorStyle {
    pub(crate) format: Format,
    pub(crate) colours: bool,
}

/// Resolves the flags that every command has.
pub(crate) fn set_up<'a>(
    matches: &Matches,
    action: Action,
    environment: &'a Environment,
    streams: &'a mut Streams,
    style: &mut ErrorStyle,
) -> Result<Context<'a>, Failure> {
    let named = named_config(matches, environment)?;
    let config = if needs_configuration(action) {
        Config::load(environment, named.as_deref(), action == Action::AuthLogin)?
    } else {
        Config::empty(environment)
    };
    let given = named_profile(matches)?;
    let profile = given
        .as_deref()
        .or_else(|| environment.var("ZIGGURAT_PROFILE"))
        .or_else(|| config.current())
        .unwrap_or(DEFAULT_PROFILE)
        .to_owned();
    config::check_name(&profile)?;
    style.format = output_format(matches, &config)?;
    style.colours =
        environment.terminals().stderr && environment.allows_colour() && !matches.is_on("no-color");
    let globals = Globals {
        config: named,
        profile: given,
        // A jq program processes JSON; failures use the requested format.
        output: match matches.value("jq") {
            Some(_) => Format::Json,
            None => style.format,
        },
        no_color: matches.is_on("no-color"),
        verbose: matches.is_on("verbose"),
        debug: matches.is_on("debug"),
        no_input: matches.is_on("no-input"),
        fields: fields(matches)?,
        jq: matches.value("jq").map(str::to_owned),
    };
    if let Some(source) = &globals.jq {
        Program::compile(source)?;
    }
    let keychain: Arc<dyn Keychain> = match environment.keychain() {
        Some(keychain) => keychain,
        None => keychain::of_system(environment.variables(), config.allows_keychain()),
    };
    Ok(Context {
        dry_run: dry_run(matches)?,
        connection: connection(matches, environment)?,
        environment,
        streams,
        globals,
        config,
        profile,
        keychain,
    })
}

/// Returns whether a command reads the configuration.
fn needs_configuration(action: Action) -> bool {
    !matches!(
        action,
        Action::Commands
            | Action::CompletionInstall
            | Action::CompletionScript(_)
            | Action::CompletionUninstall
            | Action::CompleteWords
            | Action::Help
            | Action::Llms
            | Action::Man
            | Action::Version
    )
}

fn named_config(matches: &Matches, environment: &Environment) -> Result<Option<String>, Failure> {
    match matches.value("config") {
        Some("") => Err(Failure::usage(
            "--config given an empty value: name a file, or omit the flag to use the default",
        )),
        Some(path) => Ok(Some(path.to_owned())),
        None => Ok(environment.var("ZIGGURAT_CONFIG").map(str::to_owned)),
    }
}

fn named_profile(matches: &Matches) -> Result<Option<String>, Failure> {
    match matches.value("profile") {
        Some("") => Err(Failure::usage(
            "--profile given an empty value: name a profile, or omit the flag to use the active one",
        )),
        other => Ok(other.map(str::to_owned)),
    }
}

/// Returns the format of `-o`, or of the file.
fn output_format(matches: &Matches, config: &Config) -> Result<Format, Failure> {
    let name = matches
        .value("output")
        .filter(|name| !name.is_empty())
        .or_else(|| config.output())
        .unwrap_or("text");
    Format::from_name(name).ok_or_else(|| {
        Failure::usage(format!(
            "unsupported output format: {} (want text, json, yaml)",
            quoted(name)
        ))
    })
}

/// Returns the members of `--fields`; fails for one that the command does not print.
fn fields(matches: &Matches) -> Result<Vec<String>, Failure> {
    let Some(list) = matches.value("fields") else {
        return Ok(Vec::new());
    };
    let fields: Vec<String> = list.split(',').map(|name| name.trim().to_owned()).collect();
    let known = match matches.command.output {
        Output::Free => return Ok(fields),
        output @ (Output::Record(_) | Output::List(_)) => output.members(),
        Output::None | Output::Text => {
            return Err(Failure::usage(format!(
                "--fields: the output of {} has no fields",
                quoted(&matches.full_name())
            )));
        }
    };
    match fields.iter().find(|field| !known.contains(&field.as_str())) {
        None => Ok(fields),
        Some(unknown) => Err(Failure::usage(format!(
            "--fields: unknown field {} (want some of {})",
            quoted(unknown),
            known.join(", ")
        ))),
    }
}

fn dry_run(matches: &Matches) -> Result<bool, Failure> {
    match matches.value("dry-run") {
        None => Ok(false),
        Some("checks") => Ok(true),
        Some("server") => Err(Failure::usage(
            "--dry-run=server is not available: the platform's API has no endpoint that validates \
             a request without carrying it out; use --dry-run",
        )),
        Some(other) => Err(Failure::usage(format!(
            "invalid --dry-run value {} (want \"checks\", or just --dry-run)",
            quoted(other)
        ))),
    }
}

fn connection(matches: &Matches, environment: &Environment) -> Result<ConnectionFlags, Failure> {
    let given = |flag: &str| match matches.value(flag) {
        Some("") => Err(Failure::usage(format!(
            "--{flag} given an empty value: give one, or omit the flag"
        ))),
        other => Ok(other.map(str::to_owned)),
    };
    let timeout = match matches.value("timeout") {
        None => Some(Duration::from_secs(30)),
        Some(text) => {
            let timeout = duration::parse(text).map_err(Failure::usage)?;
            if timeout.is_negative {
                return Err(Failure::usage("--timeout must not be negative"));
            }
            Some(timeout.length).filter(|length| !length.is_zero())
        }
    };
    let retries = match matches.value("retries") {
        None => 2,
        Some(text) => text
            .parse()
            .ok()
            .filter(|retries| *retries <= MAX_RETRIES)
            .ok_or_else(|| {
                Failure::usage(format!("--retries must be between 0 and {MAX_RETRIES}"))
            })?,
    };
    let client_secret = given("client-secret")?;
    let client_secret_file = given("client-secret-file")?;
    if client_secret.is_some() && client_secret_file.is_some() {
        return Err(Failure::usage(
            "--client-secret and --client-secret-file exclude each other: give one of them",
        ));
    }
    Ok(ConnectionFlags {
        api_url: given("api-url")?
            .or_else(|| environment.var("ZIGGURAT_API_URL").map(str::to_owned)),
        client_id: given("client-id")?,
        client_secret: client_secret.map(Into::into),
        client_secret_file,
        timeout,
        retries,
    })
}

/// Checks that the active profile is in the file, except the default, which always exists.
pub(crate) fn guard(context: &Context<'_>, action: Action) -> Result<(), Failure> {
    let is_named =
        context.globals.profile.is_some() || context.environment.var("ZIGGURAT_PROFILE").is_some();
    let repairs = matches!(action, Action::ProfileList | Action::ProfileUse) && !is_named;
    if !needs_configuration(action) || action == Action::AuthLogin || repairs {
        return Ok(());
    }
    context.config.require(&context.profile)
}
