//! The check of a token.

/// Decides whether a token may pass.
///
/// Implemented by [`Hashed`](super::Hashed) and by every `Fn(&str) -> Future`. A check in memory
/// returns a [`Ready`](std::future::Ready), and is cheapest with an answer to
/// [`verify_now`](Self::verify_now).
///
/// ```
/// use std::future::{Ready, ready};
/// use ziggurat_layers::bearer::{BearerLayer, Denied};
///
/// let verify = |token: &str| -> Ready<Result<(), Denied>> {
///     ready(if token.len() > 20 { Ok(()) } else { Err(Denied::Invalid) })
/// };
/// let layer = BearerLayer::new(verify);
/// # let _ = layer;
/// ```
///
/// A check in a database boxes its future. The future must not borrow the token or the verifier, so
/// it takes the digest of the one and a clone of the other:
///
/// ```
/// use std::{io, pin::Pin};
/// use ziggurat_layers::bearer::{BearerLayer, Denied, TokenHash, Verify};
///
/// #[derive(Clone)]
/// struct User(String);
///
/// #[derive(Clone)]
/// struct Database; // A pool of connections, shared by its clones.
///
/// impl Database {
///     async fn user_of(&self, token: TokenHash) -> io::Result<Option<User>> {
///         // SELECT name FROM tokens WHERE digest = $1 AND expires > now()
///         Ok((token == TokenHash::of("open-sesame")).then(|| User("ali".to_owned())))
///     }
/// }
///
/// impl Verify for Database {
///     type Identity = User;
///     type Future = Pin<Box<dyn Future<Output = Result<User, Denied>> + Send>>;
///
///     fn verify(&self, token: &str) -> Self::Future {
///         let (database, token) = (self.clone(), TokenHash::of(token));
///         Box::pin(async move {
///             let user = database.user_of(token).await.map_err(|_| Denied::Unavailable)?;
///             user.ok_or(Denied::Invalid)
///         })
///     }
/// }
///
/// # tokio_test::block_on(async {
/// assert!(Database.verify("open-sesame").await.is_ok());
/// assert!(matches!(Database.verify("open-barley").await, Err(Denied::Invalid)));
/// # });
/// let layer = BearerLayer::new(Database);
/// # let _ = layer;
/// ```
pub trait Verify {
    /// The identity that a valid token proves; put into the request extensions.
    ///
    /// Not a bare `&'static str`, with which rustc refuses some servers; see the
    /// [module](crate::bearer#deployment).
    type Identity: Clone + Send + Sync + 'static;
    /// Future returned by [`verify`](Self::verify).
    type Future: Future<Output = Result<Self::Identity, Denied>>;
    /// Looks the token up.
    ///
    /// ```
    /// use ziggurat_layers::bearer::{Hashed, TokenHash, Verify as _};
    ///
    /// # tokio_test::block_on(async {
    /// let tokens = Hashed::from_iter([(TokenHash::of("open-sesame"), 7)]);
    /// assert_eq!(tokens.verify("open-sesame").await, Ok(7));
    /// # });
    /// ```
    fn verify(&self, token: &str) -> Self::Future;
    /// Looks the token up without waiting, if possible; called before [`verify`](Self::verify).
    ///
    /// A check in memory answers here, and the request is passed on at once. The default returns
    /// `None`, which means: call `verify`.
    ///
    /// ```
    /// use ziggurat_layers::bearer::{Denied, Hashed, TokenHash, Verify as _};
    ///
    /// let tokens = Hashed::from_iter([(TokenHash::of("open-sesame"), 7)]);
    /// assert_eq!(tokens.verify_now("open-sesame"), Some(Ok(7)));
    /// assert_eq!(tokens.verify_now("open-barley"), Some(Err(Denied::Invalid)));
    /// ```
    fn verify_now(&self, token: &str) -> Option<Result<Self::Identity, Denied>> {
        let _ = token;
        None
    }
}

/// The reason why a well-formed token is refused.
///
/// ```
/// use ziggurat_layers::bearer::Denied;
///
/// /// The answer of a token database: the scope of the token, if there is one.
/// fn check(scope: Result<Option<&str>, std::io::Error>) -> Result<(), Denied> {
///     match scope {
///         Ok(Some(scope)) if scope.split(' ').any(|name| name == "orders") => Ok(()),
///         Ok(Some(_)) => Err(Denied::InsufficientScope),
///         Ok(None) => Err(Denied::Invalid),
///         Err(_) => Err(Denied::Unavailable),
///     }
/// }
/// assert_eq!(check(Ok(Some("invoices"))), Err(Denied::InsufficientScope));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Denied {
    /// The token is unknown, expired or revoked; the client is not told which.
    Invalid,
    /// The token is good, but its scope does not cover this request.
    InsufficientScope,
    /// The token could not be checked. This is not the client's fault; it may try again.
    Unavailable,
}

// === impl Verify ===

impl<T, F, I> Verify for T
where
    T: Fn(&str) -> F,
    F: Future<Output = Result<I, Denied>>,
    I: Clone + Send + Sync + 'static,
{
    type Identity = I;
    type Future = F;

    fn verify(&self, token: &str) -> F {
        self(token)
    }
}
