//! Reports of rows and bytes sent, for replicas that count together.

use ziggurat_tokens::CallerDigest;

use crate::limits::counts::Sent;

/// Rows and bytes that were sent to a caller on one day.
///
/// ```
/// use ziggurat_calls::limits::{Limits, Settings, Usage};
/// use ziggurat_tokens::CallerId;
///
/// let limits = Limits::new(Settings::default());
/// // Another replica has sent this; it was read from the shared state.
/// let caller = CallerId::User("alice").digest();
/// limits.add([Usage { caller, day: 20_782, rows: 100, bytes: 4711 }]);
/// // Only what this replica has sent is reported.
/// assert!(limits.usage_since_last().is_empty());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// The caller.
    pub caller: CallerDigest,
    /// Days since 1970, in UTC.
    pub day: u64,
    /// Number of rows.
    pub rows: u64,
    /// Number of bytes.
    pub bytes: u64,
}

// === impl Usage ===

impl Usage {
    /// Takes the rows and bytes that were not reported yet, if there are some.
    pub(crate) fn take(caller: CallerDigest, sent: &mut Sent) -> Option<Self> {
        let usage = Self {
            caller,
            day: sent.day,
            rows: sent.new_rows,
            bytes: sent.new_bytes,
        };
        (sent.new_rows, sent.new_bytes) = (0, 0);
        (usage.rows > 0 || usage.bytes > 0).then_some(usage)
    }
}
