//! Fake tools and resources.

use std::{future::pending, io};

use futures_util::{StreamExt as _, stream};
use http::{HeaderValue, StatusCode, header};
use serde::Deserialize;

use crate::{
    Caller, Error, Failure, Lenient, PromptArgument, PromptArguments, PromptDescriptor,
    PromptHandler, Property, ReadError, Rendered, Reported, ResourceDescriptor, ResourceHandler,
    Schema, Text, ToolDescriptor, ToolHandler, ToolRequest, ToolResult, Unavailable, Visibility,
};

/// Returns its arguments, as they were written.
pub(super) struct Says;

/// Returns the identity of its caller.
pub(super) struct Who;

/// Fails in the way its arguments name; not listed.
pub(super) struct Fails;

/// Streams its pieces, and then may fail or never end; not listed.
pub(super) struct Pieces;

/// Always has the same message.
pub(super) struct Recites;

/// The identity that a layer would store.
#[derive(Clone)]
pub(super) struct Name(pub(super) &'static str);

/// A resource with a fixed outcome.
pub(super) struct Static {
    uri: &'static str,
    outcome: Outcome,
}

enum Outcome {
    Text(&'static str),
    Unavailable,
    Failed,
}

pub(super) fn a_failure() -> Failure {
    Failure::new("no luck").with_source(io::Error::other("disk 7 is on fire, password=hunter2"))
}

// === impl Says ===

impl ToolHandler for Says {
    fn describe(&self) -> ToolDescriptor {
        let schema = Schema::new().with_required("words", Property::string("What to say."));
        ToolDescriptor::new("says", "Says its arguments.", schema)
    }

    async fn call(&self, request: ToolRequest) -> Result<ToolResult, Error> {
        Ok(ToolResult::text(request.raw_arguments()))
    }
}

// === impl Who ===

impl ToolHandler for Who {
    fn describe(&self) -> ToolDescriptor {
        ToolDescriptor::new("a-who", "Says who is calling.", Schema::new())
    }

    async fn call(&self, request: ToolRequest) -> Result<ToolResult, Error> {
        let name = request.caller().extension().map(|Name(name)| *name);
        let address = request.caller().client_ip();
        Ok(ToolResult::text(format!("{name:?} {address:?}")))
    }
}

// === impl Fails ===

impl ToolHandler for Fails {
    fn describe(&self) -> ToolDescriptor {
        ToolDescriptor::new("fails", "Fails.", Schema::new()).with_visibility(Visibility::Nowhere)
    }

    async fn call(&self, request: ToolRequest) -> Result<ToolResult, Error> {
        #[derive(Deserialize)]
        struct Arguments {
            how: String,
        }

        let arguments: Arguments = request.arguments()?;
        Err(match &*arguments.how {
            "in words" => Reported::new("the \"moon\"\nis full").into(),
            "not ready" => Error::NotReady,
            "in a panic" => panic!("of a test"),
            "login" => Failure::new("too many attempts")
                .with_status(StatusCode::TOO_MANY_REQUESTS)
                .with_header(header::RETRY_AFTER, HeaderValue::from(60))
                .with_auth_failed()
                .into(),
            _ => a_failure().into(),
        })
    }
}

// === impl Pieces ===

impl ToolHandler for Pieces {
    fn describe(&self) -> ToolDescriptor {
        ToolDescriptor::new("pieces", "Streams.", Schema::new())
            .with_visibility(Visibility::Nowhere)
    }

    async fn call(&self, request: ToolRequest) -> Result<ToolResult, Error> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Arguments {
            pieces: Lenient<Vec<String>>,
            problem: Lenient<String>,
            stuck: bool,
        }

        let arguments: Arguments = request.arguments()?;
        if arguments.stuck && arguments.pieces.0.is_none() {
            return pending().await;
        }
        let pieces = arguments.pieces.0.unwrap_or_default().into_iter();
        let pieces = pieces.map(|piece| Ok(Text::from(&*piece)));
        let problem = arguments
            .problem
            .0
            .map(|problem| Err(Reported::new(problem)));
        let pieces = stream::iter(pieces.chain(problem));
        if arguments.stuck {
            return Ok(ToolResult::stream(pieces.chain(stream::pending())));
        }
        Ok(ToolResult::stream(pieces))
    }
}

// === impl Recites ===

impl PromptHandler for Recites {
    fn describe(&self) -> PromptDescriptor {
        let loudly = PromptArgument::optional("loudly", "In capitals.").boolean();
        PromptDescriptor::new("recites", "Recites.").with_argument(loudly)
    }

    fn render(&self, _: &PromptArguments) -> Rendered {
        Rendered::new("A poem").with_user_text("Roses are red.")
    }
}

// === impl Static ===

impl Static {
    pub(super) fn text(uri: &'static str, text: &'static str) -> Self {
        let outcome = Outcome::Text(text);
        Self { uri, outcome }
    }

    pub(super) fn unavailable(uri: &'static str) -> Self {
        let outcome = Outcome::Unavailable;
        Self { uri, outcome }
    }

    pub(super) fn failing(uri: &'static str) -> Self {
        let outcome = Outcome::Failed;
        Self { uri, outcome }
    }
}

impl ResourceHandler for Static {
    fn describe(&self) -> ResourceDescriptor {
        ResourceDescriptor::new(self.uri, "Static", "Always the same.").with_mime_type("text/plain")
    }

    async fn read(&self, _: Caller) -> Result<String, ReadError> {
        match self.outcome {
            Outcome::Text(text) => Ok(text.to_owned()),
            Outcome::Unavailable => {
                let message = "the database is still being prepared";
                Err(Unavailable::new("DATABASE_NOT_READY", message)
                    .retryable()
                    .into())
            }
            Outcome::Failed => Err(a_failure().into()),
        }
    }
}
