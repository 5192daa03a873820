//! What a piece of work costs: CPU time, wall time, memory.

use std::fs;
use std::num::NonZeroUsize;
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use crate::Failure;

/// Work that has taken this long is not repeated; the peers are measured by the same rule.
const ENOUGH_SECONDS: f64 = 8.0;

/// The least that any of several repeats took, of each kind by itself.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Cost {
    /// CPU seconds of all threads, user and system.
    pub(crate) cpu_s: f64,
    /// Seconds on the clock.
    pub(crate) wall_s: f64,
    /// Most memory the process had at once during any repeat, MiB; what it had loaded is part of it.
    pub(crate) peak_mib: f64,
    /// How much of that came in addition to what it had before the first repeat.
    pub(crate) grown_mib: f64,
}

/// Does the work several times, at most `repeat`; its last result, and the least it cost.
pub(crate) fn measure<T>(
    repeat: NonZeroUsize,
    mut work: impl FnMut() -> Result<T, Failure>,
) -> Result<(T, Cost), Failure> {
    // "5" sets the high-water mark back to what is resident now. Where the kernel does not allow it, the mark includes
    // loading, which is an overestimate and not an error.
    let _ = fs::write("/proc/self/clear_refs", "5");
    let before = memory_mib("VmRSS")?;
    let (mut cpu_s, mut wall_s) = (f64::INFINITY, f64::INFINITY);
    let mut result = None;
    let first = Instant::now();
    for _ in 0..repeat.get() {
        drop(result.take());
        let (began, cpu) = (Instant::now(), cpu_seconds());
        result = Some(work()?);
        cpu_s = cpu_s.min(cpu_seconds() - cpu);
        wall_s = wall_s.min(began.elapsed().as_secs_f64());
        if first.elapsed().as_secs_f64() > ENOUGH_SECONDS {
            break;
        }
    }
    let Some(result) = result else { unreachable!("at least one repeat") };
    let peak_mib = memory_mib("VmHWM")?;
    Ok((result, Cost { cpu_s, wall_s, peak_mib, grown_mib: (peak_mib - before).max(0.0) }))
}

/// CPU seconds of the process so far.
fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// A line such as `VmHWM:  1234 kB` of the process's status, in MiB.
fn memory_mib(field: &str) -> Result<f64, Failure> {
    let status = fs::read_to_string("/proc/self/status")?;
    let kib = status
        .lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':')?.trim().strip_suffix(" kB"))
        .ok_or_else(|| format!("/proc/self/status has no {field}"))?;
    Ok(kib.parse::<f64>()? / 1024.0)
}
