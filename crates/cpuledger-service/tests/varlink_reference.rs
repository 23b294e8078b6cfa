//! The service as other implementations of Varlink see it: the reference in Python, and varlinkctl of systemd.

use std::path::PathBuf;
use std::process::{Command, Output};

mod served;

#[test]
fn role_of_a_service() {
    served::play_service();
}

/// The Python with the package: that of the machine, or one of an environment below `target/`, which is made if it is missing.
fn python() -> Result<PathBuf, String> {
    let has_it = |python: &PathBuf| {
        let output = Command::new(python).args(["-c", "import varlink"]).output();
        output.is_ok_and(|output| output.status.success())
    };
    let system = PathBuf::from("python3");
    if has_it(&system) {
        return Ok(system);
    }
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("varlink");
    let own = folder.join("bin/python3");
    if !has_it(&own) {
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        run(Command::new(folder.join("bin/pip")).args(["install", "--quiet", "varlink"]))?;
    }
    Ok(own)
}

fn run(command: &mut Command) -> Result<Output, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(output) } else { Err(format!("{command:?}: {said}")) }
}

const CLIENT: &str = r#"
import sys, varlink
client = varlink.Client.new_with_address("unix:" + sys.argv[1])
print(client.get_interfaces() if hasattr(client, "get_interfaces") else "")
with client.open("org.varlink.service") as service:
    print(service.GetInfo()["product"])
with client.open("io.cpuledger.Ledger") as ledger:
    print(ledger.Info()["interval_ns"])
    print(ledger.Describe()["fields"][0]["key"])
    print(ledger.Subscribe(interval_ns=2000000000)["interval_ns"])
    try:
        ledger.List("tasks", ["pid"])
    except varlink.VarlinkError as error:
        print(error.error(), "upgrade" in error.parameters()["sentence"])
    try:
        ledger.Subscribe(interval_ns=1)
    except varlink.VarlinkError as error:
        print(error.error(), error.parameters()["shortest_interval_ns"])

import json, socket
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
call = {"method": "io.cpuledger.Ledger.List", "upgrade": True, "parameters": {"scope": "tasks", "fields": ["pid", "comm"]}}
connection.sendall(json.dumps(call).encode() + b"\0")
stream = connection.makefile("rb")
reply = b""
while not reply.endswith(b"\0"):
    reply += stream.read(1)
frame = stream.read(json.loads(reply[:-1])["parameters"]["length"])
print(len(frame), frame[:16])
"#;

#[test]
fn the_reference_implementation_understands_the_service() {
    let python = match python() {
        Ok(python) => python,
        Err(missing) => {
            return cpuledger_load::not_run(&format!(
                "no Python with the package varlink, by `pip install varlink`: {missing}"
            ));
        }
    };
    let service = served::Service::start(None);
    let output = Command::new(python).args(["-c", CLIENT]).arg(service.path()).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let lines: Vec<&str> = said.lines().skip(1).collect();
    let expected = [
        "cpuledger",
        "1000000000",
        "pid",
        "2000000000",
        "io.cpuledger.Ledger.UpgradeNeeded True",
        "io.cpuledger.Ledger.IntervalTooShort 100000000",
        "8000 b'pid commpid comm'",
    ];
    assert_eq!(lines, expected);
}

/// That of this machine, or of Debian 13, unpacked below `target/`.
fn varlinkctl() -> Result<PathBuf, String> {
    let system = PathBuf::from("varlinkctl");
    if Command::new(&system).arg("--version").output().is_ok_and(|output| output.status.success()) {
        return Ok(system);
    }
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("varlinkctl");
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scripts/varlinkctl-debian");
    run(Command::new(script).arg(&folder))?;
    Ok(folder.join("varlinkctl"))
}

#[test]
fn varlinkctl_understands_the_service() {
    let varlinkctl = match varlinkctl() {
        Ok(varlinkctl) => varlinkctl,
        Err(missing) => {
            return cpuledger_load::not_run(&format!(
                "no varlinkctl, which systemd 256 and newer have: {missing}"
            ));
        }
    };
    let service = served::Service::start(None);
    let path = service.path();
    let told = |verb: &str, arguments: &[&str]| {
        let mut command = Command::new(&varlinkctl);
        let output =
            command.arg("--json=short").arg(verb).arg(&path).args(arguments).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.success(), said + &String::from_utf8_lossy(&output.stderr))
    };
    let (_, info) = told("info", &[]);
    assert!(info.contains("\"interfaces\":[\"org.varlink.service\",\"io.cpuledger.Ledger\"]"), "{info}");
    for interface in ["org.varlink.service", "io.cpuledger.Ledger"] {
        let (is_fine, introspected) = told("introspect", &[interface]);
        assert!(is_fine && introspected.contains(interface), "{introspected}");
    }
    let (_, fields) = told("call", &["io.cpuledger.Ledger.Describe", "{}"]);
    assert!(fields.contains("\"key\":\"pid\""), "{fields}");
    let (_, ring) = told("call", &["io.cpuledger.Ledger.Subscribe", "{\"audience\":\"all\"}"]);
    assert!(ring.contains("\"ring\":0"), "{ring}");
    let (is_fine, refused) = told("call", &["io.cpuledger.Ledger.Subscribe", "{\"interval_ns\":1}"]);
    assert!(!is_fine && refused.contains("io.cpuledger.Ledger.IntervalTooShort"), "{refused}");
    let wanted = "{\"scope\":\"tasks\",\"fields\":[]}";
    let (is_fine, refused) = told("call", &["io.cpuledger.Ledger.List", wanted]);
    assert!(!is_fine && refused.contains("io.cpuledger.Ledger.UpgradeNeeded"), "{refused}");
    for file in ["io.cpuledger.Ledger.varlink", "org.varlink.service.varlink"] {
        let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/varlink").join(file);
        run(Command::new(&varlinkctl).arg("validate-idl").arg(file)).expect("it is valid");
    }
}
