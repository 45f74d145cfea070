//! Future that validates a token.

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use ziggurat_layers::bearer::{Denied, TokenHash};
use ziggurat_state::LookUp;
use ziggurat_tokens::Identity;

use crate::{Shared, sessions::ReplicatedSessions};

/// Future returned by the check of a token.
pub struct VerifyFuture {
    state: VerifyState,
}

enum VerifyState {
    Known(Option<Result<Identity, Denied>>),
    Asking {
        look_up: LookUp,
        sessions: Arc<ReplicatedSessions>,
        token: TokenHash,
        shared: Arc<Shared>,
    },
}

// === impl VerifyFuture ===

impl VerifyFuture {
    pub(super) fn known(verdict: Result<Identity, Denied>) -> Self {
        let state = VerifyState::Known(Some(verdict));
        Self { state }
    }

    pub(super) fn asking(
        (look_up, sessions): (LookUp, Arc<ReplicatedSessions>),
        token: TokenHash,
        shared: Arc<Shared>,
    ) -> Self {
        let state = VerifyState::Asking {
            look_up,
            sessions,
            token,
            shared,
        };
        Self { state }
    }
}

impl Future for VerifyFuture {
    type Output = Result<Identity, Denied>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.state {
            VerifyState::Known(verdict) => {
                Poll::Ready(verdict.take().expect("it is asked for once"))
            }
            VerifyState::Asking {
                look_up,
                sessions,
                token,
                shared,
            } => {
                let answer = ready!(Pin::new(look_up).poll(cx));
                let (verdict, gone) = sessions.conclude(*token, answer, shared);
                shared.notify_ended(gone);
                Poll::Ready(verdict)
            }
        }
    }
}

impl fmt::Debug for VerifyFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifyFuture").finish_non_exhaustive()
    }
}
