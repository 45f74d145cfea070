//! The example `axum_app`.

use http::StatusCode;

use crate::program::{Program, answer, send};

#[tokio::test]
async fn callers_with_the_token_are_served_and_others_refused() {
    let app = Program::start("axum_app", &[("TOKEN", "open-sesame")]).await;
    let token = ("authorization", "Bearer open-sesame");

    let health = answer(app.request("GET", "/health"), "").await;
    assert_eq!(health, (StatusCode::OK, "ok".to_owned()));

    let refused = send(app.request("GET", "/hello"), "").await;
    assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(
        refused.headers()["www-authenticate"],
        r#"Bearer realm="axum app""#
    );

    let hello = send(app.request("GET", "/hello").header(token.0, token.1), "").await;
    assert_eq!(hello.status(), StatusCode::OK);
    assert_eq!(
        hello.headers()["link"],
        r#"</openapi.json>; rel="service-desc""#
    );

    let echo = app.request("POST", "/echo").header(token.0, token.1);
    let (status, _) = answer(echo, vec![b'x'; 64 * 1024 + 1]).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test]
async fn a_client_that_guesses_tokens_is_refused_after_ten_failures() {
    let app = Program::start("axum_app", &[("TOKEN", "open-sesame")]).await;
    for guess in 0..11 {
        let request = app.request("GET", "/hello");
        let request = request.header("authorization", format!("Bearer guess{guess}"));
        let (status, _) = answer(request, "").await;
        let expected = if guess < 10 { 401 } else { 429 };
        assert_eq!(status, expected, "guess {guess}");
    }
}
