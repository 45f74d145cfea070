//! The methods of the protocol.

use std::collections::HashSet;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::value::{RawValue, to_raw_value};
use ziggurat_layers::mcp::routing::HEADER_MISMATCH;

use crate::{
    CallResult, Client, ClientError, Completion, ListedPrompt, ListedResource, ListedTemplate,
    ListedTool, PromptResult, ResourceContent, error, headers,
    lock::lock,
    message::{Argument, Params, Reference},
    negotiate::call,
    results::{CompleteResult, EmptyResult, Page, ReadResult},
    session::Call,
};

/// Limit on the pages of a list.
const MAX_PAGES: usize = 1000;

// === impl Client ===

impl Client {
    /// Lists the tools.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub async fn tools(&self) -> Result<Vec<ListedTool>, ClientError> {
        let tools: Vec<ListedTool> = self.list("tools/list").await?;
        let mut repeated = lock(&self.session.repeated);
        repeated.clear();
        for tool in &tools {
            let arguments = headers::repeated_arguments(&tool.input_schema);
            if !arguments.is_empty() {
                repeated.insert(tool.name.clone(), arguments);
            }
        }
        drop(repeated);
        Ok(tools)
    }

    /// Calls a tool. The arguments have to serialize as an object, or as nothing (`()`).
    ///
    /// Arguments that the tool wants repeated in headers are, once the tools were listed; if the
    /// server refuses a call for want of them, the client lists the tools and repeats the call.
    ///
    /// # Errors
    ///
    /// See [`ClientError`]. A tool that fails has a result, with [`CallResult::is_error`].
    pub async fn call(
        &self,
        name: &str,
        arguments: &(impl Serialize + ?Sized),
    ) -> Result<CallResult, ClientError> {
        let arguments = object(arguments)?;
        match self.call_once(name, &arguments).await {
            Err(ClientError::Rpc {
                code: HEADER_MISMATCH,
                ..
            }) => {
                self.tools().await?;
                self.call_once(name, &arguments).await
            }
            outcome => outcome,
        }
    }

    async fn call_once(&self, name: &str, arguments: &RawValue) -> Result<CallResult, ClientError> {
        let headers = {
            let repeated = lock(&self.session.repeated);
            let repeated = repeated.get(name).map_or(&[][..], Vec::as_slice);
            headers::repeat(repeated, Some(arguments))
        };
        self.request(Call {
            subject: Some(name),
            headers,
            params: Params {
                name: Some(name),
                arguments: Some(arguments),
                ..Params::default()
            },
            ..call("tools/call")
        })
        .await
    }

    /// Lists the resources.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub async fn resources(&self) -> Result<Vec<ListedResource>, ClientError> {
        self.list("resources/list").await
    }

    /// Lists the templates of resources.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub async fn templates(&self) -> Result<Vec<ListedTemplate>, ClientError> {
        self.list("resources/templates/list").await
    }

    /// Reads a resource.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub async fn read(&self, uri: &str) -> Result<Vec<ResourceContent>, ClientError> {
        let read: ReadResult = self
            .request(Call {
                subject: Some(uri),
                params: Params {
                    uri: Some(uri),
                    ..Params::default()
                },
                ..call("resources/read")
            })
            .await?;
        Ok(read.contents)
    }

    /// Lists the prompts.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub async fn prompts(&self) -> Result<Vec<ListedPrompt>, ClientError> {
        self.list("prompts/list").await
    }

    /// Renders a prompt. The arguments have to serialize as an object of texts, or as nothing
    /// (`()`).
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub async fn get_prompt(
        &self,
        name: &str,
        arguments: &(impl Serialize + ?Sized),
    ) -> Result<PromptResult, ClientError> {
        let arguments = object(arguments)?;
        self.request(Call {
            subject: Some(name),
            params: Params {
                name: Some(name),
                arguments: Some(&arguments),
                ..Params::default()
            },
            ..call("prompts/get")
        })
        .await
    }

    /// Completes an argument of a prompt.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub async fn complete_prompt(
        &self,
        prompt: &str,
        argument: &str,
        begun: &str,
    ) -> Result<Completion, ClientError> {
        self.complete(Reference::Prompt { name: prompt }, argument, begun)
            .await
    }

    /// Completes a placeholder of a template of resources.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub async fn complete_template(
        &self,
        uri_template: &str,
        placeholder: &str,
        begun: &str,
    ) -> Result<Completion, ClientError> {
        let reference = Reference::Template { uri: uri_template };
        self.complete(reference, placeholder, begun).await
    }

    async fn complete(
        &self,
        reference: Reference<'_>,
        name: &str,
        value: &str,
    ) -> Result<Completion, ClientError> {
        let completed: CompleteResult = self
            .request(Call {
                params: Params {
                    reference: Some(reference),
                    argument: Some(Argument { name, value }),
                    ..Params::default()
                },
                ..call("completion/complete")
            })
            .await?;
        Ok(completed.completion)
    }

    /// Checks that the server answers: with `ping`, or with `server/discover` in revision
    /// 2026-07-28, which has no `ping`.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub async fn ping(&self) -> Result<(), ClientError> {
        let is_modern = self.server.revision.is_modern();
        let method = if is_modern { "server/discover" } else { "ping" };
        let EmptyResult {} = self.request(call(method)).await?;
        Ok(())
    }

    async fn request<T: DeserializeOwned>(&self, call: Call<'_>) -> Result<T, ClientError> {
        let on_progress = self.on_progress.as_ref();
        let call = Call {
            on_progress,
            ..call
        };
        // Boxed: programs hold several calls at a time, and the network costs more than a box.
        Box::pin(self.session.request(call)).await
    }

    /// Reads all pages of a list.
    async fn list<T: DeserializeOwned>(&self, method: &str) -> Result<Vec<T>, ClientError> {
        let mut list = Vec::new();
        let mut cursors = HashSet::new();
        let mut cursor: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let page: Page<T> = self
                .request(Call {
                    params: Params {
                        cursor: cursor.as_deref(),
                        ..Params::default()
                    },
                    ..call(method)
                })
                .await?;
            list.extend(page.entries);
            match page.next_cursor.filter(|next| !next.is_empty()) {
                None => return Ok(list),
                Some(next) if cursors.insert(next.clone()) => cursor = Some(next),
                Some(_) => return Err(endless(method, "repeats a cursor")),
            }
        }
        Err(endless(method, &format!("has more than {MAX_PAGES} pages")))
    }
}

fn endless(method: &str, problem: &str) -> ClientError {
    ClientError::Unexpected(format!("the list of `{method}` {problem}"))
}

/// Serializes arguments, which have to be an object.
fn object(arguments: &(impl Serialize + ?Sized)) -> Result<Box<RawValue>, ClientError> {
    let refuse = |problem: &str| ClientError::Setup(format!("the arguments {problem}"));
    let json = to_raw_value(arguments).map_err(|error| refuse(&error.to_string()))?;
    match json.get() {
        "null" => {
            RawValue::from_string("{}".to_owned()).map_err(|error| refuse(&error.to_string()))
        }
        object if object.starts_with('{') => Ok(json),
        other => Err(refuse(&format!(
            "are not an object: {}",
            error::quote(other.as_bytes())
        ))),
    }
}
