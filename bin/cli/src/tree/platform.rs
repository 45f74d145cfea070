//! Commands that call a platform: sign-in, diagnosis, and requests to any path.

use crate::tree::{
    Action, Argument, BLANK, Command, Flag, Output,
    account::{CLIENT, INVITE, MEMBERSHIP, TENANT},
    flags::{CONNECTION, DRY_RUN},
};

/// `ziggurat platform`.
pub(super) const PLATFORM: Command = Command {
    name: "platform",
    summary: "Manage the account on a platform",
    about: "The commands of this group send requests to the platform at --api-url. The credential \
            is taken from the flags, the environment or the profile, in this order.",
    examples: &[
        (
            "Sign in and store the credential",
            "ziggurat platform auth login --profile staging --api-url https://staging.example.com",
        ),
        ("Check the connection", "ziggurat platform doctor"),
    ],
    shared: CONNECTION,
    children: &[API, AUTH, CLIENT, DOCTOR, INVITE, MEMBERSHIP, TENANT],
    ..BLANK
};

const API: Command = Command {
    name: "api",
    summary: "Send a request to any path of the platform",
    about: "Sends one request to the configured platform with the current credential, and prints \
            the body of the response. Other hosts cannot be reached.",
    examples: &[
        (
            "Send a GET request",
            "ziggurat platform api GET /account/v1/tenants",
        ),
        (
            "Send a body from a file, after printing the request",
            "ziggurat platform api POST /account/v1/clients -d @client.json --dry-run",
        ),
    ],
    arguments: &[
        Argument::one("method", "GET, POST, PUT, PATCH or DELETE"),
        Argument::one("path", "a path that begins with /"),
    ],
    flags: &[
        Flag::text(
            "data",
            "body",
            "body of the request: JSON, @file, or - for standard input",
        )
        .short('d'),
        DRY_RUN,
        Flag::text("header", "name: value", "additional header of the request")
            .short('H')
            .repeatable(),
        Flag::switch(
            "include",
            "print the status and the headers of the response to standard error",
        )
        .short('i'),
        Flag::text("query", "key=value", "additional query parameter").repeatable(),
    ],
    action: Some(Action::Api),
    output: Output::Free,
    ..BLANK
};

const AUTH: Command = Command {
    name: "auth",
    summary: "Sign in and out",
    about: "The platform authenticates API clients by id and secret. Signing in checks them and \
            stores them in a profile.",
    examples: &[(
        "Show the identity of the credential",
        "ziggurat platform auth whoami",
    )],
    children: &[
        Command {
            name: "login",
            summary: "Sign in and store the credential",
            about: "Exchanges the id and the secret for a token and, when that works, keeps the \
                    secret in the keychain of the system and the rest in the profile. What is not \
                    given with flags is asked for. Where there is no keychain, the secret goes to \
                    the configuration file, with a warning. With --browser or --device a person \
                    signs in instead of a client, where the platform offers it.",
            examples: &[
                (
                    "Sign in as a person",
                    "ziggurat platform auth login --browser",
                ),
                (
                    "Enter the client id and secret at a prompt",
                    "ziggurat platform auth login",
                ),
                (
                    "Sign in from a script, with the secret in a file",
                    "ziggurat platform auth login --client-id ID --client-secret-file secret.txt",
                ),
            ],
            flags: &[
                Flag::switch(
                    "browser",
                    "sign in as a person, with a browser of this machine",
                ),
                Flag::switch(
                    "device",
                    "sign in as a person, with a code that is typed in a browser of another machine",
                ),
                Flag::switch(
                    "insecure-storage",
                    "store the secret in the configuration file instead of the keychain",
                ),
            ],
            action: Some(Action::AuthLogin),
            output: Output::Record("profile api_url credential_id storage expires_at"),
            ..BLANK
        },
        Command {
            name: "logout",
            summary: "Delete the stored credential and the token",
            about: "Deletes the cached token and the stored credential of the profile, and keeps \
                    the address of the platform. The sign-in of a person ends at the platform, \
                    too. The API client itself is not deleted; use \"client delete\" for that.",
            examples: &[(
                "Delete the credential of one profile",
                "ziggurat platform auth logout --profile staging",
            )],
            action: Some(Action::AuthLogout),
            ..BLANK
        },
        Command {
            name: "status",
            summary: "Show the credential in use",
            about: "Checks flags, environment, configuration, keychain and the cached token, \
                    without a request. The exit code is 5 if there is no credential.",
            examples: &[(
                "Print the source of the credential",
                "ziggurat platform auth status --jq .source",
            )],
            action: Some(Action::AuthStatus),
            output: Output::Record(
                "authenticated source problem auth credential_id api_url storage token_valid \
                 token_bound expires_at",
            ),
            ..BLANK
        },
        Command {
            name: "whoami",
            summary: "Show the identity of the credential",
            about: "Requests the clients and tenants of the credential from the platform, and \
                    shows the client it belongs to. For a person who signed in it shows the \
                    person.",
            examples: &[(
                "Print the name of the tenant",
                "ziggurat platform auth whoami --jq .tenant_name",
            )],
            action: Some(Action::AuthWhoami),
            output: Output::Record(
                "credential_id client_name client_record_id client_description user_email \
                 user_name user_id tenant_name tenant_id plan plan_trial tenant_count api_url",
            ),
            ..BLANK
        },
    ],
    ..BLANK
};

const DOCTOR: Command = Command {
    name: "doctor",
    summary: "Diagnose the connection",
    about: "Checks the credential, the address, the tenant and the environment. It changes \
            nothing. The exit code is 1 if the platform cannot be reached, and with --strict if a \
            check finds an error.",
    examples: &[(
        "Fail in a script if a check finds an error",
        "ziggurat platform doctor --strict",
    )],
    flags: &[Flag::switch("strict", "exit 1 when a check finds an error")],
    action: Some(Action::PlatformDoctor),
    output: Output::Record("auth storage api clock tenant environment"),
    ..BLANK
};
