//! Runs a program on a system that refuses what confines processes: `refusing seccomp,landlock PROGRAM ARGUMENTS...`.

#[cfg(target_os = "linux")]
fn main() {
    use std::os::unix::process::CommandExt;

    let mut arguments = std::env::args_os().skip(1);
    let refused = arguments.next().and_then(|text| text.into_string().ok()).expect("what to refuse");
    let program = arguments.next().expect("a program");
    let mut rules = std::collections::BTreeMap::new();
    for layer in refused.split(',') {
        match layer {
            "seccomp" => drop(rules.insert(libc::SYS_seccomp, Vec::new())),
            "landlock" => drop(rules.insert(libc::SYS_landlock_create_ruleset, Vec::new())),
            other => panic!("unknown layer {other}"),
        }
    }
    let refuse = seccompiler::SeccompAction::Errno(libc::EPERM.cast_unsigned());
    let arch = std::env::consts::ARCH.try_into().expect("a known machine");
    let filter = seccompiler::SeccompFilter::new(rules, seccompiler::SeccompAction::Allow, refuse, arch);
    let filter: seccompiler::BpfProgram = filter.and_then(TryInto::try_into).expect("a filter");
    seccompiler::apply_filter(&filter).expect("it may be filtered itself");
    let failed = std::process::Command::new(program).args(arguments).exec();
    panic!("cannot run the program: {failed}");
}

#[cfg(not(target_os = "linux"))]
fn main() {
    panic!("there is nothing to refuse on this system");
}
