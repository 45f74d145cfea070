//! Token usage of calls, as the providers count it.

use std::{ops::AddAssign, sync::Mutex};

use serde::Serialize;
use ziggurat_runtime::lock;

/// Tokens that a provider has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt_tokens: u64,
    /// Tokens of the reply.
    pub completion_tokens: u64,
    /// Total, as reported; not always the sum of the others.
    pub total_tokens: u64,
    /// Tokens that were written to the cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_creation_input_tokens: u64,
    /// Tokens that were read from the cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_read_input_tokens: u64,
}

/// Sums the usage of one client; it only grows.
#[derive(Debug, Default)]
pub struct Meter {
    sum: Mutex<Usage>,
}

// === impl Usage ===

impl Usage {
    /// Creates the usage of a request that only reads tokens.
    #[must_use]
    pub const fn read(prompt_tokens: u64, total_tokens: u64) -> Self {
        Self {
            prompt_tokens,
            completion_tokens: 0,
            total_tokens,
            cache_creation_input_tokens: 0,
            cache_read_input_tokens: 0,
        }
    }

    /// Creates the usage that a provider reports, possibly in part; the total is the sum unless it
    /// is reported.
    #[must_use]
    pub fn reported(read: Option<u64>, written: Option<u64>, total: Option<u64>) -> Self {
        let prompt_tokens = read.unwrap_or(0);
        let completion_tokens = written.unwrap_or(0);
        let sum = prompt_tokens.saturating_add(completion_tokens);
        Self {
            completion_tokens,
            ..Self::read(prompt_tokens, total.unwrap_or(sum))
        }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        for (sum, more) in [
            (&mut self.prompt_tokens, other.prompt_tokens),
            (&mut self.completion_tokens, other.completion_tokens),
            (&mut self.total_tokens, other.total_tokens),
            (
                &mut self.cache_creation_input_tokens,
                other.cache_creation_input_tokens,
            ),
            (
                &mut self.cache_read_input_tokens,
                other.cache_read_input_tokens,
            ),
        ] {
            *sum = sum.saturating_add(more);
        }
    }
}

// === impl Meter ===

impl Meter {
    /// Adds the usage of a call.
    pub fn add(&self, usage: Usage) {
        *lock(&self.sum) += usage;
    }

    /// Returns the usage of all calls.
    #[must_use]
    pub fn read(&self) -> Usage {
        *lock(&self.sum)
    }
}

/// Signature that serde requires for `skip_serializing_if`.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
const fn is_zero(tokens: &u64) -> bool {
    *tokens == 0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cache_tokens_are_serialized_only_if_there_are_any() {
        let mut usage = Usage::read(3, 5);
        let json = serde_json::to_value(usage).expect("JSON");
        let three = json!({"prompt_tokens": 3, "completion_tokens": 0, "total_tokens": 5});
        assert_eq!(json, three);
        usage.cache_read_input_tokens = 7;
        let json = serde_json::to_value(usage).expect("JSON");
        assert_eq!(json["cache_read_input_tokens"], 7);
        assert_eq!(json.get("cache_creation_input_tokens"), None);
    }

    #[test]
    fn a_meter_adds_up_every_kind_of_token() {
        let call = Usage {
            prompt_tokens: 1,
            completion_tokens: 2,
            total_tokens: 4,
            cache_creation_input_tokens: 8,
            cache_read_input_tokens: 16,
        };
        let meter = Meter::default();
        let mut sum = Usage::default();
        for _ in 0..3 {
            meter.add(call);
            sum += call;
        }
        assert_eq!(meter.read(), sum);
        assert_eq!(sum.cache_read_input_tokens, 48);
    }
}
