#![allow(dead_code)] // each test has its own part of it
//! A server of the page for tests.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use cpuledger_load::with_net;

/// For anything that does not take long.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// `cpuledger web` on a port of its own.
pub struct Web {
    /// Its process.
    pub child: Child,
    /// Where it listens.
    pub address: SocketAddr,
}

impl Web {
    /// What starts it.
    pub fn command(socket: &Path, recording: &Path, options: &[&str]) -> Command {
        let mut command = Command::new(with_net(env!("CARGO_BIN_EXE_cpuledger")));
        command.arg("web").arg(recording).arg("--socket").arg(socket).args(options);
        command
    }

    /// Starts it as a reader of the service at that socket.
    pub fn start(socket: &Path, recording: &Path, options: &[&str]) -> Web {
        let mut command = Web::command(socket, recording, &[&["--listen", "127.0.0.1:0"], options].concat());
        let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
        let mut words = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut line = String::new();
        while !line.contains("the page is at http") {
            line.clear();
            assert!(words.read_line(&mut line).expect("UTF-8") > 0, "it has ended");
        }
        // What it says later is not to fill the pipe.
        std::thread::spawn(move || std::io::copy(&mut words, &mut std::io::sink()));
        let address = line.trim().rsplit("://").next().and_then(|text| text.parse().ok());
        Web { child, address: address.expect("an address") }
    }

    /// A connection on which this was said.
    pub fn say(&self, words: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).expect("it listens");
        stream.set_read_timeout(Some(TIMEOUT)).expect("a timeout");
        // It may have been closed already.
        let _ = stream.write_all(words.as_bytes());
        stream
    }

    /// The answer to a request for a path, with these lines in its head: its head and its body.
    pub fn ask(&self, path: &str, lines: &str) -> (String, String) {
        let mut stream = self.say(&format!("GET {path} HTTP/1.1\r\nConnection: close\r\n{lines}\r\n\r\n"));
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an answer");
        let answer = String::from_utf8(answer).expect("UTF-8");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        (head.to_owned(), body.to_owned())
    }

    /// Likewise for a request as a browser of this machine sends it.
    pub fn get(&self, path: &str) -> (String, String) {
        self.ask(path, "Host: localhost")
    }

    /// Visits the stream of intervals. Returns the stream behind the head.
    pub fn visit(&self, query: &str) -> (String, BufReader<TcpStream>) {
        let stream = self.say(&format!("GET /live?{query} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
        let mut stream = BufReader::new(stream);
        let mut status = String::new();
        let _ = stream.read_line(&mut status);
        (status, stream)
    }

    /// Its resident memory.
    pub fn memory_bytes(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it lives");
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("it has memory");
        line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
