//! What the kernel knows of a process.

use std::fs;

use anyhow::{Context, Result};

/// The unit of times in `/proc/PID/stat`, which Linux fixes for programs: USER_HZ.
const TICKS_PER_SECOND: f64 = 100.0;

/// CPU time of a process so far, user and system, in seconds.
pub(crate) fn cpu_seconds(pid: u32) -> Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name in parentheses may hold anything; after it come the state and numbers.
    let (_, numbers) = stat.rsplit_once(") ").context("unexpected /proc/PID/stat")?;
    let fields: Vec<&str> = numbers.split(' ').collect();
    let ticks = |at: usize| -> Result<f64> { Ok(fields.get(at).context("short /proc/PID/stat")?.parse()?) };
    Ok((ticks(11)? + ticks(12)?) / TICKS_PER_SECOND)
}

/// Resident memory now, in bytes.
pub(crate) fn resident(pid: u32) -> Result<u64> {
    status(pid, "VmRSS:")
}

/// The most resident memory since the start, or since [`forget_peak`], in bytes.
pub(crate) fn peak(pid: u32) -> Result<u64> {
    status(pid, "VmHWM:")
}

/// Lets the peak begin anew at what is resident now.
pub(crate) fn forget_peak(pid: u32) -> Result<()> {
    fs::write(format!("/proc/{pid}/clear_refs"), "5").context("cannot reset the peak of a process")
}

fn status(pid: u32, name: &str) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib: u64 = line.and_then(|line| line.trim().strip_suffix(" kB")).context("no such line")?.parse()?;
    Ok(kib << 10)
}
