//! Commands that call a platform: sign-in, diagnosis, and requests to any path.

use super::{
    Action, Argument, BLANK, Command, Example, Flag, Output, Takes,
    account::{CLIENT, INVITE, MEMBERSHIP, TENANT},
    flags::{CONNECTION, DRY_RUN},
};

/// `ziggurat platform`.
pub(super) const PLATFORM: Command = Command {
    name: "platform",
    summary: "Manage the account on a platform",
    about: "The commands of this group speak to the platform at --api-url with the credential of \
            the flags, the environment or the profile, in this order.",
    examples: &[
        Example {
            says: "Sign in and keep the credential",
            line: "ziggurat platform auth login --profile staging --api-url https://staging.example.com",
        },
        Example {
            says: "Check the connection",
            line: "ziggurat platform doctor",
        },
    ],
    shared: CONNECTION,
    children: &[API, AUTH, CLIENT, DOCTOR, INVITE, MEMBERSHIP, TENANT],
    ..BLANK
};

const API: Command = Command {
    name: "api",
    summary: "Call any path of the platform",
    about: "Sends one request with the credential of the connection, which can only reach the \
            configured platform, and prints the body of the answer.",
    examples: &[
        Example {
            says: "Read",
            line: "ziggurat platform api GET /account/v1/tenants",
        },
        Example {
            says: "Write, with a body from a file, after a look at the request",
            line: "ziggurat platform api POST /account/v1/clients -d @client.json --dry-run",
        },
    ],
    arguments: &[
        Argument {
            name: "method",
            meaning: "GET, POST, PUT, PATCH or DELETE",
            takes: Takes::One,
        },
        Argument {
            name: "path",
            meaning: "a path that begins with /",
            takes: Takes::One,
        },
    ],
    flags: &[
        Flag::text(
            "data",
            "body",
            "body of the request: JSON as it is, @file, or - for standard input",
        )
        .short('d'),
        DRY_RUN,
        Flag::text("header", "name: value", "another header of the request")
            .short('H')
            .repeatable(),
        Flag::switch(
            "include",
            "status and headers of the answer on standard error",
        )
        .short('i'),
        Flag::text("query", "key=value", "another parameter of the URL").repeatable(),
    ],
    action: Some(Action::Api),
    writes: true,
    output: Output::Free,
    ..BLANK
};

const AUTH: Command = Command {
    name: "auth",
    summary: "Sign in and out",
    about: "A platform is used with the id and the secret of an API client. Signing in checks them \
            and keeps them in a profile.",
    examples: &[Example {
        says: "Who am I?",
        line: "ziggurat platform auth whoami",
    }],
    children: &[
        Command {
            name: "login",
            summary: "Sign in and keep the credential",
            about: "Exchanges the id and the secret for a token and, when that works, keeps the \
                    secret in the keychain of the system and the rest in the profile. What is not \
                    given with flags is asked for. Where there is no keychain, the secret goes to \
                    the configuration file, with a warning.",
            examples: &[
                Example {
                    says: "Be asked for both",
                    line: "ziggurat platform auth login",
                },
                Example {
                    says: "In a script, with the secret from a file",
                    line: "ziggurat platform auth login --client-id ID --client-secret-file secret.txt",
                },
            ],
            flags: &[Flag::switch(
                "insecure-storage",
                "keep the secret in the configuration file, not in the keychain",
            )],
            action: Some(Action::AuthLogin),
            output: Output::Record(&["profile", "api_url", "client_id", "storage", "expires_at"]),
            ..BLANK
        },
        Command {
            name: "logout",
            summary: "Forget the credential and the token",
            about: "Removes the cached token and the stored credential of the profile; the address \
                    of the platform stays. The API client itself stays too: delete it with \
                    \"client delete\".",
            examples: &[Example {
                says: "Forget one profile's credential",
                line: "ziggurat platform auth logout --profile staging",
            }],
            action: Some(Action::AuthLogout),
            ..BLANK
        },
        Command {
            name: "status",
            summary: "Show which credential would be used",
            about: "Looks at flags, environment, configuration, keychain and the cached token, and \
                    asks no server. Exits 5 when there is no credential.",
            examples: &[Example {
                says: "Where does the credential come from?",
                line: "ziggurat platform auth status --jq .source",
            }],
            action: Some(Action::AuthStatus),
            output: Output::Record(&[
                "authenticated",
                "source",
                "problem",
                "client_id",
                "api_url",
                "storage",
                "token_valid",
                "token_bound",
                "expires_at",
            ]),
            ..BLANK
        },
        Command {
            name: "whoami",
            summary: "Show the identity the platform accepts",
            about: "Asks the platform for the clients and tenants that the credential sees, and \
                    shows the one that it is.",
            examples: &[Example {
                says: "The name of the tenant",
                line: "ziggurat platform auth whoami --jq .tenant_name",
            }],
            action: Some(Action::AuthWhoami),
            output: Output::Record(&[
                "client_id",
                "client_name",
                "client_record_id",
                "client_description",
                "tenant_name",
                "tenant_id",
                "plan",
                "plan_trial",
                "tenant_count",
                "api_url",
            ]),
            ..BLANK
        },
    ],
    ..BLANK
};

const DOCTOR: Command = Command {
    name: "doctor",
    summary: "Diagnose the connection",
    about: "Checks the credential, the address, the tenant and the environment. It changes \
            nothing and exits 0 whatever it finds, unless --strict is given.",
    examples: &[Example {
        says: "Fail in a script when something is broken",
        line: "ziggurat platform doctor --strict",
    }],
    flags: &[Flag::switch("strict", "exit 1 when a check finds an error")],
    action: Some(Action::PlatformDoctor),
    output: Output::Record(&["auth", "storage", "api", "clock", "tenant", "environment"]),
    ..BLANK
};
