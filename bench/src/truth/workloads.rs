//! Programs of others, each as scripts of a shell.

/// A program at work.
#[derive(Debug, Clone, Copy)]
pub struct Workload {
    /// What it is called in the table.
    pub name: &'static str,
    /// Programs that it calls, and the Debian packages that have them.
    pub needs: &'static [(&'static str, &'static str)],
    /// What is done before, in a folder of its own and outside of its cgroup.
    pub prepare: &'static str,
    /// What it does, in that folder, until it is killed.
    pub run: &'static str,
    /// How long it takes until it is at work, in milliseconds.
    pub settles_ms: u64,
    /// How many tasks want a CPU all the time, once there is a file `at_work`. The kernel tells of a wait when it is over: of these it is known
    /// what they have waited.
    pub always_runnable: Option<u64>,
    /// Whether it is one of the short form, which needs no package that the tests do not need.
    pub is_short: bool,
}

const NOTHING: Workload = Workload {
    name: "",
    needs: &[],
    prepare: "",
    run: "",
    settles_ms: 500,
    always_runnable: None,
    is_short: false,
};

/// What does the same again and again, with two workers.
const fn stress(name: &'static str, run: &'static str) -> Workload {
    Workload { name, needs: &[("stress-ng", "stress-ng")], run, ..NOTHING }
}

/// All of them.
pub const WORKLOADS: &[Workload] = &[
    Workload {
        name: "PostgreSQL, pgbench with 4 clients",
        needs: &[("pgbench", "postgresql-contrib"), ("/usr/lib/postgresql", "postgresql")],
        prepare: "mkdir pg && chown postgres pg && setpriv --reuid=postgres --regid=postgres --clear-groups \
                  /usr/lib/postgresql/*/bin/initdb -D pg/data -A trust -N",
        run: "user='setpriv --reuid=postgres --regid=postgres --clear-groups'
              $user /usr/lib/postgresql/*/bin/postgres -D pg/data -k \"$PWD/pg\" -c listen_addresses= -c fsync=off &
              until $user pgbench -h \"$PWD/pg\" -i -q -s 1 postgres; do sleep .1; done
              $user pgbench -h \"$PWD/pg\" -c 4 -j 2 -T 10000 postgres",
        settles_ms: 4000,
        ..NOTHING
    },
    Workload {
        name: "redis-benchmark",
        needs: &[("redis-server", "redis-server"), ("redis-benchmark", "redis-tools")],
        run: "redis-server --port 0 --unixsocket \"$PWD/socket\" --save '' & until [ -S socket ]; do sleep .1; done
              redis-benchmark -s \"$PWD/socket\" -l -q -t set,get",
        settles_ms: 1500,
        ..NOTHING
    },
    Workload {
        name: "nginx, ab with 8 connections",
        needs: &[("nginx", "nginx-light"), ("ab", "apache2-utils")],
        prepare: "echo 'daemon off; pid pid; error_log stderr; worker_processes 2; events {} http { access_log off; server { \
                  listen 127.0.0.1:18089; location / { return 200 hello; } } }' >conf && chmod 755 .",
        run: "nginx -p \"$PWD\" -c \"$PWD/conf\" & sleep .3; while :; do ab -q -k -n 20000 -c 8 http://127.0.0.1:18089/; done",
        settles_ms: 1500,
        ..NOTHING
    },
    Workload {
        name: "java -version, again and again",
        needs: &[("java", "openjdk-17-jre-headless")],
        run: "while :; do java -version; done",
        ..NOTHING
    },
    Workload {
        name: "node, with its pool of threads",
        needs: &[("node", "nodejs")],
        run: "node -e 'const hash = () => require(\"crypto\").pbkdf2(\"a\", \"b\", 2000, 64, \"sha512\", hash);
              for (let i = 0; i < 4; i++) hash(); setInterval(() => JSON.parse(JSON.stringify([...Array(2000).keys()])), 1)'",
        settles_ms: 1000,
        ..NOTHING
    },
    Workload {
        name: "numpy, products of matrices",
        needs: &[("/usr/lib/python3/dist-packages/numpy", "python3-numpy"), ("python3", "python3")],
        run: "/usr/bin/python3 -c 'import numpy as n
a = n.random.rand(400, 400)
while True:
    a = a @ a
    a /= n.abs(a).max()'",
        settles_ms: 1000,
        ..NOTHING
    },
    Workload {
        name: "go build",
        needs: &[("go", "golang-go")],
        prepare: "echo 'package main; import \"fmt\"; func main() { fmt.Println(1) }' >main.go && echo 'module x' >go.mod",
        run: "while :; do GOFLAGS=-mod=mod GOCACHE=$PWD/cache GOTELEMETRY=off go build -o x . ; rm -rf cache; done",
        ..NOTHING
    },
    Workload {
        name: "cargo build",
        needs: &[("cargo", "cargo")],
        prepare: "env -u CARGO_TARGET_DIR cargo init -q --name x --vcs none",
        run: "unset CARGO_TARGET_DIR; while :; do cargo build -q --offline; rm -rf target; done",
        ..NOTHING
    },
    Workload {
        name: "make -j4",
        needs: &[("make", "make"), ("cc", "gcc")],
        prepare: "for i in $(seq 40); do echo \"#include <stdio.h>
                  int f$i(void) { return printf(\\\"%d\\\", 1); }\" >f$i.c; done",
        run: "while :; do make -s -j4 $(seq -f f%g.o 40); rm -f ./*.o; done",
        is_short: true,
        ..NOTHING
    },
    Workload {
        name: "ffmpeg, MPEG-4",
        needs: &[("ffmpeg", "ffmpeg")],
        run: "ffmpeg -v error -nostdin -f lavfi -i testsrc2=size=640x360:rate=30 -c:v mpeg4 -f null -",
        settles_ms: 1000,
        ..NOTHING
    },
    stress("stress-ng, cpu", "stress-ng -q --cpu 2"),
    stress("stress-ng, sem", "stress-ng -q --sem 2"),
    stress("stress-ng, futex", "stress-ng -q --futex 2"),
    stress("stress-ng, pipe", "stress-ng -q --pipe 2"),
    stress("stress-ng, switch", "stress-ng -q --switch 2"),
    stress("stress-ng, kill", "stress-ng -q --kill 2"),
    stress("stress-ng, fork", "stress-ng -q --fork 2"),
    stress("stress-ng, vfork", "stress-ng -q --vfork 2"),
    Workload {
        name: "stress-ng, exec",
        needs: &[("stress-ng", "stress-ng")],
        // It does nothing as root.
        prepare: "mkdir -m 777 free",
        run: "cd free && setpriv --reuid=65534 --regid=65534 --clear-groups stress-ng -q --exec 2",
        ..NOTHING
    },
    stress("stress-ng, clone", "stress-ng -q --clone 2"),
    stress("stress-ng, pthread", "stress-ng -q --pthread 2"),
    Workload {
        name: "hackbench",
        needs: &[("hackbench", "rt-tests")],
        run: "while :; do hackbench -g 2 -l 500; done",
        ..NOTHING
    },
    Workload {
        name: "two loops of a real-time policy",
        needs: &[("chrt", "util-linux")],
        run: "for i in 1 2; do chrt --rr 5 sh -c 'while :; do i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; sleep .01; done' & done
              wait",
        is_short: true,
        ..NOTHING
    },
    Workload {
        name: "a loop with a deadline, 3 ms of 10",
        needs: &[("chrt", "util-linux")],
        run: "chrt --deadline --sched-runtime 3000000 --sched-deadline 10000000 --sched-period 10000000 0 sh -c 'while :; do :; done'",
        ..NOTHING
    },
    Workload {
        name: "2,500 loops",
        needs: &[("chrt", "util-linux")],
        // What starts them would get a turn ever more seldom if it shared the CPUs with them.
        run: "chrt --reset-on-fork --fifo 1 sh -c \
              'i=0; while [ $i -lt 2500 ]; do while :; do :; done & i=$((i + 1)); done; : >at_work; wait'",
        always_runnable: Some(2500),
        is_short: true,
        ..NOTHING
    },
    Workload {
        name: "two shells that fork",
        run: "for i in 1 2; do while :; do /bin/true; done & done; wait",
        is_short: true,
        ..NOTHING
    },
    Workload {
        name: "dd through a pipe",
        run: "dd if=/dev/zero bs=512 | dd of=/dev/null bs=512",
        is_short: true,
        ..NOTHING
    },
    Workload {
        name: "openssl speed",
        needs: &[("openssl", "openssl")],
        run: "openssl speed -multi 2 -seconds 10000 sha256",
        ..NOTHING
    },
    Workload {
        name: "xz with two threads",
        needs: &[("xz", "xz-utils")],
        run: "while :; do head -c 8M /dev/urandom | xz -T2 --block-size=1MiB -1; done",
        ..NOTHING
    },
];
