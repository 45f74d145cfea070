//! Texts, rows and providers that fail.

use ziggurat_fake_providers::Turn;

use super::*;

#[tokio::test]
async fn a_text_that_the_provider_refuses_is_found_and_tried_again_later() {
    let fake = Fake::start();
    let mut setup = Setup::with_provider(&fake).await;
    setup
        .given("INSERT INTO documents SELECT n, 'text ' || n FROM generate_series(1, 4) n")
        .await;
    // The request, its halves down to one text, the word that shows that the provider works, and the
    // same halves again.
    for turn in [400, 400, 400, 200, 400, 400, 400] {
        fake.next_of(
            Api::OpenAi,
            if turn == 200 {
                Turn::default()
            } else {
                Turn::refusal(turn)
            },
        );
    }
    let status = setup
        .work_until(|status| status.backlog == status.retrying)
        .await;
    assert_eq!((status.backlog, status.failed), (1, 0));
    let written = "SELECT id::text FROM documents WHERE embedding IS NOT NULL ORDER BY id";
    assert_eq!(setup.rows(written).await, ["2", "3", "4"]);
    let row = "SELECT concat_ws('|', row_id, attempts, worker, due_at > now()) \
               FROM documents_sync_queue";
    assert_eq!(setup.rows(row).await, ["1|1|0|t"]);
}

#[tokio::test]
async fn after_eight_attempts_a_row_has_failed_until_it_is_retried() {
    let fake = Fake::start();
    let mut setup = Setup::with_provider(&fake).await;
    setup
        .given("INSERT INTO documents VALUES (1, 'bad'), (2, 'worse')")
        .await;
    setup
        .given("UPDATE documents_sync_queue SET attempts = 7")
        .await;
    let queue = crate::queue::Queue::open(&setup.sync())
        .await
        .expect("a queue");
    let rows = queue.claim(1, 2).await.expect("claimed");
    let failed: Vec<_> = rows
        .iter()
        .map(|row| (row, "too\0 bad".to_owned()))
        .collect();
    queue.fail(&failed).await.expect("counted");
    let status = setup.status().await;
    assert_eq!((status.backlog, status.failed), (0, 2));
    let failures = setup.sync().failures(5).await.expect("reasons");
    let [failure] = &*failures else {
        panic!("one reason: {failures:?}")
    };
    assert_eq!(
        (&*failure.reason, failure.count, &*failure.example),
        ("too bad", 2, "1")
    );

    // A changed text is tried again, and a deleted row is not.
    setup
        .given("UPDATE documents SET content = 'good' WHERE id = 2")
        .await;
    assert_eq!(setup.status().await.failed, 1);
    assert_eq!(setup.sync().retry().await.expect("queued"), 1);
    setup.work().await;
    assert_eq!(setup.status().await.failed, 0);
    let all = "SELECT count(*)::text FROM documents WHERE embedding IS NOT NULL";
    assert_eq!(setup.rows(all).await, ["2"]);
}

#[tokio::test]
async fn the_pauses_of_a_row_grow_from_a_second_to_ten_minutes() {
    let mut setup = Setup::new().await;
    setup.given("INSERT INTO documents VALUES (1, 'bad')").await;
    let queue = crate::queue::Queue::open(&setup.sync())
        .await
        .expect("a queue");
    let mut pauses = Vec::new();
    loop {
        setup
            .given("UPDATE documents_sync_queue SET due_at = now()")
            .await;
        let rows = queue.claim(1, 1).await.expect("claimed");
        let Some(row) = rows.first() else { break };
        queue
            .fail(&[(row, "bad".to_owned())])
            .await
            .expect("counted");
        let pause =
            "SELECT round(extract(epoch FROM due_at - now()))::text FROM documents_sync_queue";
        pauses.extend(setup.rows(pause).await);
    }
    assert_eq!(pauses, ["1", "3", "9", "27", "81", "243", "600"]);
}

#[tokio::test]
async fn a_provider_that_is_down_costs_no_attempts() {
    let fake = Fake::start();
    let mut setup = Setup::with_provider(&fake).await;
    setup
        .given("INSERT INTO documents SELECT n, 'text ' || n FROM generate_series(1, 9) n")
        .await;
    for status in [503, 503, 401, 429] {
        fake.next_of(Api::OpenAi, Turn::refusal(status));
    }
    let watching = async |setup: &Setup| {
        let status = setup
            .work_until(|status| status.backlog == 0 || status.retrying > 0)
            .await;
        assert_eq!((status.retrying, status.failed), (0, 0));
    };
    watching(&setup).await;
    // The first two are one attempt and the word that shows whether the provider works.
    assert!(fake.requests().len() > 4);
    let all = "SELECT count(*)::text FROM documents WHERE embedding IS NOT NULL";
    assert_eq!(setup.rows(all).await, ["9"]);
}

#[tokio::test]
async fn a_row_that_postgresql_refuses_does_not_stop_the_others() {
    let mut setup = Setup::new().await;
    setup
        .given(
            "ALTER TABLE documents ADD CHECK (id <> 3 OR embedding IS NULL);
             INSERT INTO documents SELECT n, 'text ' || n FROM generate_series(1, 5) n",
        )
        .await;
    let status = setup
        .work_until(|status| status.backlog == status.retrying)
        .await;
    assert_eq!((status.backlog, status.failed), (1, 0));
    let reason = "SELECT reason FROM documents_sync_queue WHERE row_id = 3 AND attempts = 1";
    let found = setup.rows(reason).await;
    assert!(found[0].contains("violates check constraint"), "{found:?}");
    let written = "SELECT count(*)::text FROM documents WHERE embedding IS NOT NULL";
    assert_eq!(setup.rows(written).await, ["4"]);
}

#[tokio::test]
async fn vectors_that_do_not_fit_the_column_cost_no_attempts() {
    let mut setup = Setup::new().await;
    setup
        .given("ALTER TABLE documents ALTER embedding TYPE vector(3); INSERT INTO documents VALUES (1, 'x')")
        .await;
    let worker = setup.worker();
    let (stop, stopped) = watch::channel(false);
    let watching = async {
        let claimed = "SELECT worker::text FROM documents_sync_queue WHERE worker <> 0";
        while setup.rows(claimed).await.is_empty() {
            time::sleep(Duration::from_millis(5)).await;
        }
        stop.send(true).expect("a worker");
    };
    let working = async { tokio::join!(watching, worker.run(stopped)) };
    time::timeout(PATIENCE, working).await.expect("in time");
    let status = setup.status().await;
    assert_eq!((status.backlog, status.retrying), (1, 0));
}
