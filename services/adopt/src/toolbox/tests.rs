use crate::{Adopted, Adoption, Answer, Input, Surroundings};

const MAPS: &str = r#"sources:
  shop:
    kind: postgres
    host: ${DB_HOST:db.example}
    port: 5432
    database: shop
    user: reader
    password: ${DB_PASSWORD}
    queryParams:
      sslmode: require
  old:
    kind: mysql
    host: h
tools:
  find-orders:
    kind: postgres-sql
    source: shop
    description: Orders by status
    parameters:
      - {name: status, type: string, description: Status, allowedValues: [open, paid]}
      - {name: since, type: string, description: Since}
      - {name: least, type: float, description: Least total, minValue: 0, default: 0}
      - {name: ids, type: array, description: Numbers, items: {name: id, type: integer}, required: false}
      - {name: pin, type: string, description: Secret, secure: true}
    templateParameters:
      - {name: sortBy, type: string, description: Order, allowedValues: [id, total]}
    statement: |
      SELECT id, '$1' AS x FROM orders -- $2
      WHERE status = $1 AND placed_at >= $2 AND total >= $3 AND id = ANY($4) AND pin = $5
      ORDER BY {{.sortBy}} LIMIT 50;
  any_column:
    kind: postgres-sql
    source: shop
    description: Any
    statement: SELECT {{.column}} FROM orders
    templateParameters:
      - {name: column, type: string, description: Column}
  run:
    kind: postgres-execute-sql
    source: shop
    description: Runs SQL
  locks:
    kind: postgres-list-locks
    source: shop
    description: Locks
  web:
    kind: http
    source: api
    description: Fetches
  drop_all:
    kind: postgres-sql
    source: shop
    description: Drops
    statement: TRUNCATE orders
toolsets:
  reports: [find-orders, run, any_column]
prompts:
  review:
    description: Reviews code
    messages: [{content: "Look at {{.code}}"}]
    arguments: [{name: code, description: The code}]
"#;

const DEFINITIONS: &str = r#"# Made by -adopt from the configuration of another server.
tools:
- name: find_orders
  description: "Orders by status"
  database: shop
  statement: |-
    SELECT id, '$1' AS x FROM orders -- $2
    WHERE status = :status::order_status AND placed_at >= :since AND total >= :least::float8 AND id = ANY(:ids) AND pin = :pin
    ORDER BY :"sort_by" LIMIT 50
  parameters:
  - name: status
    type: string
    description: Status
    allowed: [open, paid]
  - name: since
    type: timestamp
    description: Since
  - name: least
    type: number
    description: "Least total"
    min: 0
    default: 0
  - name: ids
    type: array
    description: Numbers
    items:
      type: integer
    required: false
  - name: pin
    type: string
    description: Secret
    sensitive: true
  - name: sort_by
    type: identifier
    description: Order
    allowed: [id, total]
  result: json
prompts:
- name: review
  description: "Reviews code"
  arguments:
  - name: code
    description: "The code"
    required: true
  messages:
  - role: user
    content:
      type: text
      text: "Look at {{code}}"
"#;

fn read(text: &str) -> Adoption {
    let value = |name: &str| (name == "USER_NAME").then(|| "reader".to_owned());
    let surroundings = Surroundings::new("ziggurat-tools.yaml");
    let surroundings = surroundings
        .with_variables(&value)
        .with_taken(&["query_database"], &["explain"]);
    let input = Input {
        name: "tools.yaml",
        text,
    };
    Adoption::read(&[input], None, &surroundings).expect("understood")
}

fn adopt(text: &str) -> Adopted {
    read(text).finish()
}

#[test]
fn a_configuration_of_maps_is_converted() {
    let adoption = read(MAPS);
    let questions = adoption.questions();
    assert_eq!(questions.len(), 2);
    assert!(questions[0].statement.ends_with("ORDER BY \"id\" LIMIT 50"));
    assert_eq!(questions[0].database.text("host"), Some("db.example"));
    let types = [
        "order_status",
        "timestamp with time zone",
        "double precision",
        "bigint[]",
        "text",
    ];
    let types = Answer::Types(types.map(str::to_owned).to_vec());
    let adopted = adoption.with_answers([types, Answer::Unknown]).finish();
    assert_eq!(adopted.files[1].text, DEFINITIONS);
    let configuration = &adopted.files[0].text;
    for part in [
        "- name: shop\n  host: db.example   # default of DB_HOST\n  port: 5432\n",
        "  password_env: DB_PASSWORD\n  sslmode: require\n",
        "custom_definitions_path: definitions.yaml\ndba:\n  enabled: true\n  for:\n    everyone: true\n",
        "- name: everything\n  tools: [\"*\"]\n",
        "- name: reports\n  tools: [find_orders, query_database]\n  for:\n    everyone: true\n",
    ] {
        assert!(configuration.contains(part), "{part}\n{configuration}");
    }
    assert!(adopted.files[2].text.contains("TRUNCATE orders"));
}

#[test]
fn the_report_has_a_line_for_everything() {
    let report = adopt(MAPS).report.text();
    for line in [
        "changed  tools.yaml:2  shop  host: the default of DB_HOST is taken",
        "missing  tools.yaml:11  old  a source of the kind mysql",
        "changed  tools.yaml:15  find-orders  its name is find_orders here",
        "changed  tools.yaml:15  find-orders  parameter sortBy is sort_by here",
        "changed  tools.yaml:15  find-orders  the types are as declared; check with -check-config -connect",
        "missing  tools.yaml:31  any_column  column: text never becomes SQL here",
        "changed  tools.yaml:38  run  postgres-execute-sql: query_database",
        "changed  tools.yaml:42  locks  postgres-list-locks: lock_tree of the administrator's pack, \
         which is on",
        "missing  tools.yaml:46  web  a tool of the kind http",
        "changed  tools.yaml:56  reports  toolset reports without any_column",
        "same  tools.yaml:58  review  prompt review",
    ] {
        assert!(report.lines().any(|it| it == line), "{line}\n{report}");
    }
}

#[test]
fn a_configuration_of_documents_gives_the_same() {
    let text = "kind: sources\nname: shop\ntype: postgres\nhost: h\nport: 5432\ndatabase: d\nuser: \
                ${USER_NAME}\npassword: swordfish\n---\nkind: tools\nname: list\ntype: \
                postgres-sql\nsource: shop\ndescription: Lists\nstatement: SELECT 1 LIMIT 1\n---\nkind: \
                toolsets\nname: all\ntools: [list]\n";
    let adopted = read(text)
        .with_answers([Answer::Types(Vec::new())])
        .finish();
    assert!(adopted.files[0].text.contains("  user: reader\n"));
    assert!(adopted.files[1].text.contains("- name: list\n"));
    let report = adopted.report.text();
    assert!(
        report.contains("same  tools.yaml:10  list  tool list\n"),
        "{report}"
    );
    assert!(!format!("{:?}{report}", adopted.files).contains("swordfish"));
    assert!(!adopted.report.lacks_something(), "{report}");
}

#[test]
fn a_group_is_a_set_and_a_document_of_another_kind_is_missing() {
    let text = "kind: source\nname: shop\ntype: postgres\nhost: h\ndatabase: d\nuser: u\npassword: \
                p\n---\nkind: tool\nname: list\ntype: postgres-sql\nsource: shop\ndescription: \
                Lists\nstatement: SELECT 1 LIMIT 1\n---\nkind: group\nname: all\ntools: \
                [list]\nprompts: [review]\n---\nkind: resourceTemplate\nname: pages\ntype: text\n";
    let adopted = adopt(text);
    let set = "- name: all\n  tools: [list]\n";
    assert!(
        adopted.files[0].text.contains(set),
        "{}",
        adopted.files[0].text
    );
    let report = adopted.report.text();
    for line in [
        "changed  tools.yaml:16  all  toolset all without review",
        "missing  tools.yaml:21  pages  a document of a kind that is not known here",
    ] {
        assert!(report.lines().any(|it| it == line), "{line}\n{report}");
    }
}

#[test]
fn a_prompt_may_have_the_name_of_a_tool_and_not_of_another_prompt() {
    let prompt = "{description: D, messages: [{content: C}]}";
    let tool = "{kind: postgres-sql, source: pg, description: D, statement: SELECT 1 LIMIT 1}";
    let text = format!(
        "sources: {{pg: {{kind: postgres, host: h, user: u}}}}\ntools:\n  review: \
         {tool}\nprompts:\n  review: {prompt}\n  query_database: {prompt}\n  explain: {prompt}\n"
    );
    let adopted = adopt(&text);
    let report = adopted.report.text();
    for line in [
        "same  tools.yaml:5  review  prompt review",
        "same  tools.yaml:6  query_database  prompt query_database",
        "missing  tools.yaml:7  explain  the name is taken",
    ] {
        assert!(report.lines().any(|it| it == line), "{line}\n{report}");
    }
    let twice = [
        text.as_str(),
        "prompts: {review: {messages: [{content: C}]}}",
    ];
    let inputs = twice.map(|text| Input {
        name: "tools.yaml",
        text,
    });
    let surroundings = Surroundings::new("ziggurat-tools.yaml");
    let twice = Adoption::read(&inputs, None, &surroundings).expect("understood");
    let report = twice.finish().report.text();
    assert!(
        report.contains("missing  tools.yaml:1  review  the name is taken"),
        "{report}"
    );
}

#[test]
fn a_set_does_not_name_a_tool_that_was_not_converted() {
    let tool = "{kind: postgres-sql, source: pg, description: D, statement: SELECT 1 LIMIT 1}";
    let text = format!(
        "sources: {{pg: {{kind: postgres, host: h, user: u}}}}\ntools:\n  query_database: {tool}\n  \
         fine: {tool}\n  lost: {{kind: postgres-sql, source: pg, description: D, statement: SELECT \
         $1}}\ntoolsets: {{own: [query_database, lost, fine]}}\n"
    );
    let adopted = adopt(&text);
    assert!(
        adopted.files[0]
            .text
            .contains("- name: own\n  tools: [fine]\n")
    );
    let report = adopted.report.text();
    assert!(
        report.contains("toolset own without query_database, lost"),
        "{report}"
    );
}

#[test]
fn variables_in_a_statement_are_filled_in() {
    let text = "sources: {pg: {kind: postgres, host: h, user: u}}\ntools:\n  t:\n    kind: \
                postgres-sql\n    source: pg\n    description: Of ${NOBODY}\n    statement: SELECT 1 \
                FROM ${USER_NAME}.t LIMIT ${ROWS:5}\n";
    let adopted = adopt(text);
    assert!(
        adopted.files[1]
            .text
            .contains("SELECT 1 FROM reader.t LIMIT 5")
    );
    let report = adopted.report.text();
    assert!(
        report.contains("statement: the default of ROWS is taken"),
        "{report}"
    );
    assert!(
        report.contains("description: NOBODY is not filled in"),
        "{report}"
    );
}

#[test]
fn services_become_an_issuer_claims_and_sets_whose_callers_are_filled_in() {
    let text = "sources: {pg: {kind: postgres, host: h, user: u}}\nauthServices: {google-auth: {kind: \
                google, clientId: abc}}\ntools:\n  mine:\n    kind: postgres-sql\n    source: pg\n    \
                description: Mine\n    authRequired: [google-auth]\n    statement: SELECT $1\n    \
                parameters: [{name: me, type: string, description: M, authServices: [{name: google-auth, \
                field: email}]}]\n  open:\n    kind: postgres-sql\n    source: pg\n    description: \
                Open\n    statement: SELECT 1\n";
    let adopted = adopt(text);
    let configuration = &adopted.files[0].text;
    for part in [
        "http:\n  auth:\n    issuer:\n      url: \"https://accounts.google.com\"\n",
        "      audience: [abc]\n",
        "- name: everything\n  tools: [open]\n",
        "- name: for_google_auth\n  tools: [mine]\n  # for: the callers",
    ] {
        assert!(configuration.contains(part), "{part}\n{configuration}");
    }
    assert!(
        adopted.files[1]
            .text
            .contains("    from:\n      claim: email\n")
    );
}

#[test]
fn a_tool_that_would_be_weaker_here_is_missing() {
    let tool = |more: &str| {
        let text = format!(
            "sources: {{pg: {{kind: postgres, host: h, user: u}}}}\ntools:\n  t:\n    kind: \
             postgres-sql\n    source: pg\n    description: D\n    {more}\n"
        );
        adopt(&text).report.text()
    };
    for (more, what) in [
        (
            "statement: SELECT $1\n    parameters: [{name: a, type: string, description: D, \
             excludedValues: [x]}]",
            "parameter a: excludedValues has no equal here",
        ),
        ("statement: 'SELECT 1; SELECT 2'", "more than one statement"),
        (
            "statement: SELECT $1",
            "the statement uses $1, which is not declared",
        ),
        (
            "statement: \"SELECT '{{.a}}'\"\n    templateParameters: [{name: a, type: string, \
             description: D, allowedValues: [x]}]",
            "a: text never becomes SQL here",
        ),
        (
            "statement: SELECT 1 ORDER BY 1 {{.a}}\n    templateParameters: [{name: a, type: string, \
             description: D, allowedValues: [asc, desc]}]",
            "a: text never becomes SQL here",
        ),
        (
            "statement: SELECT $1, $2\n    parameters: [{name: a-b, type: string, description: D}, \
             {name: a_b, type: string, description: D}]",
            "parameter a_b: the name is taken",
        ),
        ("statement: SELECT pg_read_file('x')", "query rejected"),
    ] {
        let report = tool(more);
        let found = report
            .lines()
            .find(|it| it.starts_with("missing  tools.yaml:3  t  "));
        assert!(
            found.is_some_and(|it| it.contains(what)),
            "{what}: {report}"
        );
    }
}
