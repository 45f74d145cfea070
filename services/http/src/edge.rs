//! The layers in front of the routes of a server, in the order that all servers share.

use axum::{body::Body, response::Response};
use http::Request;
use tower::{ServiceBuilder, util::option_layer};
use ziggurat_layers::{
    bearer::{BearerLayer, Verify},
    client_ip::SetClientIpLayer,
    host::{HostLayer, Hosts},
    link::{InvalidLink, LinkLayer, LinkValue},
    origin::{OriginLayer, Origins},
    rate_limit::{Quota, RateLimitLayer, Steady},
    reject::Render,
    sanitize::SanitizeLayer,
    shutdown::{CutOff, ShutdownLayer},
};
use ziggurat_serve::{HttpService, RequestBody};
use ziggurat_telemetry::Metrics;

use crate::{
    AdmitLayer, AroundLayer, CorsLayer, Detour, detour::DetourLayer, except::ExceptLayer, headers,
    metrics::CountedRefusal, request_id::add_request_id,
};

/// Type of a function that a server does not have, in [`Edge::session`] or [`Edge::call`].
pub type Absent = fn(&mut Request<RequestBody>) -> Result<fn(Response) -> Response, Box<Response>>;

/// Parts of the edge of a server. A part that is `None` does nothing.
///
/// Few of them are mounted by `option_layer`, because its service has the type of the inner service
/// twice: with ten of them the type would be a thousand times as long, and no program would link.
#[derive(Debug)]
pub struct Edge<R, F, N, V, C> {
    /// Format of refusals and faults.
    pub render: R,
    /// Counts refusals.
    pub metrics: Metrics,
    /// True if browsers are told to use HTTPS only.
    pub is_encrypted: bool,
    /// True if clients are shown the cause of a fault.
    pub shows_faults: bool,
    /// True if each request gets an id.
    pub has_request_ids: bool,
    /// Path of the OpenAPI document.
    pub description: &'static str,
    /// End of the time for a shutdown.
    pub cut_off: CutOff,
    /// Finds the address of a client behind proxies.
    pub proxies: Option<SetClientIpLayer>,
    /// Counts and records requests by their responses, refusals included.
    pub records: Option<F>,
    /// Paths of probes, for which neither the rate limit nor the hosts count.
    pub probes: &'static [&'static str],
    /// Limit on the requests of an address.
    pub rate_limit: Option<Quota>,
    /// Hosts that the server answers for.
    pub hosts: Hosts,
    /// Serves paths of its own, past the layers behind.
    pub detour: Option<Detour>,
    /// Origins of the pages that may use the server.
    pub origins: Option<Origins>,
    /// Tells which pages may read all responses, refusals and faults included, and answers every
    /// `OPTIONS` request.
    pub pages: Option<CorsLayer>,
    /// Answers preflights of the pages that are admitted, which may read the responses.
    pub preflight: Option<CorsLayer>,
    /// Gives the requests of a console the token of their session.
    pub session: Option<N>,
    /// Demands a token.
    pub bearer: Option<BearerLayer<V>>,
    /// Admits the call of the caller that the token proves.
    pub call: Option<C>,
}

// === impl Edge ===

impl<R, F, N, V, C> Edge<R, F, N, V, C> {
    /// Puts the parts in front of the routes.
    ///
    /// # Errors
    /// Fails if the path of the description is not valid.
    pub fn in_front_of<G, H, I>(
        self,
        routes: impl HttpService<ResponseBody = Body>,
    ) -> Result<impl HttpService<ResponseBody = Body>, InvalidLink>
    where
        R: Render<Body> + Clone + Send + 'static,
        F: Fn(&mut Request<RequestBody>) -> G + Clone + Send + 'static,
        G: FnOnce(Response) -> Response + Send + 'static,
        N: Fn(&mut Request<RequestBody>) -> Result<H, Box<Response>> + Clone + Send + 'static,
        H: FnOnce(Response) -> Response + Send + 'static,
        V: Verify<Future: Send> + Clone + Send + 'static,
        C: Fn(&mut Request<RequestBody>) -> Result<I, Box<Response>> + Clone + Send + 'static,
        I: FnOnce(Response) -> Response + Send + 'static,
    {
        let render = || self.render.clone();
        let refusal = |reason| CountedRefusal::new(self.metrics.clone(), reason, render());
        let has_ids = self.has_request_ids;
        let ids = move |request: &mut Request<RequestBody>| {
            let id = has_ids.then(|| add_request_id(request));
            move |response| finish(id, response)
        };
        let records = self.records;
        let records = move |request: &mut Request<RequestBody>| {
            let record = records.as_ref().map(|record| record(request));
            move |response| finish(record, response)
        };
        let (session, call) = (self.session, self.call);
        let session = AdmitLayer::new(move |request: &mut Request<RequestBody>| {
            let admitted = session.as_ref().map(|session| session(request));
            let admitted = admitted.transpose()?;
            Ok(move |response| finish(admitted, response))
        });
        let call = AdmitLayer::new(move |request: &mut Request<RequestBody>| {
            let admitted = call.as_ref().map(|call| call(request)).transpose()?;
            Ok(move |response| finish(admitted, response))
        });
        let limit = self.rate_limit.map(|quota| {
            let limit = RateLimitLayer::new(Steady::new(quota)).with_render(refusal("limit"));
            ExceptLayer::new(self.probes, limit)
        });
        let hosts = HostLayer::new(self.hosts).with_exempt(self.probes.iter().copied());
        let origins = self.origins.map(OriginLayer::new);
        let description = LinkValue::service_desc(self.description)?;
        Ok(ServiceBuilder::new()
            // Outermost, so that every response has these headers, faults and refusals included.
            .layer(headers(self.is_encrypted))
            // Outside of whatever logs or records the id.
            .layer(AroundLayer::new(ids))
            // Outside of the layers that refuse requests: pages can read refusals, too.
            .layer(self.pages.unwrap_or_else(CorsLayer::off))
            // Replaces the details of every fault below by one fixed sentence.
            .layer(
                SanitizeLayer::new()
                    .with_detail(self.shows_faults)
                    .with_render(render()),
            )
            // Outside of the layers that refuse requests: refusals link the description, too.
            .layer(LinkLayer::new([description]))
            // Outside of everything that may take long: ends what runs longer than a shutdown.
            .layer(ShutdownLayer::new(self.cut_off).with_render(render()))
            // Before the address is recorded and limited.
            .layer(option_layer(self.proxies))
            // Outside of the layers that refuse requests: refusals count as well.
            .layer(AroundLayer::new(records))
            // Before everything that takes time, but for probes.
            .layer(option_layer(limit))
            // Before anything is read: refuses requests for other hosts and of other pages.
            .layer(hosts.with_render(refusal("host")))
            // Before origins and tokens: it decides about both.
            .layer(DetourLayer(self.detour))
            .layer(option_layer(
                origins.map(|it| it.with_render(refusal("origin"))),
            ))
            // Before authentication, because a preflight has no token.
            .layer(self.preflight.unwrap_or_else(CorsLayer::off))
            // Before authentication, because the token of a page of the console is in two halves.
            .layer(session)
            // Before the body is read: a client without a token never learns the limit.
            .layer(option_layer(self.bearer.map(|it| it.with_render(render()))))
            // After authentication: by the identity that the token proves.
            .layer(call)
            .service(routes))
    }
}

/// Runs the second half of a part, if the server has the part.
fn finish<G: FnOnce(Response) -> Response>(part: Option<G>, response: Response) -> Response {
    match part {
        Some(part) => part(response),
        None => response,
    }
}

#[cfg(test)]
mod tests {
    use std::{future::pending, net::SocketAddr};

    use axum::{Json, Router, response::IntoResponse as _, routing::get};
    use http::{HeaderValue, StatusCode, header};
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::{TcpListener, TcpStream},
        task::JoinSet,
    };
    use ziggurat_layers::{
        bearer::{Hashed, TokenHash},
        reject::ErrorString,
        sanitize::RequestId,
    };
    use ziggurat_serve::{Limits, Server};

    use super::*;
    use crate::Refusal;

    /// Returns all parts, with tokens of `ali` and of `eve`, who is refused as a caller.
    fn served(request_limit: &str) -> impl HttpService<ResponseBody = Body> {
        let tokens = ["ali", "eve"].map(|name| (TokenHash::of(name), name.to_owned()));
        let edge = Edge {
            render: ErrorString,
            metrics: Metrics::off(),
            is_encrypted: true,
            shows_faults: false,
            has_request_ids: true,
            description: "/openapi.json",
            cut_off: CutOff::default(),
            proxies: None,
            records: Some(|request: &mut Request<_>| {
                let id: Option<RequestId> = request.extensions().get().cloned();
                move |mut response: Response| {
                    let id = id.as_ref().map_or("no id", RequestId::as_str);
                    let record = format!("{} {id}", response.status().as_u16());
                    let record = HeaderValue::try_from(record).expect("text");
                    response.headers_mut().insert("recorded", record);
                    response
                }
            }),
            probes: &["/health"],
            rate_limit: Some(request_limit.parse().expect("a quota")),
            hosts: Hosts::loopback(),
            detour: None,
            origins: Some(Origins::loopback()),
            pages: None,
            preflight: Some(CorsLayer::admitted()),
            session: Some(|request: &mut Request<_>| {
                if let Some(token) = request.headers_mut().remove(header::COOKIE) {
                    request.headers_mut().insert(header::AUTHORIZATION, token);
                }
                Ok(|response| response)
            }),
            bearer: Some(BearerLayer::new(Hashed::from_iter(tokens)).with_exempt(["/health"])),
            call: Some(|request: &mut Request<_>| {
                let caller: Option<&String> = request.extensions().get();
                if caller.is_none_or(|caller| caller != "eve") {
                    return Ok(|response| response);
                }
                let refusal = <Refusal>::new(StatusCode::CONFLICT, "no_call", "Not this caller");
                Err(Box::new(refusal.into_response()))
            }),
        };
        let routes = Router::new().route("/health", get(async || Json("served")));
        let routes = routes.route("/fault", get(async || StatusCode::BAD_GATEWAY));
        let routes = routes.fallback(async || <Refusal>::not_found());
        edge.in_front_of(routes).expect("a path")
    }

    /// Sends a request with these headers, and returns the answer.
    async fn answer(address: SocketAddr, start: &str, headers: &[&str]) -> String {
        let mut stream = TcpStream::connect(address).await.expect("listening");
        let headers = headers.join("\r\n");
        let request = format!("{start} HTTP/1.1\r\n{headers}\r\nconnection: close\r\n\r\n");
        let sent = stream.write_all(request.as_bytes()).await;
        sent.expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("text");
        answer
    }

    #[tokio::test]
    async fn each_part_answers_in_its_place_and_each_answer_has_the_headers_of_all_parts_further_out()
     {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let server = Server::new(Limits::default());
        let mut tasks = JoinSet::new();
        tasks.spawn(server.serve(listener, served("7 per hour"), pending()));
        let (host, page) = ("host: localhost", "origin: http://localhost:3000");
        let (other_host, evil) = ("host: evil.example", "origin: https://evil.example");
        let preflight = "access-control-request-method: POST";
        let (ali, eve) = ("authorization: Bearer ali", "cookie: Bearer eve");
        let readable = "allow-origin: http://localhost:3000";
        let cases: [(_, &[&str], _, _); 9] = [
            ("GET /", &[other_host, evil], "403", "serve that host"),
            ("GET /", &[host, evil], "403", "this origin"),
            ("OPTIONS /", &[host, page, preflight], "204", "mcp-method"),
            ("GET /", &[host, page], "401", readable),
            ("GET /", &[host, eve], "409", "not this caller"),
            ("GET /", &[host, ali], "404", "not found"),
            ("GET /fault", &[host, ali], "502", "internal server error"),
            ("GET /", &[other_host], "429", "retry-after"),
            ("GET /health", &[other_host], "200", "served"),
        ];
        for (start, headers, status, text) in cases {
            let answer = answer(address, start, headers).await.to_lowercase();
            let case = format!("{start} {headers:?}: {answer}");
            assert!(answer.starts_with(&format!("http/1.1 {status} ")), "{case}");
            assert!(answer.contains(text), "{case}");
            for header in ["x-frame-options", "strict-transport-security"] {
                assert!(answer.contains(header), "{case}");
            }
            let id = answer.split_once("x-request-id: ");
            let (id, _) = id.and_then(|(_, id)| id.split_once("\r\n")).expect(&case);
            let record = format!("recorded: {status} {id}\r\n");
            assert!(answer.contains(&record), "{case}");
            // The answer to a fault is made outside of the layer for links.
            if status != "502" {
                let has_link = answer.contains("link: </openapi.json>");
                assert_eq!(has_link, answer.contains("application/json"), "{case}");
            }
        }
    }
}
