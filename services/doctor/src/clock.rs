//! Comparison of the clock of this machine with the clock of another server.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp, fmt::rfc2822::DateTimeParser};
use reqwest::{Client, header::DATE};

/// Difference that servers allow for.
const MOST: SignedDuration = SignedDuration::from_secs(30);

/// Returns how far the clock of this machine is from the clock of the server at a URL, if that is
/// more than servers allow for. A server that does not answer, or tells no time, is not compared.
pub(crate) async fn difference(url: &str, timeout: Duration) -> Option<SignedDuration> {
    let client = Client::builder().timeout(timeout).build().ok()?;
    let answer = client.get(url).send().await.ok()?;
    let date = answer.headers().get(DATE)?.to_str().ok()?;
    let theirs = DateTimeParser::new().parse_timestamp(date).ok()?;
    let difference = Timestamp::now().duration_since(theirs);
    (difference.abs() > MOST).then_some(difference)
}
