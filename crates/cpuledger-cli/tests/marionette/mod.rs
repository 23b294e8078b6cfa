//! Firefox, driven by its Marionette protocol over TCP: each message has its length and a colon before it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::browser::{Page, box_of, places};

/// For anything that does not take long.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A browser with one page.
pub struct Firefox {
    child: Child,
    stream: BufReader<TcpStream>,
    next: u64,
    said: Arc<Mutex<Vec<String>>>,
    _profile: TempDir,
}

/// How the lines begin by which it tells of errors and warnings of a page. Those of `console.error` may be its own.
const COMPLAINTS: [&str; 3] =
    ["JavaScript error: http", "JavaScript warning: http", "Content-Security-Policy:"];

impl Firefox {
    /// Starts one; `None`: there is none.
    pub fn open() -> Option<Firefox> {
        let profile = tempfile::tempdir().expect("a folder");
        let port = std::net::TcpListener::bind("127.0.0.1:0")
            .and_then(|socket| socket.local_addr())
            .expect("a port")
            .port();
        // Its words go to standard output. A script that is ended because the page is left is no fault.
        let settings = format!(
            "user_pref(\"marionette.port\", {port});\n\
             user_pref(\"devtools.console.stdout.content\", true);\n\
             user_pref(\"browser.dom.window.dump.enabled\", true);\n\
             user_pref(\"dom.abort_script_on_child_shutdown\", false);\n"
        );
        std::fs::write(profile.path().join("user.js"), settings).expect("a file");
        let mut command = Command::new("firefox");
        command.args(["--headless", "--marionette", "--no-remote", "--profile"]).arg(profile.path());
        // Its home is not that of the user.
        command.env("HOME", profile.path()).env("MOZ_DISABLE_CONTENT_SANDBOX", "1");
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().ok()?;
        let said = Arc::default();
        listen(child.stdout.take().expect("a pipe"), &said);
        listen(child.stderr.take().expect("a pipe"), &said);
        let begin = Instant::now();
        let stream = loop {
            if let Ok(stream) = TcpStream::connect(("127.0.0.1", port)) {
                break stream;
            }
            assert!(child.try_wait().expect("it is ours").is_none(), "firefox has ended");
            assert!(begin.elapsed() < TIMEOUT, "firefox does not listen");
            std::thread::sleep(Duration::from_millis(50));
        };
        stream.set_read_timeout(Some(TIMEOUT)).expect("a timeout");
        let mut firefox = Firefox { child, stream: BufReader::new(stream), next: 0, said, _profile: profile };
        firefox.read();
        firefox.call("WebDriver:NewSession", json!({}));
        Some(firefox)
    }

    fn read(&mut self) -> Value {
        let mut length = Vec::new();
        self.stream.read_until(b':', &mut length).expect("a length");
        let length = String::from_utf8(length).expect("UTF-8");
        let mut bytes = vec![0; length.trim_end_matches(':').parse().expect("a length")];
        self.stream.read_exact(&mut bytes).expect("a message");
        serde_json::from_slice(&bytes).expect("JSON")
    }

    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.next += 1;
        let message = json!([0, self.next, method, parameters]).to_string();
        write!(self.stream.get_mut(), "{}:{message}", message.len()).expect("it is taken");
        let mut answer = self.read();
        assert_eq!((&answer[1], &answer[2]), (&json!(self.next), &Value::Null), "{method}: {answer}");
        answer[3].take()
    }
}

impl Page for Firefox {
    fn go(&mut self, address: &str, width: u32) {
        self.call("WebDriver:SetWindowRect", json!({ "width": width, "height": 1000 }));
        // Another part of the same page would not be loaded.
        self.call("WebDriver:Navigate", json!({ "url": "about:blank" }));
        self.call("WebDriver:Navigate", json!({ "url": address }));
        self.wait("document.querySelectorAll('#rows tbody tr').length > 0");
    }

    fn said(&self) -> Vec<String> {
        self.said.lock().expect("no panic").clone()
    }

    fn press(&mut self, key: &str) {
        let value = match key {
            "Backspace" => "\u{e003}",
            "Escape" => "\u{e00c}",
            letter => letter,
        };
        let actions = ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": value }));
        self.call(
            "WebDriver:PerformActions",
            json!({ "actions": [{ "type": "key", "id": "keys", "actions": actions }] }),
        );
        self.settle();
    }

    fn drag(&mut self, selector: &str, from: (f64, f64), to: (f64, f64)) {
        let [(x, y), (to_x, to_y)] = places(&self.eval(&box_of(selector)), [from, to]);
        let to =
            |x: f64, y: f64| json!({ "type": "pointerMove", "x": x.round(), "y": y.round(), "duration": 0 });
        let actions = [
            to(x, y),
            json!({ "type": "pointerDown", "button": 0 }),
            to(f64::midpoint(x, to_x), to_y),
            to(to_x, to_y),
            json!({ "type": "pointerUp", "button": 0 }),
        ];
        let mouse = json!({ "type": "pointer", "id": "mouse", "parameters": { "pointerType": "mouse" }, "actions": actions });
        self.call("WebDriver:PerformActions", json!({ "actions": [mouse] }));
        self.settle();
    }

    fn eval(&mut self, script: &str) -> Value {
        let script = format!("return {script};");
        self.call("WebDriver:ExecuteScript", json!({ "script": script, "args": [] }))["value"].take()
    }
}

impl Drop for Firefox {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Keeps what it complains of.
fn listen(output: impl Read + Send + 'static, said: &Arc<Mutex<Vec<String>>>) {
    let said = Arc::clone(said);
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if COMPLAINTS.iter().any(|begin| line.starts_with(begin)) {
                said.lock().expect("no panic").push(line);
            }
        }
    });
}
