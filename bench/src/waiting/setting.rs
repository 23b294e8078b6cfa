//! A setting of the kernel that is another for a while.

use std::fs;
use std::process::{Child, Command, Stdio};

use anyhow::Context;

/// Restores the old value when it is dropped, or when this process ends in any other way: then a shell does it, whose input has ended.
pub struct Setting {
    restorer: Option<Child>,
}

impl Setting {
    /// Sets it. Where it has this value already, nothing is done, then or later.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub fn set(path: &str, value: &str) -> anyhow::Result<Setting> {
        let old = fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
        if old.trim() == value {
            return Ok(Setting { restorer: None });
        }
        let script = "trap '' TERM INT HUP; read -r _; printf %s \"$1\" > \"$2\"";
        let restorer = Command::new("sh")
            .args(["-c", script, "sh", old.trim(), path])
            .stdin(Stdio::piped())
            .spawn()
            .context("cannot run sh")?;
        let setting = Setting { restorer: Some(restorer) };
        fs::write(path, value).with_context(|| format!("cannot write {path}; run as root"))?;
        Ok(setting)
    }
}

impl Drop for Setting {
    fn drop(&mut self) {
        if let Some(restorer) = &mut self.restorer {
            drop(restorer.stdin.take());
            let _ = restorer.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_value_comes_back() {
        let path = std::env::temp_dir().join(format!("cpuledger-setting-{}", std::process::id()));
        let (path, read) = (path.to_str().expect("UTF-8"), || fs::read_to_string(&path).expect("a file"));
        fs::write(path, "0\n").expect("a file");
        let setting = Setting::set(path, "1").expect("it can be set");
        assert_eq!(read(), "1");
        drop(Setting::set(path, "1").expect("it is set"));
        assert_eq!(read(), "1");
        drop(setting);
        assert_eq!(read(), "0");
        fs::remove_file(path).expect("it is there");
    }
}
