//! Tests of the choice among several hosts, and of the error if none is suitable.

use tokio::net::TcpSocket;

use super::{private::Private, *};
use crate::{
    database::{Host, TargetSessionAttrs},
    error::QueryError,
};

/// Returns the port of the server that a statement reaches, or the error.
async fn port(pools: &Pools, database: &Arc<Database>) -> Result<String, String> {
    match ask(&pools.pool("caller", database), "SHOW port").await {
        Ok((answer, _)) => Ok(answer.lines().nth(1).unwrap_or_default().to_owned()),
        Err(QueryError::Lease(error)) => Err(error.to_string()),
        Err(error) => panic!("{error:?}"),
    }
}

/// Binds a port without listening on it.
fn deaf() -> (TcpSocket, u16) {
    let socket = TcpSocket::new_v4().expect("a socket");
    let any = "127.0.0.1:0".parse().expect("an address");
    socket.bind(any).expect("a port");
    let port = socket.local_addr().expect("an address").port();
    (socket, port)
}

#[tokio::test]
async fn the_first_host_that_answers_is_taken() {
    let fixture = Fixture::new().await;
    let (_deaf, refusing) = deaf();
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let silent = silent.local_addr().expect("an address").port();
    let own = Host::new(&fixture.settings.host, fixture.settings.port);
    let database = fixture.describe(|settings| {
        settings.hosts = vec![
            Host::new("127.0.0.1", refusing),
            Host::new("127.0.0.1", silent),
            own.clone(),
        ];
        settings.connect_timeout = Duration::from_secs(4);
    });
    let reached = port(&fixture.pools, &database).await;
    assert_eq!(reached, Ok(own.port.to_string()));
}

#[tokio::test]
async fn every_host_that_was_tried_is_named() {
    let fixture = Fixture::new().await;
    let (_deaf, refusing) = deaf();
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let silent = silent.local_addr().expect("an address").port();
    // Longer than a name can be, so that no DNS server is asked.
    let unresolvable = format!("{}.invalid", "x".repeat(64));
    let database = fixture.describe(|settings| {
        settings.hosts = vec![
            Host::new("/nowhere/at all", 1),
            Host::new("127.0.0.1", refusing),
            Host::new(&unresolvable, 5432),
            Host::new("127.0.0.1", silent),
            Host::new(&settings.host, settings.port),
        ];
        settings.user = "nobody_at_all".into();
        settings.password = "swordfish".to_owned().into();
        settings.connect_timeout = Duration::from_secs(2);
    });
    let own = &fixture.settings;
    assert_eq!(
        port(&fixture.pools, &database).await,
        Err(format!(
            "failed to connect to database 'main': local socket 1: connection refused; \
             127.0.0.1:{refusing}: connection refused; \
             {unresolvable}:5432: host name could not be resolved; \
             127.0.0.1:{silent}: timed out; \
             {}:{}: FATAL: password authentication failed for user \"nobody_at_all\" \
             (SQLSTATE 28P01)",
            own.host, own.port
        ))
    );
}

#[tokio::test]
async fn a_server_with_the_required_role_is_found_after_others() {
    let (standby, primary) = (Private::start().await, Private::start().await);
    standby.write("standby.signal", "").await;
    standby.crash().await;
    primary
        .given(&["ALTER DATABASE postgres SET default_transaction_read_only = on"])
        .await;
    let port_of = |private: &Private| Ok(private.pg.port().to_string());
    let none = |why: [&str; 2]| {
        Err(format!(
            "failed to connect to database 'main': {}: {}; {}: {}",
            standby.host(),
            why[0],
            primary.host(),
            why[1]
        ))
    };
    let reached = async |wanted, hosts: [&Private; 2]| {
        let database = primary.describe(|settings| {
            settings.hosts = hosts.map(Private::host).to_vec();
            settings.target_session_attrs = wanted;
        });
        port(&primary.pools, &database).await
    };
    let read_only = "the server is read-only";
    let cases = [
        (TargetSessionAttrs::Any, port_of(&standby)),
        (TargetSessionAttrs::ReadOnly, port_of(&standby)),
        (TargetSessionAttrs::Primary, port_of(&primary)),
        (TargetSessionAttrs::Standby, port_of(&standby)),
        (TargetSessionAttrs::PreferStandby, port_of(&standby)),
        (TargetSessionAttrs::ReadWrite, none([read_only, read_only])),
    ];
    for (wanted, expected) in cases {
        let found = reached(wanted, [&standby, &primary]).await;
        assert_eq!(found, expected, "{wanted}");
    }
    let cases = [
        (TargetSessionAttrs::Any, &primary),
        (TargetSessionAttrs::Standby, &standby),
        (TargetSessionAttrs::PreferStandby, &standby),
    ];
    for (wanted, expected) in cases {
        let found = reached(wanted, [&primary, &standby]).await;
        assert_eq!(found, port_of(expected), "{wanted}");
    }

    standby.given(&["SELECT pg_promote()"]).await;
    let found = reached(TargetSessionAttrs::ReadWrite, [&primary, &standby]).await;
    assert_eq!(found, port_of(&standby), "promoted");
    let found = reached(TargetSessionAttrs::PreferStandby, [&primary, &standby]).await;
    assert_eq!(found, port_of(&primary), "there is no standby left");
}

#[tokio::test]
async fn a_statement_is_cancelled_on_the_server_it_runs_on() {
    let (first, second) = (Private::start().await, Private::start().await);
    first
        .given(&["ALTER DATABASE postgres SET default_transaction_read_only = on"])
        .await;
    let database = first.describe(|settings| {
        settings.hosts = vec![first.host(), second.host()];
        settings.target_session_attrs = TargetSessionAttrs::ReadWrite;
        settings.query_timeout = Duration::ZERO;
    });
    let pool = first.pools.pool("caller", &database);
    let lease = pool.lease().await.expect("a lease");
    let statement = Statement::new(&database, "SELECT pg_sleep(600)").expect("a query");
    let mut watch = second.try_connect().await.expect("a connection");
    let mut sleeping = async |count: i64| {
        let sql = "SELECT count(*) FROM pg_stat_activity
            WHERE state = 'active' AND query LIKE '%pg_sleep(6' || '00)%'";
        while sqlx::query_scalar::<_, i64>(sql)
            .fetch_one(&mut watch)
            .await
            .expect(sql)
            != count
        {
            task::yield_now().await;
        }
    };
    tokio::select! {
        result = statement.run(lease) => panic!("{result:?}"),
        () = async {
            sleeping(1).await;
            // New connections reach the other server from now on.
            first
                .given(&[
                    "SET default_transaction_read_only = off",
                    "ALTER DATABASE postgres RESET default_transaction_read_only",
                ])
                .await;
        } => {}
    }
    time::timeout(Duration::from_secs(10), sleeping(0))
        .await
        .expect("cancelled in time");
}
