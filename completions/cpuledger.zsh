#compdef cpuledger

autoload -U is-at-least

_cpuledger() {
    typeset -A opt_args
    typeset -a _arguments_options
    local ret=1

    if is-at-least 5.2; then
        _arguments_options=(-s -S -C)
    else
        _arguments_options=(-s -C)
    fi

    local context curcontext="$curcontext" state line
    _arguments "${_arguments_options[@]}" : \
'-v[If the kernel rejects a BPF program, also print the last lines of its verifier'\''s log]' \
'--verbose[If the kernel rejects a BPF program, also print the last lines of its verifier'\''s log]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
":: :_cpuledger_commands" \
"*::: :->cpuledger" \
&& ret=0
    case $state in
    (cpuledger)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:cpuledger-command-$line[1]:"
        case $line[1] in
            (top)
_arguments "${_arguments_options[@]}" : \
'-n+[Exit after N intervals \[default\: unlimited on the screen and with -b, otherwise 2\]]:N:' \
'--iterations=[Exit after N intervals \[default\: unlimited on the screen and with -b, otherwise 2\]]:N:' \
'-d+[Length of an interval in seconds, at least 0.01 \[default\: 3\]]:S:' \
'--delay=[Length of an interval in seconds, at least 0.01 \[default\: 3\]]:S:' \
'--interval=[Length of an interval in seconds, at least 0.01 \[default\: 3\]]:S:' \
'*-p+[Show only these processes (pids, separated by commas)]:LIST:' \
'*--pid=[Show only these processes (pids, separated by commas)]:LIST:' \
'*-u+[Show only processes of these effective users (names or numbers, separated by commas)]:LIST:_users' \
'*--user=[Show only processes of these effective users (names or numbers, separated by commas)]:LIST:_users' \
'--filter=[Show only rows that match\: '\''cpu>5 user=www comm~^java'\''. The manual (man/ptop.1) has the language and all names]:FILTER:' \
'-o+[Sort by a column (%CPU, %MEM, TIME+, PID and others) or a JSON key, highest first; -KEY sorts lowest first. The manual (man/ptop.1) lists them]:KEY:' \
'--sort=[Sort by a column (%CPU, %MEM, TIME+, PID and others) or a JSON key, highest first; -KEY sorts lowest first. The manual (man/ptop.1) lists them]:KEY:' \
'*--columns=[Columns of the text, by headers or JSON keys, separated by commas\: pid,%cpu,usr,sys,unit,comm. The manual (man/ptop.1) lists them]:LIST:' \
'--by=[wait\: show how each row spent its time; command, user, cgroup, unit, container, pod, image, process, ancestor\: group the rows. With wait, what waits most comes first. Combine them with a comma\: wait,cgroup. blame\: which cgroup made which wait for a CPU; blame,unit\: likewise by unit (or container, pod, image). device\: what each disk read and wrote, and how long that took. network\: what each cgroup sent and received on the wire, beside what its tasks did; network,unit\: likewise by unit]:WHAT:(wait parts blame device network network,cgroup network,unit command user cgroup unit container pod image process ancestor wait,command wait,user wait,cgroup wait,unit wait,container wait,pod wait,image wait,process wait,ancestor blame,cgroup blame,unit blame,container blame,pod blame,image)' \
'--format=[Output format\: text, json (one object per line), csv, or csv-safe (csv with an apostrophe before text that a spreadsheet would run as a formula) \[default\: text\]]:FORMAT:(text json csv csv-safe)' \
'*--json-keys=[More keys in JSON, separated by commas\: realtime (begin and end as RFC 3339 and in nanoseconds), host, user (name), cgroup (path)]:LIST:(realtime host user cgroup)' \
'--source=[Where the numbers come from (auto, service, ledger, walk, netlink or procfs, see below) \[default\: auto\]]:SOURCE:(auto service ledger walk netlink procfs)' \
'--with=[Also keep account of these, separated by commas\: blame (who waits for a CPU because of whom), disk (what each task reads and writes), network (what it sends and receives by sockets), pairs (blame, and which cgroup makes which wait). The service keeps them if its configuration allows it; --source ledger keeps its own]:LIST:(blame disk network pairs)' \
'--record=[Also record the intervals, in this directory; nothing that is in it is deleted]:DIR:_files -/' \
'--replay=[Show a recording (directory or file) instead of this machine; -d merges its intervals, which else are as recorded]:PATH:_files' \
'--at=[Open the recording at this time, such as 03\:12, \`yesterday 03\:12\`, -10m (before the end), @SECONDS or 2026-03-01T03\:12\:00Z]:TIME:' \
'--since=[Leave out intervals before this time]:TIME:' \
'--until=[Stop at this time]:TIME:' \
'--socket=[The socket of the service; otherwise \$CPULEDGER_SOCKET or /run/cpuledger/io.cpuledger.Ledger]:PATH:_files' \
'--slots=[Track at most N tasks at a time (slots) in the ledger, 16 to 8388608; without root at most 32768 \[default\: 32768, and as root it grows as needed\]]:N:' \
'--config=[Configuration file of the screen \[default\: \$XDG_CONFIG_HOME/cpuledger/ptop.toml\]]:FILE:_files' \
'--theme=[Colours of the screen\: auto, 16, 256, true, light, dark, contrast or mono \[default\: the configuration file'\''s theme, else auto\]]:NAME:(auto 16 256 true light dark contrast mono)' \
'-b[Print one interval after another instead of showing the screen; -n limits their number]' \
'--batch[Print one interval after another instead of showing the screen; -n limits their number]' \
'-H[Show threads instead of processes; JSON and CSV show both]' \
'--threads[Show threads instead of processes; JSON and CSV show both]' \
'-i[Hide tasks that did not run in the interval\: the default, unless the configuration file has \`all = true\`]' \
'--idle[Hide tasks that did not run in the interval\: the default, unless the configuration file has \`all = true\`]' \
'-c[Show command lines instead of names]' \
'--command-line[Show command lines instead of names]' \
'--all[Also list what did not run in the interval]' \
'--procps[Behave like procps'\'' top\: same options, summary and columns (see \`cpuledger top --procps --help\`)]' \
'-v[If the kernel rejects a BPF program, also print the last lines of its verifier'\''s log]' \
'--verbose[If the kernel rejects a BPF program, also print the last lines of its verifier'\''s log]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(record)
_arguments "${_arguments_options[@]}" : \
'-d+[Length of an interval in seconds, at least 0.01 \[default\: 1\]]:S:' \
'--interval=[Length of an interval in seconds, at least 0.01 \[default\: 1\]]:S:' \
'--delay=[Length of an interval in seconds, at least 0.01 \[default\: 1\]]:S:' \
'--duration=[End after this time\: seconds, or with a unit (90s, 10m, 24h); the last interval may be shorter]:TIME:' \
'--retain=[Delete the oldest files\: by age (7d), by the size of all (2GiB), by both (7d,2GiB), or never (forever)]:LIMITS:' \
'--min-free=[Leave this much free in the file system\: delete the oldest files, and pause if that is not enough]:SIZE:' \
'*--tier=[Keep tiers of merged intervals, as LENGTH\:RETENTION\: 1s\:24h,1m\:30d \[default\: one tier, not merged\]]:LIST:' \
'--source=[Where the numbers come from (auto, service, ledger, walk, netlink or procfs; \`cpuledger top --help\` has more) \[default\: auto\]]:SOURCE:(auto service ledger walk netlink procfs)' \
'--socket=[The socket of the service; otherwise \$CPULEDGER_SOCKET or /run/cpuledger/io.cpuledger.Ledger]:PATH:_files' \
'--with=[Also keep account of these, as for \`cpuledger top\`]:LIST:(blame disk network pairs)' \
'--slots=[The size of the ledger, as for \`cpuledger top\`]:N:' \
'-H[Record threads too (ledger and service always do)]' \
'--threads[Record threads too (ledger and service always do)]' \
'-v[If the kernel rejects a BPF program, also print the last lines of its verifier'\''s log]' \
'--verbose[If the kernel rejects a BPF program, also print the last lines of its verifier'\''s log]' \
'-h[Print help]' \
'--help[Print help]' \
'::folder -- The directory; it is made if it is missing \[default\: /var/log/cpuledger for root, else $XDG_STATE_HOME/cpuledger or ~/.local/state/cpuledger\]:_files -/' \
&& ret=0
;;
(report)
_arguments "${_arguments_options[@]}" : \
'--since=[Start time \[default\: start of the recording\]]:TIME:' \
'--until=[Stop time \[default\: end of the recording\]]:TIME:' \
'--by=[What the rows are\: command, user, cgroup, unit, container, pod, image, process or ancestor. With wait, as in wait,unit\: what they did off the CPU, and what waited most comes first. device\: what each disk read and wrote, and how long that took]:WHAT:(wait command user cgroup unit container pod image process ancestor device)' \
'*--columns=[What is told of them, by headers of text or keys of JSON, separated by commas\: self,%cap,usr,sys,rsspeak,read,write,vcsw,icsw]:LIST:' \
'--top=[Number of rows; the rest is one row]:N:' \
'--format=[Output format\: text, json, csv, csv-safe (csv with an apostrophe before text that a spreadsheet would run as a formula) or html (one page that needs nothing else)]:FORMAT:(text json csv csv-safe html)' \
'--output=[Write to this file; a failed run leaves no partial file]:FILE:_files' \
'(--since --until)*--compare=[Two spans side by side\: what grew most from A to B comes first]:A::A:' \
'(--compare --output)--fleet=[Ask the exports of many machines, by DuckDB, which has to be installed\: a directory or s3\://BUCKET/PREFIX]:WHERE:' \
'-v[If the kernel rejects a BPF program, also print the last lines of its verifier'\''s log]' \
'--verbose[If the kernel rejects a BPF program, also print the last lines of its verifier'\''s log]' \
'-h[Print help]' \
'--help[Print help]' \
'::recording -- A recording, or one of its files \[default\: /var/log/cpuledger for root, else $XDG_STATE_HOME/cpuledger or ~/.local/state/cpuledger\]:_files' \
&& ret=0
;;
(serve)
_arguments "${_arguments_options[@]}" : \
'--config=[The configuration; otherwise /etc/cpuledger/config.toml, if it is there]:FILE:_files' \
'--socket=[The socket that readers connect to; otherwise \$CPULEDGER_SOCKET or /run/cpuledger/io.cpuledger.Ledger]:PATH:_files' \
'--interval=[Length of an interval in seconds, whatever the configuration says]:SECONDS:' \
'--check-config[Check the configuration, explain it, and end]' \
'-v[If the kernel rejects a BPF program, also print the last lines of its verifier'\''s log]' \
'--verbose[If the kernel rejects a BPF program, also print the last lines of its verifier'\''s log]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(run)
_arguments "${_arguments_options[@]}" : \
'--format=[Format of the account]:FORMAT:((text\:"For people"
json\:"One object, schema cpuledger.run/1"))' \
'-o+[Write the account to this file \[default\: standard error\]]:FILE:_files' \
'--output=[Write the account to this file \[default\: standard error\]]:FILE:_files' \
'--source=[Where the numbers come from\: service, ledger, or auto, which takes the service where it runs]:SOURCE:((auto\:"The service where it runs, else the ledger"
service\:"The books of \`cpuledger serve\`"
ledger\:"A ledger of its own\: root, or CAP_BPF and CAP_PERFMON"))' \
'--socket=[The socket of the service; otherwise \$CPULEDGER_SOCKET or /run/cpuledger/io.cpuledger.Ledger]:PATH:_files' \
'--repeat=[Run it N times, one after another, and report median and spread; a run that fails is the last]:N:' \
'-v[If the kernel rejects a BPF program, also print the last lines of its verifier'\''s log]' \
'--verbose[If the kernel rejects a BPF program, also print the last lines of its verifier'\''s log]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::command -- The command and its arguments:_cmdambivalent' \
&& ret=0
;;
(export)
_arguments "${_arguments_options[@]}" : \
'-o+[The directory of the tables; it is made if it is missing]:DIR:_files -/' \
'--output=[The directory of the tables; it is made if it is missing]:DIR:_files -/' \
'--to=[Where the tables go\: a directory, \`s3\://BUCKET/PREFIX\`, or the \`https\://\` address of a folder of a WebDAV server]:WHERE:' \
'--format=[Format of the files]:FORMAT:((parquet\:"Apache Parquet, compressed by zstd"
arrow\:"Arrow IPC files (Feather 2), compressed by zstd"
csv\:"CSV with a header"
csv-safe\:"CSV with an apostrophe before text that a spreadsheet would run as a formula"
jsonl\:"A JSON object a line"))' \
'--since=[Only intervals from this time on\: \`2026-03-01 03\:12\`, \`yesterday 03\:12\`, \`03\:12\`, \`@1700000000\`, or \`10m ago\` before the end]:TIME:' \
'--until=[Only intervals until this time]:TIME:' \
'-v[If the kernel rejects a BPF program, also print the last lines of its verifier'\''s log]' \
'--verbose[If the kernel rejects a BPF program, also print the last lines of its verifier'\''s log]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::recording -- The recording\: its directory, or one segment \[default\: where `cpuledger record` writes\]:_files' \
&& ret=0
;;
(metrics)
_arguments "${_arguments_options[@]}" : \
'*--listen=[Where to listen\: ADDRESS\:PORT, \:PORT or unix\:PATH; may be repeated \[default\: 127.0.0.1\:10911, or the sockets of the service manager\]]:WHERE:' \
'*--by=[Dimensions, separated by commas]:BY:((command\:"Name of the process"
user\:"Effective user"
cgroup\:"Cgroup"
unit\:"Unit of systemd"
container\:"Container"
pod\:"Pod of Kubernetes"
image\:"Image of the container"))' \
'--series=[Maximum number of named series in a dimension, not counting \`other\`]:N:' \
'*--compat=[Also export CPU time under the names that another exporter has for it; separated by commas]:SET:((process-exporter\:"\`namedprocess_namegroup_*\` of process-exporter"
cadvisor\:"\`container_cpu_*\` of cAdvisor"))' \
'--process-names=[Rules of process-exporter that say which process is in which group \[default\: a group for each name of a program\]]:FILE:_files' \
'--children=[Whether a process that no rule matches is in the group of its parent \[default\: true\]]::BOOL:(true false)' \
'--web-config=[TLS and passwords, in the format of Prometheus'\'' exporters; read again when it changes]:FILE:_files' \
'--socket=[The socket of the service \[default\: \$CPULEDGER_SOCKET, or that of the machine\]]:PATH:_files' \
'-v[If the kernel rejects a BPF program, also print the last lines of its verifier'\''s log]' \
'--verbose[If the kernel rejects a BPF program, also print the last lines of its verifier'\''s log]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(push)
_arguments "${_arguments_options[@]}" : \
'--otlp=[Where to; \`/v1/metrics\` is added unless it is there \[default\: \$OTEL_EXPORTER_OTLP_ENDPOINT, or http\://localhost\:4318\]]:URL:_urls' \
'*--header=[A header of each request, as in \`X-Scope\: one\`; may be repeated]:NAME: VALUE:' \
'--certificate=[Certificates of the authorities that the receiver may have, in PEM \[default\: those of the machine\]]:FILE:_files' \
'--every=[Seconds between two pushes]:SECONDS:' \
'--queue=[Keep what is not sent yet in this directory, beyond the end of the program \[default\: in memory\]]:DIR:_files -/' \
'--queue-size=[Size of that directory, in MiB; in memory it is 8 at most]:MIB:' \
'*--by=[Dimensions, separated by commas]:BY:((command\:"Name of the process"
user\:"Effective user"
cgroup\:"Cgroup"
unit\:"Unit of systemd"
container\:"Container"
pod\:"Pod of Kubernetes"
image\:"Image of the container"))' \
'--series=[Number of series in a dimension, beside \`other\`]:N:' \
'--processes=[Number of processes that are sent one by one\: those that use most]:N:' \
'--socket=[The socket of the service \[default\: \$CPULEDGER_SOCKET, or that of the machine\]]:PATH:_files' \
'-v[If the kernel rejects a BPF program, also print the last lines of its verifier'\''s log]' \
'--verbose[If the kernel rejects a BPF program, also print the last lines of its verifier'\''s log]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(mcp)
_arguments "${_arguments_options[@]}" : \
'--socket=[The socket of the service \[default\: \$CPULEDGER_SOCKET, or that of the machine\]]:PATH:_files' \
'-v[If the kernel rejects a BPF program, also print the last lines of its verifier'\''s log]' \
'--verbose[If the kernel rejects a BPF program, also print the last lines of its verifier'\''s log]' \
'-h[Print help]' \
'--help[Print help]' \
'::recording -- The recording\: its directory, or one segment \[default\: where `cpuledger record` writes\]:_files' \
&& ret=0
;;
(web)
_arguments "${_arguments_options[@]}" : \
'*--listen=[Where to listen\: ADDRESS\:PORT, \:PORT or unix\:PATH; may be repeated \[default\: 127.0.0.1\:10912, or the sockets of the service manager\]]:WHERE:' \
'--web-config=[TLS and passwords, in the format of Prometheus'\'' exporters; read again when it changes]:FILE:_files' \
'--idle=[End after so many seconds without a visitor; 0\: never \[default\: 60 if the service manager starts it for a visitor, else 0\]]:SECONDS:' \
'--socket=[The socket of the service \[default\: \$CPULEDGER_SOCKET, or that of the machine\]]:PATH:_files' \
'-v[If the kernel rejects a BPF program, also print the last lines of its verifier'\''s log]' \
'--verbose[If the kernel rejects a BPF program, also print the last lines of its verifier'\''s log]' \
'-h[Print help]' \
'--help[Print help]' \
'::recording -- The recording for times before the last minutes \[default\: /var/log/cpuledger if this user may read it, else where `cpuledger record` writes\]:_files' \
&& ret=0
;;
(ps)
_arguments "${_arguments_options[@]}" : \
'-v[If the kernel rejects a BPF program, also print the last lines of its verifier'\''s log]' \
'--verbose[If the kernel rejects a BPF program, also print the last lines of its verifier'\''s log]' \
'*::arguments -- Options in UNIX, BSD and GNU style; `cpuledger ps --help` lists them:_default' \
&& ret=0
;;
(status)
_arguments "${_arguments_options[@]}" : \
'--as=[Which file'\''s text to print]:status|stat|statm:(status stat statm)' \
'--source=[Where the text comes from\: walk, procfs (the files in /proc), or auto, which takes the walk for long listings if it works. The walk is a BPF program; it needs Linux 6.7, and root or CAP_BPF and CAP_PERFMON]:auto|walk|procfs:(auto walk procfs)' \
'()-e[Print every process, in order of pid]' \
'()--all[Print every process, in order of pid]' \
'-H[Print one entry per thread, as in /proc/PID/task/TID]' \
'--threads[Print one entry per thread, as in /proc/PID/task/TID]' \
'-n[Put the pid or tid before each entry (useful with statm, whose text lacks it)]' \
'--numbered[Put the pid or tid before each entry (useful with statm, whose text lacks it)]' \
'-v[If the kernel rejects a BPF program, also print the last lines of its verifier'\''s log]' \
'--verbose[If the kernel rejects a BPF program, also print the last lines of its verifier'\''s log]' \
'-h[Print help]' \
'--help[Print help]' \
'*::pids -- Processes to print, in this order:_default' \
&& ret=0
;;
(doctor)
_arguments "${_arguments_options[@]}" : \
'--format=[Output format]:FORMAT:((text\:"For people"
json\:"One object, schema cpuledger.doctor/1"))' \
'--socket=[The socket of the service; otherwise \$CPULEDGER_SOCKET or /run/cpuledger/io.cpuledger.Ledger]:PATH:_files' \
'-v[If the kernel rejects a BPF program, also print the last lines of its verifier'\''s log]' \
'--verbose[If the kernel rejects a BPF program, also print the last lines of its verifier'\''s log]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_cpuledger__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:cpuledger-help-command-$line[1]:"
        case $line[1] in
            (top)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(record)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(report)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(serve)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(run)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(export)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(metrics)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(push)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(mcp)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(web)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(ps)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(status)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(doctor)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
}

(( $+functions[_cpuledger_commands] )) ||
_cpuledger_commands() {
    local commands; commands=(
'top:Show what ran in each interval, on the whole screen or as text' \
'record:Record what ran, interval after interval, in a directory' \
'report:Summarise a time span of a recording, by command, user, cgroup, process, ancestor or unit' \
'serve:Keep one ledger for all readers of this machine' \
'run:Run a command, and report what it and everything that descends from it used' \
'export:Write a recording as tables for others\: Parquet, Arrow, CSV or JSON lines' \
'metrics:Export CPU time to Prometheus by command, user, unit and container' \
'push:Send the books to OpenTelemetry (OTLP/HTTP), as cumulative sums' \
'mcp:Answer questions of programs that speak the Model Context Protocol' \
'web:Show the books in a browser\: what runs now, and what ran before' \
'ps:List tasks once, with the options of procps'\'' ps' \
'status:Print the text of /proc/PID/status, stat or statm for many tasks at once' \
'doctor:Show which ways of measuring CPU time (sources) work here, why, and what the others need' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'cpuledger commands' commands "$@"
}
(( $+functions[_cpuledger__subcmd__doctor_commands] )) ||
_cpuledger__subcmd__doctor_commands() {
    local commands; commands=()
    _describe -t commands 'cpuledger doctor commands' commands "$@"
}
(( $+functions[_cpuledger__subcmd__export_commands] )) ||
_cpuledger__subcmd__export_commands() {
    local commands; commands=()
    _describe -t commands 'cpuledger export commands' commands "$@"
}
(( $+functions[_cpuledger__subcmd__help_commands] )) ||
_cpuledger__subcmd__help_commands() {
    local commands; commands=(
'top:Show what ran in each interval, on the whole screen or as text' \
'record:Record what ran, interval after interval, in a directory' \
'report:Summarise a time span of a recording, by command, user, cgroup, process, ancestor or unit' \
'serve:Keep one ledger for all readers of this machine' \
'run:Run a command, and report what it and everything that descends from it used' \
'export:Write a recording as tables for others\: Parquet, Arrow, CSV or JSON lines' \
'metrics:Export CPU time to Prometheus by command, user, unit and container' \
'push:Send the books to OpenTelemetry (OTLP/HTTP), as cumulative sums' \
'mcp:Answer questions of programs that speak the Model Context Protocol' \
'web:Show the books in a browser\: what runs now, and what ran before' \
'ps:List tasks once, with the options of procps'\'' ps' \
'status:Print the text of /proc/PID/status, stat or statm for many tasks at once' \
'doctor:Show which ways of measuring CPU time (sources) work here, why, and what the others need' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'cpuledger help commands' commands "$@"
}
(( $+functions[_cpuledger__subcmd__help__subcmd__doctor_commands] )) ||
_cpuledger__subcmd__help__subcmd__doctor_commands() {
    local commands; commands=()
    _describe -t commands 'cpuledger help doctor commands' commands "$@"
}
(( $+functions[_cpuledger__subcmd__help__subcmd__export_commands] )) ||
_cpuledger__subcmd__help__subcmd__export_commands() {
    local commands; commands=()
    _describe -t commands 'cpuledger help export commands' commands "$@"
}
(( $+functions[_cpuledger__subcmd__help__subcmd__help_commands] )) ||
_cpuledger__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'cpuledger help help commands' commands "$@"
}
(( $+functions[_cpuledger__subcmd__help__subcmd__mcp_commands] )) ||
_cpuledger__subcmd__help__subcmd__mcp_commands() {
    local commands; commands=()
    _describe -t commands 'cpuledger help mcp commands' commands "$@"
}
(( $+functions[_cpuledger__subcmd__help__subcmd__metrics_commands] )) ||
_cpuledger__subcmd__help__subcmd__metrics_commands() {
    local commands; commands=()
    _describe -t commands 'cpuledger help metrics commands' commands "$@"
}
(( $+functions[_cpuledger__subcmd__help__subcmd__ps_commands] )) ||
_cpuledger__subcmd__help__subcmd__ps_commands() {
    local commands; commands=()
    _describe -t commands 'cpuledger help ps commands' commands "$@"
}
(( $+functions[_cpuledger__subcmd__help__subcmd__push_commands] )) ||
_cpuledger__subcmd__help__subcmd__push_commands() {
    local commands; commands=()
    _describe -t commands 'cpuledger help push commands' commands "$@"
}
(( $+functions[_cpuledger__subcmd__help__subcmd__record_commands] )) ||
_cpuledger__subcmd__help__subcmd__record_commands() {
    local commands; commands=()
    _describe -t commands 'cpuledger help record commands' commands "$@"
}
(( $+functions[_cpuledger__subcmd__help__subcmd__report_commands] )) ||
_cpuledger__subcmd__help__subcmd__report_commands() {
    local commands; commands=()
    _describe -t commands 'cpuledger help report commands' commands "$@"
}
(( $+functions[_cpuledger__subcmd__help__subcmd__run_commands] )) ||
_cpuledger__subcmd__help__subcmd__run_commands() {
    local commands; commands=()
    _describe -t commands 'cpuledger help run commands' commands "$@"
}
(( $+functions[_cpuledger__subcmd__help__subcmd__serve_commands] )) ||
_cpuledger__subcmd__help__subcmd__serve_commands() {
    local commands; commands=()
    _describe -t commands 'cpuledger help serve commands' commands "$@"
}
(( $+functions[_cpuledger__subcmd__help__subcmd__status_commands] )) ||
_cpuledger__subcmd__help__subcmd__status_commands() {
    local commands; commands=()
    _describe -t commands 'cpuledger help status commands' commands "$@"
}
(( $+functions[_cpuledger__subcmd__help__subcmd__top_commands] )) ||
_cpuledger__subcmd__help__subcmd__top_commands() {
    local commands; commands=()
    _describe -t commands 'cpuledger help top commands' commands "$@"
}
(( $+functions[_cpuledger__subcmd__help__subcmd__web_commands] )) ||
_cpuledger__subcmd__help__subcmd__web_commands() {
    local commands; commands=()
    _describe -t commands 'cpuledger help web commands' commands "$@"
}
(( $+functions[_cpuledger__subcmd__mcp_commands] )) ||
_cpuledger__subcmd__mcp_commands() {
    local commands; commands=()
    _describe -t commands 'cpuledger mcp commands' commands "$@"
}
(( $+functions[_cpuledger__subcmd__metrics_commands] )) ||
_cpuledger__subcmd__metrics_commands() {
    local commands; commands=()
    _describe -t commands 'cpuledger metrics commands' commands "$@"
}
(( $+functions[_cpuledger__subcmd__ps_commands] )) ||
_cpuledger__subcmd__ps_commands() {
    local commands; commands=()
    _describe -t commands 'cpuledger ps commands' commands "$@"
}
(( $+functions[_cpuledger__subcmd__push_commands] )) ||
_cpuledger__subcmd__push_commands() {
    local commands; commands=()
    _describe -t commands 'cpuledger push commands' commands "$@"
}
(( $+functions[_cpuledger__subcmd__record_commands] )) ||
_cpuledger__subcmd__record_commands() {
    local commands; commands=()
    _describe -t commands 'cpuledger record commands' commands "$@"
}
(( $+functions[_cpuledger__subcmd__report_commands] )) ||
_cpuledger__subcmd__report_commands() {
    local commands; commands=()
    _describe -t commands 'cpuledger report commands' commands "$@"
}
(( $+functions[_cpuledger__subcmd__run_commands] )) ||
_cpuledger__subcmd__run_commands() {
    local commands; commands=()
    _describe -t commands 'cpuledger run commands' commands "$@"
}
(( $+functions[_cpuledger__subcmd__serve_commands] )) ||
_cpuledger__subcmd__serve_commands() {
    local commands; commands=()
    _describe -t commands 'cpuledger serve commands' commands "$@"
}
(( $+functions[_cpuledger__subcmd__status_commands] )) ||
_cpuledger__subcmd__status_commands() {
    local commands; commands=()
    _describe -t commands 'cpuledger status commands' commands "$@"
}
(( $+functions[_cpuledger__subcmd__top_commands] )) ||
_cpuledger__subcmd__top_commands() {
    local commands; commands=()
    _describe -t commands 'cpuledger top commands' commands "$@"
}
(( $+functions[_cpuledger__subcmd__web_commands] )) ||
_cpuledger__subcmd__web_commands() {
    local commands; commands=()
    _describe -t commands 'cpuledger web commands' commands "$@"
}

if [ "$funcstack[1]" = "_cpuledger" ]; then
    _cpuledger "$@"
else
    compdef _cpuledger cpuledger
fi
