//! Bodies of responses.

use std::{error::Error as _, io, iter};

use bytes::{Bytes, BytesMut};
use reqwest::Response;
use ziggurat_layers::body_limit::ByteBudget;

use crate::Error;

/// Size of the parts in which a body is gathered. A buffer that grows would be copied, and would have
/// memory that is not counted.
const PIECE: usize = 64 << 10;

/// A response body that arrives in pieces.
#[derive(Debug)]
pub(crate) struct Streaming {
    response: Response,
    first: Option<Bytes>,
}

// === impl Streaming ===

impl Streaming {
    /// Waits for the first bytes.
    pub(super) async fn begin(mut response: Response) -> Result<Self, Error> {
        let first = next(&mut response).await?;
        Ok(Self { response, first })
    }

    /// Returns the next bytes, or `None` at the end. Cancelling it loses no bytes.
    ///
    /// # Errors
    /// Fails if the connection breaks, or the response ends too early.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        match self.first.take() {
            Some(first) => Ok(Some(first)),
            None => next(&mut self.response).await,
        }
    }
}

/// Reads the whole body, up to a limit, and as long as the budget of all bodies has room.
pub(super) async fn whole(
    response: &mut Response,
    max: usize,
    budget: &ByteBudget,
) -> Result<Bytes, Error> {
    let too_long = || Error::Malformed(format!("it is longer than {max} bytes"));
    let announced = response.content_length().unwrap_or(0);
    if announced > max as u64 {
        return Err(too_long());
    }
    let mut pieces: Vec<BytesMut> = Vec::new();
    let mut length = 0;
    let mut permit = budget.take(0, 0).map_err(|_| Error::NoRoom)?;
    while let Some(chunk) = next(response).await? {
        if chunk.len() > max - length {
            return Err(too_long());
        }
        permit.grow(chunk.len() as u64).map_err(|_| Error::NoRoom)?;
        length += chunk.len();
        let has_room = |piece: &BytesMut| piece.capacity() - piece.len() >= chunk.len();
        if !pieces.last().is_some_and(has_room) {
            pieces.push(BytesMut::with_capacity(PIECE.max(chunk.len())));
        }
        if let Some(piece) = pieces.last_mut() {
            piece.extend_from_slice(&chunk);
        }
    }
    Ok(pieces.concat().into())
}

/// Reads the body up to a limit, or as far as possible.
pub(super) async fn beginning(response: &mut Response, max: usize) -> Bytes {
    let mut body = BytesMut::new();
    while let Ok(Some(chunk)) = next(response).await {
        let room = max - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if body.len() == max {
            break;
        }
    }
    body.freeze()
}

async fn next(response: &mut Response) -> Result<Option<Bytes>, Error> {
    response.chunk().await.map_err(|error| {
        let reason = reason(&error);
        if is_broken(&error) {
            Error::Unreachable(format!("failed to read response: {reason}"))
        } else {
            Error::Incomplete(reason)
        }
    })
}

/// Returns the innermost cause: the outer ones have no details.
pub(super) fn reason(error: &reqwest::Error) -> String {
    let causes = iter::successors(error.source(), |&cause| cause.source());
    causes
        .last()
        .map_or_else(|| error.to_string(), ToString::to_string)
}

/// Returns whether the connection broke, rather than the provider ending the response early.
fn is_broken(error: &reqwest::Error) -> bool {
    iter::successors(error.source(), |&cause| cause.source())
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|error| {
            matches!(
                error.kind(),
                io::ErrorKind::BrokenPipe
                    | io::ErrorKind::ConnectionAborted
                    | io::ErrorKind::ConnectionReset
            )
        })
}
