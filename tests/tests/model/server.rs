//! A small HTTP server that gives the answers it is told, in their order, and keeps what it was sent.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What to do with one request.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// Status, further headers, body.
    Answer(u16, Vec<(String, String)>, String),
    /// Says that the body is longer than it is, and hangs up.
    Cut(String),
    /// Hangs up without a word.
    HangUp,
    /// Nothing, until the client hangs up.
    Silence,
    /// A body that goes on and on.
    Endless(u16),
}

/// A reply of JSON.
pub(crate) fn json(status: u16, body: &str) -> Reply {
    Reply::Answer(status, vec![("content-type".to_owned(), "application/json".to_owned())], body.to_owned())
}

/// A reply with headers.
pub(crate) fn with(status: u16, headers: &[(&str, &str)], body: &str) -> Reply {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Reply::Answer(status, headers, body.to_owned())
}

/// A complete answer in the form of chat completions.
pub(crate) fn chat(text: &str) -> Reply {
    let body = serde_json::json!({
        "choices": [{ "index": 0, "message": { "role": "assistant", "content": text }, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 21, "completion_tokens": 7 },
    });
    json(200, &body.to_string())
}

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// Method and path.
    pub(crate) line: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: serde_json::Value,
    pub(crate) at: Instant,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

#[derive(Debug, Default)]
struct Seen {
    requests: Mutex<Vec<Request>>,
    hung_up: Mutex<u32>,
}

/// Gives its replies in their order, the last one again and again. Ends when dropped.
#[derive(Debug)]
pub(crate) struct Server {
    address: String,
    seen: Arc<Seen>,
    task: JoinHandle<()>,
}

impl Server {
    pub(crate) async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let replies: Vec<Reply> = replies.into_iter().collect();
        assert!(!replies.is_empty(), "a server needs a reply");
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let seen = Arc::new(Seen::default());
        let task = tokio::spawn(serve(listener, replies, Arc::clone(&seen)));
        Self { address, seen, task }
    }

    /// Base URL, as an operator would write it.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.seen.requests.lock().unwrap().clone()
    }

    /// Clients that hung up before they were answered.
    pub(crate) fn hung_up(&self) -> u32 {
        *self.seen.hung_up.lock().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, replies: Vec<Reply>, seen: Arc<Seen>) {
    let replies = Arc::new(replies);
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(connection(stream, Arc::clone(&replies), Arc::clone(&seen)));
    }
}

/// One request for each connection.
async fn connection(mut stream: TcpStream, replies: Arc<Vec<Reply>>, seen: Arc<Seen>) {
    let Some(request) = read(&mut stream).await else { return };
    let number = {
        let mut requests = seen.requests.lock().unwrap();
        requests.push(request);
        requests.len() - 1
    };
    match replies[number.min(replies.len() - 1)].clone() {
        Reply::Answer(status, headers, body) => {
            let mut head =
                format!("HTTP/1.1 {status} Status\r\ncontent-length: {}\r\nconnection: close\r\n", body.len());
            for (name, value) in headers {
                head += &format!("{name}: {value}\r\n");
            }
            let _ = stream.write_all(format!("{head}\r\n{body}").as_bytes()).await;
        }
        Reply::Cut(body) => {
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len() + 100);
            let _ = stream.write_all((head + &body).as_bytes()).await;
        }
        Reply::HangUp => {}
        Reply::Silence => {
            let mut byte = [0];
            // The end of the stream is the client hanging up.
            let _ = tokio::time::timeout(Duration::from_secs(20), stream.read(&mut byte)).await;
            *seen.hung_up.lock().unwrap() += 1;
        }
        Reply::Endless(status) => {
            let _ = stream.write_all(format!("HTTP/1.1 {status} OK\r\nconnection: close\r\n\r\n").as_bytes()).await;
            let chunk = [b'x'; 64 << 10];
            while stream.write_all(&chunk).await.is_ok() {}
        }
    }
    let _ = stream.shutdown().await;
}

async fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let text = String::from_utf8_lossy(&bytes[..head]).into_owned();
    let mut lines = text.lines();
    let line = lines.next()?.to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length").and_then(|(_, value)| value.parse().ok());
    while bytes.len() < head + 4 + length.unwrap_or(0) {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let body = serde_json::from_slice(&bytes[head + 4..]).unwrap_or_default();
    Some(Request { line, headers, body, at: Instant::now() })
}
