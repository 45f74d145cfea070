//! A client of the account service: it sends requests with the token of a credential, and never
//! reads a configuration, decides which credential is used, or prints a result.
//!
//! A [`Transport`] sends requests: directly or through a proxy, within a deadline, with retries if
//! they help, and with a log that contains no secret. A [`Session`] adds the token of a
//! [`Credential`]: the one that an earlier program has cached, or a new one. An [`Error`] has a text
//! for users and a [`Kind`] for programs.
//!
//! ```
//! use http::HeaderMap;
//! use ziggurat_account_client::{
//!     Address, CacheUse, Credential, Error, Level, Log, Options, Session, Transport,
//! };
//! use ziggurat_runtime::{Environment, Secret};
//!
//! struct Pair(&'static str, &'static str);
//!
//! impl Credential for Pair {
//!     fn client_id(&self) -> &str {
//!         self.0
//!     }
//!
//!     fn login_id(&self) -> Option<&str> {
//!         None
//!     }
//!
//!     fn secret(&mut self) -> Result<Secret, Error> {
//!         Ok(self.1.into())
//!     }
//! }
//!
//! /// Returns the tenants as JSON.
//! async fn tenants(environment: &Environment) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
//!     let options = Options {
//!         log: Log {
//!             level: Level::Quiet,
//!             to_terminal: false,
//!             shows_waiting: false,
//!         },
//!         dry_run: false,
//!         headers: HeaderMap::new(),
//!         timeout: None,
//!         retries: 2,
//!     };
//!     let mut transport = Transport::new(environment, options);
//!     let address = Address::parse("http://127.0.0.1:8090")?;
//!     let mut session = Session::new(address, Pair("id", "secret"), None, CacheUse::Full);
//!     let notes = &mut std::io::stderr();
//!     let path = "/account/v1/tenants";
//!     let answer = session.get(&mut transport, notes, "list tenants", path).await?;
//!     Ok(answer.body.to_vec())
//! }
//! ```

mod credential;
mod error;
mod http;
pub mod person;
mod session;
mod token;

pub use self::{
    credential::Credential,
    error::{Details, Error, Kind},
    http::{
        address::{Address, InvalidAddress, Origin, Target},
        log::{Level, Log, shown_headers},
        mask::{Mask, is_json},
        message::{Incoming, Recorded, Sent, TransportError},
        transport::{Options, Transport},
    },
    session::{CacheUse, Call, Session},
    token::{
        Token, binding,
        cache::{Cache, Cached},
        exchange::exchange,
    },
};
