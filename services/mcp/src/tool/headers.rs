//! Arguments that are repeated in headers.

use http::HeaderName;
use serde_json::{Map, Value};
use ziggurat_layers::{
    json_rpc::{Call, Error},
    mcp::routing,
};

use crate::Schema;

/// Checks that headers match the arguments they repeat.
pub(crate) fn check(schema: &Schema, call: &Call, arguments: Option<&str>) -> Result<(), Error> {
    let mut headers = schema.headers().peekable();
    if headers.peek().is_none() {
        return Ok(());
    }
    let arguments: Map<_, _> = arguments
        .and_then(|json| serde_json::from_str(json).ok())
        .unwrap_or_default();
    for (argument, header) in headers {
        let name: HeaderName = format!("mcp-param-{header}")
            .parse()
            .map_err(|_| Error::internal_error())?;
        let argument = arguments.get(argument).filter(|value| !value.is_null());
        let found = routing::decoded(&call.head().headers, &name)?;
        let is_right = match (found, argument) {
            (None, None) => true,
            (Some(found), Some(argument)) => matches(&found, argument),
            _ => false,
        };
        if !is_right {
            let problem = format!("the header {name} does not match the argument");
            return Err(routing::mismatch(&problem));
        }
    }
    Ok(())
}

fn matches(header: &[u8], argument: &Value) -> bool {
    match argument {
        Value::String(text) => text.as_bytes() == header,
        Value::Bool(value) => value.to_string().as_bytes() == header,
        Value::Number(number) => {
            let said = serde_json::from_slice::<Value>(header).unwrap_or_default();
            match said.as_i64().zip(number.as_i64()) {
                Some((said, number)) => said == number,
                // Compared as numbers: `1.0` is 1.
                None => said.as_f64().is_some() && said.as_f64() == number.as_f64(),
            }
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_header_matches_its_argument_by_value() {
        for (header, argument, expected) in [
            ("a b", json!("a b"), true),
            ("A b", json!("a b"), false),
            ("1", json!("1"), true),
            ("42", json!(42), true),
            ("42.0", json!(42), true),
            ("43", json!(42), false),
            ("x", json!(42), false),
            ("true", json!(true), true),
            ("True", json!(true), false),
            ("[]", json!([]), false),
        ] {
            let found = matches(header.as_bytes(), &argument);
            assert_eq!(found, expected, "{header} {argument}");
        }
    }
}
