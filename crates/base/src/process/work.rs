//! Measures the work of a process group through `/proc`, to distinguish a server that is still starting from a hung one.

use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::tree::{self, ProcessEntry};

/// Above this part of a core, a group is at work.
const BUSY_SHARE: f64 = 0.01;
/// Above this many bytes read and written, a group is at work.
const BUSY_BYTES: u64 = 4 << 10;
/// Above this part of a core, a group mostly runs or waits for a processor.
const MOSTLY: f64 = 0.5;

/// What each process of a group had done at one moment. Empty on systems without `/proc`.
#[derive(Debug)]
pub struct WorkSample {
    taken: Instant,
    processes: Vec<(ProcessEntry, ProcessWork)>,
}

/// What a process has done since it was started, with the children that it has waited for.
#[derive(Clone, Copy, Debug, Default)]
struct ProcessWork {
    /// How long it ran or waited for a processor.
    busy: Duration,
    /// What it read and wrote.
    bytes: u64,
}

/// What a group of processes did between two samples.
#[derive(Clone, Copy, Debug)]
pub struct WorkDone {
    elapsed: Duration,
    busy: Duration,
    bytes: u64,
}

impl WorkSample {
    /// A sample before the first process was started.
    pub fn before_start() -> Self {
        WorkSample { taken: Instant::now(), processes: Vec::new() }
    }

    /// The processes of the group with this leader, and its descendants in other groups. Blocks while `/proc` is read.
    pub fn of_group(leader: u32) -> Self {
        let (taken, all) = (Instant::now(), tree::processes());
        let leader = Pid::from_raw(leader.cast_signed());
        let descendants = tree::running_descendants(&all, leader, &[]);
        let is_member = |process: &&ProcessEntry| process.is_in_group(leader) || descendants.contains(process);
        let processes = all.iter().filter(is_member).map(|process| (*process, ProcessWork::of(process))).collect();
        WorkSample { taken, processes }
    }

    /// What was done since an earlier sample.
    pub fn since(&self, earlier: &WorkSample) -> WorkDone {
        let elapsed = self.taken.saturating_duration_since(earlier.taken);
        let mut done = WorkDone { elapsed, busy: Duration::ZERO, bytes: 0 };
        for (process, now) in &self.processes {
            let known = earlier.processes.iter().find(|(before, _)| before.is_same_as(process));
            let before = known.map(|(_, work)| *work).unwrap_or_default();
            done.busy += now.busy.saturating_sub(before.busy);
            done.bytes += now.bytes.saturating_sub(before.bytes);
        }
        done
    }
}

impl ProcessWork {
    fn of(process: &ProcessEntry) -> Self {
        ProcessWork { busy: process.processor_time() + waiting_time(process.id()), bytes: bytes_moved(process.id()) }
    }
}

/// How long the threads of a process have waited for a processor.
fn waiting_time(id: i32) -> Duration {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{id}/task")) else { return Duration::ZERO };
    let waited = threads.flatten().filter_map(|thread| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        // The time on a processor, the time in the queue for one, and the number of turns; both in nanoseconds.
        text.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
    });
    waited.sum()
}

/// What a process has read and written, whether from a disk, a pipe or a cache.
fn bytes_moved(id: i32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{id}/io")).unwrap_or_default();
    let value = |line: &str| line.strip_prefix("rchar: ").or_else(|| line.strip_prefix("wchar: "))?.parse::<u64>().ok();
    text.lines().filter_map(value).sum()
}

impl WorkDone {
    /// Whether the group ran, waited for a processor, read or wrote.
    pub fn is_at_work(&self) -> bool {
        self.share() > BUSY_SHARE || self.bytes > BUSY_BYTES
    }

    /// Whether the group ran or waited for a processor most of the time.
    pub fn is_mostly_running(&self) -> bool {
        self.share() > MOSTLY
    }

    /// The part of a core that it used or wanted.
    fn share(&self) -> f64 {
        self.busy.as_secs_f64() / self.elapsed.as_secs_f64().max(f64::EPSILON)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A shell with its children, in a group of its own.
    struct Group(Child);

    impl Group {
        fn start(script: &str) -> Self {
            let mut command = Command::new("sh");
            command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::null()).process_group(0);
            Group(command.spawn().expect("a shell"))
        }

        /// What it does, once it has done something or after several looks.
        fn work_until(&self, is_seen: impl Fn(&WorkDone) -> bool) -> bool {
            let mut before = WorkSample::before_start();
            (0..200).any(|_| {
                std::thread::sleep(Duration::from_millis(25));
                let now = WorkSample::of_group(self.0.id());
                let seen = is_seen(&now.since(&before));
                before = now;
                seen
            })
        }
    }

    impl Drop for Group {
        fn drop(&mut self) {
            if let Some(id) = Pid::from_raw(self.0.id().cast_signed()) {
                let _ = rustix::process::kill_process_group(id, rustix::process::Signal::KILL);
            }
            let _ = self.0.wait();
        }
    }

    #[test]
    fn a_group_that_computes_is_at_work_and_one_that_sleeps_is_not() {
        let computing = Group::start("(while :; do :; done) & wait");
        assert!(computing.work_until(WorkDone::is_at_work), "a child of the leader computes");
        assert!(computing.work_until(WorkDone::is_mostly_running));
        let sleeping = Group::start("exec sleep 600");
        assert!(sleeping.work_until(|done| !done.is_at_work()), "nothing happens after it has begun to sleep");
    }

    #[test]
    fn a_group_that_only_writes_is_at_work() {
        let done = WorkDone { elapsed: Duration::from_secs(5), busy: Duration::ZERO, bytes: BUSY_BYTES + 1 };
        assert!(done.is_at_work() && !done.is_mostly_running());
        let writing = Group::start("head -c 1000000 /dev/zero; exec sleep 600");
        assert!(writing.work_until(|done| done.bytes > 1_000_000), "a child that has ended is counted");
    }

    #[test]
    fn what_a_group_needs_to_be_at_work_depends_on_the_time() {
        let done = |busy| WorkDone { elapsed: Duration::from_secs(5), busy: Duration::from_millis(busy), bytes: 0 };
        assert!(!done(40).is_at_work() && done(60).is_at_work());
        assert!(!done(2400).is_mostly_running() && done(2600).is_mostly_running());
    }
}
