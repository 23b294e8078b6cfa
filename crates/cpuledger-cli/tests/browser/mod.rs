#![allow(dead_code)] // each test has its own part of it
//! Chromium, driven by its DevTools protocol over a pipe: messages of JSON, each with a NUL behind it.

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// For anything that does not take long.
const TIMEOUT: Duration = Duration::from_secs(60);

/// What a test says that cannot have one.
pub const MISSING: &str = "there is no chromium; scripts/install-packages test installs it";

/// The width of a narrow window, in pixels.
pub const NARROW: u32 = 400;

/// A browser with one page, whichever it is.
pub trait Page {
    /// Opens a page in a window of that width, or as narrow as it can be.
    fn go(&mut self, address: &str, width: u32);

    /// What a script says.
    fn eval(&mut self, script: &str) -> Value;

    /// Presses a key that has this name or letter.
    fn press(&mut self, key: &str);

    /// Moves the mouse from one place to another with its button pressed: shares of an element's size.
    fn drag(&mut self, selector: &str, from: (f64, f64), to: (f64, f64));

    /// Errors and warnings of the page.
    fn said(&self) -> Vec<String>;

    /// Waits until a script says yes.
    fn wait(&mut self, script: &str) {
        let begin = Instant::now();
        while self.eval(script) != json!(true) {
            let text = "document.body ? document.body.innerText.slice(0, 2000) : ''";
            assert!(begin.elapsed() < TIMEOUT, "{script}: {} {:?}", self.eval(text), self.said());
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// Waits until the page is drawn.
    fn settle(&mut self) {
        self.eval(
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))",
        );
    }
}

/// Chromium with one page.
pub struct Browser {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
    session: Option<String>,
    said: Vec<String>,
    profile: TempDir,
}

impl Browser {
    /// Starts one; `None`: there is none.
    pub fn open() -> Option<Browser> {
        let profile = tempfile::tempdir().expect("a folder");
        if let Err(error) = Command::new("chromium").arg("--version").output() {
            assert_eq!(error.kind(), ErrorKind::NotFound, "chromium: {error}");
            return None;
        }
        // It reads its descriptor 3, and writes to 4.
        let line = "exec chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --remote-debugging-pipe --user-data-dir=\"$1\" about:blank 3<&0 4>&1 >/dev/null 2>&1";
        let mut child = Command::new("sh")
            .args(["-c", line, "sh"])
            .arg(profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh");
        let input = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut browser = Browser { child, input, output, next: 0, session: None, said: Vec::new(), profile };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = browser.call("Target.attachToTarget", attach);
        browser.session = Some(session["sessionId"].as_str().expect("a session").to_owned());
        for domain in ["Runtime.enable", "Log.enable", "Page.enable"] {
            browser.call(domain, json!({}));
        }
        Some(browser)
    }

    /// The answer to a call. Errors of the page that come before it are kept.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.next += 1;
        let mut message = json!({ "id": self.next, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.input.write_all(format!("{message}\0").as_bytes()).expect("it is taken");
        loop {
            let mut bytes = Vec::new();
            self.output.read_until(0, &mut bytes).expect("the browser answers");
            assert_eq!(bytes.pop(), Some(0), "the browser has ended");
            let mut answer: Value = serde_json::from_slice(&bytes).expect("JSON");
            if answer["id"] == json!(self.next) {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].take();
            }
            self.note(&answer);
        }
    }

    fn note(&mut self, event: &Value) {
        let what = &event["params"];
        let is_bad = match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Runtime.consoleAPICalled") => {
                matches!(what["type"].as_str(), Some("error" | "warning" | "assert"))
            }
            Some("Log.entryAdded") => matches!(what["entry"]["level"].as_str(), Some("error" | "warning")),
            _ => false,
        };
        if is_bad {
            self.said.push(what.to_string());
        }
    }

    /// Opens a page in a window of that width, in a dark scheme or a light one.
    pub fn go_in(&mut self, address: &str, width: u32, is_dark: bool) {
        let size = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
        let scheme = if is_dark { "dark" } else { "light" };
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.call("Emulation.setEmulatedMedia", features);
        // Another part of the same page would not be loaded.
        self.call("Page.navigate", json!({ "url": "about:blank" }));
        self.wait("location.href === 'about:blank'");
        self.call("Page.navigate", json!({ "url": address }));
        self.wait(
            "document.readyState === 'complete' && document.querySelectorAll('#rows tbody tr').length > 0",
        );
    }

    /// CPU time of the processes that draw pages.
    pub fn drawing_ns(&self) -> u64 {
        let profile = self.profile.path().to_str().expect("UTF-8");
        let of = |process: std::fs::DirEntry| {
            let line = std::fs::read_to_string(process.path().join("cmdline")).unwrap_or_default();
            let draws = line.contains(profile) && line.contains("--type=renderer");
            let tasks = draws.then(|| std::fs::read_dir(process.path().join("task")).ok())??;
            let ns = |task: std::fs::DirEntry| {
                let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
                text.split(' ').next()?.parse::<u64>().ok()
            };
            Some(tasks.flatten().filter_map(ns).sum::<u64>())
        };
        std::fs::read_dir("/proc").expect("/proc").flatten().filter_map(of).sum()
    }
}

impl Page for Browser {
    fn go(&mut self, address: &str, width: u32) {
        self.go_in(address, width, width == NARROW);
    }

    fn eval(&mut self, script: &str) -> Value {
        let wanted = json!({ "expression": script, "returnByValue": true, "awaitPromise": true });
        let mut answer = self.call("Runtime.evaluate", wanted);
        assert!(answer["exceptionDetails"].is_null(), "{script}: {answer}");
        answer["result"]["value"].take()
    }

    fn press(&mut self, key: &str) {
        let text = if key.chars().count() == 1 { key } else { "" };
        for kind in ["keyDown", "keyUp"] {
            let event =
                json!({ "type": kind, "key": key, "text": if kind == "keyDown" { text } else { "" } });
            self.call("Input.dispatchKeyEvent", event);
        }
        self.settle();
    }

    fn drag(&mut self, selector: &str, from: (f64, f64), to: (f64, f64)) {
        let [(x, y), (to_x, to_y)] = places(&self.eval(&box_of(selector)), [from, to]);
        let mut mouse = |kind: &str, x: f64, y: f64, buttons: u32| {
            let event = json!({ "type": kind, "x": x, "y": y, "button": "left", "buttons": buttons, "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", event);
        };
        mouse("mouseMoved", x, y, 0);
        mouse("mousePressed", x, y, 1);
        if from != to {
            mouse("mouseMoved", f64::midpoint(x, to_x), y, 1);
            mouse("mouseMoved", to_x, to_y, 1);
        }
        mouse("mouseReleased", to_x, to_y, 0);
        self.settle();
    }

    fn said(&self) -> Vec<String> {
        self.said.clone()
    }
}

/// A script that brings an element into the window, and says where it is and how large.
pub fn box_of(selector: &str) -> String {
    format!(
        "(() => {{ const own = document.querySelector({selector:?}); own.scrollIntoView({{ block: 'center' }}); const at = own.getBoundingClientRect(); return [at.x, at.y, at.width, at.height]; }})()"
    )
}

/// Places of the window from shares of the size of that box.
pub fn places(own: &Value, shares: [(f64, f64); 2]) -> [(f64, f64); 2] {
    let part = |place: usize| own[place].as_f64().expect("a number");
    shares.map(|(x, y)| (part(0) + x * part(2), part(1) + y * part(3)))
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
