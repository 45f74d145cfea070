//! Results of calls.

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, value::RawValue};
use ziggurat_layers::json_rpc::Reply;

use crate::{
    Block, Error, Rendered, ResultBody, Structure, ToolResult,
    resource::Contents,
    seal::Seal,
    server::encode::{Encoder, Fault, to_bytes, with_tail},
    tool::Content,
};

/// Limit on completions for a client.
const MAX_COMPLETIONS: usize = 100;

/// Replaces a result that is more than text, for clients that negotiate no revision.
const NEEDS_NEWER_REVISION: &str = "This tool needs a newer revision of the protocol.";

// === impl Encoder ===

impl Encoder {
    /// Returns `{}`.
    pub(crate) fn empty() -> Bytes {
        Bytes::from_static(b"{}")
    }

    /// Encodes the result of a tool.
    pub(crate) fn tool_result(
        &self,
        result: Result<ToolResult, Error>,
        seal: Seal,
    ) -> Result<Reply<ResultBody>, Fault> {
        match result {
            Ok(ToolResult { content, structure }) => Ok(match content {
                Content::Whole(text) => {
                    Reply::stream(ResultBody::text(&text, structure, &self.ending, seal))
                }
                Content::Streamed(pieces) => {
                    Reply::stream(ResultBody::streamed(pieces, self.ending.clone(), seal))
                }
                Content::Texts(texts) => self.blocks(
                    texts.into_iter().map(Block::text),
                    structure,
                    Some(false),
                    seal,
                ),
                _ if !self.is_negotiated => self.tool_error(NEEDS_NEWER_REVISION),
                Content::Blocks(blocks) => self.blocks(blocks, structure, None, seal),
                Content::Questions(questions) => self.questions(questions),
            }),
            Err(Error::MissingCapabilities(_)) if !self.is_negotiated => {
                Ok(self.tool_error(NEEDS_NEWER_REVISION))
            }
            Err(Error::MissingCapabilities(missing)) => Err(Fault::MissingCapabilities(missing)),
            Err(Error::Reported(reported)) => Ok(self.tool_error(reported.as_str())),
            Err(Error::NotReady) => Err(Fault::NotReady),
            Err(Error::Failed(failure)) => Err(Fault::Tool(failure)),
        }
    }

    fn blocks(
        &self,
        blocks: impl IntoIterator<Item = Block>,
        structure: Option<Structure>,
        is_error: Option<bool>,
        seal: Seal,
    ) -> Reply<ResultBody> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Blocks {
            content: Vec<Block>,
            #[serde(skip_serializing_if = "Option::is_none")]
            structured_content: Option<Box<RawValue>>,
            #[serde(skip_serializing_if = "Option::is_none")]
            is_error: Option<bool>,
        }

        let structure = structure.and_then(|it| it.in_revision(self.revision));
        let result = Blocks {
            content: blocks
                .into_iter()
                .map(|block| block.in_revision(self.revision))
                .collect(),
            structured_content: structure.map(Structure::into_raw),
            is_error,
        };
        let Some(mut seal) = seal else {
            return self.whole(&result);
        };
        seal.content(&to_bytes(&result.content));
        if let Some(structure) = &result.structured_content {
            seal.structure(structure.get().as_bytes());
        }
        let before = with_tail(&result, "");
        Reply::stream(ResultBody::sealed([before], seal, &self.ending))
    }

    /// Encodes the error of a tool for the model.
    pub(crate) fn tool_error(&self, text: &str) -> Reply<ResultBody> {
        Reply::stream(ResultBody::error(&text.into(), &self.ending))
    }

    pub(crate) fn disabled_tool(&self, name: &str) -> Reply<ResultBody> {
        self.tool_error(&format!("Tool '{name}' is not available"))
    }

    /// Encodes questions to the client.
    pub(crate) fn questions(&self, mut questions: Value) -> Reply<ResultBody> {
        let own = questions.get_mut("_meta").map(Value::take);
        questions["_meta"] = self.meta.clone();
        let meta = questions["_meta"].as_object_mut();
        if let (Some(Value::Object(own)), Some(meta)) = (own, meta) {
            meta.extend(own);
        }
        Reply::stream(ResultBody::from(to_bytes(&questions)))
    }

    pub(crate) fn contents(&self, contents: &Contents) -> Reply<ResultBody> {
        #[derive(Serialize)]
        struct ReadResult<'a> {
            contents: [Item<'a>; 1],
        }

        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Item<'a> {
            uri: &'a str,
            mime_type: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            text: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            blob: Option<&'a str>,
        }

        let data = Some(&*contents.text);
        let item = Item {
            uri: &contents.uri,
            mime_type: &contents.mime_type,
            text: data.filter(|_| !contents.is_blob),
            blob: data.filter(|_| contents.is_blob),
        };
        let read = ReadResult { contents: [item] };
        Reply::stream(ResultBody::from(with_tail(&read, &self.read_tail)))
    }

    pub(crate) fn prompt(&self, rendered: &Rendered) -> Reply<ResultBody> {
        self.whole(rendered)
    }

    /// Encodes the result of `completion/complete`.
    pub(crate) fn completion(&self, mut values: Vec<String>) -> Reply<ResultBody> {
        #[derive(Serialize)]
        struct CompleteResult {
            completion: Completion,
        }

        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Completion {
            values: Vec<String>,
            total: usize,
            has_more: bool,
        }

        let total = values.len();
        values.truncate(MAX_COMPLETIONS);
        let has_more = total > values.len();
        self.whole(&CompleteResult {
            completion: Completion {
                values,
                total,
                has_more,
            },
        })
    }

    /// Encodes a complete result.
    fn whole(&self, result: &impl Serialize) -> Reply<ResultBody> {
        Reply::stream(ResultBody::from(with_tail(result, &self.tail)))
    }
}
