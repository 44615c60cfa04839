//! Checks that the lines of an audit log are unchanged and complete.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::chain::hash;
use super::key::AuditKey;

/// How old a line without a seal may be. A running proxy seals after half of that.
const MAX_UNSEALED: Duration = Duration::from_secs(120);
/// When a log has its first seal at the latest, while the proxy runs.
const FIRST_SEAL: Duration = Duration::from_secs(65);

/// A log without a fault.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifiedLog {
    pub lines: u64,
    /// Above one if the files before the first one are not among those checked.
    pub first_seq: u64,
    pub last_seq: u64,
    pub head: Option<String>,
    /// The number of the last seal that the key has made. Up to it, nothing can be changed without the key.
    pub sealed_seq: Option<u64>,
    /// When the first line after that seal was written; `None` if there is no such line.
    pub unsealed_since: Option<String>,
    /// Seals that were not checked, by the id of their key.
    pub unchecked_seals: BTreeMap<String, u64>,
    /// Records that the log itself says are missing: it could not be written.
    pub lost: u64,
    /// Lines that were cut off when a process was killed.
    pub torn: u64,
}

/// The first place where a log is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditFault {
    pub file: PathBuf,
    /// From one; zero if it is about the file.
    pub line: u64,
    pub problem: String,
}

/// Checks files that continue each other, in any order. `head` is a hash that was noted elsewhere: a line must have it.
///
/// # Errors
/// The first fault.
pub fn verify(files: &[PathBuf], key: Option<&AuditKey>, head: Option<&str>) -> Result<VerifiedLog, AuditFault> {
    let mut ordered = Vec::new();
    for file in files {
        ordered.push((first_seq(file)?, file));
    }
    ordered.sort();
    let mut check = LogCheck { key, head, ..LogCheck::default() };
    for (_, file) in ordered {
        check.file(file)?;
    }
    if let Some(torn) = check.torn {
        return Err(torn.fault);
    }
    if head.is_some() && !check.found_head {
        let seq = check.log.last_seq;
        let problem =
            format!("no line has the given head: the lines after seq {seq} are missing, or seq {seq} was changed");
        return Err(check.last.fault(problem));
    }
    Ok(check.log)
}

/// The number of the first line, by which files are ordered.
fn first_seq(file: &Path) -> Result<u64, AuditFault> {
    let mut first = Vec::new();
    let read = File::open(file).and_then(|opened| BufReader::new(opened).read_until(b'\n', &mut first));
    read.map_err(|error| unreadable(file, &error))?;
    let parsed: Option<Value> = serde_json::from_slice(&first).ok();
    // An invalid line is reported later, when it is checked.
    Ok(parsed.and_then(|line| line["seq"].as_u64()).unwrap_or(0))
}

fn unreadable(file: &Path, error: &io::Error) -> AuditFault {
    Place { file: file.to_owned(), line: 0 }.fault(format!("cannot be read: {error}"))
}

/// A line of a file, from one.
#[derive(Default)]
struct Place {
    file: PathBuf,
    line: u64,
}

impl Place {
    fn fault(&self, problem: impl Into<String>) -> AuditFault {
        AuditFault { file: self.file.clone(), line: self.line, problem: problem.into() }
    }
}

#[derive(Default)]
struct LogCheck<'a> {
    key: Option<&'a AuditKey>,
    head: Option<&'a str>,
    found_head: bool,
    log: VerifiedLog,
    /// The line that is checked.
    place: Place,
    /// The line before it.
    last: Place,
    /// A line that is not JSON. The next line may explain that it was cut off.
    torn: Option<TornLine>,
}

struct TornLine {
    hash: String,
    fault: AuditFault,
}

impl VerifiedLog {
    /// How old a log is that nothing is wrong with but that its first seal has not come yet.
    pub fn awaits_first_seal(&self, now: SystemTime) -> Option<Duration> {
        if self.sealed_seq.is_some() || self.first_seq != 1 || !self.unchecked_seals.is_empty() {
            return None;
        }
        let began = self.unsealed_since.as_ref()?.parse::<jiff::Timestamp>().ok()?;
        now.duration_since(began.into()).ok().filter(|age| *age < FIRST_SEAL)
    }

    /// What the key does not prove: a log without any seal by it, or lines that should have been sealed before `now`.
    pub fn unsealed(&self, now: SystemTime) -> Option<String> {
        let since = self.unsealed_since.as_ref()?;
        if self.sealed_seq.is_none() {
            return Some("there is no seal by this key".to_owned());
        }
        // A line without a valid time counts as old.
        let written = since.parse::<jiff::Timestamp>().map_or(SystemTime::UNIX_EPOCH, SystemTime::from);
        // A line from the future must not escape the check.
        let is_old = match now.duration_since(written) {
            Ok(age) => age > MAX_UNSEALED,
            Err(ahead) => ahead.duration() > MAX_UNSEALED,
        };
        let seq = self.sealed_seq.unwrap_or_default();
        is_old.then(|| format!("the lines after seq {seq} have no seal; the first of them dates from {since}"))
    }
}

impl LogCheck<'_> {
    fn file(&mut self, file: &Path) -> Result<(), AuditFault> {
        let mut reader = BufReader::new(File::open(file).map_err(|error| unreadable(file, &error))?);
        for number in 1.. {
            let mut line = Vec::new();
            let read = reader.read_until(b'\n', &mut line).map_err(|error| unreadable(file, &error))?;
            if read == 0 {
                break;
            }
            let is_whole = line.pop_if(|last| *last == b'\n').is_some();
            self.place = Place { file: file.to_owned(), line: number };
            self.line(&line, is_whole)?;
        }
        Ok(())
    }

    fn line(&mut self, text: &[u8], is_whole: bool) -> Result<(), AuditFault> {
        let parsed: Option<Value> = serde_json::from_slice(text).ok().filter(|_| is_whole);
        let read = parsed.as_ref().and_then(|line| Some((line, line["seq"].as_u64()?)));
        let Some((line, seq)) = read else {
            if let Some(torn) = self.torn.take() {
                return Err(torn.fault);
            }
            let problem = if is_whole { "is not a line of an audit log" } else { "is incomplete" };
            self.torn = Some(TornLine { hash: hash(text), fault: self.place.fault(problem) });
            return Ok(());
        };
        if let Some(torn) = self.torn.take() {
            if line["torn"] != torn.hash {
                return Err(torn.fault);
            }
            self.log.torn += 1;
        }
        self.in_chain(line, seq)?;
        if self.log.unsealed_since.is_none() {
            self.log.unsealed_since = Some(line["at"].as_str().unwrap_or_default().to_owned());
        }
        self.sealed(line, seq)?;
        let own = hash(text);
        self.found_head |= self.head == Some(own.as_str());
        self.log.lost += line["lost"].as_u64().filter(|_| line["type"] == "log_gap").unwrap_or(0);
        self.log.lines += 1;
        (self.log.last_seq, self.log.head) = (seq, Some(own));
        self.last = std::mem::take(&mut self.place);
        Ok(())
    }

    fn in_chain(&mut self, line: &Value, seq: u64) -> Result<(), AuditFault> {
        let prev = line["prev"].as_str();
        let Some(head) = &self.log.head else {
            self.log.first_seq = seq;
            let begins = (seq == 1) == prev.is_none();
            return if begins { Ok(()) } else { Err(self.place.fault("`seq` and `prev` contradict each other")) };
        };
        let last = self.log.last_seq;
        if seq > last + 1 {
            let missing =
                if seq == last + 2 { format!("seq {}", last + 1) } else { format!("seq {} to {}", last + 1, seq - 1) };
            return Err(self.place.fault(format!("{missing} is missing before this line (seq {seq})")));
        }
        if seq <= last {
            return Err(self.place.fault(format!("seq {seq} is out of order: the line before it has seq {last}")));
        }
        if prev != Some(head.as_str()) {
            return Err(self.last.fault(format!("seq {last} was changed: the next line has a different hash for it")));
        }
        Ok(())
    }

    fn sealed(&mut self, line: &Value, seq: u64) -> Result<(), AuditFault> {
        if line["type"] != "seal" {
            return Ok(());
        }
        let id = line["key"].as_str().unwrap_or_default();
        let Some(key) = self.key.filter(|key| key.id() == id) else {
            *self.log.unchecked_seals.entry(id.to_owned()).or_default() += 1;
            return Ok(());
        };
        let [prev, seal] = ["prev", "seal"].map(|member| line[member].as_str().unwrap_or_default());
        if !key.is_seal(seq, prev, seal) {
            return Err(self.place.fault("the seal is wrong: this line or one before it was changed"));
        }
        self.log.sealed_seq = Some(seq);
        self.log.unsealed_since = None;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::{Map, json};

    use super::super::chain::Chain;
    use super::*;
    use proxy_model::Secret;

    /// Two files: of three lines and a seal, and of two lines.
    struct TwoFiles {
        folder: PathBuf,
        files: Vec<PathBuf>,
        lines: Vec<String>,
        key: AuditKey,
    }

    impl TwoFiles {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("audit-{name}-{}", std::process::id()));
            fs::create_dir_all(&folder).unwrap();
            let key = AuditKey::new(&Secret::new("k"));
            let mut chain = Chain::new(Some(key.clone()));
            let line = |chain: &mut Chain, text: &str| chain.link(&Map::from_iter([("text".to_owned(), json!(text))]));
            let mut lines: Vec<String> = ["a", "b", "c"].iter().map(|text| line(&mut chain, text)).collect();
            lines.push(chain.seal("now".to_owned()).unwrap());
            lines.extend(["d", "e"].iter().map(|text| line(&mut chain, text)));
            let files = vec![folder.join("2"), folder.join("1")];
            let world = TwoFiles { folder, files, lines, key };
            world.write(&world.lines);
            world
        }

        /// The first four of the lines are in the older file.
        fn write(&self, lines: &[String]) {
            let (first, second): (Vec<_>, Vec<_>) =
                lines.iter().partition(|line| !line.contains("\"d\"") && !line.contains("\"e\""));
            let text = |lines: Vec<&String>| lines.into_iter().map(|line| format!("{line}\n")).collect::<String>();
            fs::write(&self.files[1], text(first)).unwrap();
            fs::write(&self.files[0], text(second)).unwrap();
        }

        fn fault(&self, lines: &[String]) -> (String, u64, String) {
            self.write(lines);
            let fault = verify(&self.files, Some(&self.key), None).unwrap_err();
            (fault.file.file_name().unwrap().to_string_lossy().into_owned(), fault.line, fault.problem)
        }
    }

    impl Drop for TwoFiles {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }

    #[test]
    fn whole_files_are_intact_in_any_order() {
        let world = TwoFiles::new("whole");
        let log = verify(&world.files, Some(&world.key), None).unwrap();
        assert_eq!((log.lines, log.first_seq, log.last_seq, log.sealed_seq), (6, 1, 6, Some(4)));
        assert_eq!(log.unsealed_since.as_deref(), Some(""), "the lines of this test have no time");
        let log = verify(&world.files, None, None).unwrap();
        assert_eq!((log.sealed_seq, log.unchecked_seals.values().sum::<u64>()), (None, 1));
        let alone = verify(&world.files[..1], None, None).unwrap();
        assert_eq!((alone.first_seq, alone.last_seq), (5, 6));
    }

    #[test]
    fn a_changed_or_missing_line_is_found() {
        let world = TwoFiles::new("changed");
        let mut changed = world.lines.clone();
        changed[1] = changed[1].replace("\"b\"", "\"B\"");
        assert_eq!(
            world.fault(&changed),
            ("1".into(), 2, "seq 2 was changed: the next line has a different hash for it".into())
        );
        let mut missing = world.lines.clone();
        missing.remove(1);
        assert_eq!(world.fault(&missing), ("1".into(), 2, "seq 2 is missing before this line (seq 3)".into()));
        let mut garbled = world.lines.clone();
        garbled[4] = garbled[4].replace("{", "");
        assert_eq!(world.fault(&garbled), ("2".into(), 1, "is not a line of an audit log".into()));
        let mut swapped = world.lines.clone();
        swapped.swap(0, 1);
        assert_eq!(world.fault(&swapped).2, "seq 1 is out of order: the line before it has seq 2");
    }

    #[test]
    fn a_chain_that_was_made_anew_has_no_seal_of_the_key() {
        let world = TwoFiles::new("forged");
        let mut forged = Chain::new(Some(AuditKey::new(&Secret::new("other"))));
        let mut lines: Vec<String> = (0..3).map(|_| forged.link(&Map::new())).collect();
        lines.push(forged.seal("now".to_owned()).unwrap());
        let own = lines[3].replace("\"key\":\"", "\"key\":\"x");
        world.write(&lines);
        let log = verify(&world.files[1..], Some(&world.key), None).unwrap();
        assert_eq!((log.sealed_seq, log.unchecked_seals.len()), (None, 1));
        // Nor does it help to name the right key.
        let id = own.split("\"key\":\"x").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
        lines[3] = lines[3].replace(id, world.key.id());
        assert_eq!(world.fault(&lines).2, "the seal is wrong: this line or one before it was changed");
    }

    #[test]
    fn what_no_seal_covers_is_said_once_it_is_old() {
        let log = |sealed: Option<u64>, since: Option<&str>| VerifiedLog {
            sealed_seq: sealed,
            unsealed_since: since.map(str::to_owned),
            ..VerifiedLog::default()
        };
        let now = SystemTime::from("2026-08-22T10:02:01Z".parse::<jiff::Timestamp>().unwrap());
        let since = |since: &str| log(Some(4), Some(since)).unsealed(now);
        assert_eq!(log(Some(4), None).unsealed(now), None);
        assert_eq!(since("2026-08-22T10:00:02.000Z"), None);
        assert_eq!(since("2026-08-22T10:03:00.000Z"), None, "another clock");
        assert!(since("2027-08-22T10:00:00.000Z").is_some(), "no clock is that wrong");
        assert!(since("2026-08-22T10:00:00.000Z").unwrap().contains("after seq 4"));
        assert!(since("").is_some());
        assert!(log(None, Some("2026-08-22T10:02:00.000Z")).unsealed(now).unwrap().contains("no seal"));
        assert_eq!(log(None, None).unsealed(now), None, "an empty log");
        let waits = |log: VerifiedLog| VerifiedLog { first_seq: 1, ..log }.awaits_first_seal(now);
        assert!(waits(log(None, Some("2026-08-22T10:02:00.000Z"))).is_some());
        assert_eq!(waits(log(None, Some("2026-08-22T09:00:00.000Z"))), None, "it should have come");
        assert_eq!(waits(log(Some(4), Some("2026-08-22T10:02:00.000Z"))), None, "it has come");
    }

    #[test]
    fn a_missing_tail_is_found_by_the_head() {
        let world = TwoFiles::new("tail");
        let head = verify(&world.files, None, None).unwrap().head.unwrap();
        world.write(&world.lines[..5]);
        assert!(verify(&world.files, Some(&world.key), None).is_ok(), "nothing but the head knows of the last line");
        let fault = verify(&world.files, Some(&world.key), Some(&head)).unwrap_err();
        assert!(fault.problem.contains("the lines after seq 5 are missing"), "{}", fault.problem);
        let earlier = hash(world.lines[2].as_bytes());
        assert!(verify(&world.files, None, Some(&earlier)).is_ok(), "lines may have been added since");
    }

    #[test]
    fn a_line_that_was_cut_off_is_no_fault_if_the_next_process_says_so() {
        let world = TwoFiles::new("torn");
        let mut chain = Chain::new(None);
        let first = chain.link(&Map::new());
        let next = chain.link(&Map::from_iter([("torn".to_owned(), json!(hash(b"{\"v\":1,\"se")))]));
        fs::write(&world.files[0], format!("{first}\n{{\"v\":1,\"se\n{next}\n")).unwrap();
        assert_eq!(verify(&world.files[..1], None, None).unwrap().torn, 1);
        fs::write(&world.files[0], format!("{first}\n{{\"v\":1,\"s\n{next}\n")).unwrap();
        assert_eq!(verify(&world.files[..1], None, None).unwrap_err().line, 2);
        fs::write(&world.files[0], format!("{first}\n{{\"v\":1,\"se")).unwrap();
        assert_eq!(verify(&world.files[..1], None, None).unwrap_err().problem, "is incomplete");
    }
}
