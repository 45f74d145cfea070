//! Requests to providers.

use std::fmt;

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method,
    header::{ACCEPT, CONTENT_TYPE},
};
use reqwest::Url;
use serde::Serialize;

use crate::Error;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// A request that can be sent repeatedly.
#[derive(Clone)]
#[must_use]
pub struct Request<'a> {
    path: &'a [&'a str],
    query: Option<&'static str>,
    accept: HeaderValue,
    body: Option<Bytes>,
}

// === impl Request ===

impl<'a> Request<'a> {
    /// Creates a GET request. Each element is one segment of the path, with any content.
    pub fn get(path: &'a [&'a str]) -> Self {
        Self {
            path,
            query: None,
            accept: JSON,
            body: None,
        }
    }

    /// Creates a POST request with JSON.
    ///
    /// # Errors
    /// Fails on a value that has no JSON form.
    pub fn post(path: &'a [&'a str], body: &impl Serialize) -> Result<Self, Error> {
        let body = serde_json::to_vec(body).map_err(|error| Error::Invalid(error.to_string()))?;
        Ok(Self {
            body: Some(body.into()),
            ..Self::get(path)
        })
    }

    /// Creates a POST request with encoded JSON.
    pub(crate) fn written(path: &'a [&'a str], body: Bytes) -> Self {
        Self {
            body: Some(body),
            ..Self::get(path)
        }
    }

    /// Sets the query string.
    pub fn with_query(mut self, query: &'static str) -> Self {
        self.query = Some(query);
        self
    }

    /// Requests another content type than JSON.
    pub(crate) fn with_accept(mut self, accept: &'static str) -> Self {
        self.accept = HeaderValue::from_static(accept);
        self
    }

    /// Returns the path.
    pub(super) fn path(&self) -> String {
        self.path.join("/")
    }

    /// Returns the length of the body.
    pub(super) fn length(&self) -> usize {
        self.body.as_ref().map_or(0, Bytes::len)
    }

    pub(super) fn build(&self, base: &Url, headers: &HeaderMap) -> Result<reqwest::Request, Error> {
        let mut url = base.clone();
        if self
            .path
            .iter()
            .any(|segment| matches!(*segment, "" | "." | ".."))
        {
            return Err(Error::Invalid("a part of its path is empty".to_owned()));
        }
        url.path_segments_mut()
            .map_err(|()| Error::Invalid("its address has no path".to_owned()))?
            .pop_if_empty()
            .extend(self.path);
        if self.query.is_some() {
            url.set_query(self.query);
        }
        let method = if self.body.is_some() {
            Method::POST
        } else {
            Method::GET
        };
        let mut request = reqwest::Request::new(method, url);
        let all = request.headers_mut();
        all.clone_from(headers);
        all.insert(ACCEPT, self.accept.clone());
        if let Some(body) = &self.body {
            all.insert(CONTENT_TYPE, JSON);
            *request.body_mut() = Some(body.clone().into());
        }
        Ok(request)
    }
}

impl fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the body, because prompts are private.
        f.debug_struct("Request")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}
