//! Commands and flags.

use ziggurat_runtime::flags::Flag;

use super::Refusal;

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

const TENANT: Flag = Flag::text("tenant", "ID", "the tenant; needed if there are several");
const OUT: Flag = Flag::text(
    "out",
    "FILE",
    "write it to a new file of mode 0600, not to the screen",
);
const EMAIL: Flag = Flag::text("email", "ADDRESS", "the mail address");
const FIRST_NAME: Flag = Flag::text("first-name", "NAME", "the first name of the person");
const LAST_NAME: Flag = Flag::text("last-name", "NAME", "the last name of the person");

/// Flags that all commands accept.
pub(super) const GLOBAL: &[Flag] = &[
    Flag::text("config", "PATH", "the configuration file"),
    Flag::text("addr", "HOST:PORT", "where to listen (server.address)"),
    Flag::text(
        "public-url",
        "URL",
        "what clients call it (server.public_url)",
    ),
    Flag::text(
        "data-dir",
        "PATH",
        "where the file and the keys are (data_dir)",
    ),
    Flag::text(
        "token-lifetime",
        "DURATION",
        "how long tokens are good (tokens.lifetime)",
    ),
    Flag::switch(
        "check-config",
        "say what is wrong with the configuration, and end",
    ),
    #[cfg(feature = "test-support")]
    Flag::switch(
        "test-hooks",
        "let clients make the server fail, and move its clock; for tests",
    ),
    #[cfg(feature = "test-support")]
    Flag::text(
        "test-clock",
        "TIME",
        "have its clock stand still there; for tests",
    ),
    Flag::switch("openapi", "print the OpenAPI document, and end"),
    Flag::switch("version", "print the version, and end"),
    Flag::switch("help", "print this, and end"),
    Flag::switch("h", "the same"),
];

/// The commands.
pub(super) const COMMANDS: &[Command] = &[
    Command {
        words: "serve",
        about: None,
        help: "serve over HTTP until told to stop",
        flags: &[],
        needs: &[],
        task: Task::Serve,
    },
    Command {
        words: "init",
        about: None,
        help: "make the first tenant, its owner, and a client with a secret",
        flags: &[
            Flag::text("tenant-name", "NAME", "what to call the tenant (default)"),
            Flag::text("email", "ADDRESS", "the owner (owner@localhost)"),
            Flag::text("client-name", "NAME", "what to call the client (admin)"),
            OUT,
        ],
        needs: &[],
        task: Task::Init,
    },
    Command {
        words: "tenant list",
        about: None,
        help: "the tenants",
        flags: &[],
        needs: &[],
        task: Task::ListTenants,
    },
    Command {
        words: "tenant create",
        about: None,
        help: "make a tenant, and its owner a member",
        flags: &[
            Flag::text("name", "NAME", "what to call it"),
            EMAIL,
            FIRST_NAME,
            LAST_NAME,
            Flag::text("domain", "NAME", "the domain of its mail addresses"),
            Flag::text("external-id", "TEXT", "what others call it"),
            Flag::text("plan", "NAME", "what it may use"),
            Flag::switch("trial", "that is for trying it out"),
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
        help: "the clients of a tenant",
        flags: &[TENANT],
        needs: &[],
        task: Task::ListClients,
    },
    Command {
        words: "client create",
        about: None,
        help: "make a client with a secret, which is shown once",
        flags: &[
            TENANT,
            Flag::text("name", "NAME", "what to call it"),
            Flag::text("description", "TEXT", "what it is for"),
            Flag::text("role", "ROLE", "admin or reader (reader)"),
            OUT,
        ],
        needs: &["name"],
        task: Task::CreateClient,
    },
    Command {
        words: "client delete",
        about: Some("CLIENT_ID"),
        help: "delete a client; its secret and tokens are good no more",
        flags: &[TENANT],
        needs: &[],
        task: Task::DeleteClient,
    },
    Command {
        words: "invite list",
        about: None,
        help: "the invites of a tenant that can be accepted",
        flags: &[TENANT],
        needs: &[],
        task: Task::ListInvites,
    },
    Command {
        words: "invite create",
        about: None,
        help: "invite a person; the token to accept with is shown once",
        flags: &[
            TENANT,
            EMAIL,
            Flag::text("expiration", "HOURS", "for how long it is good (168)"),
            OUT,
        ],
        needs: &["email"],
        task: Task::CreateInvite,
    },
    Command {
        words: "invite accept",
        about: Some("INVITE_ID"),
        help: "make the invited person a member",
        flags: &[
            Flag::text(
                "token",
                "TEXT",
                "what came with the invite; others see it in ps",
            ),
            Flag::text("token-file", "FILE", "the same, in a file"),
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
        help: "the members of a tenant",
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
        help: "make a token for a member, for what clients may not do over HTTP",
        flags: &[
            TENANT,
            EMAIL,
            Flag::text("lifetime", "DURATION", "for how long it is good (1h)"),
            OUT,
        ],
        needs: &["email"],
        task: Task::UserToken,
    },
    Command {
        words: "key rotate",
        about: None,
        help: "sign with a new key from now on",
        flags: &[Flag::switch(
            "revoke",
            "believe no token that was signed before",
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
