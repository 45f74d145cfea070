//! The documents of a sign-in for the layer `access_token` in the same process.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use tower_service::Service as _;
use ziggurat_layers::access_token::{Fetch, FetchError, FetchRequest, Fetched};

use crate::{Keys, People, SignIn, Store};

impl<P: People, S: Store, K: Keys> Fetch for SignIn<P, S, K> {
    async fn fetch(&self, request: FetchRequest<'_>) -> Result<Fetched, FetchError> {
        let asked = Request::get(request.url()).body(Full::<Bytes>::default());
        let asked = asked.map_err(|_| FetchError::new("the address is malformed"))?;
        let Ok(answer) = self.clone().call(asked).await;
        let status = answer.status();
        if !status.is_success() {
            return Err(FetchError::status(status));
        }
        let Ok(body) = answer.into_body().collect().await;
        Ok(Fetched::new(body.to_bytes().to_vec()))
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}
