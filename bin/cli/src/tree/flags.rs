//! Flags that several commands have.

use crate::tree::{Flag, ValueKind};

/// Flags of every command.
pub(crate) static GLOBAL: &[Flag] = &[
    Flag::text("config", "path", "configuration file; also ZIGGURAT_CONFIG")
        .default("~/.ziggurat/config.yaml"),
    Flag::text(
        "profile",
        "name",
        "profile of this command; also ZIGGURAT_PROFILE",
    )
    .default("current_profile of the file, or default"),
    Flag::text("output", "format", "text, json or yaml")
        .short('o')
        .default("text, or output.format in the file"),
    Flag::text(
        "fields",
        "a,b",
        "print only these members, as columns in text",
    ),
    Flag::text(
        "jq",
        "program",
        "filter the result with a jq program; implies json, prints strings without quotes",
    ),
    Flag::switch("no-color", "no colour; also NO_COLOR"),
    Flag::switch("no-input", "never prompt; fail if input is needed"),
    Flag::switch("verbose", "print requests and statuses to standard error").short('v'),
    Flag::switch(
        "debug",
        "print headers and bodies to standard error too, with secrets masked",
    ),
    Flag::switch("help", "print the help of the command").short('h'),
];

/// Flags of every command that calls the platform.
pub(crate) static CONNECTION: &[Flag] = &[
    Flag::text(
        "api-url",
        "url",
        "base URL of the platform; also ZIGGURAT_API_URL. Default: the address where \
         ziggurat-platform listens",
    )
    .default("http://127.0.0.1:8090"),
    Flag::text(
        "client-id",
        "id",
        "API client id, instead of that of the profile; also ZIGGURAT_CLIENT_ID",
    ),
    Flag::text(
        "client-secret",
        "secret",
        "API client secret, visible to other users of the machine; also ZIGGURAT_CLIENT_SECRET",
    ),
    Flag::text(
        "client-secret-file",
        "path",
        "file with the API client secret, or - for standard input",
    ),
    Flag::new(
        "timeout",
        ValueKind::Duration,
        "timeout of a request; 0 means none",
    )
    .default("30s"),
    Flag::new(
        "retries",
        ValueKind::Integer("n"),
        "maximum number of retries of a read if the platform is unreachable or overloaded",
    )
    .default("2"),
];

/// The flag of commands that write.
pub(crate) const DRY_RUN: Flag = Flag::new(
    "dry-run",
    ValueKind::Optional("checks"),
    "check the input and print the request only",
);

/// Flag of commands that delete.
pub(crate) const FORCE: Flag = Flag::switch("force", "do not ask for confirmation");
