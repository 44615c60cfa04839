//! One message per line on stdin and stdout.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::dispatch;
use crate::message::{self, Envelope, Refusal};
use crate::outbox::{Outbox, Outgoing};
use crate::request::Request;
use crate::shared::{Listener, Shared};

pub async fn serve(shared: Arc<Shared>) -> io::Result<()> {
    let (outbox, outgoing) = Outbox::new();
    let writer = tokio::spawn(write_lines(outgoing, shared.options.crlf));
    if shared.options.banner {
        outbox.text("Fake backend 1.0 - ready to serve".to_owned());
        outbox.text("{this is not JSON either".to_owned());
    }
    let mut lines = BufReader::new(tokio::io::stdin());
    let mut line = Vec::new();
    loop {
        line.clear();
        if lines.read_until(b'\n', &mut line).await? == 0 {
            break;
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches(['\r', '\n']);
        if !text.is_empty() {
            receive(&shared, &outbox, text);
        }
    }
    // Requests that need no waiting are still answered; calls that wait for something are lost with the client.
    tokio::task::yield_now().await;
    outbox.end();
    let _ = writer.await;
    Ok(())
}

fn receive(shared: &Arc<Shared>, outbox: &Outbox, text: &str) {
    shared.record(|record| record.messages.push(text.to_owned()));
    if shared.options.never_answer {
        return;
    }
    let envelope = match Envelope::parse(text) {
        Ok(envelope) => envelope,
        Err(_) => return outbox.text(Refusal::new(400, -32700, "not a JSON-RPC message").response(None)),
    };
    if envelope.id.is_none() || envelope.method.is_none() {
        if envelope.method.as_deref() == Some("notifications/initialized") {
            let listener =
                Listener { outbox: outbox.clone(), subscription: None, session: None, resources: Vec::new() };
            shared.lock().listeners.push(listener);
            if shared.options.asks_roots {
                outbox.text(message::request("\"folders\"", "roots/list", "{}"));
            }
        }
        if shared.options.asks_roots && envelope.method.as_deref() == Some("notifications/roots/list_changed") {
            let id = format!(r#""folders-{}""#, shared.next_number());
            outbox.text(message::request(&id, "roots/list", "{}"));
        }
        return dispatch::without_answer(shared, &envelope, text);
    }
    if let Some(request) = Request::new(envelope, outbox.clone()) {
        tokio::spawn(dispatch::request(shared.clone(), request));
    }
}

async fn write_lines(mut outgoing: UnboundedReceiver<Outgoing>, crlf: bool) {
    let mut stdout = tokio::io::stdout();
    while let Some(next) = outgoing.recv().await {
        if next.end {
            return;
        }
        let end = if crlf { "\r\n" } else { "\n" };
        let line = next.text + end;
        if stdout.write_all(line.as_bytes()).await.is_err() || stdout.flush().await.is_err() {
            return;
        }
    }
}
