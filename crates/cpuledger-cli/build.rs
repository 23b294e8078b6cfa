//! How the release binary is linked: so that it starts soon. A listing through the service takes 3 ms, and loading the program is half of it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Libraries that go into the binary where they can, as each one that is loaded takes 0.1 ms: the name that the linker looks for, and
/// what it takes instead.
const LIBRARIES: [(&str, &[&str]); 3] =
    [("libelf.so", &["libelf.a", "libz.a"]), ("libz.so", &["libz.a"]), ("libgcc_s.so", &["libgcc_eh.a"])];

/// If this variable is set, libgcc is loaded. The libgcc_eh.a of gcc 12 and newer needs glibc 2.35, and RHEL 9 has 2.34.
const LOAD_LIBGCC: &str = "CPULEDGER_LOAD_LIBGCC";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed={LOAD_LIBGCC}");
    let variable = |name| env::var(name).unwrap_or_default();
    // Programs that are static as a whole have rules of their own, and the compiler of this machine knows nothing of other machines.
    let is_plain = variable("CARGO_CFG_TARGET_ENV") == "gnu"
        && !variable("CARGO_CFG_TARGET_FEATURE").split(',').any(|feature| feature == "crt-static")
        && variable("HOST") == variable("TARGET");
    if variable("PROFILE") != "release" || !is_plain {
        return;
    }
    // At a fixed address nothing is relocated: 40,000 pointers, in 170 pages that each start would copy. Libraries, heap and stack
    // stay where the kernel's dice put them.
    println!("cargo:rustc-link-arg-bins=-no-pie");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    for (name, archives) in LIBRARIES {
        if name.starts_with("libgcc") && env::var_os(LOAD_LIBGCC).is_some() {
            continue;
        }
        let found: Option<Vec<PathBuf>> = archives.iter().map(|archive| archive_of(archive)).collect();
        if let Some(archives) = found.filter(|archives| can_be_linked(archives, &out)) {
            let archives: Vec<String> = archives.iter().map(|path| path.display().to_string()).collect();
            let script = format!("GROUP ( {} )\n", archives.join(" "));
            fs::write(out.join(name), script).expect("OUT_DIR can be written to");
        }
    }
    println!("cargo:rustc-link-search=native={}", out.display());
}

/// Where the compiler has an archive.
fn archive_of(name: &str) -> Option<PathBuf> {
    let printed = Command::new("cc").arg(format!("-print-file-name={name}")).output().ok()?;
    // It repeats a name that it does not find.
    let path = PathBuf::from(String::from_utf8(printed.stdout).ok()?.trim());
    path.is_absolute().then_some(path)
}

/// Whether nothing is missing in them but the C library: libelf of some systems wants more.
fn can_be_linked(archives: &[PathBuf], out: &Path) -> bool {
    let source = out.join("probe.c");
    fs::write(&source, "int main(void) { return 0; }\n").expect("OUT_DIR can be written to");
    let linked = Command::new("cc")
        .arg(source)
        .arg("-Wl,--whole-archive")
        .args(archives)
        .arg("-Wl,--no-whole-archive")
        .arg("-o")
        .arg(out.join("probe"))
        .output();
    linked.is_ok_and(|linked| linked.status.success())
}
