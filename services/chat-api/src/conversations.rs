//! `/api/conversations`: stored conversations of users.
//!
//! A conversation belongs to a user who has logged in; programs and other users have no access.

#![expect(
    unused_qualifications,
    reason = "the description of an endpoint qualifies its parameters"
)]

use axum::{
    Json, Router,
    extract::{
        Path, Query, State,
        rejection::{PathRejection, QueryRejection},
    },
    routing::get,
};
use http::StatusCode;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, OpenApi, ToSchema};
use ziggurat_http::{Payload, Refusal};
use ziggurat_layers::sanitize::ErrorDetail;
use ziggurat_state::{Conversation, Conversations, Draft, Listed, StoreError, Words};

use crate::{Caller, page::page};

/// OpenAPI description of this area.
#[derive(Debug, OpenApi)]
#[openapi(paths(list, create, delete_all, find, replace, rename, delete))]
pub struct Description;

/// Page of the list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct PageQuery {
    /// Maximum number of conversations: 50 unless this is a number from 1 to 100.
    limit: Option<String>,
    /// Number of conversations to skip: none unless this is a number.
    offset: Option<String>,
    /// Words that the titles or messages must have; without any, all conversations are listed.
    q: Option<String>,
}

/// Page of the list of conversations.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Conversations)]
struct List {
    /// Conversations, with the last changed ones first.
    conversations: Vec<Listed>,
}

/// A new title.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = NewConversationTitle)]
struct NewTitle {
    /// New title of the conversation.
    #[schema(value_type = String, min_length = 1)]
    title: Option<String>,
}

/// Confirms that all conversations are meant.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct AllQuery {
    /// `true` to delete all conversations.
    #[param(required, pattern = "^true$")]
    all: Option<String>,
}

/// Confirms a change.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Done)]
struct Confirmation {
    /// Always true.
    success: bool,
}

/// Confirms a deletion.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DeletedConversations)]
struct Deleted {
    /// Always true.
    success: bool,
    /// Number of deleted conversations.
    deleted: u64,
}

/// Returns the routes of this area.
pub fn routes(store: Conversations) -> Router {
    let no_id = get(without_id)
        .put(without_id)
        .patch(without_id)
        .delete(without_id);
    Router::new()
        .route(
            "/api/conversations",
            get(list).post(create).delete(delete_all),
        )
        .route("/api/conversations/", no_id)
        .route(
            "/api/conversations/{id}",
            get(find).put(replace).patch(rename).delete(delete),
        )
        .with_state(store)
}

/// Lists the conversations of the user, with the last changed ones first
#[utoipa::path(get, path = "/api/conversations", tag = "Conversations",
    operation_id = "list_conversations",
    params(PageQuery),
    responses(
        (status = 200, description = "A page of the list", body = List),
    ),
)]
async fn list(
    State(store): State<Conversations>,
    caller: Caller,
    query: Result<Query<PageQuery>, QueryRejection>,
) -> Result<Json<List>, Refusal> {
    let owner = owner(&caller)?;
    let Query(query) = query.unwrap_or_default();
    let page = page(query.limit.as_deref(), query.offset.as_deref());
    let words = query.q.as_deref().and_then(Words::of);
    let listed = match words {
        Some(words) => store.search(owner, &words, page).await,
        None => store.list(owner, page).await,
    };
    let conversations = listed.map_err(failed("list conversations"))?;
    Ok(Json(List { conversations }))
}

/// Stores a conversation
#[utoipa::path(post, path = "/api/conversations", tag = "Conversations",
    operation_id = "create_conversation",
    request_body = Draft,
    responses(
        (status = 201, description = "The conversation is stored", body = Conversation),
        (status = 400, description = "`messages` is missing, or the body is not a JSON object"),
    ),
)]
async fn create(
    State(store): State<Conversations>,
    caller: Caller,
    payload: Payload,
) -> Result<(StatusCode, Json<Conversation>), Refusal> {
    let owner = owner(&caller)?;
    let draft = draft(&payload)?;
    let failed = failed("create conversation");
    let name = caller.user().unwrap_or_default();
    let new = draft.into_conversation(name, Timestamp::now());
    let new = Conversation {
        account: owner.to_owned(),
        ..new.map_err(failed)?
    };
    store.create(new.clone()).await.map_err(failed)?;
    Ok((StatusCode::CREATED, Json(new)))
}

/// Deletes all conversations of the user
#[utoipa::path(delete, path = "/api/conversations", tag = "Conversations",
    operation_id = "delete_conversations",
    params(AllQuery),
    responses(
        (status = 200, description = "The conversations are deleted", body = Deleted),
        (status = 400, description = "The parameter `all` is missing"),
    ),
)]
async fn delete_all(
    State(store): State<Conversations>,
    caller: Caller,
    query: Result<Query<AllQuery>, QueryRejection>,
) -> Result<Json<Deleted>, Refusal> {
    let owner = owner(&caller)?;
    let Query(query) = query.unwrap_or_default();
    if query.all.as_deref() != Some("true") {
        return Err(Refusal::invalid(
            "Use ?all=true to delete all conversations",
        ));
    }
    let deleted = store.delete_all(owner).await;
    let deleted = deleted.map_err(failed("delete conversations"))?;
    let success = true;
    Ok(Json(Deleted { success, deleted }))
}

/// Returns a conversation of the user
#[utoipa::path(get, path = "/api/conversations/{id}", tag = "Conversations",
    operation_id = "get_conversation",
    params(("id" = String, Path, description = "The id that the server assigned")),
    responses(
        (status = 200, description = "The conversation", body = Conversation),
        (status = 404, description = "No conversation has this id"),
    ),
)]
async fn find(
    State(store): State<Conversations>,
    caller: Caller,
    id: Result<Path<String>, PathRejection>,
) -> Result<Json<Conversation>, Refusal> {
    let owner = owner(&caller)?;
    let Path(id) = id.map_err(|_| absent())?;
    let found = store.find(owner, &id).await;
    let found = found.map_err(failed("get conversation"))?;
    found.map(Json).ok_or_else(absent)
}

/// Replaces the messages of a conversation
#[utoipa::path(put, path = "/api/conversations/{id}", tag = "Conversations",
    operation_id = "replace_conversation",
    params(("id" = String, Path, description = "The id that the server assigned")),
    request_body = Draft,
    responses(
        (status = 200, description = "The messages are replaced", body = Conversation),
        (status = 400, description = "`messages` is missing, or the body is not a JSON object"),
        (status = 404, description = "No conversation has this id"),
    ),
)]
async fn replace(
    State(store): State<Conversations>,
    caller: Caller,
    id: Result<Path<String>, PathRejection>,
    payload: Payload,
) -> Result<Json<Conversation>, Refusal> {
    let owner = owner(&caller)?;
    let Path(id) = id.map_err(|_| absent())?;
    let failed = failed("update conversation");
    let revision = draft(&payload)?.into_revision(Timestamp::now());
    let revision = revision.map_err(failed)?;
    let replaced = store.replace(owner, &id, revision).await.map_err(failed)?;
    replaced.map(Json).ok_or_else(absent)
}

/// Renames a conversation
#[utoipa::path(patch, path = "/api/conversations/{id}", tag = "Conversations",
    operation_id = "rename_conversation",
    params(("id" = String, Path, description = "The id that the server assigned")),
    request_body = NewTitle,
    responses(
        (status = 200, description = "The conversation is renamed", body = Confirmation),
        (status = 400, description = "`title` is missing, or the body is not a JSON object"),
        (status = 404, description = "No conversation has this id"),
    ),
)]
async fn rename(
    State(store): State<Conversations>,
    caller: Caller,
    id: Result<Path<String>, PathRejection>,
    payload: Payload,
) -> Result<Json<Confirmation>, Refusal> {
    let owner = owner(&caller)?;
    let Path(id) = id.map_err(|_| absent())?;
    let NewTitle { title } = payload.object()?;
    let title = title.unwrap_or_default();
    if title.is_empty() {
        return Err(Refusal::invalid("Title required"));
    }
    let renamed = store.rename(owner, &id, &title, Timestamp::now()).await;
    done(renamed.map_err(failed("rename conversation"))?)
}

/// Deletes a conversation
#[utoipa::path(delete, path = "/api/conversations/{id}", tag = "Conversations",
    operation_id = "delete_conversation",
    params(("id" = String, Path, description = "The id that the server assigned")),
    responses(
        (status = 200, description = "The conversation is deleted", body = Confirmation),
        (status = 404, description = "No conversation has this id"),
    ),
)]
async fn delete(
    State(store): State<Conversations>,
    caller: Caller,
    id: Result<Path<String>, PathRejection>,
) -> Result<Json<Confirmation>, Refusal> {
    let owner = owner(&caller)?;
    let Path(id) = id.map_err(|_| absent())?;
    let deleted = store.delete(owner, &id).await;
    done(deleted.map_err(failed("delete conversation"))?)
}

async fn without_id(caller: Caller) -> Refusal {
    match owner(&caller) {
        Ok(_) => Refusal::invalid("Conversation ID required"),
        Err(refusal) => refusal,
    }
}

/// Returns the id of the account that the conversations belong to.
fn owner(caller: &Caller) -> Result<&str, Refusal> {
    caller
        .account()
        .ok_or_else(|| Refusal::new(StatusCode::FORBIDDEN, "no_session", "user lacks permission"))
}

fn draft(payload: &Payload) -> Result<Draft, Refusal> {
    let draft: Draft = payload.object()?;
    if draft.has_messages() {
        Ok(draft)
    } else {
        Err(Refusal::invalid("Messages required"))
    }
}

fn done(was_there: bool) -> Result<Json<Confirmation>, Refusal> {
    let success = true;
    was_there
        .then_some(Json(Confirmation { success }))
        .ok_or_else(absent)
}

fn absent() -> Refusal {
    Refusal::new(StatusCode::NOT_FOUND, "not_found", "Conversation not found")
}

fn failed(what: &'static str) -> impl Fn(StoreError) -> Refusal + Copy {
    move |error| Refusal::fault(format!("Failed to {what}"), ErrorDetail::new(error))
}
