//! The choice between the two formats of the page, by the `Accept` header (RFC 9110, section 12.5.1).

use http::{HeaderMap, header};

/// Format of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Prometheus text 0.0.4.
    Text,
    /// OpenMetrics 1.0.0.
    OpenMetrics,
}

/// Fit of a media range to a format. Weights are compared only among the most precise ranges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Fit {
    /// 3 for the type with its version, 2 for the type, 1 for `type/*`, 0 for `*/*`.
    precision: u8,
    /// Thousandths.
    weight: u16,
}

// === impl Format ===

impl Format {
    /// Chooses by weight. OpenMetrics is sent only to clients that prefer it or name it; all others
    /// get text, even if they accept neither, because a page is of more use than a refusal.
    pub(crate) fn choose(headers: &HeaderMap) -> Self {
        let text = Self::Text.fit(headers).unwrap_or_default();
        let open_metrics = Self::OpenMetrics.fit(headers).unwrap_or_default();
        let is_named = open_metrics.precision >= 2 && open_metrics.weight > 0;
        if open_metrics.weight > text.weight || (is_named && open_metrics.weight == text.weight) {
            Self::OpenMetrics
        } else {
            Self::Text
        }
    }

    pub(crate) const fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    fn essence(self) -> (&'static str, &'static str) {
        match self {
            Self::Text => ("text", "plain"),
            Self::OpenMetrics => ("application", "openmetrics-text"),
        }
    }

    fn version(self) -> &'static str {
        match self {
            Self::Text => "0.0.4",
            Self::OpenMetrics => "1.0.0",
        }
    }

    /// Returns the fit of the most precise range, the heaviest among equals.
    fn fit(self, headers: &HeaderMap) -> Option<Fit> {
        let values = headers.get_all(header::ACCEPT).iter();
        let values = values.filter_map(|value| value.to_str().ok());
        let ranges = values.flat_map(|value| value.split(','));
        ranges.filter_map(|range| self.fit_of(range)).max()
    }

    /// Returns the fit of one range. A range of another version does not fit.
    fn fit_of(self, range: &str) -> Option<Fit> {
        let mut parts = range.split(';').map(str::trim);
        let (class, kind) = parts.next()?.split_once('/')?;
        let (own_class, own_kind) = self.essence();
        let mut precision = match (class, kind) {
            ("*", "*") => 0,
            (class, "*") if class.eq_ignore_ascii_case(own_class) => 1,
            (class, kind)
                if class.eq_ignore_ascii_case(own_class) && kind.eq_ignore_ascii_case(own_kind) =>
            {
                2
            }
            _ => return None,
        };
        let mut weight = 1000;
        for parameter in parts {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let (name, value) = (name.trim(), value.trim().trim_matches('"'));
            if name.eq_ignore_ascii_case("q") {
                weight = thousandths(value);
            } else if name.eq_ignore_ascii_case("version") {
                if value != self.version() {
                    return None;
                }
                precision = 3;
            }
        }
        Some(Fit { precision, weight })
    }
}

/// Reads a weight. One that is malformed excludes its range.
fn thousandths(value: &str) -> u16 {
    let (whole, fraction) = value.split_once('.').unwrap_or((value, ""));
    let is_malformed = fraction.len() > 3 || !fraction.bytes().all(|byte| byte.is_ascii_digit());
    match (whole, format!("{fraction:0<3}").parse::<u16>()) {
        ("0", Ok(fraction)) if !is_malformed => fraction,
        ("1", Ok(0)) if !is_malformed => 1000,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn chosen(values: &[&'static str]) -> Format {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::ACCEPT, HeaderValue::from_static(value));
        }
        Format::choose(&headers)
    }

    #[test]
    fn open_metrics_is_sent_to_clients_that_prefer_it() {
        let prometheus_2 = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        let prometheus_3 = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1";
        for accept in [
            prometheus_2,
            prometheus_3,
            "application/openmetrics-text",
            "APPLICATION/OpenMetrics-Text ; Version=1.0.0",
            "application/openmetrics-text; version=\"1.0.0\"; charset=utf-8",
            "text/plain, application/openmetrics-text",
            "text/plain;q=0.5, application/*",
            "text/plain;q=0.300, application/openmetrics-text;q=0.301",
            "*/*, text/plain;q=0.1",
            "application/openmetrics-text;q=0.1",
        ] {
            assert_eq!(chosen(&[accept]), Format::OpenMetrics, "{accept}");
        }
    }

    #[test]
    fn all_other_clients_get_text() {
        for accept in [
            "",
            "*/*",
            "text/plain",
            "text/*, application/openmetrics-text;q=0.9",
            "application/openmetrics-text;q=0.2, text/plain;q=0.3",
            "application/openmetrics-text;version=0.0.1, */*;q=0.1",
            "application/openmetrics-text;q=0, */*",
            "application/openmetrics-text;q=0",
            "application/openmetrics-text;q=1.5, text/plain;q=0.1",
            "application/openmetrics-text;q=, text/plain;q=0.1",
            "application/openmetrics-text;q=0.1234, text/plain;q=0.1",
            "application/openmetrics-text;q=0.+1, text/plain;q=0.01",
            "image/png",
            "application/json",
            "text/plain;version=0.0.4, application/openmetrics-text;version=2.0.0",
            ";;,=/,/;q",
        ] {
            assert_eq!(chosen(&[accept]), Format::Text, "{accept}");
        }
        assert_eq!(chosen(&[]), Format::Text);
    }

    #[test]
    fn several_headers_are_one_list() {
        let values = ["text/plain;q=0.5", "application/openmetrics-text"];
        assert_eq!(chosen(&values), Format::OpenMetrics);
    }
}
