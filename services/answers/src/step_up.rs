//! Calls that would write, of clients that were allowed to read only.

use http::{StatusCode, header::WWW_AUTHENTICATE};
use ziggurat_databases::Current;
use ziggurat_mcp::{Error, Failure, ToolRequest};
use ziggurat_tokens::Identity;

/// Sends a client back to the person for the scope that a change needs, where the server does that
/// and the client has a revision that understands it.
///
/// # Errors
/// Fails with 403 and the scope.
pub fn step_up(request: &ToolRequest, current: &Current) -> Result<(), Error> {
    if !current.withholds_writes() || !request.caller().context().revision().is_modern() {
        return Ok(());
    }
    let challenge = request.identity::<Identity>().and_then(Identity::step_up);
    challenge.map_or(Ok(()), |challenge| {
        let failure = Failure::new("This call needs a scope for changes. Ask the person for it.")
            .with_status(StatusCode::FORBIDDEN)
            .with_header(WWW_AUTHENTICATE, challenge.clone());
        Err(failure.into())
    })
}
