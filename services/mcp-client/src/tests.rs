mod asking;
mod cancelling;
mod doubles;
mod pipes;
mod revisions;
mod tcp;
mod wrong;

use std::{future::poll_fn, pin::Pin, task::Poll, time::Duration};

use super::{error::BoxError, *};

/// Waits for a future, with a long timeout against tests that hang.
fn soon<'a, T>(awaited: impl Future<Output = T> + 'a) -> Pin<Box<dyn Future<Output = T> + 'a>> {
    Box::pin(async {
        let within = tokio::time::timeout(Duration::from_secs(20), awaited).await;
        within.expect("in time")
    })
}

/// Polls a future of the test once.
async fn poll_once<F: Future>(mut future: Pin<&mut F>) -> Poll<F::Output> {
    poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await
}

#[test]
fn a_client_can_be_shared_and_its_calls_can_be_spawned() {
    fn check<T: Clone + Send + Sync + 'static>() {}
    fn check_future<T: Send>(_: fn(&'static Client) -> T) {}
    check::<Client>();
    check_future(|client| client.call("a", &()));
    check_future(Client::tools);
}
