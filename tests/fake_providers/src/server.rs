//! The HTTP server and its thread.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener as StdListener},
    os::fd::{AsFd as _, OwnedFd},
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{Stream, stream};
use http::{Request, Response};
use http_body_util::{BodyExt as _, StreamBody};
use hyper::{
    body::{Frame, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use rustix::net::sockopt::set_socket_linger;
use tokio::{
    net::{TcpListener, TcpStream},
    runtime::Builder,
    task::JoinSet,
};

use crate::{
    Api, Gate, RecordedRequest,
    plan::{Ending, Plan},
    request_log::{DisconnectGuard, RequestLog},
    script::Script,
    wire,
};

#[derive(Debug)]
pub(crate) struct Server {
    address: SocketAddr,
    stop: Gate,
    thread: Option<JoinHandle<()>>,
}

/// The state of one connection.
#[derive(Clone, Debug)]
struct Connection {
    script: Arc<Script>,
    request_log: Arc<RequestLog>,
    /// A handle of the connection, to reset it.
    socket: Arc<OwnedFd>,
}

// === impl Server ===

impl Server {
    pub(crate) fn start(script: Arc<Script>, request_log: Arc<RequestLog>) -> Self {
        let listener = StdListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        listener.set_nonblocking(true).expect("a socket");
        let address = listener.local_addr().expect("bound");
        let stop = Gate::new();
        let stopped = stop.clone();
        let thread = thread::Builder::new()
            .name("fake-providers".to_owned())
            .spawn(move || {
                let runtime = Builder::new_current_thread().enable_all().build();
                runtime.expect("a runtime").block_on(async {
                    let listener = TcpListener::from_std(listener).expect("a listener");
                    tokio::select! {
                        () = accept(listener, script, request_log) => {}
                        () = stopped.pass() => {}
                    }
                });
            })
            .expect("a thread");
        Self {
            address,
            stop,
            thread: Some(thread),
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.open();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been printed already.
            let _ = thread.join();
        }
    }
}

async fn accept(listener: TcpListener, script: Arc<Script>, request_log: Arc<RequestLog>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let connection = Connection {
            script: script.clone(),
            request_log: request_log.clone(),
            socket: Arc::new(stream.as_fd().try_clone_to_owned().expect("a socket")),
        };
        connections.spawn(serve(stream, connection));
        while connections.try_join_next().is_some() {}
    }
}

async fn serve(stream: TcpStream, connection: Connection) {
    // No delay, so that chunks arrive as they are sent.
    stream.set_nodelay(true).ok();
    let service = service_fn(move |request| {
        let connection = connection.clone();
        async move { connection.answer(request).await }
    });
    // It fails where the script breaks the connection.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

// === impl Connection ===

impl Connection {
    async fn answer(
        self,
        request: Request<Incoming>,
    ) -> Result<Response<StreamBody<impl Stream<Item = io::Result<Frame<Bytes>>>>>, io::Error> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
        let (api, path) = Api::of(parts.uri.path()).unwrap_or((Api::OpenAi, "unknown"));
        let seen = RecordedRequest {
            api,
            method: parts.method,
            path: path.to_owned(),
            query: parts.uri.query().map(str::to_owned),
            headers: parts.headers,
            body,
        };
        let turn = self.script.turn(api);
        let rendered = wire::render(&seen, &turn.reply, &self.script);
        let mut guard = DisconnectGuard::new(self.request_log.clone());
        self.request_log.add(seen);
        if let Some(gate) = &turn.gate {
            gate.pass().await;
        }
        let plan = Plan::new(rendered, &turn);
        if plan.ending == Ending::Reset {
            self.reset_on_close();
        }
        if plan.ending != Ending::Complete && plan.steps.is_empty() {
            guard.complete();
            return Err(io::Error::other("the script breaks off here"));
        }
        Ok(plan.into_response(guard))
    }

    /// Makes the connection end with a reset when it is closed.
    fn reset_on_close(&self) {
        set_socket_linger(&*self.socket, Some(Duration::ZERO)).expect("a socket");
    }
}

// === impl Plan ===

impl Plan {
    fn into_response(
        mut self,
        guard: DisconnectGuard,
    ) -> Response<StreamBody<impl Stream<Item = io::Result<Frame<Bytes>>>>> {
        let head = std::mem::take(&mut self.head);
        let pieces = stream::unfold((self, guard), |(mut plan, mut guard)| async move {
            let piece = plan.next().await;
            if !matches!(piece, Some(Ok(_))) {
                guard.complete();
            }
            Some((piece?.map(Frame::data), (plan, guard)))
        });
        head.map(|()| StreamBody::new(pieces))
    }
}
