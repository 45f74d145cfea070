//! Logs in to PostgreSQL.

use std::{io, ops::RangeInclusive};

use bytes::BytesMut;
use fallible_iterator::FallibleIterator as _;
use postgres_protocol::{
    authentication::{
        md5_hash,
        sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256},
    },
    message::{
        backend::{AuthenticationSaslBody, Message},
        frontend,
    },
};
use secrecy::ExposeSecret as _;

use crate::driver::{
    Client, ConnectOptions, DriverError, MAX_MESSAGE, ServerError, auth::AuthMethod, socket::Socket,
};

/// Iterations of SCRAM: fewer make the password easy to guess for a server that asks for them, and more
/// take too long to compute.
const ITERATIONS: RangeInclusive<u32> = 4096..=10_000_000;

/// Settings that PostgreSQL and poolers accept at the start of a session.
const SETTINGS: [(&str, &str); 3] = [
    ("DateStyle", "ISO, MDY"),
    ("client_encoding", "UTF8"),
    ("TimeZone", "UTC"),
];

pub(super) async fn connect(options: &ConnectOptions) -> Result<Client, DriverError> {
    match connect_once(options, options.role.as_deref()).await {
        // A pooler may refuse settings that it does not know. The role is set again in each
        // transaction.
        Err(DriverError::Server(error)) if error.code == PROTOCOL && options.role.is_some() => {
            connect_once(options, None).await
        }
        connected => connected,
    }
}

/// Code of PostgreSQL for a violation of the protocol.
const PROTOCOL: &str = "08P01";

async fn connect_once(options: &ConnectOptions, role: Option<&str>) -> Result<Client, DriverError> {
    let socket = Socket::connect(&options.endpoint, &options.tls, options.silence).await?;
    let mut client = Client::new(socket);
    match log_in(&mut client, options, role).await {
        Ok(()) => Ok(client),
        Err(error) => Err(client.socket.explain(error).await),
    }
}

async fn log_in(
    client: &mut Client,
    options: &ConnectOptions,
    role: Option<&str>,
) -> Result<(), DriverError> {
    let own = [
        ("user", &*options.user),
        ("database", &*options.database),
        ("application_name", &*options.application_name),
    ];
    let session = options.session.as_deref();
    let session = session.map(|session| ("options", session));
    let role = role.map(|role| ("role", role));
    let all = own.into_iter().chain(SETTINGS).chain(session).chain(role);
    frontend::startup_message(all, &mut client.output)?;
    client.flush().await?;
    authenticate(client, options).await?;
    settle(client).await
}

async fn authenticate(client: &mut Client, options: &ConnectOptions) -> Result<(), DriverError> {
    let password = options.password.expose_secret().as_bytes();
    let accept = |method, otherwise| {
        let is_accepted = options.auth.accepts(method);
        is_accepted
            .then_some(())
            .ok_or(DriverError::Auth(otherwise))
    };
    match message(client).await? {
        Message::AuthenticationOk => return accept(AuthMethod::None, NOT_ACCEPTED),
        Message::AuthenticationCleartextPassword => {
            accept(AuthMethod::Password, CLEAR_TEXT)?;
            frontend::password_message(password, &mut client.output)?;
        }
        Message::AuthenticationMd5Password(body) => {
            accept(AuthMethod::Md5, NOT_ACCEPTED)?;
            let hash = md5_hash(options.user.as_bytes(), password, body.salt());
            frontend::password_message(hash.as_bytes(), &mut client.output)?;
        }
        Message::AuthenticationSasl(body) => {
            accept(AuthMethod::Scram, NOT_ACCEPTED)?;
            scram(client, &body, password).await?;
        }
        _ => return Err(UNSUPPORTED),
    }
    client.flush().await?;
    match message(client).await? {
        Message::AuthenticationOk => Ok(()),
        _ => Err(UNSUPPORTED),
    }
}

const UNSUPPORTED: DriverError =
    DriverError::Auth("the authentication method of the server is not supported");

const CLEAR_TEXT: &str = "the server asks for the password in clear text: set sslmode to require or \
                          more, or allow it with require_auth";

const NOT_ACCEPTED: &str = "require_auth does not accept the authentication method of the server";

const WRONG_ITERATIONS: DriverError =
    DriverError::Auth("the server asks for SCRAM with too few iterations, or too many");

async fn scram(
    client: &mut Client,
    offered: &AuthenticationSaslBody,
    password: &[u8],
) -> Result<(), DriverError> {
    if !offered.mechanisms().any(|name| Ok(name == SCRAM_SHA_256))? {
        return Err(UNSUPPORTED);
    }
    let mut scram = ScramSha256::new(password, ChannelBinding::unsupported());
    frontend::sasl_initial_response(SCRAM_SHA_256, scram.message(), &mut client.output)?;
    client.flush().await?;
    let Message::AuthenticationSaslContinue(body) = message(client).await? else {
        return Err(UNSUPPORTED);
    };
    let iterations = str::from_utf8(body.data()).ok().and_then(iterations);
    if !iterations.is_some_and(|count| ITERATIONS.contains(&count)) {
        return Err(WRONG_ITERATIONS);
    }
    scram.update(body.data())?;
    frontend::sasl_response(scram.message(), &mut client.output)?;
    client.flush().await?;
    let Message::AuthenticationSaslFinal(body) = message(client).await? else {
        return Err(UNSUPPORTED);
    };
    // This also verifies that the server knows the password.
    Ok(scram.finish(body.data())?)
}

/// Returns the iterations of the server's first message (RFC 5802).
fn iterations(message: &str) -> Option<u32> {
    let mut attributes = message.split(',');
    let count = attributes.find_map(|attribute| attribute.strip_prefix("i="))?;
    count.parse().ok()
}

/// Reads until the session is ready for statements.
async fn settle(client: &mut Client) -> Result<(), DriverError> {
    loop {
        match message(client).await? {
            Message::BackendKeyData(body) => {
                client.process = body.process_id();
                client.cancel.set(body.process_id(), body.secret_key());
            }
            Message::ReadyForQuery(_) => return Ok(()),
            _ => return Err(DriverError::Protocol("an unexpected message at start")),
        }
    }
}

/// Reads the next message about the login.
async fn message(client: &mut Client) -> Result<Message, DriverError> {
    loop {
        match parse(&mut client.input)? {
            Some(Message::ErrorResponse(body)) => {
                return Err(DriverError::Server(Box::new(ServerError::new(
                    &body, false,
                )?)));
            }
            Some(Message::NoticeResponse(_) | Message::ParameterStatus(_)) => {}
            Some(message) => return Ok(message),
            None => client.fill().await?,
        }
    }
}

fn parse(input: &mut BytesMut) -> Result<Option<Message>, DriverError> {
    use postgres_protocol::message::backend::Header;

    let length = Header::parse(input)?.map_or(0, Header::len);
    if usize::try_from(length).map_or(true, |length| length > MAX_MESSAGE) {
        return Err(DriverError::LENGTH);
    }
    Message::parse(input).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput => DriverError::Protocol("an unknown message at start"),
        _ => error.into(),
    })
}
