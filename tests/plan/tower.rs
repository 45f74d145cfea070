use std::{env, fmt::Write as _, fs};

use crate::root;

/// The servers, each with the service behind its layers.
const SERVERS: [(&str, &str, &str); 3] = [
    ("tools", "ziggurat-tools", "MCP, REST"),
    ("rag", "ziggurat-rag", "pipelines"),
    ("platform", "ziggurat-platform", "account service"),
];

const PICTURE: &str = "docs/src/tower.svg";

/// Returns the layers in front of a server from the outside in, as its stack has them.
fn layers(server: &str) -> Vec<&'static str> {
    let path = root().join("bin").join(server).join("src/stack.rs");
    let stack = fs::read_to_string(path).expect("a stack").leak();
    let (_, stack) = stack
        .rsplit_once("Ok(ServiceBuilder::new()")
        .expect("the whole stack");
    let stack = stack.split("\n}\n").next().unwrap_or_default();
    let layers = stack.split(".layer(").skip(1).map(|layer| {
        let mut words = layer.split(|c: char| !c.is_alphanumeric());
        let name = words.find_map(|word| {
            let name = word.strip_suffix("Layer");
            name.filter(|name| !["", "Around"].contains(name))
        });
        name.unwrap_or_else(|| optional(layer))
    });
    layers.collect()
}

/// Returns the name of a layer that a function or a variable holds, or of a function around it.
fn optional(layer: &str) -> &'static str {
    let variable = layer.trim_start_matches("option_layer(");
    let variable = variable.trim_start_matches("AroundLayer::new(");
    match variable.split(['(', ')', '.']).next() {
        Some("bearer") => "Bearer",
        Some("bodies") => "BodyLimit",
        Some("limit") => "RateLimit",
        Some("console") => "Console",
        Some("cors") => "Cors",
        Some("headers") => "Headers",
        Some("origins") => "Origin",
        Some("log_request") => "Requests",
        Some("records") => "Records",
        Some("counted") => "Counts",
        Some("exchanges") => "Exchanges",
        Some("traffic") => "Traffic",
        Some("add_request_id") => "RequestId",
        unknown => panic!("{unknown:?} is not in the picture yet"),
    }
}

/// Draws the servers side by side, the outermost layer at the top.
fn draw() -> String {
    const WIDTH: usize = 210;
    const ROW: usize = 34;
    let servers = SERVERS.map(|(folder, name, service)| (name, service, layers(folder)));
    let rows = servers.iter().map(|(.., layers)| layers.len()).max();
    let height = ROW * (rows.unwrap_or_default() + 3);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {height}\" \
         font-family=\"sans-serif\" font-size=\"14\" text-anchor=\"middle\">\n\
         <title>The layers of the servers, from the outside in</title>\n",
        servers.len() * WIDTH
    );
    for (column, (name, service, layers)) in servers.iter().enumerate() {
        let center = column * WIDTH + WIDTH / 2;
        let mut row = |index: usize, inset: usize, fill: &str, text: &str| {
            let (y, inset) = (index * ROW + 6, inset + 10);
            let (x, width) = (column * WIDTH + inset, WIDTH - 2 * inset);
            let color = if fill == "none" { "#888" } else { "#000" };
            writeln!(
                svg,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"28\" rx=\"4\" \
                 fill=\"{fill}\"/><text x=\"{center}\" y=\"{}\" fill=\"{color}\">{text}</text>",
                y + 19
            )
            .expect("memory");
        };
        row(0, 0, "none", name);
        for (index, layer) in layers.iter().enumerate() {
            row(index + 1, index * 4, "#cfe3f5", layer);
        }
        row(layers.len() + 1, layers.len() * 4, "#f5dfa8", service);
    }
    svg + "</svg>\n"
}

#[test]
fn the_picture_of_the_tower_has_the_layers_of_the_stacks_in_their_order() {
    let path = root().join(PICTURE);
    let drawn = draw();
    if env::var_os("ZIGGURAT_BLESS").is_some() {
        fs::write(&path, &drawn).expect("written");
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == drawn,
        "run this test with ZIGGURAT_BLESS=1 and commit {PICTURE}"
    );
}
