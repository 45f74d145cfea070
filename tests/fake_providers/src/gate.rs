//! A gate that pauses an answer.

use tokio::sync::watch;

/// Pauses answers until the test opens it, so that no test depends on time.
#[derive(Clone, Debug)]
pub struct Gate(watch::Sender<bool>);

// === impl Gate ===

impl Gate {
    /// Makes a closed gate.
    #[must_use]
    pub fn new() -> Self {
        Self(watch::Sender::new(false))
    }

    /// Opens it permanently.
    pub fn open(&self) {
        self.0.send_replace(true);
    }

    pub(crate) async fn pass(&self) {
        let mut is_open = self.0.subscribe();
        // Cannot fail: the sender is in self.
        let _ = is_open.wait_for(|is_open| *is_open).await;
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}
