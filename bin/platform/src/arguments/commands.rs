//! Commands and flags.

use ziggurat_doctor::{
    Options,
    flags::{DOCTOR, HEALTHCHECK, JSON, STRICT, TIMEOUT},
};
use ziggurat_runtime::flags::{self, Flag, Shell};

use crate::arguments::Refusal;

/// A task of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    Help,
    Version,
    Manual,
    Completion(Shell),
    Check,
    Examine(Options),
    /// Ask the running server at this path.
    AskHealth(&'static str),
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
    UpdateMember,
    ListGrants,
    RevokeGrant,
    CreateUser,
    DisableUser,
    EnableUser,
    ResetUser,
    ResetSecondFactor,
    LinkUser,
    ListApps,
    CreateApp,
    DeleteApp,
    UserToken,
    RotateKey,
}

/// A command.
pub(super) struct Command {
    /// Its words, and the placeholder of the argument, if it takes one.
    pub(super) usage: &'static str,
    pub(super) help: &'static str,
    pub(super) flags: &'static [Flag],
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
    DOCTOR,
    JSON,
    STRICT,
    TIMEOUT,
    HEALTHCHECK,
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
    flags::MAN,
    flags::COMPLETION,
    Flag::switch("help", "print this help, and exit"),
    Flag::switch("h", "the same as -help"),
];

/// The commands.
pub(super) const COMMANDS: &[Command] = &[
    Command {
        usage: "serve",
        help: "serve HTTP until SIGINT or SIGTERM",
        flags: &[],
        task: Task::Serve,
    },
    Command {
        usage: "init",
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
        task: Task::Init,
    },
    Command {
        usage: "tenant list",
        help: "list the tenants",
        flags: &[],
        task: Task::ListTenants,
    },
    Command {
        usage: "tenant create",
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
        task: Task::CreateTenant,
    },
    Command {
        usage: "tenant delete TENANT_ID",
        help: "delete a tenant with its clients, invites and memberships",
        flags: &[],
        task: Task::DeleteTenant,
    },
    Command {
        usage: "client list",
        help: "list the clients of a tenant",
        flags: &[TENANT],
        task: Task::ListClients,
    },
    Command {
        usage: "client create",
        help: "create a client; its secret is shown once",
        flags: &[
            TENANT,
            Flag::text("name", "NAME", "name of the client"),
            Flag::text("description", "TEXT", "purpose of the client"),
            Flag::text("role", "ROLE", "admin or reader (default: reader)"),
            OUT,
        ],
        task: Task::CreateClient,
    },
    Command {
        usage: "client delete CLIENT_ID",
        help: "delete a client and revoke its secret and tokens",
        flags: &[TENANT],
        task: Task::DeleteClient,
    },
    Command {
        usage: "invite list",
        help: "list the pending invites of a tenant",
        flags: &[TENANT],
        task: Task::ListInvites,
    },
    Command {
        usage: "invite create",
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
        task: Task::CreateInvite,
    },
    Command {
        usage: "invite accept INVITE_ID",
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
        task: Task::AcceptInvite,
    },
    Command {
        usage: "invite delete INVITE_ID",
        help: "withdraw an invite",
        flags: &[TENANT],
        task: Task::DeleteInvite,
    },
    Command {
        usage: "membership list",
        help: "list the members of a tenant",
        flags: &[TENANT],
        task: Task::ListMembers,
    },
    Command {
        usage: "membership owner MEMBERSHIP_ID",
        help: "make a member the owner of the tenant",
        flags: &[TENANT],
        task: Task::MakeOwner,
    },
    Command {
        usage: "membership delete MEMBERSHIP_ID",
        help: "remove a member who is not the owner",
        flags: &[TENANT],
        task: Task::DeleteMember,
    },
    Command {
        usage: "membership update MEMBERSHIP_ID",
        help: "set the groups and the roles of a member in tokens",
        flags: &[
            TENANT,
            Flag::text("groups", "NAMES", "groups, with commas between them"),
            Flag::text("roles", "NAMES", "roles, with commas between them"),
        ],
        task: Task::UpdateMember,
    },
    Command {
        usage: "app list",
        help: "list the programs that people can connect: by hand, and registered by themselves",
        flags: &[],
        task: Task::ListApps,
    },
    Command {
        usage: "app create",
        help: "register a program that people connect; its secret is shown once",
        flags: &[
            Flag::text("name", "NAME", "name of the program on the pages"),
            Flag::text(
                "redirect-uri",
                "URL",
                "address that people may be sent back to; repeat for more",
            ),
            Flag::switch("secret", "give it a secret"),
            OUT,
        ],
        task: Task::CreateApp,
    },
    Command {
        usage: "app delete APP_ID",
        help: "remove a program, and end its grants",
        flags: &[],
        task: Task::DeleteApp,
    },
    Command {
        usage: "grant list",
        help: "list the programs that members allowed to act for them",
        flags: &[TENANT],
        task: Task::ListGrants,
    },
    Command {
        usage: "grant revoke GRANT_ID",
        help: "end a grant and its tokens",
        flags: &[TENANT],
        task: Task::RevokeGrant,
    },
    Command {
        usage: "user create",
        help: "create a member, and an address to set a password at",
        flags: &[TENANT, EMAIL, FIRST_NAME, LAST_NAME, OUT],
        task: Task::CreateUser,
    },
    Command {
        usage: "user disable",
        help: "end all access of a user, and refuse further sign-ins",
        flags: &[EMAIL],
        task: Task::DisableUser,
    },
    Command {
        usage: "user enable",
        help: "let a disabled user sign in again",
        flags: &[EMAIL],
        task: Task::EnableUser,
    },
    Command {
        usage: "user reset",
        help: "create an address to set a new password at, once and within 24 hours",
        flags: &[EMAIL, OUT],
        task: Task::ResetUser,
    },
    Command {
        usage: "user reset-second-factor",
        help: "remove the second factor of a user who has lost it",
        flags: &[EMAIL],
        task: Task::ResetSecondFactor,
    },
    Command {
        usage: "user link",
        help: "let a user sign in with an account at another provider",
        flags: &[
            EMAIL,
            Flag::text("provider", "NAME", "name of the provider in sign_in"),
            Flag::text("subject", "TEXT", "subject (sub) of the account there"),
        ],
        task: Task::LinkUser,
    },
    Command {
        usage: "user token",
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
        task: Task::UserToken,
    },
    Command {
        usage: "key rotate",
        help: "sign new tokens with a new key",
        flags: &[Flag::switch(
            "revoke",
            "revoke all tokens that were signed before",
        )],
        task: Task::RotateKey,
    },
];

// === impl Command ===

impl Command {
    /// Returns its words, and the placeholder of the argument, if it takes one.
    pub(super) fn parts(&self) -> (&'static str, Option<&'static str>) {
        match self.usage.find(|c: char| c.is_ascii_uppercase()) {
            Some(at) => (self.usage[..at].trim_end(), Some(&self.usage[at..])),
            None => (self.usage, None),
        }
    }

    /// Returns the flags that are required.
    pub(super) fn needs(&self) -> &'static [&'static str] {
        match self.task {
            Task::CreateTenant => &["name", "email"],
            Task::CreateClient => &["name"],
            Task::CreateApp => &["name", "redirect-uri"],
            Task::LinkUser => &["email", "provider", "subject"],
            Task::CreateInvite
            | Task::UserToken
            | Task::CreateUser
            | Task::DisableUser
            | Task::EnableUser
            | Task::ResetUser
            | Task::ResetSecondFactor => &["email"],
            _ => &[],
        }
    }

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
            if let Some(command) = COMMANDS.iter().find(|command| command.parts().0 == named) {
                return Ok((command, rest));
            }
        }
        let first = &words[..words.len().min(2)];
        Err(Refusal::NoCommand(first.join(" ")))
    }
}
