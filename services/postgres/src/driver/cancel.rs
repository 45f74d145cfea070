//! Cancels a statement from another connection.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::driver::{
    DriverError, Tls,
    socket::{Peer, Socket},
};
use std::time::Duration;

/// Time without an acknowledgement after which a request counts as lost.
const ACKNOWLEDGEMENT_TIMEOUT: Duration = Duration::from_secs(10);

/// Key for a `CancelRequest` of the protocol, which stops the statement of one connection only,
/// also through a pooler.
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

    /// Asks the server to cancel what runs. It does not answer whether a statement ran.
    pub(crate) async fn cancel(&self) -> Result<(), DriverError> {
        let mut socket = Socket::again(&self.peer, &self.tls, ACKNOWLEDGEMENT_TIMEOUT).await?;
        let mut request = bytes::BytesMut::new();
        postgres_protocol::message::frontend::cancel_request(
            self.process,
            self.secret,
            &mut request,
        );
        socket.stream.write_all(&request).await?;
        socket.stream.flush().await?;
        // The server closes the connection after it has passed on the request.
        let mut rest = [0; 64];
        while matches!(socket.stream.read(&mut rest).await, Ok(read) if read > 0) {}
        Ok(())
    }
}
