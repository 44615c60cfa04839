//! A relay that copies bytes without looking at them: what any process in the middle costs at least.

use std::process::Stdio;

use tokio::net::unix::pipe;
use tokio::net::{TcpListener, TcpStream};

pub async fn stdio(command: &[String]) {
    let mut child = tokio::process::Command::new(&command[0])
        .args(&command[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut to_child, mut from_child) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut input = pipe::OpenOptions::new().open_receiver("/proc/self/fd/0").unwrap();
    let mut output = pipe::OpenOptions::new().open_sender("/proc/self/fd/1").unwrap();
    let back = tokio::spawn(async move { tokio::io::copy(&mut from_child, &mut output).await });
    tokio::io::copy(&mut input, &mut to_child).await.unwrap();
    drop(to_child);
    back.await.unwrap().unwrap();
}

pub async fn tcp(target: &str) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("{}", listener.local_addr().unwrap());
    loop {
        let (mut client, _) = listener.accept().await.unwrap();
        client.set_nodelay(true).unwrap();
        let mut server = TcpStream::connect(target).await.unwrap();
        server.set_nodelay(true).unwrap();
        tokio::spawn(async move { tokio::io::copy_bidirectional(&mut client, &mut server).await });
    }
}
