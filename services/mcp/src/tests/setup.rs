use super::*;

/// A tool of any name and description.
struct Named(&'static str, &'static str);

impl ToolHandler for Named {
    fn describe(&self) -> ToolDescriptor {
        ToolDescriptor::new(self.0, self.1, Schema::new())
    }

    async fn call(&self, _: ToolRequest) -> Result<ToolResult, Error> {
        Err(Error::NotReady)
    }
}

fn setup(tools: Tools, resources: Resources, prompts: Prompts) -> Result<(), SetupError> {
    Mcp::new(&ServerInfo::new("test", "0"), tools, resources, prompts).map(drop)
}

fn with_tools(tools: impl IntoIterator<Item = Named>) -> Result<(), SetupError> {
    let tools = tools.into_iter().fold(Tools::new(), Tools::with);
    setup(tools, Resources::new(), Prompts::new())
}

#[test]
fn the_service_can_be_shared_and_sent() {
    fn check<T: Clone + Send + Sync + 'static>() {}
    fn check_future<T: Send + 'static>() {}
    check::<Mcp>();
    check_future::<ResponseFuture>();
    check_future::<ResultBody>();
}

#[test]
fn two_entries_with_one_name_are_refused() {
    assert_eq!(
        with_tools([Named("a", "A."), Named("b", "B."), Named("a", "Another.")]),
        Err(SetupError::DuplicateTool("a".to_owned()))
    );
    let resources = Resources::new()
        .with(Static::text("custom://a", "1"))
        .with(Static::text("custom://a", "2"));
    assert_eq!(
        setup(Tools::new(), resources, Prompts::new()),
        Err(SetupError::DuplicateResource("custom://a".to_owned()))
    );
}

#[test]
fn a_tool_name_is_one_that_every_client_accepts() {
    const LONGEST: &str = "abcdefghijklmnopqrstuvwxyz_ABCDEFGHIJKLMNOPQRSTUVWXYZ-0123456789";
    const TOO_LONG: &str = "abcdefghijklmnopqrstuvwxyz_ABCDEFGHIJKLMNOPQRSTUVWXYZ-01234567890";
    let cases = [
        ("a", true),
        (LONGEST, true),
        (TOO_LONG, false),
        ("", false),
        ("has space", false),
        ("dotted.name", false),
        ("naïve", false),
    ];
    for (name, is_accepted) in cases {
        let refusal = SetupError::ToolName(name.to_owned());
        let expected = if is_accepted { Ok(()) } else { Err(refusal) };
        assert_eq!(with_tools([Named(name, "Does it.")]), expected, "{name}");
    }
}

#[test]
fn a_tool_without_a_description_is_refused() {
    assert_eq!(
        with_tools([Named("a", " \n")]),
        Err(SetupError::ToolDescription("a".to_owned()))
    );
}
