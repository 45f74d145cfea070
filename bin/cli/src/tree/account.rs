//! Commands for the account's records: clients, invites, memberships, tenants.

use crate::tree::{
    Action, Argument, BLANK, Command, Flag, Output, ValueKind,
    flags::{DRY_RUN, FORCE},
};

const CLIENT_FIELDS: &str = "id name description credential_id role created_at updated_at";

const INVITE_FIELDS: &str =
    "id email invited_by team_name expires_at created_at updated_at accept_url screen_hint token";

const MEMBERSHIP_FIELDS: &str =
    "id user_id user_name user_email user_picture is_owner created_at updated_at";

const TENANT_FIELDS: &str =
    "id name plan plan_trial plan_expires_at domain external_id created_at updated_at";

const DELETED: Output = Output::Record("id deleted");

const CLIENT_ID: Argument =
    Argument::one("client_id", "id of the record, or the name of the client");
const INVITE_ID: Argument = Argument::one("invite_id", "id of the invite");
const TENANT_ID: Argument = Argument::one("tenant_id", "id of the tenant");

/// `client`.
pub(super) const CLIENT: Command = Command {
    name: "client",
    aliases: &["clients"],
    summary: "Manage API clients",
    about: "An API client is an application that may use the account. It signs in with its client \
            id and its secret.",
    examples: &[("List the clients", "ziggurat platform client list")],
    children: &[
        Command {
            name: "create",
            summary: "Create an API client",
            about: "Creates a client and prints its secret, which is shown only once. Only the \
                    secret goes to standard output, so that a script can capture it; with -o json \
                    it is the whole record. Clients with the role admin may manage clients, \
                    invites and members; those with the role reader may only read.",
            examples: &[
                (
                    "Store the secret in a variable",
                    "secret=$(ziggurat platform client create --name ci --description 'CI runner')",
                ),
                (
                    "Print the request without sending it",
                    "ziggurat platform client create --name ci --description 'CI runner' --dry-run",
                ),
            ],
            flags: &[
                Flag::text("name", "text", "name of the client").required(),
                Flag::text("description", "text", "description of the client"),
                Flag::text("role", "role", "admin or reader").default("chosen by the platform"),
                DRY_RUN,
            ],
            action: Some(Action::ClientCreate),
            output: Output::Record(
                "id name description credential_id credential_secret role created_at updated_at",
            ),
            ..BLANK
        },
        Command {
            name: "delete",
            summary: "Delete an API client",
            about: "Deletes a client, its secret and its tokens at once. Applications that use them \
                    can no longer sign in.",
            examples: &[(
                "Delete without confirmation",
                "ziggurat platform client delete b0c1d2e3-f4a5-6789-bcde-890123456789 --force",
            )],
            arguments: &[CLIENT_ID],
            flags: &[DRY_RUN, FORCE],
            action: Some(Action::ClientDelete),
            output: DELETED,
            ..BLANK
        },
        Command {
            name: "get",
            summary: "Show an API client",
            about: "Shows one client. Its secret cannot be shown again.",
            examples: &[(
                "Print as YAML",
                "ziggurat platform client get b0c1d2e3-f4a5-6789-bcde-890123456789 -o yaml",
            )],
            arguments: &[CLIENT_ID],
            action: Some(Action::ClientGet),
            output: Output::Record(CLIENT_FIELDS),
            ..BLANK
        },
        Command {
            name: "list",
            summary: "List API clients",
            about: "Lists all clients of the account, with the one in use.",
            examples: &[(
                "Print ids and names only",
                "ziggurat platform client list --fields id,name",
            )],
            action: Some(Action::ClientList),
            output: Output::List(CLIENT_FIELDS),
            ..BLANK
        },
        Command {
            name: "update",
            summary: "Change an API client",
            about: "Changes the name, the description or the role. Other members keep their \
                    values.",
            examples: &[(
                "Rename the client",
                "ziggurat platform client update b0c1d2e3-f4a5-6789-bcde-890123456789 --name ci-2",
            )],
            arguments: &[CLIENT_ID],
            flags: &[
                Flag::text("name", "text", "new name"),
                Flag::text("description", "text", "new description"),
                Flag::text("role", "role", "new role: admin or reader"),
                DRY_RUN,
            ],
            action: Some(Action::ClientUpdate),
            output: Output::Record(CLIENT_FIELDS),
            ..BLANK
        },
    ],
    ..BLANK
};

/// `invite`.
pub(super) const INVITE: Command = Command {
    name: "invite",
    aliases: &["invites"],
    summary: "Manage invites",
    about: "An invite asks a person to join the account. People create and accept invites in the \
            web UI, because both need a signed-in user.",
    examples: &[(
        "List the pending invitations",
        "ziggurat platform invite list",
    )],
    children: &[
        Command {
            name: "accept",
            summary: "Accept an invite (needs the web UI)",
            about: "Prints the address where an invite is accepted. A client is an application, and \
                    only people can join an account: after \"auth login --browser\" it is the \
                    address of the page. --dry-run prints the request that the web UI would send.",
            examples: &[(
                "Print the address that accepts the invitation",
                "ziggurat platform invite accept 3e0f9a51-6f4c-4d0e-9a37-58a2c7ad8f10",
            )],
            arguments: &[INVITE_ID],
            flags: &[Flag::text("token", "token", "token of the invite"), DRY_RUN],
            action: Some(Action::InviteAccept),
            ..BLANK
        },
        Command {
            name: "create",
            summary: "Create an invite (needs the web UI)",
            about: "Prints the address where invites are created. A client is an application, and \
                    only people can invite: after \"auth login --browser\" it creates the invite, \
                    and prints the address of the page where the person joins. --dry-run prints \
                    the request.",
            examples: &[(
                "Print the address of the web UI",
                "ziggurat platform invite create --email ada@example.com",
            )],
            flags: &[
                Flag::text("email", "address", "mail address of the invited person"),
                Flag::new(
                    "expiration",
                    ValueKind::Integer("hours"),
                    "lifetime of the invite",
                ),
                DRY_RUN,
            ],
            action: Some(Action::InviteCreate),
            ..BLANK
        },
        Command {
            name: "delete",
            summary: "Delete an invite",
            about: "Deletes an invite that was not accepted yet.",
            examples: &[(
                "Print the request without sending it",
                "ziggurat platform invite delete 3e0f9a51-6f4c-4d0e-9a37-58a2c7ad8f10 --dry-run",
            )],
            arguments: &[INVITE_ID],
            flags: &[DRY_RUN, FORCE],
            action: Some(Action::InviteDelete),
            output: DELETED,
            ..BLANK
        },
        Command {
            name: "get",
            summary: "Show an invite",
            about: "Shows one pending invite. -o json includes its token and address.",
            examples: &[(
                "Print the address that accepts the invitation",
                "ziggurat platform invite get 3e0f9a51-6f4c-4d0e-9a37-58a2c7ad8f10 --jq .accept_url",
            )],
            arguments: &[INVITE_ID],
            action: Some(Action::InviteGet),
            output: Output::Record(INVITE_FIELDS),
            ..BLANK
        },
        Command {
            name: "list",
            summary: "List invites",
            about: "Lists the pending invites, without accepted and expired ones.",
            examples: &[(
                "Print the mail addresses, one per line",
                "ziggurat platform invite list --jq '.[].email'",
            )],
            action: Some(Action::InviteList),
            output: Output::List(INVITE_FIELDS),
            ..BLANK
        },
    ],
    ..BLANK
};

/// `membership`.
pub(super) const MEMBERSHIP: Command = Command {
    name: "membership",
    aliases: &["memberships"],
    summary: "Manage the members of the account",
    about: "A membership makes a person a member of the account.",
    examples: &[("List the members", "ziggurat platform membership list")],
    children: &[
        Command {
            name: "delete",
            summary: "Remove a person from the account",
            about: "Removes a person from the account. The owner cannot be removed.",
            examples: &[(
                "Delete without confirmation",
                "ziggurat platform membership delete 7a4a2f64-60a0-4d7d-b3b3-1f5ad1bb8a11 --force",
            )],
            arguments: &[Argument::one("membership_id", "id of the membership")],
            flags: &[DRY_RUN, FORCE],
            action: Some(Action::MembershipDelete),
            output: DELETED,
            ..BLANK
        },
        Command {
            name: "list",
            summary: "List the members of the account",
            about: "Lists the members of the account, and marks the owner.",
            examples: &[(
                "Print the owner",
                "ziggurat platform membership list --jq '.[] | select(.is_owner) | .user_email'",
            )],
            action: Some(Action::MembershipList),
            output: Output::List(MEMBERSHIP_FIELDS),
            ..BLANK
        },
    ],
    ..BLANK
};

/// `tenant`.
pub(super) const TENANT: Command = Command {
    name: "tenant",
    aliases: &["tenants"],
    summary: "Manage tenants",
    about: "A tenant is the account itself: its name, plan and domain.",
    examples: &[(
        "List the tenants of the credential",
        "ziggurat platform tenant list",
    )],
    children: &[
        Command {
            name: "get",
            summary: "Show a tenant",
            about: "Shows one tenant.",
            examples: &[(
                "Print as JSON",
                "ziggurat platform tenant get 5f0e8a0c-9f67-4a53-8d5b-2f7a4a0d9b6e -o json",
            )],
            arguments: &[TENANT_ID],
            action: Some(Action::TenantGet),
            output: Output::Record(TENANT_FIELDS),
            ..BLANK
        },
        Command {
            name: "list",
            summary: "List tenants",
            about: "Lists the tenants of the credential, usually one.",
            examples: &[(
                "Print the id of the first tenant",
                "ziggurat platform tenant list --jq '.[0].id'",
            )],
            action: Some(Action::TenantList),
            output: Output::List(TENANT_FIELDS),
            ..BLANK
        },
        Command {
            name: "update",
            summary: "Rename a tenant",
            about: "Renames a tenant.",
            examples: &[(
                "Rename the tenant",
                "ziggurat platform tenant update 5f0e8a0c-9f67-4a53-8d5b-2f7a4a0d9b6e --name Acme",
            )],
            arguments: &[TENANT_ID],
            flags: &[Flag::text("name", "text", "new name"), DRY_RUN],
            action: Some(Action::TenantUpdate),
            output: Output::Record(TENANT_FIELDS),
            ..BLANK
        },
    ],
    ..BLANK
};
