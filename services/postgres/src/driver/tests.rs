mod login;

use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::time;

use super::*;
use crate::fixture::Fixture;

async fn client(fixture: &Fixture) -> Client {
    let database = fixture.describe(|_| {});
    let options = &database.targets()[0].options;
    Client::connect(options).await.expect("a connection")
}

fn texts(rows: &[Row]) -> Vec<&str> {
    rows.iter().map(|row| row.text(0).expect("text")).collect()
}

#[tokio::test]
async fn a_query_returns_its_rows_and_its_columns_also_without_rows() {
    let fixture = Fixture::new().await;
    let mut client = client(&fixture).await;
    let rows = client.ask("SELECT generate_series(1, 3)").await;
    assert_eq!(texts(&rows.expect("rows")), ["1", "2", "3"]);

    client.queue("SELECT 1 AS one, NULL AS two WHERE false");
    client.flush().await.expect("sent");
    let Some(Event::Columns(fields)) = client.next().await.expect("columns") else {
        panic!("the columns come first");
    };
    let names: Vec<_> = fields.iter().map(|field| &*field.name).collect();
    assert_eq!(names, ["one", "two"]);
}

#[tokio::test]
async fn an_error_leaves_the_connection_usable_for_the_next_query() {
    let fixture = Fixture::new().await;
    let mut client = client(&fixture).await;
    for text in [
        "SELECT 1/0",
        "SELECT nothing",
        "SELECT pg_node_tree_in('a')",
        "SELECT pg_mcv_list_in('a')",
    ] {
        let error = client.ask(text).await.expect_err(text);
        assert!(matches!(error, DriverError::Server(_)), "{text}: {error:?}");
        let rows = client.ask("SELECT 'good'").await.expect("it goes on");
        assert_eq!(texts(&rows), ["good"], "{text}");
    }
}

#[tokio::test]
async fn values_are_sent_separately_from_the_query() {
    let fixture = Fixture::new().await;
    let mut client = client(&fixture).await;
    let rows = query("SELECT $1 || array_to_string($2, ',') || $3 || $4 || encode($5, 'hex')")
        .bind("it's ")
        .bind(Value::Texts(vec!["a".into(), "b'; --".into()]))
        .bind(7_i64)
        .bind(0.5_f64)
        .bind(&[1_u8, 255][..])
        .fetch_all(&mut client)
        .await
        .expect("rows");
    assert_eq!(texts(&rows), ["it's a,b'; --70.501ff"]);

    let row = query("SELECT $1 IS NULL, cardinality($2), $3 = ANY($4)")
        .bind(None::<i64>)
        .bind(Value::Texts(Vec::new()))
        .bind(&b"x"[..])
        .bind(Value::ManyBytes(vec![b"y".to_vec(), b"x".to_vec()]))
        .fetch_optional(&mut client)
        .await
        .expect("an answer")
        .expect("a row");
    assert!(row.get::<bool>(0).expect("a truth value"));
    assert_eq!(row.get::<i64>(1).expect("a number"), 0);
    assert!(row.get::<bool>(2).expect("a truth value"));
}

#[tokio::test]
async fn a_guard_decides_in_the_same_transaction_whether_a_text_runs() {
    let fixture = Fixture::new().await;
    let mut client = client(&fixture).await;
    client
        .ask("CREATE TABLE guarded (n int)")
        .await
        .expect("made");
    let insert = "INSERT INTO guarded SELECT generate_series(1, $1) RETURNING n";
    for (guard, expected) in [
        ("SET TRANSACTION READ ONLY", 0),
        ("SELECT 1/0", 0),
        ("SET TRANSACTION READ WRITE", 2),
        ("", 2),
    ] {
        client.queue_first(guard, insert, &[Value::from(9)], 2);
        client.flush().await.expect("sent");
        let rows = client.rows().await;
        assert_eq!(rows.map_or(0, |rows| rows.len()), expected, "{guard}");
    }
    let rows = client.ask("SELECT count(*) FROM guarded").await;
    assert_eq!(texts(&rows.expect("a count")), ["18"]);
}

#[tokio::test]
async fn a_row_larger_than_the_limit_is_skipped_and_the_next_one_is_read() {
    let fixture = Fixture::new().await;
    let mut client = client(&fixture).await;
    client.set_max_row_bytes(1000);
    client.queue("SELECT repeat('x', n) FROM unnest(ARRAY[10, 300000, 20]) AS n");
    client.flush().await.expect("sent");
    let mut seen = Vec::new();
    while let Some(event) = client.next().await.expect("events") {
        match event {
            Event::Row(row) => seen.push(row.text(0).expect("text").len()),
            Event::Oversized { bytes } => seen.push(bytes),
            _ => {}
        }
        assert!(client.input.capacity() < 64 << 10, "it is not held");
    }
    assert_eq!(seen, [10, 300_006, 20]);
}

#[tokio::test]
async fn a_cancel_request_stops_its_own_connection_and_no_other() {
    let fixture = Fixture::new().await;
    let (mut one, mut other) = (client(&fixture).await, client(&fixture).await);
    other.queue("SELECT 'done' FROM pg_sleep(0.5)");
    other.flush().await.expect("sent");
    let key = one.cancel_key();
    let mut sleeping = Box::pin(one.ask("SELECT pg_sleep(60)"));
    let cancelled = time::timeout(Duration::from_secs(20), async {
        loop {
            // The request may arrive before the statement it is for.
            key.cancel().await.expect("a request");
            let pause = time::timeout(Duration::from_millis(100), &mut sleeping);
            if let Ok(answer) = pause.await {
                return answer;
            }
        }
    });
    let error = cancelled.await.expect("in time").expect_err("cancelled");
    let DriverError::Server(error) = &error else {
        panic!("{error:?}");
    };
    assert_eq!(error.code, "57014");
    assert_eq!(texts(&other.rows().await.expect("it went on")), ["done"]);
}

#[tokio::test]
async fn a_silent_server_is_given_up_at_the_deadline() {
    let fixture = Fixture::new().await;
    let mut client = client(&fixture).await;
    client.queue("SELECT pg_sleep(60)");
    client.flush().await.expect("sent");
    client.set_patience(Some(Duration::from_secs(10)));
    assert!(client.next().now_or_never().is_none());
    time::pause();
    let error = client.rows().await.expect_err("nothing comes");
    assert!(matches!(error, DriverError::TimedOut), "{error:?}");
}

#[tokio::test]
async fn rows_that_come_one_by_one_end_at_the_same_deadline() {
    let fixture = Fixture::new().await;
    let mut client = client(&fixture).await;
    // PostgreSQL sends what fills its buffer of 8 KiB.
    client.queue("SELECT repeat('x', 9000), pg_sleep(0.1) FROM generate_series(1, 600)");
    client.set_patience(Some(Duration::from_millis(500)));
    client.flush().await.expect("sent");
    let read = time::timeout(Duration::from_secs(30), client.rows()).await;
    let error = read.expect("in time").expect_err("it takes a minute");
    assert!(matches!(error, DriverError::TimedOut), "{error:?}");
}

#[tokio::test]
async fn the_time_of_a_slow_reader_is_not_that_of_the_server() {
    let fixture = Fixture::new().await;
    let mut client = client(&fixture).await;
    client.queue("SELECT repeat('x', 9000) FROM generate_series(1, 3)");
    client.set_patience(Some(Duration::from_secs(10)));
    client.flush().await.expect("sent");
    let mut rows = 0;
    while let Some(event) = client.next().await.expect("events") {
        rows += usize::from(matches!(event, Event::Row(_)));
        time::pause();
        time::advance(Duration::from_mins(1)).await;
        time::resume();
    }
    assert_eq!(rows, 3);
}
