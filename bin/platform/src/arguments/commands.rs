//! Commands and flags.

use ziggurat_runtime::flags::Flag;

use crate::arguments::Refusal;

/// A task of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    Help,
    Version,
    Check,
    Describe,
    Serve,
    Init,
    ListTenants,
    CreateTenant,
    DeleteTenant,
    ListClients,
    CreateClient,
    DeleteClient,
    ListInvites,
    CreateInvite,
    AcceptInvite,
    DeleteInvite,
    ListMembers,
    MakeOwner,
    DeleteMember,
    UserToken,
    RotateKey,
}

/// A command.
pub(super) struct Command {
    pub(super) words: &'static str,
    /// Placeholder of the argument, if the command takes one.
    pub(super) about: Option<&'static str>,
    pub(super) help: &'static str,
    pub(super) flags: &'static [Flag],
    /// Flags that are required.
    pub(super) needs: &'static [&'static str],
    pub(super) task: Task,
}

const TENANT: Flag = Flag::text(
    "tenant",
    "ID",
    "the tenant; required if there is more than one",
);
const OUT: Flag = Flag::text(
    "out",
    "FILE",
    "write the secret to a new file of mode 0600 instead of standard output",
);
const EMAIL: Flag = Flag::text("email", "ADDRESS", "email address of the person");
const FIRST_NAME: Flag = Flag::text("first-name", "NAME", "first name of the person");
const LAST_NAME: Flag = Flag::text("last-name", "NAME", "last name of the person");

/// Flags that all commands accept.
pub(super) const GLOBAL: &[Flag] = &[
    Flag::text("config", "PATH", "configuration file"),
    Flag::text("addr", "HOST:PORT", "address to listen on (server.address)"),
    Flag::text(
        "public-url",
        "URL",
        "URL at which clients reach the service (server.public_url)",
    ),
    Flag::text(
        "data-dir",
        "PATH",
        "folder of the database file and the keys (data_dir)",
    ),
    Flag::text(
        "token-lifetime",
        "DURATION",
        "lifetime of tokens (tokens.lifetime)",
    ),
    Flag::switch(
        "check-config",
        "print every problem of the configuration, and exit",
    ),
    #[cfg(feature = "test-support")]
    Flag::switch(
        "test-hooks",
        "let clients inject faults and set the clock; for tests",
    ),
    #[cfg(feature = "test-support")]
    Flag::text(
        "test-clock",
        "TIME",
        "stop the clock at this time; for tests",
    ),
    Flag::switch("openapi", "print the OpenAPI document, and exit"),
    Flag::switch("version", "print the version, and exit"),
    Flag::switch("help", "print this help, and exit"),
    Flag::switch("h", "the same as -help"),
];

/// The commands.
pub(super) const COMMANDS: &[Command] = &[
    Command {
        words: "serve",
        about: None,
        help: "serve HTTP until SIGINT or SIGTERM",
        flags: &[],
        needs: &[],
        task: Task::Serve,
    },
    Command {
        words: "init",
        about: None,
        help: "create the first tenant, its owner, and a client with a secret",
        flags: &[
            Flag::text(
                "tenant-name",
                "NAME",
                "name of the tenant (default: default)",
            ),
            Flag::text(
                "email",
                "ADDRESS",
                "email address of the owner (default: owner@localhost)",
            ),
            Flag::text("client-name", "NAME", "name of the client (default: admin)"),
            OUT,
        ],
        needs: &[],
        task: Task::Init,
    },
    Command {
        words: "tenant list",
        about: None,
        help: "list the tenants",
        flags: &[],
        needs: &[],
        task: Task::ListTenants,
    },
    Command {
        words: "tenant create",
        about: None,
        help: "create a tenant and its owner",
        flags: &[
            Flag::text("name", "NAME", "name of the tenant"),
            EMAIL,
            FIRST_NAME,
            LAST_NAME,
            Flag::text("domain", "NAME", "domain of its email addresses"),
            Flag::text("external-id", "TEXT", "its id in another system"),
            Flag::text("plan", "NAME", "its plan"),
            Flag::switch("trial", "mark it as a trial"),
        ],
        needs: &["name", "email"],
        task: Task::CreateTenant,
    },
    Command {
        words: "tenant delete",
        about: Some("TENANT_ID"),
        help: "delete a tenant with its clients, invites and memberships",
        flags: &[],
        needs: &[],
        task: Task::DeleteTenant,
    },
    Command {
        words: "client list",
        about: None,
        help: "list the clients of a tenant",
        flags: &[TENANT],
        needs: &[],
        task: Task::ListClients,
    },
    Command {
        words: "client create",
        about: None,
        help: "create a client; its secret is shown once",
        flags: &[
            TENANT,
            Flag::text("name", "NAME", "name of the client"),
            Flag::text("description", "TEXT", "purpose of the client"),
            Flag::text("role", "ROLE", "admin or reader (default: reader)"),
            OUT,
        ],
        needs: &["name"],
        task: Task::CreateClient,
    },
    Command {
        words: "client delete",
        about: Some("CLIENT_ID"),
        help: "delete a client and revoke its secret and tokens",
        flags: &[TENANT],
        needs: &[],
        task: Task::DeleteClient,
    },
    Command {
        words: "invite list",
        about: None,
        help: "list the pending invites of a tenant",
        flags: &[TENANT],
        needs: &[],
        task: Task::ListInvites,
    },
    Command {
        words: "invite create",
        about: None,
        help: "invite a person; the token of the invite is shown once",
        flags: &[
            TENANT,
            EMAIL,
            Flag::text(
                "expiration",
                "HOURS",
                "hours until the invite expires (default: 168)",
            ),
            OUT,
        ],
        needs: &["email"],
        task: Task::CreateInvite,
    },
    Command {
        words: "invite accept",
        about: Some("INVITE_ID"),
        help: "accept an invite for the invited person",
        flags: &[
            Flag::text(
                "token",
                "TEXT",
                "token of the invite; other users of the machine see it in ps",
            ),
            Flag::text("token-file", "FILE", "file with the token of the invite"),
            FIRST_NAME,
            LAST_NAME,
        ],
        needs: &[],
        task: Task::AcceptInvite,
    },
    Command {
        words: "invite delete",
        about: Some("INVITE_ID"),
        help: "withdraw an invite",
        flags: &[TENANT],
        needs: &[],
        task: Task::DeleteInvite,
    },
    Command {
        words: "membership list",
        about: None,
        help: "list the members of a tenant",
        flags: &[TENANT],
        needs: &[],
        task: Task::ListMembers,
    },
    Command {
        words: "membership owner",
        about: Some("MEMBERSHIP_ID"),
        help: "make a member the owner of the tenant",
        flags: &[TENANT],
        needs: &[],
        task: Task::MakeOwner,
    },
    Command {
        words: "membership delete",
        about: Some("MEMBERSHIP_ID"),
        help: "remove a member who is not the owner",
        flags: &[TENANT],
        needs: &[],
        task: Task::DeleteMember,
    },
    Command {
        words: "user token",
        about: None,
        help: "create an access token of a member, for requests that clients may not send",
        flags: &[
            TENANT,
            EMAIL,
            Flag::text(
                "lifetime",
                "DURATION",
                "lifetime of the token (default: 1h)",
            ),
            OUT,
        ],
        needs: &["email"],
        task: Task::UserToken,
    },
    Command {
        words: "key rotate",
        about: None,
        help: "sign new tokens with a new key",
        flags: &[Flag::switch(
            "revoke",
            "revoke all tokens that were signed before",
        )],
        needs: &[],
        task: Task::RotateKey,
    },
];

// === impl Command ===

impl Command {
    /// Finds the command that words begin with, and returns the words after it.
    pub(super) fn of(words: &[String]) -> Result<(&'static Self, &[String]), Refusal> {
        if words.is_empty() {
            return Ok((&COMMANDS[0], words));
        }
        for length in [2, 1] {
            let Some((first, rest)) = words.split_at_checked(length) else {
                continue;
            };
            let named = first.join(" ");
            if let Some(command) = COMMANDS.iter().find(|command| command.words == named) {
                return Ok((command, rest));
            }
        }
        let first = &words[..words.len().min(2)];
        Err(Refusal::NoCommand(first.join(" ")))
    }
}
