//! The toolsets, applied to requests over HTTP.

use std::sync::Arc;

use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, StatusCode, Uri, header::CONTENT_LENGTH};
use http_body::Body as _;
use ziggurat_calls::{
    Caller,
    toolsets::{Area, Narrowing},
};
use ziggurat_http::Refusal;
use ziggurat_tokens::Identity;

use crate::{interface::CALLS, requests::Door};

/// Beginning of the paths for calls with one toolset.
const NARROWED: &str = "/mcp/x/";

/// A path that does not exist, for requests that find nothing.
// Refusing them at their route would show that it exists: axum adds the methods of a route to all of
// its responses, outside of the layers of the route.
const NOWHERE: &str = "/nowhere";

// === impl Door ===

impl Door {
    /// Lets a call see less: finds the toolset in the path and the tools in the query. A request to
    /// an area that its caller does not see goes where nothing is.
    ///
    /// # Errors
    /// Returns the refusal of a query that is too long.
    pub(crate) fn route<B>(&self, request: &mut http::Request<B>) -> Result<(), Box<Response>> {
        let catalogue = self.catalogue.of(request.extensions());
        let caller = Caller::of(request.extensions()).id();
        let Some(toolsets) = catalogue.access.applied(&caller) else {
            // Toolsets that a reload adds would apply the query.
            if request.uri().query().is_some() {
                request.extensions_mut().insert(Arc::clone(&catalogue));
            }
            return Ok(());
        };
        let path = request.uri().path();
        if let Some(area) = area(path) {
            if is_export(path) && request.extensions().get::<Identity>().is_none() {
                // Its caller is found later.
                return Ok(());
            }
            if !toolsets.view(&caller, None).has_area(area) {
                self.record_hidden(request);
                redirect(request, NOWHERE);
            }
            return Ok(());
        }
        let toolset = path.strip_prefix(NARROWED).map(str::to_owned);
        let is_call = match &toolset {
            None => path == CALLS,
            Some(name) => toolsets.are_open_to(&caller, name),
        };
        if !is_call {
            return Ok(());
        }
        let narrowing = Narrowing::new(toolset.as_deref(), request.uri().query());
        if let Some(narrowing) = narrowing.map_err(|_| Box::new(too_many_names()))? {
            request.extensions_mut().insert(narrowing);
            request.extensions_mut().insert(Arc::clone(&catalogue));
        }
        if toolset.is_some() {
            redirect(request, CALLS);
        }
        Ok(())
    }

    /// Tells the endpoints for statements what the caller of a request may do, and gives them the
    /// databases of the same configuration.
    ///
    /// # Errors
    /// Returns the response of a path that does not exist, if the caller does not see this one.
    pub(crate) fn admit_query<B>(
        &self,
        request: &mut http::Request<B>,
    ) -> Result<(), Box<Response>> {
        let catalogue = self.catalogue.of(request.extensions());
        let rights = {
            let caller = Caller::of(request.extensions()).id();
            let toolsets = catalogue.access.applied(&caller);
            let view = toolsets.map(|toolsets| toolsets.view(&caller, None));
            let area = area(request.uri().path());
            if area.is_some_and(|area| view.is_some_and(|view| !view.has_area(area))) {
                self.record_hidden(request);
                return Err(Box::new(not_found()));
            }
            catalogue.access.query_rights(&caller)
        };
        let databases = catalogue.databases.clone();
        request.extensions_mut().insert(rights);
        request.extensions_mut().insert(databases);
        Ok(())
    }

    /// Refuses a request to the databases endpoints as if they were not there, unless its caller sees
    /// them. An admitted one gets the databases of the same configuration.
    pub(crate) fn admit_databases<B>(
        &self,
        request: &mut http::Request<B>,
    ) -> Result<impl FnOnce(Response) -> Response + use<B>, Box<Response>> {
        let caller = Caller::of(request.extensions()).id();
        let catalogue = self.catalogue.of(request.extensions());
        let toolsets = catalogue.access.applied(&caller);
        if toolsets.is_some_and(|it| !it.view(&caller, None).has_area(Area::Databases)) {
            self.record_hidden(request);
            return Err(Box::new(not_found()));
        }
        let databases = catalogue.databases.clone();
        request.extensions_mut().insert(databases);
        Ok(|response| response)
    }
}

/// Returns the area of a path. The databases have none here: their endpoints authenticate by
/// themselves.
fn area(path: &str) -> Option<Area> {
    let mut segments = path.strip_prefix("/api/")?.split('/');
    Some(match segments.next()? {
        "conversations" => Area::Conversations,
        "llm" => Area::Llm,
        "chat" => Area::Compact,
        "query" | "exports" => Area::Query,
        "schema" => Area::Schema,
        "activity" => Area::Activity,
        "library" => Area::Library,
        _ => return None,
    })
}

/// Returns whether a path leads to an export.
pub(crate) fn is_export(path: &str) -> bool {
    path.starts_with("/api/exports/")
}

/// Sends a request to another path, with the same query.
fn redirect<B>(request: &mut http::Request<B>, path: &'static str) {
    let mut parts = request.uri().clone().into_parts();
    let query = request.uri().query();
    let target = query.map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"));
    parts.path_and_query = target.parse().ok();
    if let Ok(uri) = Uri::from_parts(parts) {
        *request.uri_mut() = uri;
    }
}

/// Returns the response of the router to a path that does not exist.
fn not_found() -> Response {
    let mut response = <Refusal>::not_found().into_response();
    // The router sets it here, and the order of the fields would tell the difference.
    if let Some(length) = response.body().size_hint().exact() {
        let headers = response.headers_mut();
        headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    response
}

fn too_many_names() -> Response {
    let status = StatusCode::BAD_REQUEST;
    let message = "The query names more than 100 tools";
    <Refusal>::new(status, "too_many_tools", message).into_response()
}
