//! A member of a result that depends on the rest of it.

use std::pin::Pin;

/// Makes a member of `_meta` in the result of a tool, such as a signature, once the rest is known.
///
/// An [`ObservedCall`](crate::ObservedCall) gives one for its result. A result that is an error has
/// no such member.
pub trait ResultSeal: Send {
    /// Takes more of the text as it is sent, escaped for JSON.
    fn text(&mut self, escaped: &[u8]);

    /// Takes the content of a result that has other parts than one text, as JSON.
    fn content(&mut self, json: &[u8]);

    /// Takes the structure as it is sent.
    fn structure(&mut self, json: &[u8]);

    /// Ends the rest of the result, and returns the member.
    fn close(self: Box<Self>) -> SealedMember;
}

/// The name of a member and its value as JSON; `None` leaves it out.
// Boxed: only results with such a member have one.
pub type SealedMember = Pin<Box<dyn Future<Output = Option<(&'static str, String)>> + Send>>;

/// The seal of a result, if there is one.
pub(crate) type Seal = Option<Box<dyn ResultSeal>>;
