//! Headers that keep the pages of the console to themselves.

use http::{HeaderMap, HeaderName, HeaderValue, header};

/// Allows scripts, styles, pictures and fonts of this server only, and no text to become markup.
const CONTENT: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// The same for the page of the API. Its library sets styles of elements, shows pictures that it
/// contains, and makes markup.
#[cfg(feature = "tools")]
const CONTENT_OF_DOCS: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    style-src-attr 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Forbids every feature of a browser that a page could ask for, but for writing to the clipboard
/// and reading it.
const PERMISSIONS: &str = "accelerometer=(), autoplay=(), browsing-topics=(), \
    camera=(), clipboard-read=(self), clipboard-write=(self), display-capture=(), \
    encrypted-media=(), fullscreen=(), gamepad=(), geolocation=(), gyroscope=(), hid=(), \
    identity-credentials-get=(), idle-detection=(), local-fonts=(), magnetometer=(), \
    microphone=(), midi=(), payment=(), picture-in-picture=(), publickey-credentials-create=(), \
    publickey-credentials-get=(), screen-wake-lock=(), serial=(), storage-access=(), usb=(), \
    window-management=(), xr-spatial-tracking=()";

const PERMISSIONS_POLICY: HeaderName = HeaderName::from_static("permissions-policy");
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// Returns the headers of every page and file of the console.
pub(crate) fn policy() -> HeaderMap {
    with_content(CONTENT)
}

/// Returns the headers of the page that shows the description of the API, and of its files.
#[cfg(feature = "tools")]
pub(crate) fn policy_of_docs() -> HeaderMap {
    with_content(CONTENT_OF_DOCS)
}

fn with_content(content: &'static str) -> HeaderMap {
    let headers = [
        (header::CONTENT_SECURITY_POLICY, content),
        (PERMISSIONS_POLICY, PERMISSIONS),
        (OPENER_POLICY, "same-origin"),
        (RESOURCE_POLICY, "same-origin"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    let headers = headers.into_iter();
    headers
        .map(|(name, value)| (name, HeaderValue::from_static(value)))
        .collect()
}
