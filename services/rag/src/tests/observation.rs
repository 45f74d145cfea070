//! The records of questions.

use ziggurat_audit::{Audit, Destination, Settings};

use super::*;

#[tokio::test]
async fn a_question_that_cannot_be_recorded_asks_no_provider() {
    let setup = Setup::new().await;
    let (audit, writer) = Audit::open(Settings {
        required: true,
        ..Settings::new(Destination::Stderr)
    })
    .expect("opened");
    // Without its writer no line can be written.
    drop(writer);
    let options = Options {
        calls: Calls {
            audit: Some(audit),
            ..Calls::default()
        },
        ..Options::default()
    };
    let service = served_with([setup.parts()], options);
    for stream in [false, true] {
        let body = json!({"query": QUESTION, "stream": stream}).to_string();
        let response = sent(&service, "POST", "/v1/pipelines/docs", body).await;
        assert_eq!(response.headers()["retry-after"], "5", "{stream}");
        let expected = error("AUDIT_UNAVAILABLE", "Audit is unavailable");
        assert_eq!(said(response).await, (503, expected), "{stream}");
    }
    assert_eq!(setup.fake.requests().len(), 0);
}
