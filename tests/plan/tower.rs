use std::{env, fmt::Write as _, fs};

use crate::root;

/// The servers, each with its columns in the picture.
const SERVERS: [(&str, &str, usize); 3] = [
    ("tools", "ziggurat-tools", 2),
    ("rag", "ziggurat-rag", 1),
    ("platform", "ziggurat-platform", 1),
];

/// A file, and a function in it that mounts layers.
type Mounted = (&'static str, &'static str);

/// A branch for each column: its paths, the functions that mount its layers, and its service.
const BRANCHES: [(&str, &[Mounted], &str); 4] = [
    ("/mcp", &[("bin/tools/src/stack.rs", "calls")], "tools"),
    ("/api", &[("bin/tools/src/stack.rs", "others")], "REST"),
    ("/v1", &[], "pipelines"),
    (
        "/account/v1",
        &[
            ("bin/platform/src/stack.rs", "build"),
            ("services/account-service/src/lib.rs", "service"),
            ("services/account-service/src/resources.rs", "routes"),
        ],
        "accounts",
    ),
];

const EDGE: &str = "services/http/src/edge.rs";

const PICTURE: &str = "docs/src/tower.svg";

const WIDTH: usize = 160;
const ROW: usize = 34;

const MOUNTED: &str = "#cfe3f5";
const ABSENT: &str = "#e8e8e8";
const SERVICE: &str = "#f5dfa8";

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).expect("a source")
}

/// Returns the text of a function.
fn function<'a>(source: &'a str, name: &str) -> &'a str {
    let rest = source.split_once(&format!("fn {name}("));
    let rest = rest.or_else(|| source.split_once(&format!("fn {name}<")));
    let (_, rest) = rest.expect("the function");
    rest.split("\n}\n").next().unwrap_or_default()
}

/// Returns the layers that a function mounts, from the outside in, as the fields or variables that
/// hold them and their names.
fn layers(function: &str) -> Vec<(&str, &str)> {
    let layers = function.split(".layer(");
    let layers = layers.flat_map(|text| text.split(".route_layer("));
    let layers = layers.skip(1).map(|layer| {
        let around = ["option_layer", "AroundLayer", "new", "self", ""];
        let mut words = layer.split(|c: char| !c.is_alphanumeric() && c != '_');
        let held = words.find(|word| !around.contains(word));
        let held = held.unwrap_or_default();
        let name = match held {
            "authentication" | "bearer" => "Bearer",
            "addresses" => "Addresses",
            "bodies" => "BodyLimit",
            "call" => "Call",
            "pages" => "Cors",
            "preflight" => "Preflight",
            "framing" => "JsonRpc",
            "headers" => "Headers",
            "hosts" => "Host",
            "idempotency" => "Idempotency",
            "ids" => "RequestId",
            "limit" => "RateLimit",
            "log_request" => "Log",
            "origins" => "Origin",
            "proxies" => "ClientIp",
            "records" => "Records",
            "session" => "Session",
            "traffic" => "Traffic",
            _ => held.strip_suffix("Layer").unwrap_or_default(),
        };
        assert!(!name.is_empty(), "{held:?} is not in the picture yet");
        (held, name)
    });
    let mut layers: Vec<_> = layers.collect();
    // The last layer of a router is the outermost.
    if !function.contains("ServiceBuilder") {
        layers.reverse();
    }
    layers
}

/// Returns whether the stack of a server has a part of the edge.
fn has(stack: &str, part: &str) -> bool {
    !stack.contains(&format!(" {part}: None"))
}

/// The picture, row by row.
struct Picture {
    svg: String,
    row: usize,
}

impl Picture {
    /// Draws a box over some columns of the row.
    fn cell(&mut self, column: usize, columns: usize, fill: &str) {
        let (x, y) = (column * WIDTH + 8, self.row * ROW + 6);
        let width = columns * WIDTH - 16;
        writeln!(
            self.svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"28\" rx=\"4\" fill=\"{fill}\"/>"
        )
        .expect("memory");
    }

    /// Writes a text over some columns of the row.
    fn text(&mut self, column: usize, columns: usize, color: &str, text: &str) {
        let (x, y) = (column * WIDTH + columns * WIDTH / 2, self.row * ROW + 25);
        writeln!(
            self.svg,
            "<text x=\"{x}\" y=\"{y}\" fill=\"{color}\">{text}</text>"
        )
        .expect("memory");
    }
}

/// Draws the layers around each server, the edge of all servers, and the branches below it.
fn draw() -> String {
    let mut picture = Picture {
        svg: String::new(),
        row: 0,
    };
    let stacks = SERVERS.map(|(server, ..)| read(&format!("bin/{server}/src/stack.rs")));
    // Layers around the edge of one server only.
    let mut column = 0;
    for ((_, name, columns), stack) in SERVERS.iter().zip(&stacks) {
        picture.row = 0;
        picture.text(column, *columns, "#888", name);
        let build = function(stack, "build");
        let around = build.split_once("Ok(ServiceBuilder::new()");
        for (_, layer) in around.map(|(_, text)| layers(text)).unwrap_or_default() {
            picture.row += 1;
            picture.cell(column, *columns, MOUNTED);
            picture.text(column, *columns, "#000", layer);
        }
        column += columns;
    }
    picture.row = 2;
    let edge = read(EDGE);
    for (part, layer) in layers(function(&edge, "in_front_of")) {
        picture.cell(0, BRANCHES.len(), MOUNTED);
        let mut column = 0;
        for ((_, _, columns), stack) in SERVERS.iter().zip(&stacks) {
            if !has(stack, part) {
                picture.cell(column, *columns, ABSENT);
            }
            column += columns;
        }
        picture.text(0, column, "#000", layer);
        picture.row += 1;
    }
    let below = picture.row;
    let mut rows = below;
    for (column, (paths, functions, service)) in BRANCHES.iter().enumerate() {
        picture.row = below;
        picture.text(column, 1, "#888", paths);
        for (file, name) in *functions {
            for (_, layer) in layers(function(&read(file), name)) {
                picture.row += 1;
                picture.cell(column, 1, MOUNTED);
                picture.text(column, 1, "#000", layer);
            }
        }
        picture.row += 1;
        picture.cell(column, 1, SERVICE);
        picture.text(column, 1, "#000", service);
        rows = rows.max(picture.row + 1);
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" \
         font-family=\"sans-serif\" font-size=\"14\" text-anchor=\"middle\">\n\
         <title>The layers of the servers, from the outside in</title>\n{}</svg>\n",
        BRANCHES.len() * WIDTH,
        rows * ROW + 6,
        picture.svg
    )
}

#[test]
fn the_picture_of_the_tower_has_the_layers_of_the_servers_in_their_order() {
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
