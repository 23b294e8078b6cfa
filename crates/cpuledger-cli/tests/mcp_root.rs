//! Questions by the Model Context Protocol, asked by hand and by the reference client in Python. Needs root.
//!
//! The client is installed below `target/` with `CPULEDGER_TEST_CLIENTS=1`, if this machine does not have it.

#[allow(dead_code)]
#[path = "../../cpuledger-export/tests/python/mod.rs"]
mod python;
mod service;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use cpuledger_load::{not_run, with_net};
use serde_json::{Value, json};
use service::with_recorded_storm;

/// `cpuledger mcp`.
struct Mcp {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Mcp {
    fn start(socket: &Path, recording: &Path) -> Mcp {
        let mut command = Command::new(with_net(env!("CARGO_BIN_EXE_cpuledger")));
        command.args(["mcp", "--socket"]).arg(socket).arg(recording);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let (input, output) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        Mcp { child, input, output: BufReader::new(output) }
    }

    fn send(&mut self, line: &str) -> Value {
        writeln!(self.input, "{line}").expect("it is taken");
        let mut answer = String::new();
        self.output.read_line(&mut answer).expect("UTF-8");
        serde_json::from_str(&answer).expect("JSON")
    }

    /// What a tool answers.
    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "arguments": arguments } });
        let mut answer = self.send(&request.to_string());
        assert_eq!(answer["result"]["isError"], json!(false), "{answer}");
        answer["result"]["structuredContent"].take()
    }

    fn end(mut self) {
        drop(self.input);
        assert!(self.child.wait().expect("it ends").success());
    }
}

fn ns(value: &Value) -> i128 {
    i128::from(value.as_i64().unwrap_or_else(|| panic!("{value} is no number")))
}

/// All rows and the others add up, and the balance holds.
fn assert_adds_up(answer: &Value) {
    let rows = answer["rows"].as_array().expect("rows").iter();
    let sum: i128 = rows.chain([&answer["other"]]).map(|row| ns(&row["cpu_ns"])).sum();
    assert_eq!(sum, ns(&answer["attributed_ns"]), "{answer}");
    let parts = ["attributed_ns", "idle_ns", "unattributed_ns"].map(|key| ns(&answer[key]));
    assert_eq!(parts.iter().sum::<i128>(), ns(&answer["capacity_ns"]), "{answer}");
}

fn row<'a>(answer: &'a Value, name: &str) -> &'a Value {
    let rows = answer["rows"].as_array().expect("rows");
    rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name} in {answer}"))
}

#[test]
fn answers_of_the_service_and_of_a_recording_add_up_root() {
    with_recorded_storm(Duration::from_secs(4), |service, recording| {
        let mut mcp = Mcp::start(&service.socket(), recording);
        for source in ["service", "recording", "auto"] {
            for by in ["command", "user", "process"] {
                let answer = mcp.call("cpu_usage", &json!({ "by": by, "source": source, "top": 3 }));
                assert_adds_up(&answer);
                assert!(answer["rows"].as_array().is_some_and(|rows| rows.len() <= 3), "{answer}");
            }
            let answer = mcp.call("cpu_usage", &json!({ "source": source, "top": 200 }));
            let storm = row(&answer, "true");
            assert!(ns(&storm["deaths"]) > 100 && ns(&storm["ended_cpu_ns"]) > 100_000_000, "{storm}");
            let answer = mcp.call("cpu_waiters", &json!({ "source": source }));
            assert_adds_up(&answer);
            let waits: Vec<i128> = answer["rows"]
                .as_array()
                .expect("rows")
                .iter()
                .map(|row| row["runqueue_wait_ns"].as_i64().map_or(-1, i128::from))
                .collect();
            assert!(waits.is_sorted_by(|one, other| one >= other) && waits[0] > 0, "{waits:?}");
        }
        // The storm is this test's: everything below it is its cost.
        let own = std::fs::read_to_string("/proc/self/comm").expect("a name");
        let answer =
            mcp.call("build_cost", &json!({ "command": own.trim(), "source": "recording", "top": 5 }));
        let total = ns(&answer["total"]["cpu_ns"]);
        assert!(total >= ns(&row(&answer, "true")["cpu_ns"]) && total > 100_000_000, "{answer}");
        let parts = answer["rows"].as_array().expect("rows").iter().chain([&answer["other"]]);
        assert_eq!(parts.map(|row| ns(&row["cpu_ns"])).sum::<i128>(), total);
        // Nothing in the middle of a session ends it.
        assert_eq!(mcp.send("nonsense")["error"]["code"], json!(-32700));
        assert_eq!(mcp.send(&"x".repeat(3 << 20))["error"]["code"], json!(-32600));
        let wrong = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"cpu_usage","arguments":{"since":"soon"}}}"#;
        assert_eq!(mcp.send(wrong)["result"]["isError"], json!(true));
        mcp.end();
    });
}

const CLIENT: &str = r#"
import asyncio, json, sys
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

async def main():
    server = StdioServerParameters(command=sys.argv[1], args=["mcp", "--socket", sys.argv[2], sys.argv[3]])
    async with stdio_client(server) as (read, write):
        async with ClientSession(read, write) as session:
            await session.initialize()
            tools = await session.list_tools()
            print(" ".join(tool.name for tool in tools.tools))
            for source in ["service", "recording"]:
                answer = await session.call_tool("cpu_usage", {"source": source, "top": 5})
                dumped = json.loads(answer.model_dump_json(by_alias=True))
                found = dumped["structuredContent"]
                assert not dumped["isError"] and found == json.loads(dumped["content"][0]["text"])
                rows = found["rows"] + [found["other"]]
                print(len(found["rows"]), sum(row["cpu_ns"] for row in rows) == found["attributed_ns"])
            answer = await session.call_tool("build_cost", {"command": "no such command"})
            print(json.loads(answer.model_dump_json(by_alias=True))["isError"])

asyncio.run(main())
"#;

#[test]
fn the_reference_client_is_answered_root() {
    let python = match python::client_environment("mcp", &["mcp"]) {
        Ok(python) => python,
        Err(reason) => return not_run(&reason),
    };
    with_recorded_storm(Duration::from_secs(4), |service, recording| {
        let mut command = Command::new(python);
        command
            .args(["-c", CLIENT, with_net(env!("CARGO_BIN_EXE_cpuledger"))])
            .arg(service.socket())
            .arg(recording);
        let output = command.output().expect("the client runs");
        assert!(output.status.success(), "{output:?}");
        let words = String::from_utf8(output.stdout).expect("UTF-8");
        assert_eq!(words, "cpu_usage cpu_waiters build_cost\n5 True\n5 True\nTrue\n");
    });
}
