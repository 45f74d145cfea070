//! Statistics of shortened chats.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tracing::info;

use crate::compact::chat::CompactionInfo;

/// Counts chats of the clients that allow it. Each time, the totals since the start of the server
/// are logged.
#[derive(Debug, Default)]
pub(super) struct Analytics {
    chats: AtomicU64,
    repeated: AtomicU64,
    messages: AtomicU64,
    dropped: AtomicU64,
    tokens_saved: AtomicU64,
}

// === impl Analytics ===

impl Analytics {
    /// Counts a shortened chat.
    pub(super) fn compacted(&self, info: &CompactionInfo) {
        self.chats.fetch_add(1, Relaxed);
        self.messages
            .fetch_add(number(info.original_count), Relaxed);
        self.dropped.fetch_add(number(info.dropped_count), Relaxed);
        self.tokens_saved.fetch_add(info.tokens_saved, Relaxed);
        self.log();
    }

    /// Counts a chat that was answered from the cache.
    pub(super) fn repeated(&self) {
        self.chats.fetch_add(1, Relaxed);
        self.repeated.fetch_add(1, Relaxed);
        self.log();
    }

    fn log(&self) {
        info!(
            chats = self.chats.load(Relaxed),
            from_cache = self.repeated.load(Relaxed),
            messages = self.messages.load(Relaxed),
            dropped = self.dropped.load(Relaxed),
            tokens_saved = self.tokens_saved.load(Relaxed),
            "chats compacted so far"
        );
    }
}

fn number(count: usize) -> u64 {
    count.try_into().unwrap_or(u64::MAX)
}
