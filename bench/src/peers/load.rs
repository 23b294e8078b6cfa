//! Loads that know what they did: a long process and many short ones, by names of their own.

use std::fs;
use std::io::{BufRead, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use anyhow::{Context, ensure};
use cpuledger_load::FileOnDisk;

/// Bytes of the file that is read, all of it once by the long reader.
const FILE_BYTES: usize = 128 << 20;

/// A shell that waits for a line, plays, writes what it did, and ends. It is not waited for before it is dropped: its CPU time is not that of a tool.
pub struct Load {
    child: Child,
    _file: Option<FileOnDisk>,
}

impl Load {
    /// 128 MiB read in blocks of 4 KiB with O_DIRECT, beside 100 processes that read 1 MiB each.
    ///
    /// # Errors
    /// When no folder is on a disk. So with all of them.
    pub fn disk() -> anyhow::Result<Load> {
        let file = FileOnDisk::new(FILE_BYTES)?.context("no folder for a file is on a disk")?;
        let path = file.path().to_owned();
        let script = "read -r go
            long_reader if=\"$FILE\" of=/dev/null bs=4k iflag=direct 2>/dev/null &
            for n in $(seq 0 99); do short_reader if=\"$FILE\" of=/dev/null bs=64k count=16 skip=$((n * 16)) iflag=direct 2>/dev/null; sleep 0.02; done
            wait
            echo long_reader 134217728 short_reader 104857600";
        let load = Load::start(script, &[("long_reader", "dd"), ("short_reader", "dd")], &[("FILE", &path)])?;
        Ok(load.with(file))
    }

    /// 80 MB sent in pieces of 1 MB by TCP, beside 50 processes that send 1 MB each.
    pub fn network() -> anyhow::Result<Load> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port().to_string();
        // It ends with the program: nothing else connects to it.
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                thread::spawn(move || std::io::copy(&mut stream, &mut std::io::sink()));
            }
        });
        let script = "read -r go
            long_sender -ISc 'import os, socket, time
s = socket.create_connection((\"127.0.0.1\", int(os.environ[\"PORT\"])))
for n in range(80): s.sendall(bytes(1000000)); time.sleep(0.03)' &
            for n in $(seq 50); do short_sender -ISc 'import os, socket
socket.create_connection((\"127.0.0.1\", int(os.environ[\"PORT\"]))).sendall(bytes(1000000))'; sleep 0.02; done
            wait
            echo long_sender 80000000 short_sender 50000000";
        let python = python()?;
        let python = python.to_str().context("a path that is text")?;
        Load::start(
            script,
            &[("long_sender", python), ("short_sender", python)],
            &[("PORT", Path::new(&port))],
        )
    }

    /// For three seconds on one CPU: a victim, and two busy loops of which one is nice. How long the victim waits, the kernel says; the loops have caused that
    /// and each other's waits: while one runs, two wait.
    pub fn wait() -> anyhow::Result<Load> {
        let script = "read -r go
            loop='while :; do :; done'
            taskset -c 0 victim -c \"$loop\" & victim=$!
            taskset -c 0 spinner -c \"$loop\" & spinner=$!
            taskset -c 0 nice -n 3 nice_spinner -c \"$loop\" & nice_spinner=$!
            sleep 3
            kill -STOP $victim $spinner $nice_spinner
            read -r ran waited rest </proc/$victim/schedstat; echo victim $waited
            read -r ran waited rest </proc/$spinner/schedstat; echo spinner $((2 * ran))
            read -r ran waited rest </proc/$nice_spinner/schedstat; echo nice_spinner $((2 * ran))
            kill -KILL $victim $spinner $nice_spinner
            wait";
        Load::start(script, &[("victim", "sh"), ("spinner", "sh"), ("nice_spinner", "sh")], &[])
    }

    /// `names`: a link of that name to a program of the search path, by which a process is called.
    fn start(script: &str, names: &[(&str, &str)], variables: &[(&str, &Path)]) -> anyhow::Result<Load> {
        let folder = std::env::temp_dir().join("peers");
        fs::create_dir_all(&folder)?;
        for (name, program) in names {
            let link = folder.join(name);
            if !link.exists() {
                symlink(found(program)?, link)?;
            }
        }
        let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
        let child = Command::new("sh")
            .args(["-c", script])
            .env("PATH", path)
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot run sh")?;
        Ok(Load { child, _file: None })
    }

    fn with(mut self, file: FileOnDisk) -> Load {
        self._file = Some(file);
        self
    }

    /// Plays it, from its begin to its end: what each name did.
    pub fn play(&mut self) -> anyhow::Result<Vec<(String, f64)>> {
        self.child.stdin.take().context("it is played once")?.write_all(b"go\n")?;
        let mut told = String::new();
        self.child.stdout.take().context("it is played once")?.read_to_string(&mut told)?;
        let words: Vec<&str> = told.split_whitespace().collect();
        ensure!(!words.is_empty() && words.len().is_multiple_of(2), "the load has said `{told}`");
        words.chunks(2).map(|pair| Ok((pair[0].to_owned(), pair[1].parse()?))).collect()
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A program of the search path.
fn found(program: &str) -> anyhow::Result<PathBuf> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&paths).map(|folder| folder.join(program)).find(|path| path.exists());
    fs::canonicalize(found.with_context(|| format!("there is no {program}"))?).context("a path")
}

/// The interpreter itself: what the search path has may be a script.
fn python() -> anyhow::Result<PathBuf> {
    let said = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output()?;
    let first = said.stdout.lines().next().context("python3 says where it is")??;
    Ok(fs::canonicalize(first)?)
}
