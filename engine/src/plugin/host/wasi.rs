//! WASI 0.2 with nothing in it, for components of toolchains that cannot do without: no folder, no environment, no
//! arguments, no sockets, one fixed time and one fixed series of random numbers. Standard output is discarded; the
//! end of standard error is kept, as that is where a panic or a traceback is written.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::pipe::MemoryOutputPipe;
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};
use wasmtime_wasi::{Deterministic, HostMonotonicClock, HostWallClock, WasiCtx, async_trait};

/// The largest answer of the random number generators, in bytes.
const MAX_RANDOM: u64 = 1 << 20;

/// A WASI that grants nothing and answers the same every time.
pub(super) fn nothing_granted(stderr: Tail) -> WasiCtx {
    // Any bytes will do; a hash map seeds itself with them.
    let random = || Deterministic::new((0..=u8::MAX).map(|byte| byte.wrapping_mul(167).wrapping_add(13)).collect());
    WasiCtx::builder()
        .stderr(stderr)
        .secure_random(random())
        .insecure_random(random())
        .insecure_random_seed(0)
        .max_random_size(MAX_RANDOM)
        .wall_clock(Stopped)
        .monotonic_clock(Stopped)
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false)
        .build()
}

/// A clock that stands at zero: a hook is told the time where it needs it.
struct Stopped;

impl HostWallClock for Stopped {
    fn resolution(&self) -> Duration {
        Duration::from_millis(1)
    }

    fn now(&self) -> Duration {
        Duration::ZERO
    }
}

impl HostMonotonicClock for Stopped {
    fn resolution(&self) -> u64 {
        1_000_000
    }

    fn now(&self) -> u64 {
        0
    }
}

/// Bytes of standard error that are kept.
const TAIL: usize = 64 << 10;
/// Bytes that are taken at once.
const WRITE: usize = 64 << 10;

/// Keeps the end of what is written to it, and never fills up.
#[derive(Clone, Default)]
pub(super) struct Tail(Arc<Mutex<Vec<u8>>>);

impl Tail {
    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        // Bytes are in order whatever happened to another thread.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn clear(&self) {
        self.lock().clear();
    }

    /// What was written last, if it is more than blanks.
    pub(super) fn text(&self) -> Option<String> {
        let bytes = self.lock();
        let text = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(TAIL)..]).trim().to_owned();
        (!text.is_empty()).then_some(text)
    }
}

impl IsTerminal for Tail {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Tail {
    fn async_stream(&self) -> Box<dyn tokio::io::AsyncWrite + Send + Sync> {
        // Of WASI 0.1 and 0.3, which are not linked.
        Box::new(MemoryOutputPipe::new(0))
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[async_trait]
impl Pollable for Tail {
    async fn ready(&mut self) {}
}

#[async_trait]
impl OutputStream for Tail {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        let mut kept = self.lock();
        kept.extend_from_slice(&bytes);
        // Cut rarely, so that many small writes stay cheap.
        let surplus = kept.len().saturating_sub(TAIL);
        if surplus > TAIL {
            kept.drain(..surplus);
        }
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(WRITE)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    #[test]
    fn only_the_end_of_standard_error_is_kept() {
        let mut tail = Tail::default();
        for _ in 0..40 {
            tail.write(Bytes::from(vec![b'x'; 8 << 10])).unwrap();
        }
        tail.write(Bytes::from_static(b"the end\n")).unwrap();
        let text = tail.text().unwrap();
        assert!(text.ends_with("the end"));
        assert!(text.len() <= TAIL, "{}", text.len());
        assert!(tail.lock().len() <= 2 * TAIL);
    }
}
