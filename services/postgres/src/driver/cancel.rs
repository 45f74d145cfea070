//! Stopping what runs, from another connection.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::{
    DriverError, Tls,
    socket::{Peer, Socket},
};
use std::time::Duration;

/// Time the network may stay silent while a request is on its way.
const SILENCE: Duration = Duration::from_secs(10);

/// The key that a `CancelRequest` of the protocol needs: it stops the statement of one connection and
/// of no other, through a pooler too.
#[derive(Clone)]
pub(crate) struct CancelKey {
    peer: Peer,
    tls: Tls,
    process: i32,
    secret: i32,
}

// === impl CancelKey ===

impl CancelKey {
    pub(super) fn new(socket: &Socket) -> Self {
        Self {
            peer: socket.peer.clone(),
            tls: socket.tls.clone(),
            process: 0,
            secret: 0,
        }
    }

    pub(super) fn set(&mut self, process: i32, secret: i32) {
        self.process = process;
        self.secret = secret;
    }

    /// Asks the server to stop what runs. It does not say whether anything did.
    pub(crate) async fn cancel(&self) -> Result<(), DriverError> {
        let mut socket = Socket::again(&self.peer, &self.tls, SILENCE).await?;
        let mut request = bytes::BytesMut::new();
        postgres_protocol::message::frontend::cancel_request(
            self.process,
            self.secret,
            &mut request,
        );
        socket.write_all(&request).await?;
        socket.flush().await?;
        // The server hangs up when it has passed the request on.
        let mut rest = [0; 64];
        while matches!(socket.read(&mut rest).await, Ok(read) if read > 0) {}
        Ok(())
    }
}
