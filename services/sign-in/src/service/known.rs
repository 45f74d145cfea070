//! The client of a request, wherever it is known from.

use std::fmt;

use http::StatusCode;

use crate::{
    clients::{self, Client, document, pinned},
    keys::Keys,
    people::{People, Unavailable},
    service::{Read, Shared, Wanted},
    store::{Seconds, Store},
};

/// Reasons why a request has no client.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoClient {
    /// There is no client with this id.
    Unknown,
    /// The document of the client cannot be read at the moment.
    Unreadable {
        /// The host of the document.
        host: String,
    },
    /// Documents of this host are not read.
    NotAdmitted {
        /// The host of the document.
        host: String,
    },
    /// The store cannot be asked at the moment.
    Unavailable,
}

// === impl Shared ===

impl<P: People, S: Store, K: Keys> Shared<P, S, K> {
    /// Returns the client with this id. Its document is fetched if there is no fresh copy.
    pub(crate) async fn client(&self, id: &str, read: &Read) -> Result<Client, NoClient> {
        if !is_address(id) || Client::manual(&self.settings, id).is_some() {
            let known = self.known_client(id, read.now).await?;
            return known.ok_or(NoClient::Unknown);
        }
        let registration = &self.settings.registration;
        let host = document::host(id, registration).filter(|_| registration.metadata_documents);
        let host = host.ok_or(NoClient::Unknown)?.to_owned();
        if !document::is_admitted(&host, registration) {
            return Err(NoClient::NotAdmitted { host });
        }
        let pinned = || pinned::find(id, registration);
        if !self.is_fetching() {
            return pinned().ok_or(NoClient::Unknown);
        }
        let parse = |text: &str| document::read(id, text.as_bytes(), registration);
        let wanted = Wanted {
            url: id,
            read,
            oldest: Seconds::MAX,
        };
        let copy = self.copy(wanted, |text| parse(text).map(drop)).await?;
        let client = copy.and_then(|text| parse(&text).ok()).or_else(pinned);
        client.ok_or(NoClient::Unreadable { host })
    }

    /// Returns the client with this id as far as it is known without a fetch.
    pub(crate) async fn known_client(
        &self,
        id: &str,
        now: Seconds,
    ) -> Result<Option<Client>, Unavailable> {
        if let Some(client) = Client::manual(&self.settings, id) {
            return Ok(Some(client));
        }
        if clients::is_of_registration(id) {
            let found = self.store.client(id, now).await?;
            return Ok(found.map(Client::from));
        }
        if !is_address(id) {
            let found = self.store.manual_client(id).await?;
            return Ok(found.as_ref().map(Client::from));
        }
        let registration = &self.settings.registration;
        let copy = self.store.document(id).await?.unwrap_or_default().text;
        let client = copy.and_then(|text| document::read(id, text.as_bytes(), registration).ok());
        Ok(client.or_else(|| pinned::find(id, registration)))
    }
}

/// Returns whether an id is the address of a document.
fn is_address(id: &str) -> bool {
    id.starts_with("https://")
}

// === impl NoClient ===

impl NoClient {
    /// Returns the status of the page about it.
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Unknown => StatusCode::BAD_REQUEST,
            Self::Unreadable { .. } => StatusCode::BAD_GATEWAY,
            Self::NotAdmitted { .. } => StatusCode::FORBIDDEN,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

impl From<Unavailable> for NoClient {
    fn from(_: Unavailable) -> Self {
        Self::Unavailable
    }
}

impl fmt::Display for NoClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("The program that sent you here is not known."),
            Self::Unreadable { host } => {
                write!(f, "What {host} says about the program could not be read.")
            }
            Self::NotAdmitted { host } => write!(f, "Programs of {host} are not admitted here."),
            Self::Unavailable => f.write_str("Sign-in is not possible at the moment."),
        }
    }
}
