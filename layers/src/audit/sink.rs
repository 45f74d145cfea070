//! The destinations of records.

use std::{
    error::Error,
    fmt,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
};

use tracing::{Level, enabled, info};

use crate::{audit::Record, sanitize::RequestId};

/// Takes the records.
///
/// Implemented by [`Queue`], by [`TracingSink`] and by every `Fn(Record)`.
///
/// A record is taken in two steps, so that a request is not served before it is certain that its
/// record will be kept: in the [required mode](super::AuditLayer::with_required) the layer reserves
/// a slot before it calls the service, else when the request ends. Both steps run on the task of the
/// request, also while it is dropped: they must not block, and need `Send + Sync` because requests
/// end on any thread.
///
/// ```
/// use std::sync::Mutex;
/// use ziggurat_layers::audit::{Lost, Record, Sink};
///
/// /// Keeps the first ten records.
/// struct FirstTen(Mutex<Vec<Record>>);
///
/// impl Sink for FirstTen {
///     type Slot = ();
///
///     fn reserve(&self) -> Option<()> {
///         Some(())
///     }
///
///     fn accept(&self, (): (), record: Record) -> Result<(), Lost> {
///         let mut records = self.0.lock().map_err(|_| Lost)?;
///         if records.len() == 10 {
///             return Err(Lost);
///         }
///         records.push(record);
///         Ok(())
///     }
/// }
/// ```
pub trait Sink: Send + Sync + 'static {
    /// The certainty that one record will be accepted. A slot that is dropped unused is free again.
    type Slot: Send + 'static;

    /// Reserves a slot for one record; returns `None` if no record can be accepted now.
    ///
    /// ```
    /// use ziggurat_layers::audit::{Queue, Sink as _};
    ///
    /// let (queue, _records) = Queue::bounded(1);
    /// let slot = queue.reserve();
    /// assert!(slot.is_some() && queue.reserve().is_none());
    /// ```
    fn reserve(&self) -> Option<Self::Slot>;

    /// Takes a record.
    ///
    /// ```
    /// use std::time::Duration;
    /// use http::Request;
    /// use ziggurat_layers::audit::{Lost, Queue, Record, Sink as _};
    ///
    /// let (queue, records) = Queue::bounded(1);
    /// let slot = queue.reserve().ok_or(Lost)?;
    /// queue.accept(slot, Record::of(&Request::new(()), Duration::ZERO))?;
    /// assert!(records.try_next().is_some());
    /// # Ok::<_, Lost>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the record could not be kept in spite of its slot. The layer counts it as
    /// [lost](super::AuditLayer::lost).
    fn accept(&self, slot: Self::Slot, record: Record) -> Result<(), Lost>;
}

/// Error of a sink that could not keep a record.
///
/// ```
/// use ziggurat_layers::audit::Lost;
///
/// assert_eq!(Lost.to_string(), "the record could not be kept");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost;

/// Keeps records in memory until a writer takes them.
///
/// Records that wait and slots that are reserved count together, so the memory is bounded by the
/// capacity, at about 300 bytes and the texts of a record each. Clones share the queue. When the
/// [`Records`] are dropped, the queue accepts nothing.
///
/// ```
/// use std::time::Duration;
/// use http::Request;
/// use ziggurat_layers::audit::{AuditLayer, Queue};
///
/// let (queue, records) = Queue::bounded(10_000);
/// let layer = AuditLayer::new(queue).with_required();
/// let writer = std::thread::spawn(move || {
///     for record in records {
///         // Write it to a file, or to a database.
///     }
/// });
/// // The writer ends after the last service of the layer.
/// drop(layer);
/// writer.join().unwrap();
/// ```
#[derive(Clone)]
pub struct Queue {
    sender: SyncSender<Queued>,
    capacity: Arc<Capacity>,
}

/// The writer's end of a [`Queue`].
///
/// As an iterator it blocks its thread until there is a record, and ends after the last record once
/// all clones of the queue are dropped.
///
/// ```
/// use ziggurat_layers::audit::Queue;
///
/// let (queue, mut records) = Queue::bounded(10);
/// drop(queue);
/// assert!(records.next().is_none());
/// ```
pub struct Records {
    receiver: Receiver<Queued>,
    capacity: Arc<Capacity>,
}

/// Slot of a [`Queue`].
///
/// ```
/// use ziggurat_layers::audit::{Queue, QueueSlot, Sink as _};
///
/// let (queue, _records) = Queue::bounded(1);
/// let slot: Option<QueueSlot> = queue.reserve();
/// drop(slot);
/// assert!(queue.reserve().is_some());
/// ```
pub struct QueueSlot {
    capacity: Arc<Capacity>,
}

struct Queued {
    record: Record,
    // Freed when the record is taken out.
    _slot: QueueSlot,
}

struct Capacity {
    free: AtomicUsize,
    is_closed: AtomicBool,
}

/// Writes each record as one `info` event of the target `audit`.
///
/// The fields are named like the methods of [`Record`]; `duration_us` is in microseconds and
/// `started_ms` in milliseconds since 1970. Without a subscriber for the event the sink accepts
/// nothing.
///
/// ```
/// use ziggurat_layers::audit::{AuditLayer, TracingSink};
///
/// let layer = AuditLayer::new(TracingSink);
/// # let _ = layer;
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct TracingSink;

// === impl Sink ===

impl<F> Sink for F
where
    F: Fn(Record) + Send + Sync + 'static,
{
    type Slot = ();

    fn reserve(&self) -> Option<()> {
        Some(())
    }

    fn accept(&self, (): (), record: Record) -> Result<(), Lost> {
        self(record);
        Ok(())
    }
}

// === impl Lost ===

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the record could not be kept")
    }
}

impl Error for Lost {}

// === impl Queue ===

impl Queue {
    /// Makes a queue of up to `capacity` records, at least one, and the writer's end of it.
    ///
    /// Their memory is allocated at once, except for the texts.
    ///
    /// ```
    /// use ziggurat_layers::audit::Queue;
    ///
    /// let (queue, records) = Queue::bounded(10_000);
    /// # let _ = (queue, records);
    /// ```
    #[must_use]
    pub fn bounded(capacity: usize) -> (Self, Records) {
        let slots = capacity.max(1);
        let (sender, receiver) = sync_channel(slots);
        let capacity = Arc::new(Capacity {
            free: AtomicUsize::new(slots),
            is_closed: AtomicBool::new(false),
        });
        let records = Records {
            receiver,
            capacity: Arc::clone(&capacity),
        };
        (Self { sender, capacity }, records)
    }
}

impl Sink for Queue {
    type Slot = QueueSlot;

    fn reserve(&self) -> Option<QueueSlot> {
        let capacity = &self.capacity;
        if capacity.is_closed.load(Ordering::Relaxed) {
            return None;
        }
        let take = |free: usize| free.checked_sub(1);
        let taken = capacity
            .free
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, take);
        taken.ok().map(|_| QueueSlot {
            capacity: Arc::clone(capacity),
        })
    }

    fn accept(&self, slot: QueueSlot, record: Record) -> Result<(), Lost> {
        let queued = Queued {
            record,
            _slot: slot,
        };
        // Never full, because there are as many slots as places: this fails without a writer only.
        self.sender.try_send(queued).map_err(|_| Lost)
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("free", &self.capacity.free)
            .finish_non_exhaustive()
    }
}

// === impl Records ===

impl Records {
    /// Takes the oldest record without waiting; returns `None` if there is no record now.
    ///
    /// ```
    /// use ziggurat_layers::audit::Queue;
    ///
    /// let (_queue, records) = Queue::bounded(10);
    /// assert!(records.try_next().is_none());
    /// ```
    #[must_use]
    pub fn try_next(&self) -> Option<Record> {
        self.receiver.try_recv().ok().map(|queued| queued.record)
    }
}

impl Iterator for Records {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        self.receiver.recv().ok().map(|queued| queued.record)
    }
}

impl Drop for Records {
    fn drop(&mut self) {
        self.capacity.is_closed.store(true, Ordering::Relaxed);
    }
}

impl fmt::Debug for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Records").finish_non_exhaustive()
    }
}

// === impl QueueSlot ===

impl Drop for QueueSlot {
    fn drop(&mut self) {
        self.capacity.free.fetch_add(1, Ordering::Release);
    }
}

impl fmt::Debug for QueueSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueueSlot").finish_non_exhaustive()
    }
}

// === impl TracingSink ===

impl Sink for TracingSink {
    type Slot = ();

    fn reserve(&self) -> Option<()> {
        enabled!(target: "audit", Level::INFO).then_some(())
    }

    fn accept(&self, (): (), record: Record) -> Result<(), Lost> {
        // Texts are strings and not written through `Display`, so that a subscriber escapes them.
        info!(
            target: "audit",
            method = record.method().as_str(),
            version = ?record.version(),
            path = record.path(),
            route = record.route(),
            status = record.status().map(|status| status.as_u16()),
            outcome = record.outcome().as_str(),
            code = record.code(),
            bytes_in = record.bytes_in(),
            bytes_out = record.bytes_out(),
            started_ms = u64::try_from(record.started().as_millis()).ok(),
            duration_us = u64::try_from(record.duration().as_micros()).ok(),
            client = record.client().as_ref().map(tracing::field::display::<&IpAddr>),
            identity = record.identity(),
            request_id = record.request_id().map(RequestId::as_str),
            trace_id = record.trace_id().map(tracing::field::display),
            "request"
        );
        Ok(())
    }
}
