//! The body of a request, and its checks.

use std::{error::Error as StdError, iter};

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use http_body_util::BodyExt as _;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use strsim::osa_distance;
use utoipa::ToSchema;
use ziggurat_http::{Malformed, Payload};
use ziggurat_layers::{
    body_limit::LimitedBody,
    reject::{ErrorString, Rejection},
};
use ziggurat_llm as llm;
use ziggurat_serve::BodyError;

use crate::{
    filter::{CheckedFilter, Filter},
    reply::Refused,
};

/// The members of a question.
const MEMBERS: [&str; 10] = [
    "query",
    "stream",
    "top_n",
    "filter",
    "include_sources",
    "citations",
    "stream_sources",
    "debug",
    "disable_hybrid",
    "messages",
];

/// A question to a pipeline.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = QueryRequest)]
pub(super) struct QueryRequest {
    /// The question.
    #[schema(required, nullable = false, min_length = 1)]
    pub(super) query: Option<String>,
    /// Selects a stream of server-sent events instead of one JSON body.
    #[schema(default = false)]
    pub(super) stream: Option<bool>,
    /// The maximum number of results. Zero and negative numbers select the default; there is an
    /// upper limit.
    pub(super) top_n: Option<i64>,
    /// A filter on the rows that are searched.
    #[schema(value_type = Option<FilterShape>)]
    pub(super) filter: Option<Filter>,
    /// Requests the sources of the answer. The pipeline has to permit it, and a stream includes them
    /// only with `stream_sources`.
    #[schema(default = false)]
    pub(super) include_sources: Option<bool>,
    /// Requests an answer that marks its claims with the numbers of sources, `[1]`, and the
    /// citations, in which each mark is checked. The pipeline has to permit sources.
    #[schema(default = false)]
    pub(super) citations: Option<bool>,
    /// Requests the event `sources` at the beginning of a stream. The pipeline has to permit it.
    #[schema(default = false)]
    pub(super) stream_sources: Option<bool>,
    /// Requests details of how the answer was made. The pipeline has to permit it.
    #[schema(default = false)]
    pub(super) debug: Option<bool>,
    /// Turns keyword search off, so that only vectors are searched.
    #[schema(default = false)]
    pub(super) disable_hybrid: Option<bool>,
    /// Earlier messages of the conversation, for the model. The search uses them only if the pipeline
    /// rewrites questions.
    pub(super) messages: Option<Vec<Message>>,
}

/// A message of the conversation.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct Message {
    #[schema(value_type = Role, inline)]
    role: Option<String>,
    /// The text of the message.
    content: String,
}

/// The author of the message.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[expect(dead_code, reason = "it describes a text that is checked by hand")]
enum Role {
    User,
    Assistant,
}

/// A filter on the rows that are searched. It narrows the filter of the pipeline.
#[derive(Debug, ToSchema)]
#[schema(as = Filter)]
#[expect(dead_code, reason = "it describes a filter, which checks itself")]
pub(super) struct FilterShape {
    /// The conditions.
    #[schema(max_items = 50)]
    conditions: Vec<ConditionShape>,
    #[schema(required = false, inline)]
    logic: Logic,
}

/// A condition on a column.
#[derive(Debug, ToSchema)]
#[schema(as = FilterCondition)]
#[expect(dead_code, reason = "it describes a filter, which checks itself")]
struct ConditionShape {
    /// The name of one column, as written in the database.
    #[schema(min_length = 1)]
    column: String,
    #[schema(inline)]
    operator: Operator,
    /// The value to compare with: a list for IN and NOT IN, none for IS NULL and IS NOT NULL.
    value: Option<Value>,
}

/// Selects whether all conditions must hold, or any of them.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
#[expect(dead_code, reason = "it describes a filter, which checks itself")]
enum Logic {
    And,
    Or,
}

/// The comparison.
#[derive(Debug, Serialize, ToSchema)]
#[expect(dead_code, reason = "it describes a filter, which checks itself")]
enum Operator {
    #[serde(rename = "=")]
    Equal,
    #[serde(rename = "!=")]
    Unequal,
    #[serde(rename = "<")]
    Less,
    #[serde(rename = ">")]
    Greater,
    #[serde(rename = "<=")]
    LessOrEqual,
    #[serde(rename = ">=")]
    GreaterOrEqual,
    #[serde(rename = "LIKE")]
    Like,
    #[serde(rename = "ILIKE")]
    Ilike,
    #[serde(rename = "IN")]
    In,
    #[serde(rename = "NOT IN")]
    NotIn,
    #[serde(rename = "IS NULL")]
    IsNull,
    #[serde(rename = "IS NOT NULL")]
    IsNotNull,
}

/// A valid request.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a member of the request"
)]
pub(super) struct Query {
    pub(super) text: String,
    /// The question to search for, if it is another one.
    pub(super) rewritten: Option<String>,
    pub(super) stream: bool,
    pub(super) top_n: Option<usize>,
    pub(super) filter: Option<CheckedFilter>,
    pub(super) include_sources: bool,
    pub(super) citations: bool,
    pub(super) stream_sources: bool,
    pub(super) debug: bool,
    pub(super) disable_hybrid: bool,
    /// The earlier messages, with checked roles.
    pub(super) history: Vec<llm::Message>,
}

// === impl Query ===

impl Query {
    /// Parses the body of a request and checks it in the order that the specification gives. The
    /// question has at most `max_query` bytes.
    pub(super) fn read(body: Bytes, max_query: usize) -> Result<Self, Refused> {
        if body.is_empty() {
            return Err(unreadable("EOF"));
        }
        let payload = Payload::<ErrorString>::from(body);
        let refused = |malformed: Malformed| unreadable(&malformed.to_string());
        let request: QueryRequest = payload.object().map_err(refused)?;
        let members: Map<String, Value> = payload.object().map_err(refused)?;
        if let Some(unknown) = members
            .keys()
            .find(|name| !MEMBERS.contains(&name.as_str()))
        {
            let near = MEMBERS
                .into_iter()
                .min_by_key(|known| osa_distance(unknown, known));
            let near = near.unwrap_or_default();
            let reason = format!("unknown member {unknown:?}; the nearest known one is {near:?}");
            return Err(unreadable(&reason));
        }
        request.check(max_query)
    }

    /// Returns the question to search for.
    pub(super) fn searched(&self) -> &str {
        self.rewritten.as_deref().unwrap_or(&self.text)
    }
}

// === impl QueryRequest ===

impl QueryRequest {
    /// Checks the request. The question has at most `max_query` bytes.
    pub(super) fn check(self, max_query: usize) -> Result<Query, Refused> {
        let text = self.query.filter(|text| !text.trim().is_empty());
        let text = text.ok_or_else(|| Refused::invalid("query is required"))?;
        if text.len() > max_query {
            let length = text.len();
            let reason = format!("query has {length} bytes, and may have {max_query} at most");
            return Err(unreadable(&reason));
        }
        let messages = self.messages.unwrap_or_default().into_iter().enumerate();
        let history = messages.map(|(index, message)| message.check(index));
        let history = history.collect::<Result<_, _>>()?;
        let filter = match self.filter.map(Filter::check).transpose() {
            Ok(filter) => filter.flatten(),
            Err(error) => return Err(Refused::invalid(format!("invalid filter: {error}"))),
        };
        let top_n = self.top_n.filter(|&top_n| top_n > 0);
        Ok(Query {
            text,
            rewritten: None,
            stream: self.stream.unwrap_or(false),
            top_n: top_n.map(|top_n| usize::try_from(top_n).unwrap_or(usize::MAX)),
            filter,
            include_sources: self.include_sources.unwrap_or(false),
            citations: self.citations.unwrap_or(false),
            stream_sources: self.stream_sources.unwrap_or(false),
            debug: self.debug.unwrap_or(false),
            disable_hybrid: self.disable_hybrid.unwrap_or(false),
            history,
        })
    }
}

// === impl Message ===

impl Message {
    pub(super) fn new(role: String, content: String) -> Self {
        let role = Some(role);
        Self { role, content }
    }

    pub(super) fn is_of_user(&self) -> bool {
        self.role.as_deref() == Some("user")
    }

    pub(super) fn into_content(self) -> String {
        self.content
    }

    fn check(self, index: usize) -> Result<llm::Message, Refused> {
        match self.role.as_deref() {
            Some("user") => Ok(llm::Message::user(self.content)),
            Some("assistant") => Ok(llm::Message::assistant(self.content)),
            // Another role, such as `system`, would let a client instruct the model.
            _ => Err(Refused::invalid(format!(
                "messages[{index}].role must be user or assistant"
            ))),
        }
    }
}

/// Reads the whole body of a request. A layer further out limits its size.
pub(super) async fn whole(body: LimitedBody<Body>) -> Result<Bytes, Refused> {
    let body = body.collect().await.map_err(|error| broken(&error))?;
    Ok(body.to_bytes())
}

/// Refuses a body that ended early, and closes the connection, because its state is unknown.
fn broken(error: &(dyn StdError + 'static)) -> Refused {
    let mut causes = iter::successors(Some(error), |&error| error.source());
    let is_slow = |cause: &(dyn StdError + 'static)| {
        matches!(cause.downcast_ref(), Some(BodyError::TooSlow(_)))
    };
    let (status, code, message) = if causes.any(is_slow) {
        let message = "the request body did not arrive in time";
        (StatusCode::REQUEST_TIMEOUT, "request_timeout", message)
    } else {
        let message = "invalid request body: it is incomplete";
        (StatusCode::BAD_REQUEST, "invalid_request", message)
    };
    Rejection::new(status, code, message)
        .with_header(header::CONNECTION, HeaderValue::from_static("close"))
        .into()
}

fn unreadable(reason: &str) -> Refused {
    Refused::invalid(format!("invalid request body: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MAX_QUERY;
    use utoipa::PartialSchema as _;

    fn refused(body: &str) -> String {
        let body_bytes = Bytes::copy_from_slice(body.as_bytes());
        let refused = Query::read(body_bytes, MAX_QUERY).expect_err(body);
        let rejection = refused.rejection();
        assert_eq!(rejection.status(), 400, "{body}");
        assert_eq!(rejection.code(), "invalid_request", "{body}");
        rejection.message().to_owned()
    }

    fn read(body: &str) -> Query {
        Query::read(Bytes::copy_from_slice(body.as_bytes()), MAX_QUERY).expect(body)
    }

    #[test]
    fn a_question_that_is_too_long_is_refused_with_both_lengths() {
        let body = |length: usize| format!(r#"{{"query":"{}"}}"#, "x".repeat(length));
        assert_eq!(read(&body(MAX_QUERY)).text.len(), MAX_QUERY);
        let expected = "invalid request body: query has 65537 bytes, and may have 65536 at most";
        assert_eq!(refused(&body(MAX_QUERY + 1)), expected);
    }

    #[test]
    fn a_body_is_one_json_object_whose_members_have_the_right_types() {
        assert_eq!(refused(""), "invalid request body: EOF");
        for body in [
            " ",
            "{",
            "null",
            "[]",
            r#"["why?"]"#,
            r#""why?""#,
            r#"{"query":5}"#,
            r#"{"query":"why?","stream":"yes"}"#,
            r#"{"query":"why?","top_n":1.5}"#,
            r#"{"query":"why?","top_n":"3"}"#,
            r#"{"query":"why?","messages":{}}"#,
            r#"{"query":"why?","messages":[null]}"#,
            r#"{"query":"why?","messages":[{"role":"user","content":5}]}"#,
            r#"{"query":"why?","messages":[{"role":"user"}]}"#,
            r#"{"query":"why?","filter":"1=1"}"#,
            r#"{"query":"why?","filter":[]}"#,
            r#"{"query":"why?"} {}"#,
            r#"{"query":"why?"}x"#,
        ] {
            let message = refused(body);
            assert!(
                message.starts_with("invalid request body: "),
                "{body}: {message}"
            );
        }
    }

    #[test]
    fn a_request_without_a_question_is_refused() {
        for body in [
            "{}",
            r#"{"query":null}"#,
            r#"{"query":""}"#,
            r#"{"query":" \t\n"}"#,
        ] {
            assert_eq!(refused(body), "query is required", "{body}");
        }
        assert_eq!(read(" {\"query\":\" why? \"}\n").text, " why? ");
    }

    #[test]
    fn null_members_are_ignored_and_unknown_ones_are_refused() {
        let query = read(
            r#"{"query":"why?","stream":null,"top_n":null,"filter":null,"include_sources":null,
                "citations":null,"stream_sources":null,"debug":null,"disable_hybrid":null,"messages":null}"#,
        );
        assert!(!query.stream && !query.include_sources && !query.disable_hybrid);
        assert!(!query.citations && !query.stream_sources && !query.debug);
        assert_eq!(query.top_n, None);
        assert!(query.filter.is_none() && query.history.is_empty());
        for (member, known) in [
            ("question", "query"),
            ("Stream", "stream"),
            ("topn", "top_n"),
        ] {
            let expected = format!(
                "invalid request body: unknown member \"{member}\"; the nearest known one is \
                 \"{known}\""
            );
            let body = format!(r#"{{"query":"why?","{member}":null}}"#);
            assert_eq!(refused(&body), expected);
        }
        let schema = serde_json::to_value(QueryRequest::schema()).expect("JSON");
        let members = schema["properties"].as_object().expect("members").keys();
        assert!(members.map(String::as_str).eq({
            let mut known = MEMBERS;
            known.sort_unstable();
            known
        }));
    }

    #[test]
    fn a_top_n_of_zero_or_less_is_ignored() {
        for (top_n, expected) in [("0", None), ("-3", None), ("7", Some(7))] {
            let query = read(&format!(r#"{{"query":"why?","top_n":{top_n}}}"#));
            assert_eq!(query.top_n, expected, "{top_n}");
        }
    }

    #[test]
    fn only_the_roles_user_and_assistant_are_accepted() {
        let messages = [r#""system""#, r#""User""#, r#""tool""#, r#""""#, "null"];
        for role in messages {
            let body = format!(
                r#"{{"query":"why?","messages":[{{"role":"user","content":"a"}},
                    {{"role":{role},"content":"b"}}]}}"#
            );
            let expected = "messages[1].role must be user or assistant";
            assert_eq!(refused(&body), expected, "{role}");
        }
        let query = read(
            r#"{"query":"why?","messages":[{"role":"assistant","content":"a"},
                {"role":"user","content":""}]}"#,
        );
        let expected = [llm::Message::assistant("a"), llm::Message::user("")];
        assert_eq!(query.history, expected);
    }

    #[test]
    fn messages_are_checked_before_the_filter() {
        let body = r#"{"query":"why?","messages":[{"role":"system","content":"x"}],
            "filter":{"conditions":[{"column":"a","operator":"==","value":1}]}}"#;
        assert_eq!(refused(body), "messages[0].role must be user or assistant");
        let body = r#"{"query":"why?",
            "filter":{"conditions":[{"column":"a","operator":"==","value":1}]}}"#;
        assert!(refused(body).starts_with("invalid filter: unsupported operator: =="));
        let body = r#"{"query":" ","filter":{"logic":"XOR"}}"#;
        assert_eq!(refused(body), "query is required");
    }
}
