//! A server over the standard input and output of the process.

use std::{convert::Infallible, io};

use bytes::Bytes;
use http_body::Body;
use tower_layer::Layer as _;
use tower_service::Service;
use ziggurat_layers::json_rpc::{Call, Reply};

use crate::{
    Result, Server,
    protocol::ProtocolLayer,
    server::{
        stdio::{Stdio, streams},
        stop::stop,
    },
};

// === impl Stdio ===

impl Stdio {
    /// Serves the client that started this process, until it closes the input or the process is
    /// told to stop.
    ///
    /// Nothing else may write to the standard output; write logs to the standard error.
    ///
    /// ```no_run
    /// use ziggurat_mcp::{Server, stdio::Stdio};
    ///
    /// #[tokio::main(flavor = "current_thread")]
    /// async fn main() -> ziggurat_mcp::Result {
    ///     Stdio::new().run(Server::new("example", "1.0.0").build()).await
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if the lists of the server have one, or if the input or output fails.
    pub async fn run<S, T>(self, server: Server<S>) -> Result
    where
        S: Service<Call, Response = Reply<T>, Error = Infallible> + Clone,
        T: Body<Data = Bytes, Error = Infallible>,
    {
        if let Some(problem) = server.problem {
            return Err(problem.into());
        }
        let protocol = ProtocolLayer::stdio()
            .with_negotiation(true)
            .with_revisions(server.revisions);
        let service = protocol.layer(server.calls);
        Ok(self.serve_process(service, stop()?).await?)
    }

    /// Serves over the standard input and output of this process, as [`serve`](Self::serve) does.
    ///
    /// # Errors
    ///
    /// Returns an error if the input or the output fails.
    pub async fn serve_process<S, T>(
        self,
        service: S,
        shutdown: impl Future<Output = ()>,
    ) -> io::Result<()>
    where
        S: Service<Call, Response = Reply<T>, Error = Infallible> + Clone,
        T: Body<Data = Bytes, Error = Infallible>,
    {
        self.serve(service, streams::input(), streams::output(), shutdown)
            .await
    }
}
