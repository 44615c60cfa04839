//! Measures the memory of a process group through `/proc`.

use rustix::process::Pid;

use super::tree;

/// The memory of the group with this leader and of its descendants in other groups, in bytes. Pages that several processes
/// share count in parts. `None` on systems without `/proc`. Blocks while `/proc` is read.
pub fn memory_of_group(leader: u32) -> Option<u64> {
    let all = tree::processes();
    let leader = Pid::from_raw(leader.cast_signed());
    let descendants = tree::running_descendants(&all, leader, &[]);
    let members = all.iter().filter(|process| process.is_in_group(leader) || descendants.contains(process));
    let bytes: u64 = members.filter_map(|process| memory_of(process.id())).sum();
    (bytes > 0).then_some(bytes)
}

/// The proportional set size, with what is swapped out.
fn memory_of(process: i32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/smaps_rollup")).ok()?;
    let kilobytes = |line: &str| {
        let amount = line.strip_prefix("Pss:").or_else(|| line.strip_prefix("SwapPss:"))?;
        amount.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    };
    Some(text.lines().filter_map(kilobytes).sum::<u64>() << 10)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Read;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn the_children_of_a_group_count() {
        // The child holds about 32 MB and says so.
        let script = "(text=$(head -c 32000000 /dev/zero | tr '\\0' x); echo ready; exec 1>&-; sleep 600; echo \"$text\") & wait";
        let mut command = Command::new("sh");
        let mut shell = command.args(["-c", script]).stdout(Stdio::piped()).process_group(0).spawn().unwrap();
        let mut said = [0; 5];
        shell.stdout.take().unwrap().read_exact(&mut said).unwrap();
        let bytes = memory_of_group(shell.id()).unwrap();
        let group = Pid::from_raw(shell.id().cast_signed()).unwrap();
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
        shell.wait().unwrap();
        assert!((30_000_000..300_000_000).contains(&bytes), "{bytes}");
        assert_eq!(memory_of_group(shell.id()), None, "it has ended");
    }
}
