//! Where an answer waits.

use tokio::sync::watch;

/// Holds answers back until the test lets them go: no test has to guess how long is long
/// enough.
#[derive(Clone, Debug)]
pub struct Gate(watch::Sender<bool>);

// === impl Gate ===

impl Gate {
    /// A gate that is closed.
    #[must_use]
    pub fn new() -> Self {
        Self(watch::Sender::new(false))
    }

    /// Opens it, for good.
    pub fn open(&self) {
        self.0.send_replace(true);
    }

    pub(crate) async fn pass(&self) {
        let mut is_open = self.0.subscribe();
        // The sender is in self.
        let _ = is_open.wait_for(|is_open| *is_open).await;
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}
