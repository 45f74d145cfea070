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

/// Maximum size of an answer in general.
pub(crate) const MAX_ANSWER: usize = 1 << 20;

/// Maximum size of an answer with vectors, or with a list of models.
const MAX_LONG_ANSWER: usize = 16 << 20;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// A request that can be sent repeatedly.
#[derive(Clone)]
#[must_use]
pub(crate) struct Request {
    path: Vec<String>,
    query: Option<&'static str>,
    accept: HeaderValue,
    body: Option<Bytes>,
    /// Maximum size of the answer.
    pub(super) max_answer: usize,
}

// === impl Request ===

impl Request {
    /// Creates a GET request. Each element is one segment of the path, with any content.
    pub(crate) fn get(path: &[&str]) -> Self {
        Self {
            path: path.iter().map(ToString::to_string).collect(),
            query: None,
            accept: JSON,
            body: None,
            max_answer: MAX_LONG_ANSWER,
        }
    }

    /// Creates a POST request with JSON.
    pub(crate) fn post(path: &[&str], body: &impl Serialize) -> Result<Self, Error> {
        let body = serde_json::to_vec(body).map_err(|error| Error::Invalid(error.to_string()))?;
        Ok(Self {
            body: Some(body.into()),
            max_answer: MAX_ANSWER,
            ..Self::get(path)
        })
    }

    /// Sets the query string.
    pub(crate) fn with_query(mut self, query: Option<&'static str>) -> Self {
        self.query = query;
        self
    }

    /// Requests another content type than JSON.
    pub(crate) fn with_accept(mut self, accept: &'static str) -> Self {
        self.accept = HeaderValue::from_static(accept);
        self
    }

    /// Expects vectors in the answer, which are long.
    pub(crate) fn with_vectors(mut self) -> Self {
        self.max_answer = MAX_LONG_ANSWER;
        self
    }

    /// Returns the path.
    pub(crate) fn path(&self) -> String {
        self.path.join("/")
    }

    /// Returns the length of the body.
    pub(super) fn length(&self) -> usize {
        self.body.as_ref().map_or(0, Bytes::len)
    }

    /// Returns the body.
    #[cfg(test)]
    pub(crate) fn body(&self) -> &[u8] {
        self.body.as_deref().unwrap_or_default()
    }

    pub(super) fn build(&self, base: &Url, headers: &HeaderMap) -> Result<reqwest::Request, Error> {
        let mut url = base.clone();
        let is_empty = |segment: &String| matches!(segment.as_str(), "" | "." | "..");
        if self.path.iter().any(is_empty) {
            return Err(Error::Invalid("a part of its path is empty".to_owned()));
        }
        url.path_segments_mut()
            .map_err(|()| Error::Invalid("its address has no path".to_owned()))?
            .pop_if_empty()
            .extend(&self.path);
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

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the body, because prompts are private.
        f.debug_struct("Request")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}
