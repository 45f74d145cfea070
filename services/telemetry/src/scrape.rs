//! One reading of all values, in either format.
//!
//! The values are atomics of this crate, and prometheus-client writes the two formats.

use std::{collections::BTreeMap, fmt, sync::Arc};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, prometheus_text, text},
    registry::Registry,
};

use crate::{
    accept::Format,
    cells::Sample,
    known::Names,
    label,
    metrics::State,
    process::Process,
    sources::{AuditCounts, SyncCount},
    table::{Id, Metric},
};

/// Receives the labels and the value of a series.
type Each<'a> = dyn FnMut(&[(&str, &str)], Sample) + 'a;

/// Values at the time when the page is read.
#[derive(Debug)]
struct Scrape {
    state: Arc<State>,
    process: Process,
}

/// Writes the page.
pub(crate) fn page(state: &Arc<State>, format: Format) -> Result<String, fmt::Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Scrape {
        state: Arc::clone(state),
        process: Process::read(),
    }));
    let mut page = String::new();
    match format {
        Format::Text => prometheus_text::encode(&mut page, &registry)?,
        Format::OpenMetrics => text::encode(&mut page, &registry)?,
    }
    Ok(page)
}

// === impl Scrape ===

impl Collector for Scrape {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let names = self.state.names.load();
        for metric in Metric::of(self.state.program) {
            let unit = metric.unit();
            let kind = metric.kind.encoded();
            let mut series =
                encoder.encode_descriptor(metric.family(), metric.help, unit.as_ref(), kind)?;
            let mut written = Ok(());
            self.visit(metric, &names, &mut |labels, sample| {
                if written.is_ok() {
                    written = write(&mut series, labels, &sample);
                }
            });
            written?;
        }
        Ok(())
    }
}

impl Scrape {
    /// Calls `each` with every series of a metric.
    fn visit(&self, metric: &Metric, names: &Names, each: &mut Each<'_>) {
        let mut labelled = |path: &[usize], sample| {
            let labels = metric.labels.iter().zip(path);
            let labels = labels.map(|(label, id)| Some((label.name, names.value(label, *id)?)));
            // A name may be newer than this reading. An empty value is a label that is absent.
            if let Some(mut labels) = labels.collect::<Option<Vec<_>>>() {
                labels.retain(|(_, value)| !value.is_empty());
                each(&labels, sample);
            }
        };
        let state = &*self.state;
        let audit = |of: fn(AuditCounts) -> u64| {
            let read = state.sources.audit.get();
            read.map(|read| Sample::Counter(of(read())))
        };
        let single = match metric.id {
            Id::PoolConnections => return self.connections(names, &mut labelled),
            Id::Accounts => return self.accounts(names, &mut labelled),
            Id::Grants => return self.grants(names, &mut labelled),
            Id::SyncBacklog => return self.sync(names, |count| count.backlog, &mut labelled),
            Id::SyncOldest => return self.sync(names, |count| count.oldest, &mut labelled),
            Id::SyncFailed => return self.sync(names, |count| count.failed, &mut labelled),
            Id::BuildInfo => {
                let (program, version) = (state.program.name(), &*state.version);
                let labels = [
                    (label::PROGRAM.name, program),
                    (label::VERSION.name, version),
                ];
                return each(&labels, Sample::Info);
            }
            Id::HttpConnections => {
                let read = state.sources.http_connections.get();
                read.map(|read| Sample::Gauge(read()))
            }
            Id::TraceSpansDropped => {
                let read = state.sources.dropped_spans.get();
                read.map(|read| Sample::Counter(read()))
            }
            Id::AuditRecords => audit(|counts| counts.records),
            Id::AuditMissed => audit(|counts| counts.missed),
            Id::AuditFailures => audit(|counts| counts.failures),
            Id::ProcessCpu => self.process.cpu_seconds.map(Sample::Seconds),
            Id::ProcessResidentMemory => self.process.resident_bytes.map(Sample::Gauge),
            Id::ProcessOpenFds => self.process.open_fds.map(Sample::Gauge),
            _ => return state.recorded.visit(metric, &mut labelled),
        };
        if let Some(sample) = single {
            labelled(&[], sample);
        }
    }

    fn connections(&self, names: &Names, each: &mut dyn FnMut(&[usize], Sample)) {
        let open = self.state.recorded.open_connections();
        let counts = self.state.sources.idle_connections.get().map(|read| read());
        let mut idle = BTreeMap::<_, u64>::new();
        for count in counts.iter().flatten() {
            let database = names.id(&label::DATABASE, &count.database);
            *idle.entry(database).or_default() += count.count;
        }
        for (database, open) in open {
            let idle = idle.get(&database).copied().unwrap_or_default();
            // Both are read one after the other, and may change in between.
            let busy = open.max(0).unsigned_abs().saturating_sub(idle);
            for (state, count) in [("idle", idle), ("busy", busy)] {
                let state = names.id(&label::POOL_STATE, state);
                each(&[database, state], Sample::Gauge(count));
            }
        }
    }

    fn accounts(&self, names: &Names, each: &mut dyn FnMut(&[usize], Sample)) {
        let accounts = self.state.sources.accounts.get().map(|read| read());
        let counts = accounts.iter().flatten();
        let kind = |name| names.id(&label::ACCOUNT_KIND, name);
        sums(
            counts.map(|counted| ([kind(counted.kind)], counted.count)),
            each,
        );
    }

    fn grants(&self, names: &Names, each: &mut dyn FnMut(&[usize], Sample)) {
        let grants = self.state.sources.grants.get().map(|read| read());
        let counts = grants.iter().flatten();
        let kind = |name: &str| names.id(&label::GRANT_KIND, name);
        sums(
            counts.map(|counted| ([kind(&counted.kind)], counted.count)),
            each,
        );
    }

    fn sync(
        &self,
        names: &Names,
        value: fn(&SyncCount) -> u64,
        each: &mut dyn FnMut(&[usize], Sample),
    ) {
        let counts = self.state.sources.sync.get().map(|read| read());
        let counts = counts.iter().flatten();
        let pipeline = |count: &SyncCount| names.id(&label::PIPELINE, &count.pipeline);
        sums(counts.map(|count| ([pipeline(count)], value(count))), each);
    }
}

/// Adds up the values of equal labels, because several names may be `other`.
fn sums<const N: usize>(
    counts: impl Iterator<Item = ([usize; N], u64)>,
    each: &mut dyn FnMut(&[usize], Sample),
) {
    let mut sums = BTreeMap::new();
    for (path, count) in counts {
        *sums.entry(path).or_default() += count;
    }
    for (path, sum) in sums {
        each(&path, Sample::Gauge(sum));
    }
}

fn write(series: &mut MetricEncoder<'_>, labels: &[(&str, &str)], sample: &Sample) -> fmt::Result {
    if *sample == Sample::Info {
        return series.encode_info(&labels);
    }
    let mut series = series.encode_family(&labels)?;
    match sample {
        Sample::Counter(count) => series.encode_counter::<NoLabelSet, _, f64>(count, None),
        Sample::Seconds(seconds) => series.encode_counter::<NoLabelSet, _, f64>(seconds, None),
        Sample::Gauge(value) => series.encode_gauge(value),
        Sample::Histogram { sum, buckets } => {
            let count = buckets.iter().map(|(_, count)| count).sum();
            series.encode_histogram::<NoLabelSet>(*sum, count, buckets, None)
        }
        Sample::Info => Ok(()),
    }
}
