//! Logs in to PostgreSQL.

use std::io;

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

use super::{Client, ConnectOptions, DriverError, MAX_MESSAGE, ServerError, socket::Socket};

/// Settings that PostgreSQL and poolers accept at the start of a session.
const SETTINGS: [(&str, &str); 3] = [
    ("DateStyle", "ISO, MDY"),
    ("client_encoding", "UTF8"),
    ("TimeZone", "UTC"),
];

pub(super) async fn connect(options: &ConnectOptions) -> Result<Client, DriverError> {
    let socket = Socket::connect(&options.endpoint, &options.tls, options.silence).await?;
    let mut client = Client::new(socket);
    let own = [
        ("user", &*options.user),
        ("database", &*options.database),
        ("application_name", &*options.application_name),
    ];
    frontend::startup_message(own.into_iter().chain(SETTINGS), &mut client.output)?;
    client.flush().await?;
    authenticate(&mut client, options).await?;
    settle(&mut client).await?;
    Ok(client)
}

async fn authenticate(client: &mut Client, options: &ConnectOptions) -> Result<(), DriverError> {
    let password = options.password.expose_secret().as_bytes();
    match message(client).await? {
        Message::AuthenticationOk => return Ok(()),
        Message::AuthenticationCleartextPassword => {
            frontend::password_message(password, &mut client.output)?;
        }
        Message::AuthenticationMd5Password(body) => {
            let hash = md5_hash(options.user.as_bytes(), password, body.salt());
            frontend::password_message(hash.as_bytes(), &mut client.output)?;
        }
        Message::AuthenticationSasl(body) => scram(client, &body, password).await?,
        _ => return Err(UNSUPPORTED),
    }
    client.flush().await?;
    match message(client).await? {
        Message::AuthenticationOk => Ok(()),
        _ => Err(UNSUPPORTED),
    }
}

const UNSUPPORTED: DriverError =
    DriverError::Protocol("the authentication method of the server is not supported");

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
    scram.update(body.data())?;
    frontend::sasl_response(scram.message(), &mut client.output)?;
    client.flush().await?;
    let Message::AuthenticationSaslFinal(body) = message(client).await? else {
        return Err(UNSUPPORTED);
    };
    // This also verifies that the server knows the password.
    Ok(scram.finish(body.data())?)
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
                return Err(DriverError::Server(Box::new(ServerError::new(&body)?)));
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
