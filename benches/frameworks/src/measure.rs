//! Load on a server, and what it costs.

use std::{
    io,
    time::{Duration, Instant},
};

use tokio::task::JoinSet;

use crate::{
    numbered::FIRST,
    protocol::{Client, Dialect, Exchange, Method},
    server::Server,
};

/// Requests that are sent without being measured, on each connection.
const WARM_UP: u32 = 200;

/// Requests in flight at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) dialect: Dialect,
    pub(crate) method: Method,
    pub(crate) connections: u32,
}

/// The end of a load.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Until {
    After(Duration),
    /// So many requests were sent on each connection.
    Requests(u32),
}

/// The figures of a turn.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Figures {
    /// Microseconds of the server's processor time for each request.
    pub(crate) processor: f64,
    /// Requests per second.
    pub(crate) rate: f64,
    /// Microseconds that half of the requests took at most.
    pub(crate) median: f64,
    /// Microseconds that 99 of 100 requests took at most.
    pub(crate) p99: f64,
    /// Answers that were not right.
    pub(crate) wrong: u32,
}

/// A client that is ready to send.
struct Sender {
    client: Client,
    exchange: Exchange,
    number: u32,
    wrong: u32,
    /// Nanoseconds from each request to its answer.
    times: Vec<u32>,
}

/// Puts a load on a server.
pub(crate) async fn measure(server: &Server, load: Load, until: Until) -> io::Result<Figures> {
    let mut senders = Vec::new();
    for _ in 0..load.connections {
        let mut client = Client::connect(&server.address, load.dialect).await?;
        let exchange = client.prepare(load.method).await?;
        senders.push(Sender {
            client,
            exchange,
            number: FIRST,
            wrong: 0,
            times: Vec::new(),
        });
    }
    let senders = send(senders, Until::Requests(WARM_UP)).await?;
    let senders = senders.into_iter().map(Sender::rested).collect();
    let (before, begun) = (server.processor_time()?, Instant::now());
    let senders = send(senders, until).await?;
    let elapsed = begun.elapsed().as_secs_f64();
    let spent = server.processor_time()? - before;

    let wrong = senders.iter().map(|sender| sender.wrong).sum();
    let mut times = Vec::new();
    for sender in senders {
        times.extend_from_slice(&sender.times);
        sender.client.close().await;
    }
    times.sort_unstable();
    let requests = times.len() as f64;
    Ok(Figures {
        processor: spent / requests * 1e6,
        rate: requests / elapsed,
        median: quantile(&times, 50),
        p99: quantile(&times, 99),
        wrong,
    })
}

async fn send(senders: Vec<Sender>, until: Until) -> io::Result<Vec<Sender>> {
    let mut tasks = JoinSet::new();
    for sender in senders {
        tasks.spawn(sender.send(until));
    }
    tasks.join_all().await.into_iter().collect()
}

// === impl Sender ===

impl Sender {
    async fn send(mut self, until: Until) -> io::Result<Self> {
        let begun = Instant::now();
        let mut sent = 0;
        let mut asked = begun;
        loop {
            let is_over = match until {
                Until::After(time) => asked.duration_since(begun) >= time,
                Until::Requests(requests) => sent >= requests,
            };
            if is_over {
                return Ok(self);
            }
            self.number += 1;
            let exchange = self.client.exchange(&mut self.exchange, self.number);
            if !exchange.await? {
                self.wrong += 1;
            }
            sent += 1;
            let answered = Instant::now();
            let time = answered.duration_since(asked).as_nanos();
            self.times.push(u32::try_from(time).unwrap_or(u32::MAX));
            asked = answered;
        }
    }

    /// Forgets the times so far, and makes space for many more.
    fn rested(mut self) -> Self {
        self.times = Vec::with_capacity(1 << 16);
        self
    }
}

/// Microseconds within which so many of 100 requests were answered.
fn quantile(sorted: &[u32], percent: usize) -> f64 {
    let last = sorted.len().saturating_sub(1);
    let time = sorted.get(last * percent / 100).copied();
    f64::from(time.unwrap_or_default()) / 1000.0
}
