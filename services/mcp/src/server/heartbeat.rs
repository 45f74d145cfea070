//! Progress notifications of a call that takes long.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use tokio::time::{Instant, Sleep, sleep_until};

use crate::{Progress, protocol::Context as CallContext};

/// Time between two notifications. Clients wait a minute for a call, and again after each of them.
const PERIOD: Duration = Duration::from_secs(3);

/// Notifies a client every few seconds that its call is still running.
pub(crate) struct Heartbeat {
    progress: Arc<Progress>,
    began: Instant,
    // Boxed: only calls that ask for progress have one.
    timer: Pin<Box<Sleep>>,
}

// === impl Heartbeat ===

impl Heartbeat {
    /// Starts the timer, if the client asked for progress.
    pub(crate) fn of(context: &CallContext) -> Option<Self> {
        let progress = Arc::clone(context.progress.as_ref()?);
        let began = Instant::now();
        Some(Self {
            progress,
            began,
            timer: Box::pin(sleep_until(began + PERIOD)),
        })
    }

    /// Reports the seconds since the start whenever the period is over.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) {
        while let Poll::Ready(()) = self.timer.as_mut().poll(cx) {
            let now = Instant::now();
            let seconds = (now - self.began).as_secs();
            let message = format!("Running for {seconds} s");
            let passed = Duration::from_secs(seconds).as_secs_f64();
            self.progress.report(passed, None, Some(&message));
            self.timer.as_mut().reset(now + PERIOD);
        }
    }
}
