//! Flags that several commands have.

use super::{Flag, Kind};

/// Flags of every command.
pub(crate) static GLOBAL: &[Flag] = &[
    Flag::text("config", "path", "configuration file; also ZIGGURAT_CONFIG")
        .default("~/.ziggurat/config.yaml"),
    Flag::text(
        "profile",
        "name",
        "profile of this invocation; also ZIGGURAT_PROFILE",
    )
    .default("current_profile of the file, else default"),
    Flag::text("output", "format", "text, json or yaml")
        .short('o')
        .default("text, or output.format of the file"),
    Flag::text(
        "fields",
        "a,b",
        "print these members only, in text as columns",
    ),
    Flag::text(
        "jq",
        "program",
        "put the result through a jq program; implies json, prints text unquoted",
    ),
    Flag::switch("no-color", "no colour; also NO_COLOR"),
    Flag::switch("no-input", "ask nothing; fail where an answer is needed"),
    Flag::switch("verbose", "requests and statuses on standard error").short('v'),
    Flag::switch(
        "debug",
        "headers and bodies on standard error too, secrets masked",
    ),
    Flag::switch("help", "help of the command").short('h'),
];

/// Flags of every command that calls the platform.
pub(crate) static CONNECTION: &[Flag] = &[
    Flag::text(
        "api-url",
        "url",
        "base address of the platform; also ZIGGURAT_API_URL. Without one, the address where \
         ziggurat-platform listens",
    )
    .default("http://127.0.0.1:8090"),
    Flag::text(
        "client-id",
        "id",
        "API client id, before that of the profile; also ZIGGURAT_CLIENT_ID",
    ),
    Flag::text(
        "client-secret",
        "secret",
        "API client secret; other users of the machine can see it; also ZIGGURAT_CLIENT_SECRET",
    ),
    Flag::text(
        "client-secret-file",
        "path",
        "file with the API client secret, or - for standard input",
    ),
    Flag::new(
        "timeout",
        Kind::Duration,
        "how long one request may take; 0 is for ever",
    )
    .default("30s"),
    Flag::new(
        "retries",
        Kind::Integer("n"),
        "how often a read is repeated when the platform cannot be reached or is overloaded",
    )
    .default("2"),
];

/// The flag of commands that write.
pub(crate) const DRY_RUN: Flag = Flag::new(
    "dry-run",
    Kind::Optional("checks"),
    "run every check, print the request, and send nothing that writes",
);

/// Flag of commands that delete.
pub(crate) const FORCE: Flag = Flag::switch("force", "do not ask for confirmation");
