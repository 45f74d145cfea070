//! Pages of lists.

use ziggurat_state::Page;

/// Limit on the entries in one page of a list.
const MAX_LIMIT: u32 = 100;

/// Parses a page; invalid values count as missing.
pub(crate) fn page(limit: Option<&str>, offset: Option<&str>) -> Page {
    let default = Page::default();
    let limit = limit.and_then(|text| text.parse().ok());
    let limit: u64 = limit
        .filter(|limit| *limit > 0)
        .unwrap_or(default.limit.into());
    let offset = offset.and_then(|text| text.parse().ok());
    Page {
        limit: u32::try_from(limit).unwrap_or(MAX_LIMIT).min(MAX_LIMIT),
        offset: offset.unwrap_or(default.offset),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_page_is_the_default_page() {
        for (limit, offset, expected) in [
            (None, None, (50, 0)),
            (Some("7"), Some("3"), (7, 3)),
            (Some("100"), None, (100, 0)),
            (Some("101"), None, (100, 0)),
            (Some("18446744073709551615"), None, (100, 0)),
            (Some("0"), Some("-1"), (50, 0)),
            (Some("-5"), Some("x"), (50, 0)),
            (Some("1.5"), Some(""), (50, 0)),
            (Some(""), Some("99999999999999999999"), (50, 0)),
        ] {
            let page = page(limit, offset);
            assert_eq!((page.limit, page.offset), expected, "{limit:?} {offset:?}");
        }
    }
}
