//! Joins the two halves of a session token.

use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, header};
use secrecy::ExposeSecret as _;
use ziggurat_accounts::{CookieHalf, TokenHalves};

use crate::sites::Sites;

/// Header with the half that scripts have. Preflights do not allow it, so no other page can send it.
pub(crate) const KEY: HeaderName = HeaderName::from_static("ziggurat-console");

/// Beginning of the paths that a browser downloads from, without a header of ours.
const DOWNLOADS: &str = "/api/exports/";

impl Sites {
    /// Gives a request of a signed-in browser its token, as `Authorization`.
    ///
    /// The cookie is read only if the request has no `Authorization` of its own and is of a page of
    /// this server. For a download there is only the cookie, and the request gets a [`CookieHalf`]
    /// and no token; nothing else gets more than it came with.
    pub fn join<B>(&self, request: &mut Request<B>) {
        let headers = request.headers();
        let key = single(headers, &KEY);
        if key.is_none() && !is_download(request) || headers.contains_key(header::AUTHORIZATION) {
            return;
        }
        let Some(cookie) = self.admit(request).then(|| self.cookie(request)).flatten() else {
            return;
        };
        let half = CookieHalf::of(cookie);
        if let Some(key) = key {
            let token = TokenHalves::join(cookie, key);
            let value = token.map(|token| format!("Bearer {}", token.expose_secret()));
            let value = value.and_then(|value| HeaderValue::try_from(value).ok());
            let Some(mut value) = value else { return };
            value.set_sensitive(true);
            request.headers_mut().insert(header::AUTHORIZATION, value);
        }
        request.extensions_mut().insert(half);
    }
}

fn is_download<B>(request: &Request<B>) -> bool {
    [Method::GET, Method::HEAD].contains(request.method())
        && request.uri().path().starts_with(DOWNLOADS)
}

/// Returns the value of a header that is there once.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;
    use ziggurat_tokens::secret::new_token;

    use super::*;

    const PORT: &str = "ziggurat-8080-console";

    fn sites() -> Sites {
        let public = "https://tools.example".parse().expect("a URL");
        let address = "127.0.0.1:8080".parse().expect("an address");
        Sites::new(address, false, Some(&public))
    }

    struct Signed {
        token: SecretString,
        halves: TokenHalves,
    }

    fn signed() -> Signed {
        let token = new_token().expect("random bytes");
        let halves = TokenHalves::of(&token).expect("a token");
        Signed { token, halves }
    }

    impl Signed {
        /// Sends both halves with these headers, of which those without a value are left out.
        fn joined(&self, method: &str, path: &str, more: &[(&str, &str)]) -> Request<()> {
            let cookie = format!("a=b; {PORT}={}", self.halves.cookie.expose_secret());
            let usual = [
                ("host", "localhost:8080"),
                ("cookie", &*cookie),
                ("ziggurat-console", self.halves.key.expose_secret()),
            ];
            let is_new = |name: &&str| !more.iter().any(|(more, _)| more == name);
            let usual = usual.iter().filter(|(name, _)| is_new(name));
            let mut request = Request::builder().method(method).uri(path);
            for (name, value) in usual.chain(more).filter(|(_, value)| !value.is_empty()) {
                request = request.header(*name, *value);
            }
            let mut request = request.body(()).expect("valid parts");
            sites().join(&mut request);
            request
        }

        fn is_joined(&self, request: &Request<()>) -> bool {
            let expected = format!("Bearer {}", self.token.expose_secret());
            let value = request.headers().get("authorization");
            value.is_some_and(|value| *value == *expected)
        }
    }

    #[test]
    fn both_halves_of_a_page_of_this_server_are_a_token() {
        let signed = signed();
        let secure = format!(
            "__Host-ziggurat-console={}",
            signed.halves.cookie.expose_secret()
        );
        for headers in [
            &[][..],
            &[("sec-fetch-site", "same-origin")],
            &[("origin", "http://localhost:8080")],
            &[("origin", "http://LOCALHOST:8080"), ("origin", "")],
            &[("host", "[::1]:8080"), ("origin", "http://[::1]:8080")],
            // Behind a proxy that sends a host of its own.
            &[("cookie", &secure), ("origin", "https://tools.example")],
            &[("cookie", &secure), ("host", "backend")],
        ] {
            let request = signed.joined("POST", "/mcp", headers);
            if headers
                .iter()
                .any(|(_, value)| *value == "http://LOCALHOST:8080")
            {
                assert!(!signed.is_joined(&request), "browsers write small letters");
                continue;
            }
            assert!(signed.is_joined(&request), "{headers:?}");
            assert!(request.headers()["authorization"].is_sensitive());
            let half = CookieHalf::of(signed.halves.cookie.expose_secret());
            assert_eq!(request.extensions().get(), Some(&half));
        }
    }

    #[test]
    fn anything_else_is_no_token() {
        let signed = signed();
        let other = format!(
            "ziggurat-8081-console={}",
            signed.halves.cookie.expose_secret()
        );
        let swapped = format!("{PORT}={}", signed.halves.key.expose_secret());
        for headers in [
            &[("ziggurat-console", "")][..],
            &[("ziggurat-console", "AAAA")],
            &[("cookie", "")],
            &[("cookie", &other)],
            &[("cookie", &format!("{PORT}="))],
            &[("sec-fetch-site", "same-site")],
            &[("sec-fetch-site", "cross-site")],
            &[("sec-fetch-site", "none")],
            &[
                ("sec-fetch-site", "same-origin"),
                ("sec-fetch-site", "cross-site"),
            ],
            &[("origin", "null")],
            &[("origin", "http://localhost:8081")],
            &[("origin", "http://localhost")],
            &[("origin", "https://localhost:8080")],
            &[("origin", "http://127.0.0.1:8080")],
            &[("origin", "https://a.tools.example")],
            &[("origin", "https://tools.example:8443")],
            &[
                ("origin", "https://tools.example"),
                ("origin", "https://evil.example"),
            ],
        ] {
            let request = signed.joined("POST", "/mcp", headers);
            assert!(
                !request.headers().contains_key("authorization"),
                "{headers:?}"
            );
            assert_eq!(
                request.extensions().get::<CookieHalf>(),
                None,
                "{headers:?}"
            );
        }
        let request = signed.joined("POST", "/mcp", &[("cookie", &swapped)]);
        assert!(!signed.is_joined(&request));
        let own = [("authorization", "Bearer own")];
        let request = signed.joined("POST", "/mcp", &own);
        assert_eq!(request.headers()["authorization"], "Bearer own");
        assert_eq!(request.extensions().get::<CookieHalf>(), None);
    }

    #[test]
    fn a_download_has_the_cookie_alone() {
        let signed = signed();
        let half = CookieHalf::of(signed.halves.cookie.expose_secret());
        for (method, path, origin, expected) in [
            ("GET", "/api/exports/1", "", true),
            ("HEAD", "/api/exports/1", "", true),
            ("POST", "/api/exports/1", "", false),
            ("GET", "/api/exports", "", false),
            ("GET", "/api/user/info", "", false),
            ("GET", "/api/exports/1", "https://evil.example", false),
        ] {
            let headers = [("ziggurat-console", ""), ("origin", origin)];
            let request = signed.joined(method, path, &headers);
            assert!(!request.headers().contains_key("authorization"), "{path}");
            let found = request.extensions().get();
            assert_eq!(found, expected.then_some(&half), "{method} {path}");
        }
    }
}
