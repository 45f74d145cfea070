//! The methods exactly as in revision 2024-11-05.

use std::mem;

use bytes::Bytes;
use ziggurat_layers::json_rpc::Call;

use crate::{
    Caller, PromptArguments, Prompts, Resources, ServerInfo, State, ToolRequest, Tools,
    body::Ending,
    method::Methods,
    params::{self, Named},
    record::{Outcome, Record},
    tool::Found,
    wire::{self, Fault},
};

/// The tools, resources and prompts of a server, fixed when the service is built.
#[derive(Debug)]
pub(super) struct Catalogue {
    pub(super) tools: Tools,
    pub(super) resources: Resources,
    pub(super) prompts: Prompts,
    rendered: RenderedLists,
}

/// Results that are the same for every caller.
#[derive(Debug)]
struct RenderedLists {
    initialize: Bytes,
    tools: Bytes,
    resources: Bytes,
    resource_templates: Bytes,
    prompts: Bytes,
}

// === impl Catalogue ===

impl Catalogue {
    pub(super) fn new(
        server: &ServerInfo,
        tools: Tools,
        resources: Resources,
        prompts: Prompts,
    ) -> Self {
        let rendered = RenderedLists {
            initialize: wire::initialized(server),
            tools: wire::tools(&tools),
            resources: wire::resources(&resources),
            resource_templates: wire::resource_templates(),
            prompts: wire::prompts(&prompts),
        };
        Self {
            tools,
            resources,
            prompts,
            rendered,
        }
    }

    pub(super) fn answer(&self, call: Call, methods: &Methods) -> Result<State, Fault> {
        if call.is_notification() {
            return Ok(State::result(wire::nothing()));
        }
        let lists = &self.rendered;
        match call.method() {
            "initialize" => {
                params::check_initialize(&call)?;
                Ok(State::result(lists.initialize.clone()))
            }
            "ping" | "notifications/initialized" => Ok(State::result(wire::nothing())),
            "tools/list" => Ok(State::result(lists.tools.clone())),
            "tools/call" => self.call_tool(call),
            "resources/list" => Ok(State::result(lists.resources.clone())),
            "resources/templates/list" => Ok(State::result(lists.resource_templates.clone())),
            "resources/read" => self.read_resource(call),
            "prompts/list" => Ok(State::result(lists.prompts.clone())),
            "prompts/get" => self.get_prompt(&call),
            _ => methods.answer(&call),
        }
    }

    fn call_tool(&self, mut call: Call) -> Result<State, Fault> {
        let Named {
            name, arguments, ..
        } = Named::of(&call)?;
        let found = self.tools.find(&name);
        let record = Record::begin(name, &call);
        match found {
            Some(Found::Tool(tool)) => {
                let caller = Caller::new(mem::take(&mut call.head_mut().extensions));
                let result = tool.start(ToolRequest::new(caller, call, arguments));
                let record = Some(record);
                let pulse = None;
                Ok(State::Calling {
                    record,
                    result,
                    pulse,
                    unattended: None,
                })
            }
            Some(Found::Disabled) => {
                let reply = wire::disabled_tool(record.tool(), &Ending::PLAIN);
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

    fn read_resource(&self, mut call: Call) -> Result<State, Fault> {
        let uri = params::uri(&call)?;
        let caller = Caller::new(mem::take(&mut call.head_mut().extensions));
        match self.resources.read(&uri, caller) {
            Some(contents) => Ok(State::Reading { uri, contents }),
            None => Err(Fault::UnknownResource(uri)),
        }
    }

    fn get_prompt(&self, call: &Call) -> Result<State, Fault> {
        let Named {
            name, arguments, ..
        } = Named::of(call)?;
        let Some((descriptor, prompt)) = self.prompts.find(&name) else {
            return Err(Fault::UnknownPrompt(self.prompts.unknown(&name)));
        };
        let json = arguments.and_then(|range| call.raw_params()?.get(range));
        let arguments = PromptArguments::read(json.unwrap_or("{}"), &descriptor.arguments)?;
        Ok(State::ready(wire::prompt(
            &prompt.render(&arguments),
            wire::PLAIN,
        )))
    }
}
