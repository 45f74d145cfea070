//! Claims, and what happens between a claim and its end.

use super::*;
use crate::{
    presence::Presence,
    queue::{ClaimedRow, Content, Queue},
};

/// Claims all rows.
async fn claim(queue: &Queue, worker: i64) -> Vec<ClaimedRow> {
    queue.claim(worker, 100).await.expect("claimed")
}

/// Ends claims with a vector of zeros; returns the number of rows that left the queue.
async fn finish(queue: &Queue, rows: &[ClaimedRow]) -> usize {
    let rows: Vec<_> = rows.iter().collect();
    let zeros = format!("[{}]", ["0"; 256].join(","));
    let vectors = vec![zeros; rows.len()];
    queue.finish(&rows, vectors).await.expect("finished")
}

async fn queue(setup: &Setup) -> Queue {
    Queue::open(&setup.sync()).await.expect("a queue")
}

const WRITTEN: &str = "SELECT id::text FROM documents WHERE embedding IS NOT NULL ORDER BY id";

#[tokio::test]
async fn workers_never_claim_the_same_row() {
    let mut setup = Setup::new().await;
    setup
        .given("INSERT INTO documents SELECT n, 'text' FROM generate_series(1, 10) n")
        .await;
    let queue = queue(&setup).await;
    let (one, other) = tokio::join!(queue.claim(1, 6), queue.claim(2, 6));
    let mut ids: Vec<_> = [one, other]
        .into_iter()
        .flat_map(|rows| rows.expect("claimed"))
        .map(|row| row.id.parse::<u32>().expect("a number"))
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, (1..=10).collect::<Vec<_>>());
    assert!(claim(&queue, 3).await.is_empty());
}

#[tokio::test]
async fn a_vector_is_not_written_if_the_text_has_changed() {
    let mut setup = Setup::new().await;
    setup
        .given("INSERT INTO documents VALUES (1, 'old'), (2, 'stays')")
        .await;
    let queue = queue(&setup).await;
    let rows = claim(&queue, 1).await;
    setup
        .given("UPDATE documents SET content = 'new' WHERE id = 1")
        .await;
    // It is due again at once, for other workers, too.
    let again = claim(&queue, 2).await;
    assert_eq!(again.len(), 1);
    assert_eq!(again[0].content, Content::Text("new".to_owned()));
    assert_eq!(finish(&queue, &rows).await, 1);
    assert_eq!(setup.rows(WRITTEN).await, ["2"]);
    assert_eq!(finish(&queue, &again).await, 1);
    assert_eq!(setup.status().await.backlog, 0);
}

#[tokio::test]
async fn a_text_that_comes_back_is_embedded_again() {
    let mut setup = Setup::new().await;
    setup.given("INSERT INTO documents VALUES (1, 'one')").await;
    let queue = queue(&setup).await;
    let rows = claim(&queue, 1).await;
    setup
        .given(
            "DELETE FROM documents; INSERT INTO documents VALUES (1, 'other');
             UPDATE documents SET content = 'one'",
        )
        .await;
    // The vector is right, but the change is another one.
    assert_eq!(finish(&queue, &rows).await, 0);
    assert_eq!(setup.status().await.backlog, 1);
    assert_eq!(finish(&queue, &claim(&queue, 1).await).await, 1);
}

#[tokio::test]
async fn rows_that_the_application_has_locked_are_left_alone() {
    let mut setup = Setup::new().await;
    setup
        .given("INSERT INTO documents VALUES (1, 'one'), (2, 'two'), (3, 'three')")
        .await;
    let queue = queue(&setup).await;
    setup
        .given("BEGIN; UPDATE documents SET other = 1 WHERE id = 1")
        .await;
    let rows = claim(&queue, 1).await;
    let unseen: Vec<_> = rows
        .iter()
        .filter(|row| row.content == Content::Unseen)
        .collect();
    assert_eq!(unseen.iter().map(|row| &*row.id).collect::<Vec<_>>(), ["1"]);
    queue.forget(&unseen).await.expect("looked at");
    setup
        .given("UPDATE documents SET other = 1 WHERE id = 2")
        .await;
    // No statement waits for the transaction.
    let seen: Vec<_> = rows
        .into_iter()
        .filter(|row| row.content != Content::Unseen)
        .collect();
    assert_eq!(finish(&queue, &seen).await, 1);
    assert_eq!(setup.status().await.backlog, 2);
    setup.given("COMMIT").await;
    setup.work_until(|status| status.backlog == 0).await;
    assert_eq!(setup.rows(WRITTEN).await, ["1", "2", "3"]);
}

#[tokio::test]
async fn rows_that_are_gone_leave_the_queue() {
    let mut setup = Setup::new().await;
    setup
        .given("INSERT INTO documents VALUES (1, 'one'), (2, 'two'); TRUNCATE documents")
        .await;
    assert_eq!(setup.status().await.backlog, 2);
    setup.work().await;
}

#[tokio::test]
async fn the_claims_of_a_worker_whose_connection_is_gone_end_at_once() {
    let mut setup = Setup::new().await;
    setup
        .given("INSERT INTO documents VALUES (1, 'one'), (2, 'two')")
        .await;
    let queue = queue(&setup).await;
    let presence = Presence::begin(&setup.pool, &queue)
        .await
        .expect("a connection");
    let other = Presence::begin(&setup.pool, &queue)
        .await
        .expect("a connection");
    assert_eq!(
        queue
            .claim(presence.worker, 1)
            .await
            .expect("claimed")
            .len(),
        1
    );
    assert_eq!(
        queue.claim(other.worker, 1).await.expect("claimed").len(),
        1
    );
    queue.reclaim().await.expect("looked after");
    assert!(claim(&queue, 1).await.is_empty(), "both are alive");
    drop(presence);
    let reclaiming = async {
        loop {
            queue.reclaim().await.expect("looked after");
            let rows = claim(&queue, other.worker).await;
            if !rows.is_empty() {
                return rows;
            }
            time::sleep(Duration::from_millis(5)).await;
        }
    };
    let rows = time::timeout(PATIENCE, reclaiming).await.expect("in time");
    assert_eq!(rows.len(), 1);
}

#[tokio::test]
async fn a_worker_that_stops_leaves_its_claims_to_others() {
    let mut setup = Setup::new().await;
    setup.given("INSERT INTO documents VALUES (1, 'one')").await;
    let queue = queue(&setup).await;
    assert_eq!(claim(&queue, 7).await.len(), 1);
    queue.leave(8).await.expect("nothing to leave");
    assert!(claim(&queue, 9).await.is_empty());
    queue.leave(7).await.expect("left");
    assert_eq!(claim(&queue, 9).await.len(), 1);
}

#[tokio::test]
async fn a_claim_ends_by_its_time() {
    let mut setup = Setup::new().await;
    setup.given("INSERT INTO documents VALUES (1, 'one')").await;
    let queue = queue(&setup).await;
    // The number of workers behind a pooler that shares connections.
    assert_eq!(claim(&queue, -1).await.len(), 1);
    queue.reclaim().await.expect("looked after");
    assert!(claim(&queue, 1).await.is_empty());
    setup
        .given("UPDATE documents_sync_queue SET due_at = due_at - interval '30 s'")
        .await;
    assert_eq!(claim(&queue, 1).await.len(), 1);
}

#[tokio::test]
async fn long_texts_are_claimed_few_at_a_time() {
    let mut setup = Setup::new().await;
    setup
        .given(
            "INSERT INTO documents SELECT n, repeat('loam ', 200000) FROM generate_series(1, 9) n;
             INSERT INTO documents VALUES (10, repeat('x', 1048577))",
        )
        .await;
    let queue = queue(&setup).await;
    let rows = claim(&queue, 1).await;
    assert_eq!(rows.len(), 5);
    queue.leave(1).await.expect("left");
    let status = setup
        .work_until(|status| status.backlog == status.retrying)
        .await;
    assert_eq!(status.backlog, 1, "no model reads the last one");
    let reason = "SELECT reason FROM documents_sync_queue";
    let expected = "its text has 1048577 bytes, and at most 1048576 are read";
    assert_eq!(setup.rows(reason).await, [expected]);
}
