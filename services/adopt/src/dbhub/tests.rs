use crate::{Adopted, Adoption, Input, Surroundings};

const TEXT: &str = r#"
[[sources]]
id = "shop"
dsn = "postgres://reader:${SHOP_PASSWORD}@db.example:5433/shop?sslmode=require"
connection_timeout = 30
query_timeout = 10
search_path = "sales, public"
lazy = true

[[sources]]
id = "far"
type = "postgres"
host = "10.0.0.7"
user = "reader"
password = "swordfish"
database = "far"
ssh_host = "bastion.example"
ssh_port = 2222
ssh_user = "deploy"
ssh_key = "/home/me/.ssh/id"
ssh_proxy_jump = "jump.example"
ssh_passphrase = "swordfish"

[[sources]]
id = "old"
dsn = "mysql://root:swordfish@h/d"

[[tools]]
name = "execute_sql"
source = "shop"
readonly = true
max_rows = 500

[[tools]]
name = "search_objects"
source = "shop"

[[tools]]
name = "orders-of"
description = "Orders of a customer"
source = "shop"
statement = "SELECT id FROM orders WHERE customer = $1 AND ($2::text IS NULL OR status = $2) LIMIT 20"
[[tools.parameters]]
name = "customer"
type = "integer"
description = "Number"
[[tools.parameters]]
name = "status"
type = "string"
description = "Status"
required = false
allowed_values = ["open", "paid"]

[[tools]]
name = "cancel"
description = "Cancels an order"
source = "shop"
readonly = false
statement = "UPDATE orders SET status = 'cancelled' WHERE id = $1"
[[tools.parameters]]
name = "id"
type = "integer"

[[tools]]
name = "of_old"
source = "old"
statement = "SELECT 1"
"#;

fn adopt(text: &str) -> Adopted {
    let surroundings = Surroundings::new("ziggurat-tools.yaml");
    let name = "dbhub.toml";
    let read = Adoption::read(&[Input { name, text }], None, &surroundings);
    read.expect("understood").finish()
}

#[test]
fn sources_become_databases_and_no_password_is_written() {
    let adopted = adopt(TEXT);
    let names: Vec<_> = adopted.files.iter().map(|it| it.name).collect();
    assert_eq!(
        names,
        ["ziggurat-tools.yaml", "definitions.yaml", "writes.yaml"]
    );
    assert_eq!(
        adopted.files[0].text,
        "# Made by -adopt from the configuration of another server.
databases:
- name: shop
  host: db.example
  port: 5433
  database: shop
  user: reader
  password_env: SHOP_PASSWORD
  sslmode: require
  connect_timeout: \"30s\"
  query_timeout: \"10s\"
  row_limit: 500
- name: far
  host: \"10.0.0.7\"
  user: reader
  database: far
  connect_command: [ssh, \"-o\", \"BatchMode=yes\", \"-o\", \"StrictHostKeyChecking=yes\", \"-p\", \
         \"2222\", \"-i\", /home/me/.ssh/id, \"-J\", jump.example, \"-l\", deploy, \"-W\", \
         \"{host}:{port}\", bastion.example]
custom_definitions_path: definitions.yaml
"
    );
}

#[test]
fn tools_become_definitions_and_those_that_write_stand_apart() {
    let adopted = adopt(TEXT);
    assert_eq!(
        adopted.files[1].text,
        "# Made by -adopt from the configuration of another server.
tools:
- name: orders_of
  description: \"Orders of a customer\"
  database: shop
  statement: \"SELECT id FROM orders WHERE customer = :customer AND (:status::text IS NULL OR status = \
         :status) LIMIT 20\"
  parameters:
  - name: customer
    type: integer
    description: Number
  - name: status
    type: string
    description: Status
    allowed: [open, paid]
    required: false
  result: json
"
    );
    let writes = &adopted.files[2].text;
    assert!(
        writes.contains("- name: cancel\n") && writes.contains("  write: true\n"),
        "{writes}"
    );
}

#[test]
fn the_report_has_a_line_for_everything() {
    let report = adopt(TEXT).report.text();
    assert!(!report.contains("swordfish"), "{report}");
    for line in [
        "changed  dbhub.toml:2  shop  search_path: run ALTER ROLE \"reader\" SET search_path = sales, \
         public;",
        "changed  dbhub.toml:10  far  password: it is left out; put it into the password file \
         (~/.pgpass), or into a variable that password_env names",
        "missing  dbhub.toml:10  far  ssh_passphrase: use an agent",
        "changed  dbhub.toml:10  far  the tunnel is connect_command: ssh has to know the key of the host",
        "changed  dbhub.toml:10  far  execute_sql: statements only read here; to let them write, set \
         allow_writes: true of the database",
        "missing  dbhub.toml:24  old  a mysql database",
        "same  dbhub.toml:28  execute_sql  query_database",
        "same  dbhub.toml:34  search_objects  search_schema, get_schema_info",
        "changed  dbhub.toml:38  orders-of  its name is orders_of here",
        "changed  dbhub.toml:38  orders-of  the types are as declared; check with -check-config -connect",
        "changed  dbhub.toml:54  cancel  it writes: in writes.yaml; set allow_writes: true of the \
         database shop, and include: [writes.yaml] in definitions.yaml",
        "missing  dbhub.toml:64  of_old  its source is not a PostgreSQL database",
    ] {
        assert!(report.lines().any(|it| it == line), "{line}\n{report}");
    }
}

#[test]
fn parameters_of_a_url_become_keys_and_the_last_of_several_counts() {
    let entry = |url: &str| {
        let text = format!("[[sources]]\nid = \"a\"\ndsn = \"{url}\"\n");
        adopt(&text).files[0].text.clone()
    };
    let all = entry(
        "postgres://u@db.example/d?hostaddr=10.0.0.7&options=-c%20search_path%3Dsales&service=shop&\
         ssl_min_protocol_version=TLSv1.3&load_balance_hosts=random&application_name=orders",
    );
    for line in [
        "host: db.example",
        "hostaddr: \"10.0.0.7\"",
        "options: \"-c search_path=sales\"",
        "service: shop",
        "ssl_min_protocol_version: TLSv1.3",
        "load_balance_hosts: random",
        "application_name: orders",
    ] {
        assert!(all.lines().any(|it| it.trim() == line), "{line}\n{all}");
    }
    let address = entry("postgres://u@/d?hostaddr=::1");
    assert!(address.contains("  host: \"::1\"\n"), "{address}");
    assert!(!address.contains("hostaddr"), "{address}");
    let other = entry("postgres://u@a.example/d?hostaddr=10.0.0.7&host=b.example");
    assert!(other.contains("  host: b.example\n  hostaddr: \"10.0.0.7\"\n"));
    assert!(!other.contains("a.example"), "{other}");
}

#[test]
fn a_name_cannot_move_the_cursor_of_the_report() {
    let text = "[[sources]]\nid = \"a\\u001b[2J\"\ndsn = \"mysql://h/d\"\n";
    let report = adopt(text).report.text();
    assert!(report.contains("[2J  a mysql database"), "{report}");
    assert!(!report.contains('\u{1b}'), "{report}");
}

#[test]
fn a_word_that_would_be_an_option_of_ssh_makes_no_command() {
    let text = "[[sources]]\nid = \"a\"\ntype = \"postgres\"\nhost = \"h\"\nuser = \"u\"\nssh_host = \
                \"-oProxyCommand=x\"\n";
    let adopted = adopt(text);
    assert!(!adopted.files[0].text.contains("connect_command"));
    assert!(
        adopted
            .report
            .text()
            .contains("ssh_host: write connect_command yourself")
    );
}
