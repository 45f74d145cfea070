//! The methods of negotiated revisions.

use std::{mem, sync::Arc};

use serde::Serialize;
use ziggurat_layers::json_rpc::{Call, Reply};

use crate::{
    Caller, Inputs, PromptArguments, ResultBody, Shared, State, ToolRequest,
    elicit::StateScope,
    encode::{Encoder, Pages},
    heartbeat::Heartbeat,
    params::{self, Named, Subject, Unfinished, invalid},
    protocol::{Carrier, Context, Revision},
    record::{Outcome, Record},
    template::Places,
    tool::{Found, headers},
    wire::{self, Fault},
};

/// Limit on completions for a client.
const MAX_PROPOSALS: usize = 100;

impl Shared {
    /// Answers a call in the revision that the client chose.
    pub(super) fn negotiated(&self, revision: Revision, call: Call) -> Result<State, Fault> {
        if call.is_notification() {
            return Ok(State::result(wire::nothing()));
        }
        let face = self.faces.of(revision);
        let is_modern = revision.is_modern();
        match call.method() {
            "initialize" if !is_modern => {
                params::check_initialize(&call)?;
                Ok(State::result(face.opening.clone()))
            }
            "ping" if !is_modern => Ok(State::result(wire::nothing())),
            "server/discover" if is_modern => Ok(State::result(face.opening.clone())),
            "tools/list" => {
                let may_write = self.write_access.may_write(&call);
                page(face.tools(may_write), &call)
            }
            "tools/call" => self.call_tool_in(face, call),
            "resources/list" => page(&face.resources, &call),
            "resources/templates/list" => page(&face.resource_templates, &call),
            "resources/read" => self.read_any(call),
            "prompts/list" => page(&face.prompts, &call),
            "prompts/get" => self.get_prompt_in(face, &call),
            "completion/complete" if revision >= Revision::V2025_03_26 => self.complete(face, call),
            _ => Err(Fault::UnknownMethod),
        }
    }

    fn call_tool_in(&self, face: &Encoder, mut call: Call) -> Result<State, Fault> {
        let mut named = Named::of(&call)?;
        let name = mem::take(&mut named.name);
        let tools = &self.room.tools;
        if let Some(schema) = tools.schema(&name)
            && is_modern(&call, Some(Carrier::Http))
        {
            headers::check(schema, &call, named.arguments.clone())?;
        }
        let inputs = self.inputs(&call, &named)?;
        let wants_structure = face.has_structure() && tools.has_structure(&name);
        let found = tools.find(&name);
        let record = Record::begin(name, &call);
        match found {
            Some(Found::Tool(tool)) => {
                // A disconnect cancels a call only in the modern revision, and over stdio a client
                // cannot disconnect from a single call.
                let outlives = is_on(&call, Carrier::Http) && !is_modern(&call, None);
                let unattended = self.unattended.clone().filter(|_| outlives);
                let pulse = call.head().extensions.get().and_then(Heartbeat::of);
                let caller = Caller::new(mem::take(&mut call.head_mut().extensions));
                let request = ToolRequest::new(caller, call, named.arguments);
                let request = request.with_structure(wants_structure);
                let result = tool.start(match inputs {
                    Some(inputs) => request.with_inputs(inputs, self.seal.clone()),
                    None => request,
                });
                let record = Some(record);
                Ok(State::Calling {
                    record,
                    result,
                    pulse,
                    unattended,
                })
            }
            Some(Found::Disabled) => {
                let reply = wire::disabled_tool(record.tool(), &face.ending);
                record.end(Outcome::Disabled);
                Ok(State::ready(reply))
            }
            None => {
                let name = record.tool().to_owned();
                record.end(Outcome::Unknown);
                Err(Fault::UnknownTool(name))
            }
        }
    }

    /// Returns the answers of the client, or `None` if its revision has no questions.
    fn inputs(&self, call: &Call, named: &Named) -> Result<Option<Inputs>, Fault> {
        if !is_modern(call, None) {
            return Ok(None);
        }
        let opened = match &named.state {
            Some(text) => {
                let principal = self.seal.principal(&call.head().extensions);
                let opened = self.seal.open(text, &sealed(&principal, call));
                Some(opened.ok_or_else(|| invalid("`requestState` is not the one of this call"))?)
            }
            None => None,
        };
        let responses = named.responses.clone();
        let responses = responses.and_then(|range| call.raw_params()?.get(range));
        Ok(Some(Inputs::new(responses, opened)))
    }

    fn read_any(&self, mut call: Call) -> Result<State, Fault> {
        let uri = params::uri(&call)?;
        let caller = Caller::new(mem::take(&mut call.head_mut().extensions));
        let resources = &self.room.resources;
        if let Some(contents) = resources.read(&uri, caller.clone()) {
            return Ok(State::Reading { uri, contents });
        }
        match resources.read_templated(&uri, caller) {
            Some(contents) => Ok(State::ReadingTemplated { uri, contents }),
            None => Err(Fault::UnknownResource(uri)),
        }
    }

    fn get_prompt_in(&self, face: &Encoder, call: &Call) -> Result<State, Fault> {
        let named = Named::of(call)?;
        let prompts = &self.room.prompts;
        let Some((descriptor, prompt)) = prompts.find(&named.name) else {
            return Err(Fault::UnknownPrompt(prompts.unknown(&named.name)));
        };
        let inputs = self.inputs(call, &named)?.unwrap_or_default();
        let json = named
            .arguments
            .and_then(|range| call.raw_params()?.get(range));
        let arguments = PromptArguments::read(json.unwrap_or("{}"), &descriptor.arguments)?;
        let mut declared = descriptor.arguments.iter();
        let missing = declared.find(|it| it.is_required && arguments.given(&it.name).is_none());
        if let Some(missing) = missing {
            let problem = format!("the argument `{}` is missing", missing.name);
            return Err(Fault::UnknownPrompt(problem));
        }
        let Some(ask) = prompt.ask(&arguments, &inputs) else {
            let rendered = prompt.render_with(&arguments, &inputs);
            return Ok(State::ready(wire::prompt(&rendered, &face.tail)));
        };
        let context = call.head().extensions.get::<Context>();
        let able = context.map(Context::capabilities).unwrap_or_default();
        ask.check(able).map_err(Fault::Unable)?;
        let principal = self.seal.principal(&call.head().extensions);
        let asked = ask.result(|state| self.seal.close(state, &sealed(&principal, call)));
        Ok(State::ready(face.asked(asked)))
    }

    fn complete(&self, face: &Encoder, mut call: Call) -> Result<State, Fault> {
        let Unfinished {
            subject,
            place,
            value,
            others,
        } = Unfinished::of(&call)?;
        match subject {
            Subject::Prompt { name } => {
                let prompts = &self.room.prompts;
                let proposed = prompts.complete(&name, &place, &value);
                let proposed =
                    proposed.ok_or_else(|| Fault::UnknownPrompt(prompts.unknown(&name)))?;
                Ok(State::ready(completed(face, proposed)))
            }
            Subject::Resource { uri } => {
                let mut templates = self.room.resources.templates().iter();
                let entry = templates.find(|entry| entry.descriptor.uri.as_str() == uri);
                let entry = entry.ok_or_else(|| invalid("there is no such resource template"))?;
                if !entry.descriptor.uri.has(&place) {
                    return Err(invalid("the template has no such place").into());
                }
                let mut places = Places::from_iter(others);
                places.put(place.clone(), value);
                let caller = Caller::new(mem::take(&mut call.head_mut().extensions));
                let template = Arc::clone(&entry.template);
                Ok(State::Completing(template.propose(place, places, caller)))
            }
        }
    }
}

fn page(pages: &Pages, call: &Call) -> Result<State, Fault> {
    let cursor = params::cursor(call)?;
    Ok(State::result(pages.page(cursor.as_deref())?))
}

/// Returns whether a call is modern and, if given, came over this carrier.
fn is_modern(call: &Call, carrier: Option<Carrier>) -> bool {
    let context = call.head().extensions.get::<Context>();
    context.is_some_and(|context| {
        context.revision().is_modern() && carrier.is_none_or(|it| it == context.carrier())
    })
}

fn is_on(call: &Call, carrier: Carrier) -> bool {
    let context = call.head().extensions.get::<Context>();
    context.is_some_and(|context| context.carrier() == carrier)
}

/// Returns the scope of the state of a call.
pub(super) fn sealed<'a>(principal: &'a str, call: &'a Call) -> StateScope<'a> {
    StateScope {
        principal: principal.as_bytes(),
        method: call.method(),
        params: params::digest(call),
    }
}

/// Encodes the result of `completion/complete`.
pub(super) fn completed(face: &Encoder, mut proposed: Vec<String>) -> Reply<ResultBody> {
    #[derive(Serialize)]
    struct Completed {
        completion: Completion,
    }

    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Completion {
        values: Vec<String>,
        total: usize,
        has_more: bool,
    }

    let total = proposed.len();
    proposed.truncate(MAX_PROPOSALS);
    face.whole(&Completed {
        completion: Completion {
            has_more: total > proposed.len(),
            values: proposed,
            total,
        },
    })
}
