//! Dispatch of the methods of all revisions.

use std::sync::Arc;

use ziggurat_layers::json_rpc::Call;

use crate::{
    Caller, EntryKind, Inputs, ObservedCall, Outcome, PromptArguments, Shared, Tool, ToolRequest,
    params::{CompletionParams, Member, Params, Subject, invalid, string},
    protocol::Revision,
    record::{LogIds, Record},
    resource::template::Placeholders,
    server::{
        encode::{Encoder, Fault},
        future::CallState,
        heartbeat::Heartbeat,
    },
    tool::headers,
};

impl Shared {
    /// Shows a call to the observer.
    pub(crate) fn begin(&self, call: &Call, caller: &mut Caller) -> Option<Box<dyn ObservedCall>> {
        let observer = self.observer.as_ref().filter(|_| !call.is_notification())?;
        observer.begin(call, caller)
    }

    /// Starts to answer a call.
    pub(crate) fn dispatch(&self, encoder: &Encoder, caller: Caller, call: Call) -> CallState {
        let state = self.dispatched(encoder, caller, call);
        state.unwrap_or_else(|fault| CallState::Ready(Some(Err(fault))))
    }

    fn dispatched(
        &self,
        encoder: &Encoder,
        caller: Caller,
        call: Call,
    ) -> Result<CallState, Fault> {
        if call.is_notification() {
            return Ok(CallState::result(Encoder::empty()));
        }
        let revision = encoder.revision;
        let is_modern = revision.is_modern();
        let params = caller.params(&call);
        let result = match call.method() {
            "initialize" if !is_modern => {
                params.check_initialize()?;
                encoder.opening.clone()
            }
            "server/discover" if is_modern => encoder.opening.clone(),
            "ping" if !is_modern => Encoder::empty(),
            "notifications/initialized" if !encoder.is_negotiated => Encoder::empty(),
            "tools/list" => {
                let may_write = revision.has_annotations() && (self.may_write)(&caller);
                if self.tools.serve(&caller) {
                    encoder.page(encoder.tools(may_write), &caller, &params)?
                } else {
                    let tools = self.tools.of(&caller);
                    encoder.page(&encoder.tools_of(&tools, may_write), &caller, &params)?
                }
            }
            "resources/list" => {
                let page = encoder.cursor(&params)?;
                match self.resources.listed(&caller, page) {
                    Some(list) => return Ok(CallState::Listing(list)),
                    None => encoder.page(&encoder.resources, &caller, &params)?,
                }
            }
            "resources/templates/list" => {
                encoder.page(&encoder.resource_templates, &caller, &params)?
            }
            "prompts/list" => encoder.page(&encoder.prompts, &caller, &params)?,
            "tools/call" => return self.call_tool(encoder, caller, call),
            "resources/read" => {
                let uri = params.uri()?;
                if !caller.sees(EntryKind::Resource, &uri) {
                    return Err(Fault::UnknownResource(uri));
                }
                let has_templates = encoder.is_negotiated;
                let ids = LogIds::of(&caller);
                return match self.resources.read(&uri, caller, has_templates) {
                    Some(contents) => Ok(CallState::Reading { uri, ids, contents }),
                    None => Err(Fault::UnknownResource(uri)),
                };
            }
            "prompts/get" => return self.get_prompt(encoder, &caller, &call),
            "completion/complete" if revision >= Revision::V2025_03_26 => {
                return self.complete(encoder, caller, &call);
            }
            other if !caller.sees(EntryKind::Method, other) => return Err(Fault::UnknownMethod),
            _ if encoder.is_negotiated => return Err(Fault::UnknownMethod),
            _ => return self.methods.answer(&caller, &call),
        };
        Ok(CallState::result(result))
    }

    fn call_tool(&self, encoder: &Encoder, caller: Caller, call: Call) -> Result<CallState, Fault> {
        let params = caller.params(&call);
        let name = params.name()?;
        let is_negotiated = encoder.is_negotiated;
        let tool = self.tool(&caller, &name, is_negotiated);
        if let Some(tool) = tool
            && caller.context().has_headers()
        {
            let arguments = params.get(Member::Arguments);
            headers::check(tool.descriptor.schema(is_negotiated), &call, arguments)?;
        }
        let inputs = self.inputs(&caller, &call, &params)?;
        let is_disabled = caller.view().is_none()
            && self.tools.is_disabled(&name)
            && (tool.is_some() || self.tools.get(&name).is_none());
        let record = Record::begin(name, &call, &caller);
        if is_disabled {
            let name = record.tool().to_owned();
            record.end(Outcome::Disabled);
            return Err(Fault::DisabledTool(name));
        }
        let Some(tool) = tool else {
            let name = record.tool().to_owned();
            record.end(Outcome::Unknown);
            return Err(Fault::UnknownTool(name));
        };
        let arguments = params.get(Member::Arguments).unwrap_or("{}");
        let schema = tool.descriptor.schema(is_negotiated);
        if is_negotiated && let Err(wrong) = schema.check(record.tool(), arguments) {
            record.end(Outcome::InvalidArguments);
            return Err(Fault::InvalidArguments(wrong));
        }
        let context = caller.context();
        let detached = self.detached.as_ref();
        let detached = detached.filter(|_| context.outlives_connection()).cloned();
        let heartbeat = Heartbeat::of(context);
        let is_modern = context.revision().is_modern();
        let asks_for_structure = is_modern
            && tool.descriptor.output.is_some()
            && self.tools.is_structure_asked(params.get(Member::Meta));
        let has_structure = asks_for_structure || self.tools.output(&tool.descriptor).is_some();
        let result = Arc::clone(&tool.service).start(ToolRequest {
            arguments: params.range(Member::Arguments),
            inputs,
            signer: Arc::clone(&self.signer),
            has_questions: is_modern,
            wants_structure: has_structure && encoder.revision.has_structure(),
            asks_for_structure,
            tools: Arc::clone(&self.tools),
            caller,
            call,
        });
        Ok(CallState::Calling {
            record: Some(record),
            result,
            heartbeat,
            detached,
        })
    }

    /// Returns a tool, if it exists for the caller. Unless the caller has a view it may be disabled.
    fn tool(&self, caller: &Caller, name: &str, is_negotiated: bool) -> Option<&Tool> {
        if !caller.sees(EntryKind::Tool, name) {
            return None;
        }
        let tool = self.tools.get(name)?;
        let view = caller.view();
        let exists = tool.descriptor.exists(is_negotiated)
            || view.is_some_and(|view| view.has_everywhere(name));
        let is_off = view.is_some() && self.tools.is_disabled(name);
        (exists && !is_off && tool.descriptor.serves(caller)).then_some(tool)
    }

    /// Returns the answers of the client, none if its revision has no questions.
    fn inputs(&self, caller: &Caller, call: &Call, params: &Params<'_>) -> Result<Inputs, Fault> {
        if !caller.context().revision().is_modern() {
            return Ok(Inputs::default());
        }
        let state = params.get(Member::RequestState).map(|raw| {
            // A state that is not a string was not made by this server.
            let text = string(raw);
            let state = text.and_then(|text| self.signer.verify(&text, caller, call));
            state.ok_or_else(|| invalid("`requestState` belongs to another call"))
        });
        let responses = params.get(Member::InputResponses);
        Ok(Inputs::new(responses, state.transpose()?))
    }

    fn get_prompt(
        &self,
        encoder: &Encoder,
        caller: &Caller,
        call: &Call,
    ) -> Result<CallState, Fault> {
        let params = caller.params(call);
        let name = params.name()?;
        let prompts = &self.prompts;
        let found = caller.sees(EntryKind::Prompt, &name);
        let found = found.then(|| prompts.find(&name)).flatten();
        let Some((descriptor, prompt)) = found else {
            return Err(Fault::UnknownPrompt(prompts.unknown(&name, caller)));
        };
        let inputs = self.inputs(caller, call, &params)?;
        let arguments = params.get(Member::Arguments).unwrap_or("{}");
        let arguments = PromptArguments::read(arguments, &descriptor.arguments)?;
        if encoder.is_negotiated {
            let mut declared = descriptor.arguments.iter();
            let missing = declared.find(|it| it.is_required && arguments.given(&it.name).is_none());
            if let Some(missing) = missing {
                let problem = format!("the argument `{}` is missing", missing.name);
                return Err(Fault::UnknownPrompt(problem));
            }
            if let Some(ask) = prompt.ask(&arguments, &inputs) {
                ask.check(caller.context().capabilities())
                    .map_err(Fault::MissingCapabilities)?;
                let questions = ask.result(|state| self.signer.sign(state, caller, call));
                return Ok(CallState::ready(encoder.questions(questions)));
            }
        }
        let rendered = prompt.render_with(&arguments, &inputs);
        Ok(CallState::ready(encoder.prompt(&rendered)))
    }

    fn complete(&self, encoder: &Encoder, caller: Caller, call: &Call) -> Result<CallState, Fault> {
        let CompletionParams {
            subject,
            argument,
            context,
        } = call.params()?;
        match subject {
            Subject::Prompt { name } => {
                let prompts = &self.prompts;
                let is_seen = caller.sees(EntryKind::Prompt, &name);
                let values =
                    is_seen.then(|| prompts.complete(&name, &argument.name, &argument.value));
                let values = values
                    .flatten()
                    .ok_or_else(|| Fault::UnknownPrompt(prompts.unknown(&name, &caller)))?;
                Ok(CallState::ready(encoder.completion(values)))
            }
            Subject::Resource { uri } => {
                let is_seen = caller.sees(EntryKind::ResourceTemplate, &uri);
                let mut templates = self.resources.templates().iter().filter(|_| is_seen);
                let entry = templates.find(|entry| entry.descriptor.uri.as_str() == uri);
                let entry = entry.ok_or_else(|| invalid("the resource template does not exist"))?;
                if !entry.descriptor.uri.has(&argument.name) {
                    return Err(invalid("the template has no such parameter").into());
                }
                let mut placeholders = Placeholders::from_iter(context.arguments);
                placeholders.insert(argument.name.clone(), argument.value);
                let values = entry.complete_for(argument.name, placeholders, caller);
                Ok(CallState::Completing(values))
            }
        }
    }
}
