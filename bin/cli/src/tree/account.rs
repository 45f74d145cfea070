//! Commands for the account's records: clients, invites, memberships, tenants.

use super::{
    Action, Argument, BLANK, Command, Example, Flag, Kind, Output, Takes,
    flags::{DRY_RUN, FORCE},
};

const CLIENT_FIELDS: &[&str] = &[
    "id",
    "name",
    "description",
    "auth0_id",
    "oauth_client_id",
    "role",
    "created_at",
    "updated_at",
];

const INVITE_FIELDS: &[&str] = &[
    "id",
    "email",
    "invited_by",
    "team_name",
    "expires_at",
    "created_at",
    "updated_at",
    "accept_url",
    "screen_hint",
    "token",
];

const MEMBERSHIP_FIELDS: &[&str] = &[
    "id",
    "user_id",
    "user_name",
    "user_email",
    "user_picture",
    "is_owner",
    "created_at",
    "updated_at",
];

const TENANT_FIELDS: &[&str] = &[
    "id",
    "name",
    "plan",
    "plan_trial",
    "plan_expires_at",
    "domain",
    "external_id",
    "created_at",
    "updated_at",
];

const DELETED: Output = Output::Record(&["id", "deleted"]);

const fn id(name: &'static str, meaning: &'static str) -> Argument {
    Argument {
        name,
        meaning,
        takes: Takes::One,
    }
}

/// `client`.
pub(super) const CLIENT: Command = Command {
    name: "client",
    aliases: &["clients"],
    summary: "Manage API clients",
    about: "An API client is an application that may use the account. It signs in with its client \
            id and its secret.",
    examples: &[Example {
        says: "See what there is",
        line: "ziggurat platform client list",
    }],
    children: &[
        Command {
            name: "create",
            summary: "Create an API client",
            about: "Creates a client and prints its secret, the only time it can be seen. Standard \
                    output carries the secret and nothing else, so that a script can capture it; \
                    with -o json it carries the whole record. A client with the role admin may \
                    manage clients, invites and members; one with the role reader may read.",
            examples: &[
                Example {
                    says: "Capture the secret",
                    line: "secret=$(ziggurat platform client create --name ci --description 'CI runner')",
                },
                Example {
                    says: "See the request first",
                    line: "ziggurat platform client create --name ci --description 'CI runner' --dry-run",
                },
            ],
            flags: &[
                Flag::text("name", "text", "name of the client").required(),
                Flag::text("description", "text", "what the client is for").required(),
                Flag::text("role", "role", "admin or reader").default("the platform's"),
                DRY_RUN,
            ],
            action: Some(Action::ClientCreate),
            writes: true,
            output: Output::Record(&[
                "id",
                "name",
                "description",
                "auth0_id",
                "oauth_client_id",
                "auth0_secret",
                "oauth_client_secret",
                "role",
                "created_at",
                "updated_at",
            ]),
            ..BLANK
        },
        Command {
            name: "delete",
            summary: "Delete an API client",
            about: "Deletes a client, its secret and its tokens at once. Applications that use them \
                    can no longer sign in.",
            examples: &[Example {
                says: "Without being asked",
                line: "ziggurat platform client delete b0c1d2e3-f4a5-6789-bcde-890123456789 --force",
            }],
            arguments: &[id(
                "client_id",
                "id of the record, or the name of the client",
            )],
            flags: &[DRY_RUN, FORCE],
            action: Some(Action::ClientDelete),
            writes: true,
            output: DELETED,
            ..BLANK
        },
        Command {
            name: "get",
            summary: "Show an API client",
            about: "Shows one client. Its secret cannot be shown again.",
            examples: &[Example {
                says: "As YAML",
                line: "ziggurat platform client get b0c1d2e3-f4a5-6789-bcde-890123456789 -o yaml",
            }],
            arguments: &[id(
                "client_id",
                "id of the record, or the name of the client",
            )],
            action: Some(Action::ClientGet),
            output: Output::Record(CLIENT_FIELDS),
            ..BLANK
        },
        Command {
            name: "list",
            summary: "List API clients",
            about: "Lists every client of the account, the one in use among them.",
            examples: &[Example {
                says: "Ids and names only",
                line: "ziggurat platform client list --fields id,name",
            }],
            action: Some(Action::ClientList),
            output: Output::List(CLIENT_FIELDS),
            ..BLANK
        },
        Command {
            name: "update",
            summary: "Change an API client",
            about: "Changes the name, the description, the role, or several of them. What is not \
                    given stays.",
            examples: &[Example {
                says: "Rename",
                line: "ziggurat platform client update b0c1d2e3-f4a5-6789-bcde-890123456789 --name ci-2",
            }],
            arguments: &[id(
                "client_id",
                "id of the record, or the name of the client",
            )],
            flags: &[
                Flag::text("name", "text", "new name"),
                Flag::text("description", "text", "new description"),
                Flag::text("role", "role", "new role: admin or reader"),
                DRY_RUN,
            ],
            action: Some(Action::ClientUpdate),
            writes: true,
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
    about: "An invite asks a person to join the account. Inviting and accepting need a signed-in \
            person, so they happen in the web UI.",
    examples: &[Example {
        says: "Who has not answered yet?",
        line: "ziggurat platform invite list",
    }],
    children: &[
        Command {
            name: "accept",
            summary: "Accept an invite (needs the web UI)",
            about: "Says where an invite is accepted. This program signs in as an application, and \
                    only a person can join an account. --dry-run prints the request that a person's \
                    acceptance would be.",
            examples: &[Example {
                says: "Find out where to go",
                line: "ziggurat platform invite accept 3e0f9a51-6f4c-4d0e-9a37-58a2c7ad8f10",
            }],
            arguments: &[id("invite_id", "id of the invite")],
            flags: &[Flag::text("token", "token", "token of the invite"), DRY_RUN],
            action: Some(Action::InviteAccept),
            writes: true,
            ..BLANK
        },
        Command {
            name: "create",
            summary: "Create an invite (needs the web UI)",
            about: "Says where an invite is made. This program signs in as an application, and only \
                    a person can invite. --dry-run prints the request that a person would send.",
            examples: &[Example {
                says: "Find out where to go",
                line: "ziggurat platform invite create --email ada@example.com",
            }],
            flags: &[
                Flag::text("email", "address", "who is invited"),
                Flag::new(
                    "expiration",
                    Kind::Integer("hours"),
                    "how long the invite is good for",
                ),
                DRY_RUN,
            ],
            action: Some(Action::InviteCreate),
            writes: true,
            ..BLANK
        },
        Command {
            name: "delete",
            summary: "Delete an invite",
            about: "Withdraws an invite that was not accepted yet.",
            examples: &[Example {
                says: "See the request first",
                line: "ziggurat platform invite delete 3e0f9a51-6f4c-4d0e-9a37-58a2c7ad8f10 --dry-run",
            }],
            arguments: &[id("invite_id", "id of the invite")],
            flags: &[DRY_RUN, FORCE],
            action: Some(Action::InviteDelete),
            writes: true,
            output: DELETED,
            ..BLANK
        },
        Command {
            name: "get",
            summary: "Show an invite",
            about: "Shows one pending invite. With -o json its token and address are there too.",
            examples: &[Example {
                says: "Where it is accepted",
                line: "ziggurat platform invite get 3e0f9a51-6f4c-4d0e-9a37-58a2c7ad8f10 --jq .accept_url",
            }],
            arguments: &[id("invite_id", "id of the invite")],
            action: Some(Action::InviteGet),
            output: Output::Record(INVITE_FIELDS),
            ..BLANK
        },
        Command {
            name: "list",
            summary: "List invites",
            about: "Lists the invites that are pending. Accepted and expired ones are gone.",
            examples: &[Example {
                says: "The addresses, one per line",
                line: "ziggurat platform invite list --jq '.[].email'",
            }],
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
    summary: "Manage the people of the account",
    about: "A membership is a person who belongs to the account.",
    examples: &[Example {
        says: "Who is there?",
        line: "ziggurat platform membership list",
    }],
    children: &[
        Command {
            name: "delete",
            summary: "Remove a person from the account",
            about: "Takes a person out of the account. The owner cannot be removed.",
            examples: &[Example {
                says: "Without being asked",
                line: "ziggurat platform membership delete 7a4a2f64-60a0-4d7d-b3b3-1f5ad1bb8a11 --force",
            }],
            arguments: &[id("membership_id", "id of the membership")],
            flags: &[DRY_RUN, FORCE],
            action: Some(Action::MembershipDelete),
            writes: true,
            output: DELETED,
            ..BLANK
        },
        Command {
            name: "list",
            summary: "List the people of the account",
            about: "Lists who belongs to the account, and who owns it.",
            examples: &[Example {
                says: "The owner",
                line: "ziggurat platform membership list --jq '.[] | select(.is_owner) | .user_email'",
            }],
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
    examples: &[Example {
        says: "See what the credential reaches",
        line: "ziggurat platform tenant list",
    }],
    children: &[
        Command {
            name: "get",
            summary: "Show a tenant",
            about: "Shows one tenant.",
            examples: &[Example {
                says: "As JSON",
                line: "ziggurat platform tenant get 5f0e8a0c-9f67-4a53-8d5b-2f7a4a0d9b6e -o json",
            }],
            arguments: &[id("tenant_id", "id of the tenant")],
            action: Some(Action::TenantGet),
            output: Output::Record(TENANT_FIELDS),
            ..BLANK
        },
        Command {
            name: "list",
            summary: "List tenants",
            about: "Lists the tenants that the credential reaches, usually one.",
            examples: &[Example {
                says: "Id of the first",
                line: "ziggurat platform tenant list --jq '.[0].id'",
            }],
            action: Some(Action::TenantList),
            output: Output::List(TENANT_FIELDS),
            ..BLANK
        },
        Command {
            name: "update",
            summary: "Rename a tenant",
            about: "Gives a tenant another name.",
            examples: &[Example {
                says: "Rename",
                line: "ziggurat platform tenant update 5f0e8a0c-9f67-4a53-8d5b-2f7a4a0d9b6e --name Acme",
            }],
            arguments: &[id("tenant_id", "id of the tenant")],
            flags: &[Flag::text("name", "text", "new name"), DRY_RUN],
            action: Some(Action::TenantUpdate),
            writes: true,
            output: Output::Record(TENANT_FIELDS),
            ..BLANK
        },
    ],
    ..BLANK
};
