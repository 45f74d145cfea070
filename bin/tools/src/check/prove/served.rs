//! A server within this process, without a socket.

use axum::{
    Router,
    body::{Body, to_bytes},
};
use http::{HeaderValue, Method, Request as HttpRequest, header::CONTENT_TYPE};
use serde_json::Value;
use tower::ServiceExt as _;
use ziggurat_prove::{Pipeline, Request, Side};
use ziggurat_tokens::Identity;

use crate::{
    app::App,
    check::{
        prove::{
            parties::Callers,
            rag::{Pipelines, Rag},
        },
        view,
    },
    configuration::Loaded,
    stack,
};

/// A server, and the callers that ask it.
pub(super) struct Served<'a> {
    app: App,
    /// The endpoints; none if the server uses standard input and output.
    routes: Option<Router>,
    rag: Option<Rag>,
    callers: &'a Callers,
}

// === impl Served ===

impl<'a> Served<'a> {
    pub(super) async fn start(
        loaded: &Loaded,
        callers: &'a Callers,
        pipelines: Option<&Pipelines>,
    ) -> anyhow::Result<Self> {
        let rag = match pipelines {
            Some(pipelines) => Some(Rag::start(pipelines).await?),
            None => None,
        };
        let app = App::build(loaded).await?;
        let configuration = &loaded.value;
        let http = configuration.http.as_ref();
        let routes = http
            .map(|_| stack::endpoints(configuration, &app))
            .transpose()?;
        Ok(Self {
            app,
            routes,
            rag,
            callers,
        })
    }

    /// Returns the pipelines that read the database.
    pub(super) fn pipelines(&self) -> &[Pipeline] {
        self.rag.as_ref().map_or(&[], |rag| &rag.pipelines)
    }

    /// Returns the answer to a request, as text.
    pub(super) async fn ask(&self, side: Side, request: &Request) -> String {
        let identity = self.callers.identity(side);
        match request {
            Request::Mcp { method, params } => {
                let mcp = self.app.catalogue.get().mcp.clone();
                view::ask(&mcp, identity, method, params).await.to_string()
            }
            Request::Http { method, path, body } => {
                self.http(identity, method, path, body.as_ref()).await
            }
            Request::Export(body) => {
                let made = self
                    .http(identity, "POST", "/api/exports", Some(body))
                    .await;
                let link: Value = serde_json::from_str(&made).unwrap_or_default();
                match link["href"].as_str() {
                    Some(href) => self.http(identity, "GET", href, None).await,
                    None => made,
                }
            }
            Request::Question { pipeline, text } => match &self.rag {
                Some(rag) => rag.ask(identity, pipeline, text).await,
                None => String::new(),
            },
        }
    }

    /// Stops the server.
    ///
    /// # Errors
    /// Fails if a question to a pipeline had no answer.
    pub(super) async fn stop(self) -> anyhow::Result<()> {
        let Self {
            app, routes, rag, ..
        } = self;
        drop(routes);
        app.shut_down().await;
        match rag {
            Some(rag) => rag.stop().await,
            None => Ok(()),
        }
    }

    async fn http(
        &self,
        identity: Option<&Identity>,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> String {
        let Some(routes) = self.routes.clone() else {
            return String::new();
        };
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        let mut request = HttpRequest::new(body);
        *request.method_mut() = if method == "GET" {
            Method::GET
        } else {
            Method::POST
        };
        if let Ok(path) = path.parse() {
            *request.uri_mut() = path;
        }
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().insert(CONTENT_TYPE, json);
        if let Some(identity) = identity {
            request.extensions_mut().insert(identity.clone());
        }
        let Ok(response) = routes.oneshot(request).await;
        let body = to_bytes(response.into_body(), usize::MAX).await;
        String::from_utf8_lossy(&body.unwrap_or_default()).into_owned()
    }
}
