//! The conversation of a connected client.

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use rmcp::{
    ServiceError,
    model::{
        CallToolRequestParams, CallToolResult, GetPromptRequestParams, JsonObject,
        ReadResourceRequestParams, ResourceContents, Role,
    },
};
use serde_json::Value;
use tokio::time::timeout;

use crate::{
    conversation::{Call, Conversation, Refusal, Slow},
    target::{Client, Protocol},
};

/// Time after which a client cancels a call.
const CANCEL_AFTER: Duration = Duration::from_millis(300);

/// Runs the whole conversation.
pub(crate) async fn all(
    client: &Client,
    conversation: &Conversation,
    protocol: Protocol,
) -> Result<()> {
    call_tools(client, conversation).await?;
    if !conversation.reads.is_empty() {
        read(client, conversation, protocol).await?;
    }
    if !conversation.prompts.is_empty() {
        get_prompts(client, conversation).await?;
    }
    for refusal in conversation.refusals.iter().filter(|it| it.is_typed) {
        refused(client, refusal, protocol)
            .await
            .with_context(|| format!("{refusal:?}"))?;
    }
    match (&conversation.slow, conversation.calls.first()) {
        (Some(slow), Some(quick)) => cancel(client, slow, quick).await,
        _ => Ok(()),
    }
}

async fn call_tools(client: &Client, conversation: &Conversation) -> Result<()> {
    let listed = client.list_all_tools().await?;
    for name in &conversation.tools {
        ensure!(listed.iter().any(|tool| tool.name == *name), "no {name}");
    }
    let calls = conversation.calls.iter();
    for call in calls.chain(&conversation.unlisted_calls) {
        let result = client
            .call_tool(params(&call.tool, &call.arguments))
            .await
            .with_context(|| format!("{call:?}"))?;
        ensure!(is_expected(&result, call), "{call:?}: {result:?}");
    }
    Ok(())
}

fn is_expected(result: &CallToolResult, call: &Call) -> bool {
    let text = text(result);
    result.is_error.unwrap_or_default() == call.is_error
        && call.text.iter().all(|part| text.contains(part))
}

fn text(result: &CallToolResult) -> &str {
    let text = result.content.first().and_then(|block| block.as_text());
    text.map_or("", |text| &text.text)
}

async fn read(client: &Client, conversation: &Conversation, protocol: Protocol) -> Result<()> {
    let templates = client.list_all_resource_templates().await?;
    let has_templates = protocol != Protocol::Exact;
    ensure!(templates.is_empty() != has_templates, "{templates:?}");
    let listed = client.list_all_resources().await?;
    for read in &conversation.reads {
        ensure!(listed.iter().any(|it| it.uri == read.uri), "{listed:?}");
        let params = ReadResourceRequestParams::new(read.uri.clone());
        let result = client.read_resource(params).await?;
        let Some(ResourceContents::TextResourceContents { text, .. }) = result.contents.first()
        else {
            bail!("{}: {result:?}", read.uri);
        };
        let json: Value = serde_json::from_str(text)?;
        let has = |member: &String| json.get(member).is_some();
        ensure!(read.members.iter().all(has), "{}: {json}", read.uri);
    }
    Ok(())
}

async fn get_prompts(client: &Client, conversation: &Conversation) -> Result<()> {
    let listed = client.list_all_prompts().await?;
    for get in &conversation.prompts {
        ensure!(listed.iter().any(|it| it.name == get.name), "{listed:?}");
        let mut params = GetPromptRequestParams::new(get.name.clone());
        params.arguments = Some(get.arguments.clone());
        let result = client.get_prompt(params).await?;
        let role = result.messages.first().map(|message| &message.role);
        ensure!(role == Some(&Role::User), "{}: {result:?}", get.name);
    }
    Ok(())
}

async fn refused(client: &Client, refusal: &Refusal, protocol: Protocol) -> Result<()> {
    let params = Value::Object(refusal.params.clone());
    let outcome = match &*refusal.method {
        "tools/call" => client
            .call_tool(serde_json::from_value(params)?)
            .await
            .err(),
        "resources/read" => client
            .read_resource(serde_json::from_value(params)?)
            .await
            .err(),
        "prompts/get" => client
            .get_prompt(serde_json::from_value(params)?)
            .await
            .err(),
        method => bail!("unknown method {method}"),
    };
    let expected = match protocol {
        Protocol::Exact => refusal.code,
        Protocol::Legacy => refusal.legacy.unwrap_or(refusal.code),
        Protocol::Modern => -32602,
    };
    match outcome {
        Some(ServiceError::McpError(error)) if error.code.0 == expected => Ok(()),
        outcome => bail!("{outcome:?} instead of {expected}"),
    }
}

/// Checks that a cancelled call leaves the connection usable.
async fn cancel(client: &Client, slow: &Slow, quick: &Call) -> Result<()> {
    let slow = client.call_tool(params(&slow.tool, &slow.arguments));
    ensure!(
        timeout(CANCEL_AFTER, slow).await.is_err(),
        "the call was not cancelled"
    );
    let result = client
        .call_tool(params(&quick.tool, &quick.arguments))
        .await?;
    ensure!(is_expected(&result, quick), "{quick:?}: {result:?}");
    Ok(())
}

fn params(tool: &str, arguments: &JsonObject) -> CallToolRequestParams {
    CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments.clone())
}
