//! `/api/library`: stored queries and prompts of users.
//!
//! An item belongs to a user who has logged in. Other users read it if it is shared and they may use
//! its database; only its owner and administrators change it. Programs have no access.

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
    routing::{get, put},
};
use http::StatusCode;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, OpenApi, ToSchema};
use ziggurat_databases::{Databases, SelectError};
use ziggurat_http::{ErrorAndCode, Payload};
use ziggurat_layers::sanitize::ErrorDetail;
use ziggurat_state::{Filter, Item, ItemContent, ItemKind, Library, Reader, StoreError, Words};
use ziggurat_tokens::Identity;

use crate::{Caller, page::page};

/// Maximum length of a query or a prompt, in bytes.
const MAX_TEXT: usize = 100 << 10;

/// Maximum length of a title, in characters.
const MAX_TITLE: usize = 200;

/// Maximum number of tags of an item.
const MAX_TAGS: usize = 16;

/// Maximum length of a tag, in characters.
const MAX_TAG: usize = 64;

/// Refusal of a request.
type Refusal = ziggurat_http::Refusal<ErrorAndCode>;

/// OpenAPI description of this area.
#[derive(Debug, OpenApi)]
#[openapi(paths(list, create, replace, delete))]
pub struct Description;

/// State of the endpoints. Clones share it.
#[derive(Clone, Debug)]
struct LibraryApi {
    library: Library,
    databases: Databases,
}

/// Items to list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// Kind of the items: `query` or `prompt`; without, both are listed.
    #[param(pattern = "^(query|prompt)$")]
    kind: Option<String>,
    /// Words that the titles or texts must have; without any, all items are listed.
    q: Option<String>,
    /// Maximum number of items: 50 unless this is a number from 1 to 100.
    limit: Option<String>,
    /// Number of items to skip: none unless this is a number.
    offset: Option<String>,
}

/// Page of the list of items.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LibraryItems)]
struct Items {
    /// Items, with the last changed ones first.
    items: Vec<Item>,
}

/// An item to store.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = NewLibraryItem)]
struct ItemRequest {
    kind: ItemKind,
    /// At most 200 characters; spaces around it are removed.
    #[schema(min_length = 1, max_length = 200)]
    title: String,
    /// The query or the prompt, of at most 100 KiB.
    #[schema(max_length = 102_400)]
    text: String,
    /// Name of the database that the item is for.
    database: Option<String>,
    /// Short texts of the user.
    #[schema(max_items = 16)]
    tags: Option<Vec<String>>,
    /// True to let other users read the item who may use its database.
    shared: Option<bool>,
}

/// New content of an item.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = LibraryItemChange)]
struct ChangeRequest {
    /// Version of the item that is replaced.
    #[schema(minimum = 1)]
    version: i64,
    #[serde(flatten)]
    item: ItemRequest,
}

/// Returns the routes of this area. Their responses should not be stored by caches.
pub fn routes(library: Library, databases: Databases) -> Router {
    Router::new()
        .route("/api/library", get(list).post(create))
        .route("/api/library/{id}", put(replace).delete(delete))
        .with_state(LibraryApi { library, databases })
}

/// Lists queries and prompts of the user, and those that others share
#[utoipa::path(get, path = "/api/library", tag = "Library", operation_id = "list_library",
    params(ListQuery),
    responses(
        (status = 200, description = "A page of the list", body = Items),
        (status = 400, description = "`bad_request`: there is no such kind"),
        (status = 403, description = "`users_only`: API tokens and clients have no library"),
        (status = 404, description = "The server stores no library"),
    ),
)]
async fn list(
    State(api): State<LibraryApi>,
    caller: Caller,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Result<Json<Items>, Refusal> {
    let reader = api.reader(&caller)?;
    let Query(query) = query.map_err(|_| no_such_kind())?;
    let named = |kind: &String| ItemKind::named(kind).ok_or_else(no_such_kind);
    let filter = Filter {
        kind: query.kind.as_ref().map(named).transpose()?,
        words: query.q.as_deref().and_then(Words::of),
    };
    let page = page(query.limit.as_deref(), query.offset.as_deref());
    let items = api.library.list(&reader, &filter, page).await;
    let items = items.map_err(failed("list the library"))?;
    Ok(Json(Items { items }))
}

/// Stores a query or a prompt
#[utoipa::path(post, path = "/api/library", tag = "Library", operation_id = "create_library_item",
    request_body = ItemRequest,
    responses(
        (status = 201, description = "The item is stored", body = Item),
        (status = 400, description = "`bad_request`: the item is invalid"),
        (status = 403, description = "`users_only`: API tokens and clients have no library"),
        (status = 404, description = "`not_found`: the user has no such database"),
        (status = 409, description = "`full`: the user has 1,000 items"),
    ),
)]
async fn create(
    State(api): State<LibraryApi>,
    caller: Caller,
    payload: Payload<ErrorAndCode>,
) -> Result<(StatusCode, Json<Item>), Refusal> {
    let Reader { account, .. } = api.reader(&caller)?;
    let content = parsed::<ItemRequest>(&payload)?.into_content()?;
    api.check_database(&caller, content.database.as_deref())?;
    let failed = failed("store the item");
    let name = caller.user().unwrap_or_default();
    let item = Item {
        account: account.to_owned(),
        ..content.into_item(name, Timestamp::now()).map_err(failed)?
    };
    if api.library.create(&item).await.map_err(failed)? {
        return Ok((StatusCode::CREATED, Json(item)));
    }
    let message = "Your library is full: delete some of its 1,000 items first";
    Err(Refusal::new(StatusCode::CONFLICT, "full", message))
}

/// Replaces a query or a prompt
#[utoipa::path(put, path = "/api/library/{id}", tag = "Library",
    operation_id = "replace_library_item",
    params(("id" = String, Path, description = "The id that the server assigned")),
    request_body = ChangeRequest,
    responses(
        (status = 200, description = "The new version", body = Item),
        (status = 400, description = "`bad_request`: the item is invalid"),
        (status = 403, description = "`users_only`: API tokens and clients have no library; \
            `not_owner`: only the owner and administrators change the item"),
        (status = 404, description = "`not_found`: the user can read no item of this id, or has no \
            such database"),
        (status = 409, description = "`changed`: the item has another version by now"),
    ),
)]
async fn replace(
    State(api): State<LibraryApi>,
    caller: Caller,
    id: Result<Path<String>, PathRejection>,
    payload: Payload<ErrorAndCode>,
) -> Result<Json<Item>, Refusal> {
    let old = api.item_to_change(&caller, id).await?;
    let ChangeRequest { version, item } = parsed(&payload)?;
    let content = item.into_content()?;
    if content.database != old.database {
        api.check_database(&caller, content.database.as_deref())?;
    }
    if version != old.version {
        return Err(changed());
    }
    let replaced = api.library.replace(&old, content, Timestamp::now()).await;
    let replaced = replaced.map_err(failed("change the item"))?;
    replaced.map(Json).ok_or_else(changed)
}

/// Deletes a query or a prompt
#[utoipa::path(delete, path = "/api/library/{id}", tag = "Library",
    operation_id = "delete_library_item",
    params(("id" = String, Path, description = "The id that the server assigned")),
    responses(
        (status = 204, description = "The item is deleted"),
        (status = 403, description = "`users_only`: API tokens and clients have no library; \
            `not_owner`: only the owner and administrators delete the item"),
        (status = 404, description = "`not_found`: the user can read no item of this id"),
    ),
)]
async fn delete(
    State(api): State<LibraryApi>,
    caller: Caller,
    id: Result<Path<String>, PathRejection>,
) -> Result<StatusCode, Refusal> {
    let item = api.item_to_change(&caller, id).await?;
    let deleted = api.library.delete(&item.id).await;
    if deleted.map_err(failed("delete the item"))? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(absent())
    }
}

// === impl LibraryApi ===

impl LibraryApi {
    /// Returns the user that calls.
    fn reader<'a>(&self, caller: &'a Caller) -> Result<Reader<'a>, Refusal> {
        let account = caller.account().ok_or_else(|| {
            let message = "Only users who sign in have a library";
            Refusal::new(StatusCode::FORBIDDEN, "users_only", message)
        })?;
        let databases = self.databases.visible(caller.identity());
        let databases = databases.iter();
        let databases = databases.map(|it| it.database().name().to_owned());
        let databases = databases.collect();
        Ok(Reader { account, databases })
    }

    /// Checks that the caller may use the database of an item.
    fn check_database(&self, caller: &Caller, name: Option<&str>) -> Result<(), Refusal> {
        let Some(name) = name else {
            return Ok(());
        };
        let checked = self.databases.check(caller.identity(), name);
        // As if a database of others did not exist: its name tells something too.
        checked.map_err(|_| {
            let message = SelectError::NotFound.to_string();
            Refusal::new(StatusCode::NOT_FOUND, "not_found", message)
        })
    }

    /// Returns the item of an id, if the caller may change it.
    async fn item_to_change(
        &self,
        caller: &Caller,
        id: Result<Path<String>, PathRejection>,
    ) -> Result<Item, Refusal> {
        let reader = self.reader(caller)?;
        let Path(id) = id.map_err(|_| absent())?;
        let found = self.library.find(&reader, &id).await;
        let found = found.map_err(failed("read the item"))?;
        let item = found.ok_or_else(absent)?;
        if item.account == reader.account || caller.identity().is_some_and(Identity::is_admin) {
            return Ok(item);
        }
        let message = "Only its owner and administrators may change this item";
        Err(Refusal::new(StatusCode::FORBIDDEN, "not_owner", message))
    }
}

// === impl ItemRequest ===

impl ItemRequest {
    fn into_content(self) -> Result<ItemContent, Refusal> {
        let title = self.title.trim();
        let tags = self.tags.unwrap_or_default();
        let problem = if title.is_empty() {
            "The title is empty"
        } else if is_longer(title, MAX_TITLE) {
            "The title has more than 200 characters"
        } else if self.text.len() > MAX_TEXT {
            "The text has more than 100 KiB"
        } else if tags.len() > MAX_TAGS {
            "There are more than 16 tags"
        } else if tags.iter().any(|tag| is_longer(tag, MAX_TAG)) {
            "A tag has more than 64 characters"
        } else {
            let title = title.to_owned();
            return Ok(ItemContent {
                kind: self.kind,
                title,
                text: self.text,
                database: self.database.filter(|name| !name.is_empty()),
                tags,
                shared: self.shared.unwrap_or(false),
            });
        };
        Err(bad_request(problem.to_owned()))
    }
}

fn is_longer(text: &str, max: usize) -> bool {
    text.chars().nth(max).is_some()
}

fn parsed<'a, T: Deserialize<'a>>(payload: &'a Payload<ErrorAndCode>) -> Result<T, Refusal> {
    let parsed = payload.object();
    parsed.map_err(|error| bad_request(format!("Invalid request body: {error}")))
}

fn bad_request(message: String) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, "bad_request", message)
}

fn no_such_kind() -> Refusal {
    bad_request("The kind is query or prompt".to_owned())
}

fn absent() -> Refusal {
    Refusal::new(StatusCode::NOT_FOUND, "not_found", "Item not found")
}

fn changed() -> Refusal {
    let message = "The item was changed in the meantime: read it again";
    Refusal::new(StatusCode::CONFLICT, "changed", message)
}

fn failed(what: &'static str) -> impl Fn(StoreError) -> Refusal + Copy {
    move |error| Refusal::fault(format!("Failed to {what}"), ErrorDetail::new(error))
}
