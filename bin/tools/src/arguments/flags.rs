//! All flags, in the groups of `-help`.

use ziggurat_doctor::flags::{DOCTOR, HEALTHCHECK, JSON, STRICT, TIMEOUT};
use ziggurat_runtime::flags::{Flag, Takes};

use crate::arguments::prove::PROVE;

/// The flags of `-help` itself.
pub(super) const HELP: &[Flag] = &[
    Flag::switch("h", "Print this"),
    Flag::switch("help", "Print this"),
];

/// The groups, with their headings.
pub(super) const GROUPS: &[(&str, &[Flag])] = &[
    (
        "Configuration",
        &[
            Flag::path(
                "config",
                "path",
                "Configuration file (default: /etc/ziggurat/ziggurat-tools.yaml, then \
                 ziggurat-tools.yaml next to the binary)",
            ),
            Flag::path(
                "data-dir",
                "folder",
                "Folder of tokens, users and other data (default: next to the binary, in data \
                 there; of an installed binary a folder for state) [ZIGGURAT_DATA_DIR]",
            ),
            Flag::switch(
                "debug",
                "Log HTTP requests and responses, passwords and session tokens masked, and tell \
                 clients the causes of failures",
            ),
        ],
    ),
    (
        "Transport (default: stdio)",
        &[
            Flag::switch(
                "negotiate",
                "Negotiate the revision of the protocol over stdio, which is 2024-11-05 without it; \
                 on where a connection URL is given",
            ),
            Flag::text(
                "compat",
                "server",
                "server-postgres: also offer the tool and the resources of \
                 @modelcontextprotocol/server-postgres [ZIGGURAT_COMPAT_SERVER_POSTGRES]",
            ),
            Flag::switch("http", "Serve HTTP [ZIGGURAT_HTTP_ENABLED]"),
            Flag::text(
                "addr",
                "address",
                "Address to listen on, :port or host:port (default :8080, with -no-auth \
                 127.0.0.1:8080) [ZIGGURAT_HTTP_ADDRESS]",
            ),
            Flag::text(
                "public-url",
                "url",
                "URL of the server for browsers and for clients of other machines \
                 [ZIGGURAT_HTTP_PUBLIC_URL]",
            ),
            Flag::switch("tls", "Serve HTTPS; needs -http [ZIGGURAT_TLS_ENABLED]"),
            Flag::path(
                "cert",
                "path",
                "Certificate, PEM; needs -http (default ./server.crt) [ZIGGURAT_TLS_CERT_FILE]",
            ),
            Flag::path(
                "key",
                "path",
                "Its private key, PEM; needs -http (default ./server.key) [ZIGGURAT_TLS_KEY_FILE]",
            ),
            Flag::path(
                "chain",
                "path",
                "Intermediate certificates, PEM; needs -http [ZIGGURAT_TLS_CHAIN_FILE]",
            ),
        ],
    ),
    (
        "Authentication (HTTP only)",
        &[
            Flag {
                name: "no-auth",
                takes: Takes::SwitchOr("public"),
                help: "Disable authentication; for development only. On an address that other \
                       machines can reach, write -no-auth=public [ZIGGURAT_AUTH_ENABLED=false, \
                       ZIGGURAT_HTTP_ALLOW_PUBLIC]",
            },
            Flag::switch(
                "oauth",
                "Let people sign in with a browser; needs -http and -public-url, unless it is for \
                 this machine only [ZIGGURAT_AUTH_OAUTH_ENABLED]",
            ),
            Flag::path(
                "token-file",
                "path",
                "API tokens (default: ziggurat-tools-tokens.yaml next to the binary) \
                 [ZIGGURAT_AUTH_TOKEN_FILE]",
            ),
            Flag::path(
                "user-file",
                "path",
                "User accounts (default: ziggurat-tools-users.yaml next to the binary) \
                 [ZIGGURAT_AUTH_USER_FILE]",
            ),
        ],
    ),
    (
        "Database (the first one configured; without any, one named default)",
        &[
            Flag::text(
                "db-host",
                "host",
                "Host, or folder of a Unix socket (default localhost) [ZIGGURAT_DB_HOST, PGHOST]",
            ),
            Flag::text(
                "db-hosts",
                "hosts",
                "Several hosts: host:port,host:port [ZIGGURAT_DB_HOSTS]",
            ),
            Flag::text(
                "db-target-session-attrs",
                "which",
                "Required state of the host: any, read-write, read-only, primary, standby or \
                 prefer-standby (default any) [ZIGGURAT_DB_TARGET_SESSION_ATTRS]",
            ),
            Flag::text(
                "db-port",
                "port",
                "Port (default 5432) [ZIGGURAT_DB_PORT, PGPORT]",
            ),
            Flag::text(
                "db-name",
                "name",
                "Database in PostgreSQL (default postgres) [ZIGGURAT_DB_NAME, PGDATABASE]",
            ),
            Flag::text(
                "db-user",
                "role",
                "Role to connect as; required [ZIGGURAT_DB_USER, PGUSER]",
            ),
            Flag::text(
                "db-password",
                "password",
                "Its password; other users of this machine can read it, so prefer the environment \
                 or the password file [ZIGGURAT_DB_PASSWORD, PGPASSWORD]",
            ),
            Flag::text(
                "db-sslmode",
                "mode",
                "disable, allow, prefer, require, verify-ca or verify-full (default prefer) \
                 [ZIGGURAT_DB_SSLMODE, PGSSLMODE]",
            ),
            Flag::path(
                "db-sslcert",
                "path",
                "Client certificate, PEM; with -db-sslkey [ZIGGURAT_DB_SSLCERT]",
            ),
            Flag::path(
                "db-sslkey",
                "path",
                "Its private key, PEM; with -db-sslcert [ZIGGURAT_DB_SSLKEY]",
            ),
            Flag::path(
                "db-sslrootcert",
                "path",
                "Trusted root certificates, PEM [ZIGGURAT_DB_SSLROOTCERT]",
            ),
        ],
    ),
    (
        "Description (the server does not start)",
        &[
            Flag::switch("openapi", "Print the OpenAPI document of the HTTP server"),
            Flag::switch("version", "Print the version"),
            Flag::switch("man", "Print the manual page, for man(1)"),
            Flag::text(
                "completion",
                "shell",
                "Print a script that completes command lines in bash, zsh or fish",
            ),
            Flag::switch(
                "check-config",
                "Print every problem of the configuration, and exit with 0 if there is none, else with 1",
            ),
            Flag::switch(
                "connect",
                "With -check-config: also connect to all databases, the issuer and the providers of \
                 models; the databases check the statements of tools",
            ),
            Flag::text(
                "as",
                "caller",
                "With -check-config: print what a caller would see; with -replay: run as this \
                 caller; with -prove: the caller who asks: token:ID, user:NAME, client:ID[,scope…] \
                 or local",
            ),
            DOCTOR,
            Flag::switch(JSON.name, "With -doctor and -adopt: print JSON"),
            STRICT,
            TIMEOUT,
            HEALTHCHECK,
        ],
    ),
    (
        "Setting up (the server does not start)",
        &[
            Flag::switch(
                "init",
                "Write ziggurat-tools.yaml and role.sql, which makes a role that only reads; asks for \
                 what the flags below do not say",
            ),
            Flag::path(
                "init-admin-url-file",
                "file",
                "With -init: a file with the connection URL of an administrator of the database, used \
                 once and not written",
            ),
            Flag::text(
                "init-role",
                "name",
                "With -init: the role to connect as (a terminal offers ziggurat_reader)",
            ),
            Flag::text(
                "init-schemas",
                "names",
                "With -init: the schemas it reads, with commas (a terminal offers public)",
            ),
            Flag::switch(
                "init-writes",
                "With -init: the role may change data; -init-writes=false says that it may not",
            ),
            Flag::text(
                "init-transport",
                "which",
                "With -init: stdio, where a client starts the server, or http",
            ),
            Flag::text(
                "init-auth",
                "which",
                "With -init: tokens, sign-in (with a browser), or none for all callers on this machine",
            ),
            Flag::path(
                "init-dir",
                "folder",
                "With -init: the folder of the files (default: this one)",
            ),
            Flag::switch("init-apply", "With -init: run role.sql without a question"),
            Flag::text(
                "print-client",
                "client",
                "Print what a client needs to reach this server: claude-desktop, claude-code, cursor, \
                 vscode, codex, claude-ai or chatgpt",
            ),
            Flag::text(
                "print-seal-sql",
                "database",
                "Print the SQL with which a database checks the sealed settings of its callers; it holds \
                 the key",
            ),
        ],
    ),
    (
        "Administration of API tokens (the server does not start)",
        &[
            Flag::switch(
                "add-token",
                "Create a token and show it once; prompts for missing values on a terminal",
            ),
            Flag::text(
                "token-note",
                "text",
                "With -add-token: a note about its purpose",
            ),
            Flag::text(
                "token-database",
                "name",
                "With -add-token: the database to bind it to (default: the first one configured)",
            ),
            Flag::text(
                "token-expiry",
                "duration",
                "With -add-token: 12h, 30d, 2w, 1y or never (without a terminal the default is never)",
            ),
            Flag::text(
                "token-claim",
                "name=value",
                "With -add-token: a claim of its holder, for SQL tools; repeat for more",
            ),
            Flag::text(
                "token-toolset",
                "name",
                "With -add-token: a toolset of the token, as if the set named it; repeat for more",
            ),
            Flag::switch("list-tokens", "List the tokens, without their secret parts"),
            Flag::text(
                "output",
                "format",
                "With -list-tokens and -list-users: text (the default) or json",
            ),
            Flag::text(
                "remove-token",
                "id",
                "Remove the token with this id, or with this prefix of its hash (8 characters or \
                 more)",
            ),
        ],
    ),
    (
        "Administration of user accounts (the server does not start)",
        &[
            Flag::switch(
                "add-user",
                "Create an account; prompts for missing values on a terminal",
            ),
            Flag::switch(
                "update-user",
                "Change the password, the note or claims of an account",
            ),
            Flag::switch(
                "delete-user",
                "Delete an account, its conversations and its library; asks for confirmation",
            ),
            Flag::switch(
                "keep-state",
                "With -delete-user: keep the conversations and the library",
            ),
            Flag::switch("yes", "With -delete-user: do not ask"),
            Flag::switch("list-users", "List the accounts"),
            Flag::switch("enable-user", "Unlock an account"),
            Flag::switch("disable-user", "Lock an account"),
            Flag::text("username", "name", "Name of the account"),
            Flag::text(
                "password",
                "password",
                "With -add-user and -update-user; other users of this machine can read it, so \
                 prefer the prompt, or - to read a line of standard input",
            ),
            Flag::text(
                "user-note",
                "text",
                "With -add-user and -update-user; \"\" removes a note",
            ),
            Flag::switch(
                "user-admin",
                "With -add-user and -update-user: the user administers the server; \
                 -user-admin=false takes that away",
            ),
            Flag::text(
                "user-claim",
                "name=value",
                "With -add-user and -update-user: a claim of the user, for SQL tools; repeat for \
                 more; -update-user removes one without a value, and keeps the others",
            ),
        ],
    ),
    (
        "Administration of the sign-in (the server does not start)",
        &[
            Flag::switch(
                "list-grants",
                "List what people have allowed clients; -username for one person",
            ),
            Flag::text("revoke-grant", "id", "End a grant"),
            Flag::switch(
                "revoke-grants",
                "End all grants and browser sessions of -username",
            ),
            Flag::switch(
                "list-clients",
                "List the clients that you or they themselves registered",
            ),
            Flag::switch("add-client", "Register a client; its secret is shown once"),
            Flag::text(
                "client-name",
                "name",
                "With -add-client: its name on the pages",
            ),
            Flag::text(
                "redirect-uri",
                "address",
                "With -add-client: an address that it may be sent back to; repeat for more",
            ),
            Flag::switch("secret", "With -add-client: give it a secret"),
            Flag::text("remove-client", "id", "Remove a client, and end its grants"),
            Flag::switch(
                "rotate-key",
                "Make a new key, which signs from now on; older ones stay until their tokens have \
                 expired",
            ),
            Flag::switch(
                "revoke",
                "With -rotate-key: end all tokens, grants and sessions",
            ),
            Flag::switch(
                "reset-second-factor",
                "Remove the second factor of -username, who lost it",
            ),
        ],
    ),
    (
        "Documentation to search (the server does not start)",
        &[
            Flag::path(
                "build-knowledgebase",
                "folder",
                "Add the Markdown, HTML, reStructuredText, AsciiDoc and text files of this folder \
                 to the knowledge base, with vectors by knowledgebase.embedding_provider; repeat \
                 for more folders. Unchanged documents are kept, and documents of this product and \
                 version that are in no folder any more are removed",
            ),
            Flag::text(
                "kb-project",
                "name",
                "With -build-knowledgebase: the product they are about; required",
            ),
            Flag::text(
                "kb-version",
                "version",
                "With -build-knowledgebase: its version (default: none)",
            ),
            Flag::path(
                "kb-output",
                "file",
                "With -build-knowledgebase: the file (default: knowledgebase.database_path)",
            ),
        ],
    ),
    (
        "Audit trail (the server does not start)",
        &[
            Flag::path(
                "verify-audit",
                "file",
                "Verify the files of an audit trail, all in one run; more files may follow",
            ),
            Flag::path(
                "audit-key-file",
                "file",
                "With -verify-audit: the file of audit.key_file, if there is one",
            ),
            Flag::text(
                "expect-first",
                "record",
                "With -verify-audit: the first record, if earlier ones are kept elsewhere",
            ),
            Flag::text(
                "expect-last",
                "chain",
                "With -verify-audit: the chain of the last record, which finds a removed end",
            ),
        ],
    ),
    ("Proof of isolation (the server does not start)", PROVE),
    (
        "Receipts (the server does not start)",
        &[
            Flag::path(
                "make-receipt-key",
                "file",
                "Make a key that signs receipts, for receipts.key_file; its public half is written \
                 beside it, with .pub at the end",
            ),
            Flag::path(
                "verify-receipt",
                "file",
                "Verify an answer by its receipt: a JSON-RPC response, the lines of /api/query, or \
                 an object with request and response",
            ),
            Flag::path(
                "receipt-keys",
                "file",
                "With -verify-receipt: the public keys, as /.well-known/ziggurat-receipts returns \
                 them or in PEM (default: those of the configuration)",
            ),
            Flag::path(
                "audit",
                "file",
                "With -verify-receipt: a file of the audit trail that must have the receipt; more \
                 files may follow",
            ),
            Flag::switch(
                "replay",
                "With -verify-receipt: run the request again, read only, as the caller of -as, and \
                 compare the rows",
            ),
        ],
    ),
    (
        "Changing from another server (the server does not start)",
        &[
            Flag::path(
                "adopt",
                "file",
                "Convert the configuration of MCP Toolbox, DBHub or a client into new files; more \
                 files may follow; - reads standard input",
            ),
            Flag::text(
                "adopt-as",
                "kind",
                "With -adopt: toolbox, dbhub or client (default: what the content shows)",
            ),
            Flag::path(
                "adopt-dir",
                "folder",
                "With -adopt: folder of the new files (default: the current one)",
            ),
            Flag::switch(
                "adopt-offline",
                "With -adopt: do not ask PostgreSQL for the types of parameters",
            ),
        ],
    ),
];
