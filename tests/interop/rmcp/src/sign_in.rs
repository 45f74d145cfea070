//! A client that gets nothing but an address: a person signs in for it.

use std::{env, fs, path::PathBuf, time::Duration};

use anyhow::{Context as _, Result, bail, ensure};
use rmcp::{
    ClientLifecycleMode, ClientServiceExt as _, ServiceError,
    model::{CallToolRequestParams, ProtocolVersion},
    transport::{
        AuthClient, AuthorizationManager, StreamableHttpClientTransport,
        auth::{AuthorizationCallback, AuthorizationRequest, OAuthState},
        streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpError},
    },
};
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpListener,
    time::timeout,
};

use crate::target::Client;

const PATIENCE: Duration = Duration::from_mins(1);

const QUERY: &str = "SELECT name FROM ware WHERE id = 1";

/// A change, for which the server sends a client that may only read back to the person.
const CHANGE: &str = "UPDATE ware SET price = price RETURNING name";

/// The address that the browser returns to.
struct Callback {
    listener: TcpListener,
    redirect: String,
}

/// Signs in, works on while tokens expire, and asks for more.
pub(crate) async fn run(url: &str) -> Result<()> {
    let callback = Callback::listen().await?;
    let client = AuthClient::new(reqwest::Client::new(), sign_in(url, &callback).await?);
    let manager = client.auth_manager.clone();
    let config = StreamableHttpClientTransportConfig::with_uri(url);
    let transport = StreamableHttpClientTransport::with_client(client, config);
    let mode = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: None,
    };
    let mut client = ().serve_with_lifecycle(transport, mode).await?;
    call(&client, QUERY).await?;
    for expiry in 1..=3 {
        let before = manager.lock().await.get_access_token().await?;
        move_clock(expiry)?;
        call(&client, QUERY).await?;
        let after = manager.lock().await.get_access_token().await?;
        ensure!(after != before, "the token is the expired one");
    }
    let scope = match call(&client, CHANGE).await {
        Err(error) => missing_scope(&error).with_context(|| format!("{error:?}"))?,
        Ok(()) => bail!("a client that may only read changed something"),
    };
    let manager = manager.lock().await;
    let address = manager.request_scope_upgrade(&scope).await?;
    callback.exchange(&manager, &address).await?;
    drop(manager);
    call(&client, CHANGE).await?;
    client.close().await?;
    Ok(())
}

/// Finds the way from the address, and has a person sign in.
async fn sign_in(url: &str, callback: &Callback) -> Result<AuthorizationManager> {
    let mut state = OAuthState::new(url, None).await?;
    let mut request = AuthorizationRequest::new(&callback.redirect)
        .with_client_name(env::var("INTEROP_CLIENT")?)
        .with_initial_scope_selection();
    if let Ok(document) = env::var("INTEROP_DOCUMENT") {
        request = request.with_client_metadata_url(document);
    }
    state.start_authorization(request).await?;
    let OAuthState::Session(session) = state else {
        bail!("no authorization has started");
    };
    let address = session.get_authorization_url();
    callback.exchange(&session.auth_manager, address).await?;
    Ok(session.auth_manager)
}

/// Moves the clock of this program and of the server behind the end of all tokens so far.
fn move_clock(expiry: u32) -> Result<()> {
    let clock = PathBuf::from(env::var("FAKETIME_TIMESTAMP_FILE")?);
    let next = clock.with_extension("next");
    fs::write(&next, format!("+{}", expiry * 360))?;
    Ok(fs::rename(next, clock)?)
}

async fn call(client: &Client, query: &str) -> Result<()> {
    let arguments = json!({ "query": query });
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    let params = CallToolRequestParams::new("query_database").with_arguments(arguments);
    let result = client.call_tool(params).await?;
    let text = result.content.first().and_then(|block| block.as_text());
    let is_expected = text.is_some_and(|text| text.text.contains("kettle"));
    ensure!(is_expected, "{query}: {result:?}");
    Ok(())
}

/// Returns the scope that the server demands.
fn missing_scope(error: &anyhow::Error) -> Option<String> {
    let Some(ServiceError::TransportSend(error)) = error.downcast_ref() else {
        return None;
    };
    match error.error.downcast_ref()? {
        StreamableHttpError::<reqwest::Error>::InsufficientScope(error) => {
            error.get_required_scope().map(str::to_owned)
        }
        _ => None,
    }
}

// === impl Callback ===

impl Callback {
    async fn listen() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let redirect = format!("http://localhost:{port}/callback");
        Ok(Self { listener, redirect })
    }

    /// Opens an address in the browser, and exchanges the code with which the browser returns.
    async fn exchange(&self, manager: &AuthorizationManager, address: &str) -> Result<()> {
        let browser = reqwest::Client::new().post(env::var("INTEROP_BROWSER")?);
        let opened = browser.body(address.to_owned()).send();
        opened.await?.error_for_status()?;
        let returned = timeout(PATIENCE, self.returned()).await??;
        let returned = AuthorizationCallback::from_redirect_url(&returned)?;
        let (code, state) = (&returned.code, &returned.csrf_token);
        let exchanged =
            manager.exchange_code_for_token_with_issuer(code, state, returned.issuer.as_deref());
        exchanged.await?;
        Ok(())
    }

    /// Waits for the browser, and returns the address that it came to.
    async fn returned(&self) -> Result<String> {
        loop {
            let (stream, _) = self.listener.accept().await?;
            let mut stream = BufReader::new(stream);
            let mut line = String::new();
            stream.read_line(&mut line).await?;
            let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
            while stream.read_line(&mut line).await? > 2 {}
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nDone.";
            stream.write_all(answer.as_bytes()).await?;
            stream.shutdown().await?;
            if path.starts_with("/callback?") {
                return Ok(format!("http://localhost{path}"));
            }
        }
    }
}
