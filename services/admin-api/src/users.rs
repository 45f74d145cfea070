//! `/api/admin/users`: lists, makes, changes and deletes users, and ends their sessions.

use axum::{
    Json,
    extract::{
        Path, Query, State,
        rejection::{PathRejection, QueryRejection},
    },
    response::{IntoResponse as _, Response},
};
use http::StatusCode;
use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize, de::IgnoredAny};
use tokio::task::spawn_blocking;
use utoipa::{OpenApi, ToSchema};
use ziggurat_accounts::{
    LoginError, NewUser, PasswordError, UserChanges, UserError, UserFile, UserRecord,
};
use ziggurat_http::{ErrorAndCode, Payload};
use ziggurat_layers::sanitize::ErrorDetail;
use ziggurat_tokens::Watched as _;

use crate::{
    AdminApi, Refusal,
    administrator::{Administrator, RecentAdministrator},
    invalid, read,
};

/// OpenAPI description of this area.
#[derive(Debug, OpenApi)]
#[openapi(paths(list, create, update, remove, end_sessions))]
pub struct Description;

/// Users.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AdminUsers)]
pub(crate) struct Users {
    /// The users by name.
    users: Vec<AdminUser>,
}

/// A user, without the password.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AdminUser {
    username: String,
    /// Note of an administrator.
    note: String,
    /// Is true if the user may sign in.
    enabled: bool,
    /// Is true if the user administers the server.
    admin: bool,
    /// Databases that the user may use; empty for all.
    databases: Vec<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    created_at: Option<Timestamp>,
    /// Last sign-in, to the hour; null for none.
    #[schema(value_type = Option<String>, format = DateTime)]
    last_login: Option<Timestamp>,
    /// Failed sign-ins since the last successful one.
    failed_attempts: u64,
    /// Sessions that have not ended, at all replicas; null if their database cannot be asked.
    sessions: Option<u64>,
}

/// A user to make.
#[derive(Deserialize, ToSchema)]
#[schema(as = NewAdminUser)]
struct NewUserRequest {
    #[schema(value_type = String, min_length = 1)]
    username: Option<String>,
    /// Password; without one, a random password is made and shown in the answer.
    #[schema(format = Password)]
    password: Option<String>,
    /// Note about the user.
    note: Option<String>,
    /// Databases that the user may use; absent or empty for all.
    databases: Option<Vec<String>>,
    /// Refused.
    #[schema(ignore)]
    admin: Option<IgnoredAny>,
}

/// Changes of a user. What is absent stays.
#[derive(Deserialize, ToSchema)]
#[schema(as = AdminUserChanges)]
struct ChangesRequest {
    #[schema(format = Password)]
    password: Option<String>,
    /// Note about the user; an empty one removes it.
    note: Option<String>,
    /// Enabling clears failed sign-ins; disabling ends the sessions.
    enabled: Option<bool>,
    /// Databases that the user may use; empty for all.
    databases: Option<Vec<String>>,
    /// Refused.
    #[schema(ignore)]
    admin: Option<IgnoredAny>,
}

/// Options of a deletion.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct DeleteQuery {
    keep_state: bool,
}

/// A new user.
#[derive(Serialize, ToSchema)]
struct CreatedAdminUser {
    user: AdminUser,
    /// The password that was made; null if the request had one. It is in this answer and nowhere
    /// else.
    #[schema(format = Password)]
    password: Option<String>,
}

// === impl AdminApi ===

impl AdminApi {
    /// Opens the user file with the rules for changes over HTTP.
    fn user_file(&self) -> UserFile {
        UserFile::new(&self.0.user_file)
            .with_min_length(self.0.min_password_length)
            .with_administrator_kept()
    }

    /// Changes the user file, and applies the change to the sessions before it returns.
    async fn change_users<T: Send + 'static>(
        &self,
        change: impl FnOnce(&UserFile) -> Result<T, UserError> + Send + 'static,
    ) -> Result<T, Refusal> {
        // One at a time: hashing a password uses a core for some tenths of a second.
        let _turn = self.0.user_changes.lock().await;
        let (file, accounts) = (self.user_file(), self.0.accounts.clone());
        let changed = spawn_blocking(move || {
            let changed = change(&file);
            accounts.reload();
            changed
        });
        changed.await.map_err(unwritten)?.map_err(refused)
    }

    /// Returns the records of the user file.
    pub(crate) async fn records(&self) -> Result<Vec<UserRecord>, Refusal> {
        let file = self.user_file();
        let records = spawn_blocking(move || file.list()).await;
        records.map_err(unreadable)?.map_err(unreadable)
    }

    /// Returns the users by name.
    async fn users(&self) -> Result<Vec<AdminUser>, Refusal> {
        let records = self.records().await?;
        // Without the database that replicas share, the rest can still be shown.
        let counts = self.0.accounts.session_counts().await.ok();
        let locked = self.0.accounts.locked().await.unwrap_or_default();
        let shown = records.into_iter().map(|record| {
            let sessions = counts.as_ref();
            let sessions = sessions.map(|it| it.get(&record.name).copied().unwrap_or_default());
            let is_enabled = record.is_enabled && !locked.contains(&record);
            AdminUser::new(record, is_enabled, sessions)
        });
        Ok(shown.collect())
    }

    async fn user(&self, name: &str) -> Result<AdminUser, Refusal> {
        let mut users = self.users().await?.into_iter();
        let found = users.find(|user| user.username == name);
        found.ok_or_else(|| refused(UserError::NotFound(name.to_owned())))
    }

    fn check_databases(&self, names: Option<&[String]>) -> Result<(), Refusal> {
        let mut names = names.unwrap_or_default().iter();
        names.try_for_each(|name| self.check_database(name))
    }
}

// === impl AdminUser ===

impl AdminUser {
    fn new(record: UserRecord, enabled: bool, sessions: Option<u64>) -> Self {
        Self {
            username: record.name,
            note: record.note,
            enabled,
            admin: record.is_admin,
            databases: record.databases,
            created_at: record.created_at,
            last_login: record.last_login,
            failed_attempts: record.failed_attempts,
            sessions,
        }
    }
}

/// Lists the users
#[utoipa::path(get, path = "/api/admin/users", tag = "Administration",
    operation_id = "admin_list_users",
    responses(
        (status = 200, description = "The users, without their passwords", body = Users),
        (status = 403, description = "`not_admin`: for administrators only"),
        (status = 404, description = "The server needs no sign-in"),
    ),
)]
pub(crate) async fn list(
    _: Administrator,
    State(api): State<AdminApi>,
) -> Result<Json<Users>, Refusal> {
    let users = api.users().await?;
    Ok(Json(Users { users }))
}

/// Makes a user
///
/// Administrators are made with the command `-add-user -user-admin` only.
#[utoipa::path(post, path = "/api/admin/users", tag = "Administration",
    operation_id = "admin_create_user", request_body = NewUserRequest,
    responses(
        (status = 201, description = "The user, and the password if it was made",
            body = CreatedAdminUser),
        (status = 400, description = "`bad_request`, `bad_password`, `unknown_database`, \
            `not_here`: the request has the member `admin`"),
        (status = 403, description = "`not_admin`: for administrators only; `sign_in_again`: the \
            sign-in is older than 15 minutes"),
        (status = 404, description = "The server needs no sign-in"),
        (status = 409, description = "`exists`: the name is taken"),
    ),
)]
pub(crate) async fn create(
    _: RecentAdministrator,
    State(api): State<AdminApi>,
    payload: Payload<ErrorAndCode>,
) -> Result<Response, Refusal> {
    let request: NewUserRequest = read(&payload)?;
    check_admin(request.admin)?;
    api.check_databases(request.databases.as_deref())?;
    let name = request.username.unwrap_or_default();
    if name.is_empty() {
        return Err(refused(UserError::NoName));
    }
    let (given, note) = (request.password, request.note.unwrap_or_default());
    let databases = request.databases.unwrap_or_default();
    let username = name.clone();
    let made = api.change_users(move |file| {
        let made = given.is_none().then(|| file.make_password()).transpose()?;
        let password = match (given, &made) {
            (Some(given), _) => SecretString::from(given),
            (None, Some(made)) => made.clone(),
            (None, None) => return Err(PasswordError::Missing.into()),
        };
        let new = NewUser {
            note: &note,
            databases: &databases,
            ..NewUser::new(&username, &password)
        };
        file.add(new, Timestamp::now()).map(|()| made)
    });
    let made = made.await?;
    let created = CreatedAdminUser {
        user: api.user(&name).await?,
        password: made.map(|made| made.expose_secret().to_owned()),
    };
    Ok((StatusCode::CREATED, Json(created)).into_response())
}

/// Changes a user
///
/// The sessions of a user who is disabled end within 100 ms.
#[utoipa::path(patch, path = "/api/admin/users/{username}", tag = "Administration",
    operation_id = "admin_update_user", request_body = ChangesRequest,
    params(("username" = String, Path, description = "The name of the user")),
    responses(
        (status = 200, description = "The user after the change", body = AdminUser),
        (status = 400, description = "`bad_request`, `bad_password`, `unknown_database`, \
            `not_here`: the request has the member `admin`"),
        (status = 403, description = "`not_admin`: for administrators only; `sign_in_again`: the \
            sign-in is older than 15 minutes"),
        (status = 404, description = "`not_found`: there is no such user"),
        (status = 409, description = "`last_admin`: no enabled administrator would be left"),
    ),
)]
pub(crate) async fn update(
    _: RecentAdministrator,
    State(api): State<AdminApi>,
    name: Result<Path<String>, PathRejection>,
    payload: Payload<ErrorAndCode>,
) -> Result<Json<AdminUser>, Refusal> {
    let name = named(name)?;
    let request: ChangesRequest = read(&payload)?;
    check_admin(request.admin)?;
    api.check_databases(request.databases.as_deref())?;
    let (is_enabled, username) = (request.enabled, name.clone());
    let changed = api.change_users(move |file| {
        let password = request.password.map(SecretString::from);
        let changes = UserChanges {
            password: password.as_ref(),
            note: request.note.as_deref(),
            is_enabled,
            databases: request.databases.as_deref(),
            ..UserChanges::default()
        };
        file.update(&username, &changes)
    });
    changed.await?;
    match is_enabled {
        Some(true) => api.0.accounts.unlock(&name).await.map_err(unreachable)?,
        Some(false) => api.0.accounts.log_out_user(&name).await.map_err(unended)?,
        None => {}
    }
    Ok(Json(api.user(&name).await?))
}

/// Deletes a user
///
/// The sessions of the user end within 100 ms. Its conversations and its items of the library are
/// deleted, unless the query has `keep_state=true`.
#[utoipa::path(delete, path = "/api/admin/users/{username}", tag = "Administration",
    operation_id = "admin_delete_user",
    params(
        ("username" = String, Path, description = "The name of the user"),
        ("keep_state" = Option<bool>, Query,
            description = "`true` to keep conversations and items of the library"),
    ),
    responses(
        (status = 204, description = "The user is deleted"),
        (status = 400, description = "`bad_request`: `keep_state` is neither true nor false"),
        (status = 403, description = "`not_admin`: for administrators only; `sign_in_again`: the \
            sign-in is older than 15 minutes"),
        (status = 404, description = "`not_found`: there is no such user"),
        (status = 409, description = "`last_admin`: no enabled administrator would be left"),
    ),
)]
pub(crate) async fn remove(
    _: RecentAdministrator,
    State(api): State<AdminApi>,
    name: Result<Path<String>, PathRejection>,
    query: Result<Query<DeleteQuery>, QueryRejection>,
) -> Result<StatusCode, Refusal> {
    let name = named(name)?;
    let message = "keep_state is neither true nor false";
    let Query(DeleteQuery { keep_state }) = query.map_err(|_| invalid("bad_request", message))?;
    let username = name.clone();
    let deleted = api.change_users(move |file| file.delete(&username)).await?;
    api.0.accounts.log_out_user(&name).await.map_err(unended)?;
    if let (Some(conversations), false) = (&api.0.conversations, keep_state) {
        let state = conversations.delete_account(&deleted.id).await;
        state.map_err(|error| {
            let message = "The user is deleted, but conversations and library are not";
            Refusal::fault(message, ErrorDetail::new(error))
        })?;
    }
    Ok(StatusCode::NO_CONTENT)
}

/// Ends the sessions of a user
///
/// They end within 100 ms, the ones of the console and of the browser sign-in too. All grants of the
/// user end with them.
#[utoipa::path(delete, path = "/api/admin/users/{username}/sessions", tag = "Administration",
    operation_id = "admin_end_sessions",
    params(("username" = String, Path, description = "The name of the user")),
    responses(
        (status = 204, description = "The sessions have ended"),
        (status = 403, description = "`not_admin`: for administrators only; `sign_in_again`: the \
            sign-in is older than 15 minutes"),
        (status = 404, description = "`not_found`: there is no such user"),
    ),
)]
pub(crate) async fn end_sessions(
    _: RecentAdministrator,
    State(api): State<AdminApi>,
    name: Result<Path<String>, PathRejection>,
) -> Result<StatusCode, Refusal> {
    let name = named(name)?;
    api.user(&name).await?;
    api.end_sign_ins(&name).await?;
    api.0.accounts.log_out_user(&name).await.map_err(unended)?;
    Ok(StatusCode::NO_CONTENT)
}

fn named(path: Result<Path<String>, PathRejection>) -> Result<String, Refusal> {
    path.map(|Path(name)| name)
        .map_err(|_| Refusal::not_found())
}

/// Refuses a request to make an administrator or to take the rights away: only those who have the
/// files of the server can do that.
fn check_admin(admin: Option<IgnoredAny>) -> Result<(), Refusal> {
    let message = "Administrators are made with the command -update-user -user-admin only";
    admin.map_or(Ok(()), |_| Err(invalid("not_here", message)))
}

fn refused(error: UserError) -> Refusal {
    let (status, code) = match &error {
        UserError::NoName | UserError::BadName(_) => (StatusCode::BAD_REQUEST, "bad_request"),
        UserError::Exists(_) => (StatusCode::CONFLICT, "exists"),
        UserError::NotFound(_) => (StatusCode::NOT_FOUND, "not_found"),
        UserError::LastAdministrator(_) => (StatusCode::CONFLICT, "last_admin"),
        UserError::Password(PasswordError::Random(_)) => return unwritten(error),
        UserError::Password(_) => (StatusCode::BAD_REQUEST, "bad_password"),
        _ => return unwritten(error),
    };
    Refusal::new(status, code, error.to_string())
}

fn unreadable(error: impl std::error::Error + Send + Sync + 'static) -> Refusal {
    Refusal::fault("The user file cannot be read", ErrorDetail::new(error))
}

fn unwritten(error: impl std::error::Error + Send + Sync + 'static) -> Refusal {
    Refusal::fault("The user file cannot be written", ErrorDetail::new(error))
}

fn unreachable(error: impl std::error::Error + Send + Sync + 'static) -> Refusal {
    let message =
        "The user is changed, but the state that replicas share cannot be reached: try again";
    Refusal::fault(message, ErrorDetail::new(error))
}

fn unended(error: LoginError) -> Refusal {
    let message = "The sessions could not be ended: try again";
    Refusal::fault(message, ErrorDetail::new(error))
}
