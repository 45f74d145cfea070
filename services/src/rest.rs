//! What is not JSON-RPC: small services with a path each.
//!
//! ```
//! use bytes::Bytes;
//! use http::Request;
//! use tower::ServiceExt as _;
//! use ziggurat_services::rest::Health;
//!
//! # tokio_test::block_on(async {
//! let health = Health::<Bytes>::new("example", "1.0.0");
//! let response = health.oneshot(Request::new(())).await?;
//! let body = r#"{"status":"ok","server":"example","version":"1.0.0"}"#;
//! assert_eq!(response.into_body(), body);
//! # Ok::<_, std::convert::Infallible>(())
//! # }).unwrap();
//! ```

mod health;

pub use self::health::Health;
