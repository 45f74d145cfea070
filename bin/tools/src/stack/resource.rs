//! The server as a protected resource (RFC 9728): each of its addresses has a document of its own,
//! which a challenge names.

use axum::extract::Path;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Uri, header::WWW_AUTHENTICATE};
use ziggurat_http::Document;
use ziggurat_layers::bearer::{Challenge, InvalidChallenge};
use ziggurat_tokens::issuer::TrustedIssuer;

use crate::{
    interface::CALLS,
    sign_in::{ServedSignIn, document_of},
};

/// Path of the documents, before the path of the resource.
const DOCUMENTS: &str = "/.well-known/oauth-protected-resource";

/// Returns the challenge of a server with a sign-in of its own, or with an external issuer.
pub(super) fn challenge(
    own: Option<&ServedSignIn>,
    issuer: Option<&TrustedIssuer>,
) -> Result<Challenge, InvalidChallenge> {
    let Some(own) = own else {
        return TrustedIssuer::challenge(issuer);
    };
    let document = document_of(&own.issuer);
    let challenge = Challenge::new().with_resource_metadata(document)?;
    challenge.with_scope("mcp")
}

/// Path of the documents of toolsets.
pub(super) const OF_TOOLSETS: &str = "/.well-known/oauth-protected-resource/mcp/x/{toolset}";

/// Returns the paths and the documents of a server with an external issuer, one for each address but
/// the ones of toolsets.
pub(super) fn documents(issuer: &TrustedIssuer) -> impl Iterator<Item = (String, Document)> {
    let below = ["", "/", "/v1"].into_iter();
    let addresses = below.map(|below| (format!("{DOCUMENTS}{CALLS}{below}"), below));
    let all = addresses.chain([(DOCUMENTS.to_owned(), "")]);
    all.map(|(path, below)| (path, document(issuer, below)))
}

/// Answers with the document of a toolset, whether there is one of this name or not.
pub(super) fn of_toolset(
    issuer: &TrustedIssuer,
    Path(name): &Path<String>,
    headers: &HeaderMap,
) -> axum::response::Response {
    document(issuer, &format!("/x/{name}")).response(headers)
}

fn document(issuer: &TrustedIssuer, below: &str) -> Document {
    Document::new("application/json", issuer.metadata(below))
}

/// Serves `/mcp/` as `/mcp`, because some clients add the slash, and makes each challenge name the
/// document of the address that was called: clients compare it with the address they were given. Does
/// nothing where the server is not a protected resource.
pub(super) fn name_address<B, C>(
    request: &mut Request<B>,
    is_resource: bool,
) -> impl FnOnce(Response<C>) -> Response<C> + use<B, C> {
    let below = is_resource.then(|| below_calls(request)).flatten();
    move |mut response| {
        let is_refused = matches!(
            response.status(),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN
        );
        if let Some(below) = below.filter(|_| is_refused) {
            add_to_challenge(&mut response, &below);
        }
        response
    }
}

/// Returns the path of a request behind the path of calls, and serves a slash as nothing.
fn below_calls<B>(request: &mut Request<B>) -> Option<String> {
    let path = request.uri().path();
    let below = path
        .strip_prefix(CALLS)
        .filter(|rest| rest.starts_with('/'));
    let below = below
        .filter(|rest| rest.bytes().all(is_plain))
        .map(str::to_owned);
    if below.as_deref() == Some("/") {
        serve_as_calls(request);
    }
    below
}

/// Returns whether a byte of a path may stand in a challenge as it is.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"/-._~%".contains(&byte)
}

/// Changes the path of a request to the path of calls.
fn serve_as_calls<B>(request: &mut Request<B>) {
    let mut parts = request.uri().clone().into_parts();
    let target = match request.uri().query() {
        Some(query) => format!("{CALLS}?{query}"),
        None => CALLS.to_owned(),
    };
    parts.path_and_query = target.parse().ok();
    if let Ok(uri) = Uri::from_parts(parts) {
        *request.uri_mut() = uri;
    }
}

/// Adds the rest of a path to the address of the document in a challenge.
fn add_to_challenge<C>(response: &mut Response<C>, below: &str) {
    let Some(challenge) = response.headers().get(WWW_AUTHENTICATE) else {
        return;
    };
    let own = format!("{DOCUMENTS}{CALLS}\"");
    let named = challenge.to_str().ok().filter(|text| text.contains(&own));
    let named = named.map(|text| text.replace(&own, &format!("{DOCUMENTS}{CALLS}{below}\"")));
    if let Some(value) = named.and_then(|text| HeaderValue::try_from(text).ok()) {
        response.headers_mut().insert(WWW_AUTHENTICATE, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn challenge_at(path: &str) -> (String, String) {
        let mut request = Request::post(path).body(()).expect("a request");
        let name = name_address(&mut request, true);
        let own = "Bearer scope=\"mcp\", resource_metadata=\
                   \"https://tools.example/.well-known/oauth-protected-resource/mcp\"";
        let response = Response::builder()
            .status(401)
            .header(WWW_AUTHENTICATE, own);
        let response = name(response.body(()).expect("a response"));
        let challenge = response.headers()[WWW_AUTHENTICATE].to_str().expect("text");
        let (_, address) = challenge.rsplit_once('=').expect("an address");
        let address = address
            .trim_matches('"')
            .rsplit_once(DOCUMENTS)
            .expect("a document")
            .1;
        (request.uri().to_string(), address.to_owned())
    }

    #[test]
    fn each_address_has_a_challenge_of_its_own() {
        for (path, served, document) in [
            ("/mcp", "/mcp", "/mcp"),
            ("/mcp/", "/mcp", "/mcp/"),
            ("/mcp/?tools=a", "/mcp?tools=a", "/mcp/"),
            ("/mcp/v1", "/mcp/v1", "/mcp/v1"),
            ("/mcp/x/sales", "/mcp/x/sales", "/mcp/x/sales"),
            ("/mcp/x/\"b", "/mcp/x/\"b", "/mcp"),
            ("/mcpx", "/mcpx", "/mcp"),
            ("/api/databases", "/api/databases", "/mcp"),
        ] {
            let expected = (served.to_owned(), document.to_owned());
            assert_eq!(challenge_at(path), expected, "{path}");
        }
    }
}
