//! Calls over stdio through a program, so many at once.

use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};

use crate::cpu;

/// A program that is spoken to through its standard streams.
pub fn start(program: &[String]) -> Child {
    Command::new(&program[0])
        .args(&program[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

/// CPU microseconds the program itself spends per call.
pub async fn cost(program: &[String], in_flight: usize, calls: usize) -> f64 {
    let mut child = start(program);
    let pid = child.id().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::with_capacity(65536, child.stdout.take().unwrap());
    let mut line = String::new();
    input
        .write_all(
            b"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"b\",\"version\":\"1\"}}}\n",
        )
        .await
        .unwrap();
    output.read_line(&mut line).await.unwrap();
    let call = |id: usize| {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"echo\",\"arguments\":{{\"text\":\"some argument\",\"number\":42}}}}}}\n"
        )
    };
    let mut next = 1;
    let mut drive = async |count: usize| {
        let end = next + count;
        let mut open = 0;
        let mut batch = String::new();
        let mut answered = 0;
        while answered < count {
            while open < in_flight && next < end {
                batch.push_str(&call(next));
                next += 1;
                open += 1;
            }
            if !batch.is_empty() {
                input.write_all(batch.as_bytes()).await.unwrap();
                batch.clear();
            }
            loop {
                line.clear();
                output.read_line(&mut line).await.unwrap();
                assert!(line.contains("the answer"), "{line}");
                answered += 1;
                open -= 1;
                if output.buffer().is_empty() {
                    break;
                }
            }
        }
    };
    drive(2000.min(calls)).await;
    let before = cpu::seconds(pid);
    drive(calls).await;
    (cpu::seconds(pid) - before) * 1e6 / calls as f64
}
