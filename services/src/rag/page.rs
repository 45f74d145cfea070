//! The page pipelines are asked on.

/// A page that lists the pipelines and asks them. It needs nothing from anywhere else.
pub(super) const PAGE: &str = concat!(
    include_str!("page/head.html"),
    "<style>\n",
    include_str!("page/style.css"),
    "</style>\n",
    include_str!("page/body.html"),
    "<script>\n",
    include_str!("page/script.js"),
    "</script>\n",
);
