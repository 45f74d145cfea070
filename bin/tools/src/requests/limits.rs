//! Limits of callers, on requests over HTTP.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::Request,
    response::{IntoResponse as _, Response},
};
use http::{HeaderValue, StatusCode, header::RETRY_AFTER};
use ziggurat_calls::limits::{Allowance, Refused};
use ziggurat_http::Refusal;
use ziggurat_layers::reject::{ErrorString, Render};

use crate::requests::{Door, open_paths::is_open};

// === impl Door ===

impl Door {
    /// Finds the allowance of the caller, which the response announces, and lets its call see the
    /// catalogue with these limits. A caller that goes on with calls although many were refused is
    /// refused before its request is read. Requests for open paths have no allowance.
    pub(crate) fn admit<B>(
        &self,
        request: &mut http::Request<B>,
    ) -> Result<impl FnOnce(Response) -> Response + use<B>, Box<Response>> {
        let catalogue = self.catalogue.of(request.extensions());
        let allowance = self
            .caller(request.extensions(), |caller| {
                caller.allowance(&catalogue.limits)
            })
            .filter(|_| !is_open(request.uri().path()));
        if let Some(allowance) = &allowance {
            if let Some(refused) = allowance.flooding() {
                return Err(Box::new(self.refuse(allowance, refused)));
            }
            let extensions = request.extensions_mut();
            extensions.insert(Arc::clone(allowance));
            extensions.insert(Arc::clone(&catalogue));
        }
        Ok(move |mut response: Response| {
            if let Some(allowance) = allowance {
                allowance.append_fields(response.headers_mut());
            }
            response
        })
    }

    /// Counts a request that is a call of its own.
    pub(crate) fn count<R: Render<Body> + Default>(
        &self,
        request: &Request,
    ) -> Result<impl FnOnce(Response) -> Response + use<R>, Box<Response>> {
        if let Some(allowance) = request.extensions().get::<Arc<Allowance>>() {
            let admitted = allowance.call().and_then(|()| allowance.day());
            admitted.map_err(|refused| Box::new(self.refusal::<R>(refused)))?;
        }
        Ok(|response| response)
    }

    fn refuse(&self, allowance: &Allowance, refused: Refused) -> Response {
        let mut response = self.refusal::<ErrorString>(refused);
        allowance.append_fields(response.headers_mut());
        response
    }

    fn refusal<R: Render<Body> + Default>(&self, refused: Refused) -> Response {
        self.catalogue
            .get()
            .calls
            .metrics
            .limit_reached(refused.key());
        let status = StatusCode::TOO_MANY_REQUESTS;
        let refusal = Refusal::<R>::new(status, "too_many_requests", "Too many requests");
        let mut response = refusal.into_response();
        if let Some(seconds) = refused.retry_after_seconds() {
            let headers = response.headers_mut();
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}
