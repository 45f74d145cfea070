//! Command that a command line selects.

use std::path::PathBuf;

use secrecy::SecretString;
use ziggurat_adopt::Form;
use ziggurat_audit::Verification;
use ziggurat_doctor as doctor;
use ziggurat_runtime::flags::{Flags, Shell};
use ziggurat_tokens::{ClaimError, Claims, NewClaims, TokenCommand, TokenOptions};

use crate::arguments::{
    CallerName, Refusal,
    prove::ProveOptions,
    setup::{Asked, ClientName, word},
    sign_in::SignInCommand,
};

/// Flags that select a command, in the order of the usage.
const COMMANDS: [&str; 33] = [
    "openapi",
    "version",
    "man",
    "completion",
    "check-config",
    "doctor",
    "healthcheck",
    "print-client",
    "print-seal-sql",
    "init",
    "add-token",
    "list-tokens",
    "remove-token",
    "add-user",
    "update-user",
    "delete-user",
    "list-users",
    "enable-user",
    "disable-user",
    "list-grants",
    "revoke-grant",
    "revoke-grants",
    "list-clients",
    "add-client",
    "remove-client",
    "rotate-key",
    "reset-second-factor",
    "build-knowledgebase",
    "verify-audit",
    "make-receipt-key",
    "verify-receipt",
    "adopt",
    "prove",
];

/// Flags that go with some commands only.
const DETAILS: [(&str, &[&str]); 50] = [
    ("connect", &["check-config"]),
    ("as", &["check-config", "verify-receipt", "prove"]),
    ("against", &["prove"]),
    ("as-claim", &["prove"]),
    ("against-claim", &["prove"]),
    ("copy", &["prove"]),
    ("canaries", &["prove"]),
    ("database", &["prove"]),
    ("rag", &["prove"]),
    ("sarif", &["prove"]),
    ("json", &["doctor", "adopt"]),
    ("strict", &["doctor"]),
    ("timeout", &["doctor"]),
    ("init-admin-url-file", &["init"]),
    ("init-role", &["init"]),
    ("init-schemas", &["init"]),
    ("init-writes", &["init"]),
    ("init-transport", &["init"]),
    ("init-auth", &["init"]),
    ("init-dir", &["init"]),
    ("init-apply", &["init"]),
    ("output", &["list-tokens", "list-users"]),
    ("token-note", &["add-token"]),
    ("token-database", &["add-token"]),
    ("token-expiry", &["add-token"]),
    ("token-claim", &["add-token"]),
    ("token-toolset", &["add-token"]),
    (
        "username",
        &[
            "add-user",
            "update-user",
            "delete-user",
            "enable-user",
            "disable-user",
            "list-grants",
            "revoke-grants",
            "reset-second-factor",
        ],
    ),
    ("client-name", &["add-client"]),
    ("redirect-uri", &["add-client"]),
    ("secret", &["add-client"]),
    ("revoke", &["rotate-key"]),
    ("keep-state", &["delete-user"]),
    ("yes", &["delete-user"]),
    ("password", &["add-user", "update-user"]),
    ("user-note", &["add-user", "update-user"]),
    ("user-admin", &["add-user", "update-user"]),
    ("user-claim", &["add-user", "update-user"]),
    ("kb-project", &["build-knowledgebase"]),
    ("kb-version", &["build-knowledgebase"]),
    ("kb-output", &["build-knowledgebase"]),
    ("audit-key-file", &["verify-audit"]),
    ("expect-first", &["verify-audit"]),
    ("expect-last", &["verify-audit"]),
    ("receipt-keys", &["verify-receipt"]),
    ("audit", &["verify-receipt"]),
    ("replay", &["verify-receipt"]),
    ("adopt-as", &["adopt"]),
    ("adopt-dir", &["adopt"]),
    ("adopt-offline", &["adopt"]),
];

/// Extent of a check of the configuration.
#[derive(Debug)]
pub(crate) struct CheckOptions {
    /// True if connections are tried, and databases check the statements of tools.
    pub(crate) connects: bool,
    /// The caller for whom the view is printed.
    pub(crate) caller: Option<CallerName>,
}

/// Values of an account that the administrator is asked for unless they are given.
#[derive(Debug)]
pub(crate) struct Given {
    pub(crate) password: Option<SecretString>,
    pub(crate) note: Option<String>,
}

/// Options of the command line for a build of the knowledge base.
#[derive(Debug)]
pub(crate) struct BuildOptions {
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) project: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) output: Option<PathBuf>,
}

/// Options of the command line for a conversion of other configurations.
#[derive(Debug)]
pub(crate) struct AdoptOptions {
    /// The files; `-` is standard input.
    pub(crate) files: Vec<PathBuf>,
    /// Their kind, unless their content shows it.
    pub(crate) form: Option<Form>,
    /// Folder of the new files.
    pub(crate) folder: PathBuf,
    /// True if PostgreSQL is not asked for types.
    pub(crate) is_offline: bool,
    pub(crate) as_json: bool,
}

/// Options of the command line for the check of a receipt.
#[derive(Debug)]
pub(crate) struct ReceiptOptions {
    pub(crate) verification: ziggurat_receipts::Verification,
    /// True if the request is run again.
    pub(crate) replays: bool,
    /// The caller for whom it is run; without, the local one.
    pub(crate) caller: Option<CallerName>,
}

/// Command of the program. On a terminal it asks the administrator for missing values.
#[derive(Debug)]
pub(crate) enum Command {
    /// Print the usage.
    Help,
    /// Run the server.
    Serve,
    /// Print the `OpenAPI` document.
    Describe,
    /// Print the version.
    Version,
    /// Print the manual page.
    Manual,
    /// Print the completions for a shell.
    Completion(Shell),
    /// Print the problems of the configuration, and the view of a caller.
    Check(CheckOptions),
    /// Check the installation, and print what to do about each finding.
    Examine(doctor::Options),
    /// Ask the running server at this path.
    AskHealth(&'static str),
    /// Print the configuration of a client.
    PrintClient(ClientName),
    /// Print the SQL with which a database checks sealed settings.
    PrintSealSql(String),
    /// Write a configuration and the statements for its role.
    Init(Asked),
    /// Create, list or remove API tokens.
    Tokens(TokenCommand),
    /// Create an account.
    AddUser {
        username: Option<String>,
        given: Given,
        claims: Claims,
        is_admin: bool,
    },
    /// Change an account; an empty note removes the existing one.
    UpdateUser {
        username: Option<String>,
        given: Given,
        claims: NewClaims,
        is_admin: Option<bool>,
    },
    /// Delete an account.
    DeleteUser {
        username: Option<String>,
        /// True if no confirmation is needed.
        is_sure: bool,
        keeps_state: bool,
    },
    /// List the accounts.
    ListUsers { as_json: bool },
    /// Unlock an account.
    EnableUser { username: Option<String> },
    /// Lock an account.
    DisableUser { username: Option<String> },
    /// Administer the grants and the clients of the sign-in.
    SignIn(SignInCommand),
    /// Build the knowledge base from documents.
    BuildKnowledgebase(BuildOptions),
    /// Verify files of an audit trail.
    VerifyAudit(Verification),
    /// Make a key that signs receipts.
    MakeReceiptKey(PathBuf),
    /// Verify an answer by its receipt.
    VerifyReceipt(ReceiptOptions),
    /// Prove that the answers of a caller do not depend on rows of another.
    Prove(Box<ProveOptions>),
    /// Convert configurations of other servers.
    Adopt(AdoptOptions),
}

// === impl Command ===

impl Command {
    /// Returns the flag of a command that is recorded in the audit trail.
    pub(crate) fn recorded(&self) -> Option<&'static str> {
        match self {
            Self::Tokens(command) => Some(command.flag()),
            Self::AddUser { .. } => Some("-add-user"),
            Self::UpdateUser { .. } => Some("-update-user"),
            Self::DeleteUser { .. } => Some("-delete-user"),
            Self::ListUsers { .. } => Some("-list-users"),
            Self::EnableUser { .. } => Some("-enable-user"),
            Self::DisableUser { .. } => Some("-disable-user"),
            Self::SignIn(command) => Some(command.flag()),
            Self::BuildKnowledgebase(_) => Some("-build-knowledgebase"),
            Self::Help
            | Self::Serve
            | Self::Describe
            | Self::Version
            | Self::Manual
            | Self::Completion(_)
            | Self::Check(_)
            | Self::Examine(_)
            | Self::AskHealth(_)
            | Self::PrintClient(_)
            | Self::PrintSealSql(_)
            | Self::Init(_)
            | Self::VerifyAudit(_)
            | Self::MakeReceiptKey(_)
            | Self::VerifyReceipt(_)
            | Self::Prove(_)
            | Self::Adopt(_) => None,
        }
    }
}

/// Selects the command from the flags.
///
/// # Errors
/// Fails if the flags select two commands, have options of a command that is not selected, or
/// exclude each other.
pub(super) fn choose(flags: &Flags) -> Result<Command, Refusal> {
    let mut asked = COMMANDS.into_iter().filter(|name| match *name {
        // An empty text counts too: a script with an empty variable must not start a server.
        "remove-token"
        | "revoke-grant"
        | "remove-client"
        | "build-knowledgebase"
        | "verify-audit"
        | "make-receipt-key"
        | "verify-receipt"
        | "completion"
        | "print-client"
        | "print-seal-sql"
        | "adopt" => flags.is_given(name),
        name => flags.has(name),
    });
    let chosen = asked.next();
    if let (Some(one), Some(two)) = (chosen, asked.next()) {
        return Err(Refusal::conflict(format!(
            "-{one} and -{two} exclude each other"
        )));
    }
    for (name, commands) in DETAILS {
        if flags.is_given(name) && !chosen.is_some_and(|chosen| commands.contains(&chosen)) {
            let commands = commands.join(" or -");
            return Err(Refusal::conflict(format!("-{name} goes with -{commands}")));
        }
    }
    let Some(name) = chosen else {
        check_serving(flags)?;
        return Ok(Command::Serve);
    };
    command(name, flags)
}

/// Returns the command of a flag.
fn command(name: &str, flags: &Flags) -> Result<Command, Refusal> {
    Ok(match name {
        "openapi" => Command::Describe,
        "version" => Command::Version,
        "man" => Command::Manual,
        "completion" => {
            let name = flags.text(name).unwrap_or_default();
            let refused = |_| Refusal::value(name, "-completion <shell>", "bash, zsh or fish");
            Command::Completion(name.parse().map_err(refused)?)
        }
        "check-config" => Command::Check(CheckOptions {
            connects: flags.has("connect"),
            caller: named_caller(flags, "as")?,
        }),
        "doctor" => Command::Examine(doctor::Options::of_flags(flags).map_err(Refusal::usage)?),
        "healthcheck" if flags.text(name) == Some("ready") => Command::AskHealth("/ready"),
        "healthcheck" => Command::AskHealth("/health"),
        "print-client" => {
            let client = word(flags, "print-client")?;
            Command::PrintClient(
                client.ok_or_else(|| Refusal::usage("-print-client names no client"))?,
            )
        }
        "print-seal-sql" => Command::PrintSealSql(flags.owned(name).unwrap_or_default()),
        "prove" => Command::Prove(Box::new(ProveOptions::of_flags(flags)?)),
        "init" => Command::Init(Asked::of_flags(flags)?),
        "build-knowledgebase" => Command::BuildKnowledgebase(BuildOptions {
            folders: flags.paths(name).collect(),
            project: flags.owned("kb-project"),
            version: flags.owned("kb-version"),
            output: flags.path("kb-output"),
        }),
        "verify-audit" => Command::VerifyAudit(Verification {
            files: flags.paths(name).collect(),
            key_file: flags.path("audit-key-file"),
            expect_first: expect_first(flags)?,
            expect_last: flags.owned("expect-last"),
        }),
        "make-receipt-key" => Command::MakeReceiptKey(flags.path(name).unwrap_or_default()),
        "verify-receipt" => Command::VerifyReceipt(receipt(flags)?),
        "adopt" => Command::Adopt(AdoptOptions {
            files: flags.paths(name).collect(),
            form: form(flags)?,
            folder: flags.path("adopt-dir").unwrap_or_else(|| ".".into()),
            is_offline: flags.has("adopt-offline"),
            as_json: flags.has("json"),
        }),
        name => match SignInCommand::of(name, flags)? {
            Some(command) => Command::SignIn(command),
            None => return accounts(name, flags),
        },
    })
}

/// Returns the options of a check of a receipt.
fn receipt(flags: &Flags) -> Result<ReceiptOptions, Refusal> {
    let options = ReceiptOptions {
        verification: ziggurat_receipts::Verification {
            file: flags.path("verify-receipt").unwrap_or_default(),
            keys: flags.path("receipt-keys"),
            audit: flags.paths("audit").collect(),
        },
        replays: flags.has("replay"),
        caller: named_caller(flags, "as")?,
    };
    if options.caller.is_some() && !options.replays {
        return Err(Refusal::conflict("-as goes with -replay"));
    }
    Ok(options)
}

/// Returns the kind that `-adopt-as` names.
fn form(flags: &Flags) -> Result<Option<Form>, Refusal> {
    let form = |text: &str| {
        let refusal = |()| Refusal::value(text, "-adopt-as <kind>", "toolbox, dbhub or client");
        text.parse::<Form>().map_err(refusal)
    };
    flags.text("adopt-as").map(form).transpose()
}

/// Returns a command about API tokens or users.
fn accounts(name: &str, flags: &Flags) -> Result<Command, Refusal> {
    let username = flags.owned("username");
    let given = Given {
        password: flags.text("password").map(Into::into),
        note: flags.owned("user-note"),
    };
    Ok(match name {
        "add-token" => Command::Tokens(TokenCommand::Add(TokenOptions {
            note: flags.owned("token-note"),
            database: flags.owned("token-database"),
            expiry: flags.owned("token-expiry"),
            claims: claims(flags, "token-claim", NewClaims::into_claims)?,
            toolsets: toolsets(flags),
        })),
        "list-tokens" if is_json(flags)? => Command::Tokens(TokenCommand::ListJson),
        "list-tokens" => Command::Tokens(TokenCommand::List),
        "remove-token" => {
            let identifier = flags.owned("remove-token").unwrap_or_default();
            Command::Tokens(TokenCommand::Remove(identifier))
        }
        "add-user" => Command::AddUser {
            username,
            given,
            claims: claims(flags, "user-claim", NewClaims::into_claims)?,
            is_admin: flags.has("user-admin"),
        },
        "update-user" => Command::UpdateUser {
            username,
            given,
            claims: claims(flags, "user-claim", Ok)?,
            is_admin: flags.text("user-admin").map(|value| value == "true"),
        },
        "delete-user" => Command::DeleteUser {
            username,
            is_sure: flags.has("yes"),
            keeps_state: flags.has("keep-state"),
        },
        "enable-user" => Command::EnableUser { username },
        "disable-user" => Command::DisableUser { username },
        _ => Command::ListUsers {
            as_json: is_json(flags)?,
        },
    })
}

/// Returns whether `-output` asks for JSON.
fn is_json(flags: &Flags) -> Result<bool, Refusal> {
    match flags.text("output") {
        None | Some("text") => Ok(false),
        Some("json") => Ok(true),
        Some(other) => Err(Refusal::value(other, "-output <format>", "text or json")),
    }
}

/// Returns the record with which an audit trail may begin.
fn expect_first(flags: &Flags) -> Result<Option<u64>, Refusal> {
    let number = |text: &str| {
        let refusal = |_| Refusal::value(text, "-expect-first <record>", "the number of a record");
        text.parse::<u64>().map_err(refusal)
    };
    flags.text("expect-first").map(number).transpose()
}

/// Returns the caller that a flag names.
pub(super) fn named_caller(flags: &Flags, flag: &str) -> Result<Option<CallerName>, Refusal> {
    let caller = |text: &str| {
        let refusal = |expected| Refusal::value(text, &format!("-{flag} <caller>"), expected);
        text.parse::<CallerName>().map_err(refusal)
    };
    flags.text(flag).map(caller).transpose()
}

/// Reads the names of a repeated flag, each once.
fn toolsets(flags: &Flags) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in flags.texts("token-toolset") {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// Reads the claims of a repeated flag. The error has no value.
pub(super) fn claims<T>(
    flags: &Flags,
    flag: &str,
    check: impl FnOnce(NewClaims) -> Result<T, ClaimError>,
) -> Result<T, Refusal> {
    let claims = NewClaims::read(flags.texts(flag)).and_then(check);
    claims.map_err(|error| Refusal::conflict(format!("-{flag}: {error}")))
}

/// Refuses combinations that are wrong whatever the configuration file contains.
fn check_serving(flags: &Flags) -> Result<(), Refusal> {
    let mut files = ["cert", "key", "chain"].into_iter();
    let is_about_tls = flags.has("tls") || files.any(|name| flags.is_given(name));
    if is_about_tls && !flags.has("http") {
        return Err(Refusal::before_start(
            "TLS options (-tls, -cert, -key, -chain) require -http flag",
            true,
        ));
    }
    if flags.is_given("db-host") && flags.is_given("db-hosts") {
        return Err(Refusal::before_start(
            "-db-host and -db-hosts exclude each other",
            false,
        ));
    }
    Ok(())
}
