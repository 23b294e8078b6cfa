# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_cpuledger_global_optspecs
    string join \n v/verbose h/help V/version
end

function __fish_cpuledger_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_cpuledger_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_cpuledger_using_subcommand
    set -l cmd (__fish_cpuledger_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c cpuledger -n "__fish_cpuledger_needs_command" -s v -l verbose -d 'If the kernel rejects a BPF program, also print the last lines of its verifier\'s log'
complete -c cpuledger -n "__fish_cpuledger_needs_command" -s h -l help -d 'Print help'
complete -c cpuledger -n "__fish_cpuledger_needs_command" -s V -l version -d 'Print version'
complete -c cpuledger -n "__fish_cpuledger_needs_command" -f -a "top" -d 'Show what ran in each interval, on the whole screen or as text'
complete -c cpuledger -n "__fish_cpuledger_needs_command" -f -a "record" -d 'Record what ran, interval after interval, in a directory'
complete -c cpuledger -n "__fish_cpuledger_needs_command" -f -a "report" -d 'Summarise a time span of a recording, by command, user, cgroup, process, ancestor or unit'
complete -c cpuledger -n "__fish_cpuledger_needs_command" -f -a "serve" -d 'Keep one ledger for all readers of this machine'
complete -c cpuledger -n "__fish_cpuledger_needs_command" -f -a "run" -d 'Run a command, and report what it and everything that descends from it used'
complete -c cpuledger -n "__fish_cpuledger_needs_command" -f -a "export" -d 'Write a recording as tables for others: Parquet, Arrow, CSV or JSON lines'
complete -c cpuledger -n "__fish_cpuledger_needs_command" -f -a "metrics" -d 'Export CPU time to Prometheus by command, user, unit and container'
complete -c cpuledger -n "__fish_cpuledger_needs_command" -f -a "push" -d 'Send the books to OpenTelemetry (OTLP/HTTP), as cumulative sums'
complete -c cpuledger -n "__fish_cpuledger_needs_command" -f -a "mcp" -d 'Answer questions of programs that speak the Model Context Protocol'
complete -c cpuledger -n "__fish_cpuledger_needs_command" -f -a "web" -d 'Show the books in a browser: what runs now, and what ran before'
complete -c cpuledger -n "__fish_cpuledger_needs_command" -f -a "ps" -d 'List tasks once, with the options of procps\' ps'
complete -c cpuledger -n "__fish_cpuledger_needs_command" -f -a "status" -d 'Print the text of /proc/PID/status, stat or statm for many tasks at once'
complete -c cpuledger -n "__fish_cpuledger_needs_command" -f -a "doctor" -d 'Show which ways of measuring CPU time (sources) work here, why, and what the others need'
complete -c cpuledger -n "__fish_cpuledger_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -s n -l iterations -d 'Exit after N intervals [default: unlimited on the screen and with -b, otherwise 2]' -r -f
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -s d -l delay -l interval -d 'Length of an interval in seconds, at least 0.01 [default: 3]' -r -f
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -s p -l pid -d 'Show only these processes (pids, separated by commas)' -r -f
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -s u -l user -d 'Show only processes of these effective users (names or numbers, separated by commas)' -r -f -a "(__fish_complete_users)"
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -l filter -d 'Show only rows that match: \'cpu>5 user=www comm~^java\'. The manual (man/ptop.1) has the language and all names' -r -f
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -s o -l sort -d 'Sort by a column (%CPU, %MEM, TIME+, PID and others) or a JSON key, highest first; -KEY sorts lowest first. The manual (man/ptop.1) lists them' -r -f
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -l columns -d 'Columns of the text, by headers or JSON keys, separated by commas: pid,%cpu,usr,sys,unit,comm. The manual (man/ptop.1) lists them' -r -f
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -l by -d 'wait: show how each row spent its time; command, user, cgroup, unit, container, pod, image, process, ancestor: group the rows. With wait, what waits most comes first. Combine them with a comma: wait,cgroup. blame: which cgroup made which wait for a CPU; blame,unit: likewise by unit (or container, pod, image). device: what each disk read and wrote, and how long that took. network: what each cgroup sent and received on the wire, beside what its tasks did; network,unit: likewise by unit' -r -f -a "wait\t''
parts\t''
blame\t''
device\t''
network\t''
network\,cgroup\t''
network\,unit\t''
command\t''
user\t''
cgroup\t''
unit\t''
container\t''
pod\t''
image\t''
process\t''
ancestor\t''
wait\,command\t''
wait\,user\t''
wait\,cgroup\t''
wait\,unit\t''
wait\,container\t''
wait\,pod\t''
wait\,image\t''
wait\,process\t''
wait\,ancestor\t''
blame\,cgroup\t''
blame\,unit\t''
blame\,container\t''
blame\,pod\t''
blame\,image\t''"
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -l format -d 'Output format: text, json (one object per line), csv, or csv-safe (csv with an apostrophe before text that a spreadsheet would run as a formula) [default: text]' -r -f -a "text\t''
json\t''
csv\t''
csv-safe\t''"
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -l json-keys -d 'More keys in JSON, separated by commas: realtime (begin and end as RFC 3339 and in nanoseconds), host, user (name), cgroup (path)' -r -f -a "realtime\t''
host\t''
user\t''
cgroup\t''"
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -l source -d 'Where the numbers come from (auto, service, ledger, walk, netlink or procfs, see below) [default: auto]' -r -f -a "auto\t''
service\t''
ledger\t''
walk\t''
netlink\t''
procfs\t''"
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -l with -d 'Also keep account of these, separated by commas: blame (who waits for a CPU because of whom), disk (what each task reads and writes), network (what it sends and receives by sockets), pairs (blame, and which cgroup makes which wait). The service keeps them if its configuration allows it; --source ledger keeps its own' -r -f -a "blame\t''
disk\t''
network\t''
pairs\t''"
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -l record -d 'Also record the intervals, in this directory; nothing that is in it is deleted' -r -f -a "(__fish_complete_directories)"
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -l replay -d 'Show a recording (directory or file) instead of this machine; -d merges its intervals, which else are as recorded' -r -F
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -l at -d 'Open the recording at this time, such as 03:12, `yesterday 03:12`, -10m (before the end), @SECONDS or 2026-03-01T03:12:00Z' -r -f
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -l since -d 'Leave out intervals before this time' -r -f
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -l until -d 'Stop at this time' -r -f
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -l socket -d 'The socket of the service; otherwise $CPULEDGER_SOCKET or /run/cpuledger/io.cpuledger.Ledger' -r -F
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -l slots -d 'Track at most N tasks at a time (slots) in the ledger, 16 to 8388608; without root at most 32768 [default: 32768, and as root it grows as needed]' -r -f
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -l config -d 'Configuration file of the screen [default: $XDG_CONFIG_HOME/cpuledger/ptop.toml]' -r -F
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -l theme -d 'Colours of the screen: auto, 16, 256, true, light, dark, contrast or mono [default: the configuration file\'s theme, else auto]' -r -f -a "auto\t''
16\t''
256\t''
true\t''
light\t''
dark\t''
contrast\t''
mono\t''"
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -s b -l batch -d 'Print one interval after another instead of showing the screen; -n limits their number'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -s H -l threads -d 'Show threads instead of processes; JSON and CSV show both'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -s i -l idle -d 'Hide tasks that did not run in the interval: the default, unless the configuration file has `all = true`'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -s c -l command-line -d 'Show command lines instead of names'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -l all -d 'Also list what did not run in the interval'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -l procps -d 'Behave like procps\' top: same options, summary and columns (see `cpuledger top --procps --help`)'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -s v -l verbose -d 'If the kernel rejects a BPF program, also print the last lines of its verifier\'s log'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -s h -l help -d 'Print help'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand record" -s d -l interval -l delay -d 'Length of an interval in seconds, at least 0.01 [default: 1]' -r -f
complete -c cpuledger -n "__fish_cpuledger_using_subcommand record" -l duration -d 'End after this time: seconds, or with a unit (90s, 10m, 24h); the last interval may be shorter' -r -f
complete -c cpuledger -n "__fish_cpuledger_using_subcommand record" -l retain -d 'Delete the oldest files: by age (7d), by the size of all (2GiB), by both (7d,2GiB), or never (forever)' -r -f
complete -c cpuledger -n "__fish_cpuledger_using_subcommand record" -l min-free -d 'Leave this much free in the file system: delete the oldest files, and pause if that is not enough' -r -f
complete -c cpuledger -n "__fish_cpuledger_using_subcommand record" -l tier -d 'Keep tiers of merged intervals, as LENGTH:RETENTION: 1s:24h,1m:30d [default: one tier, not merged]' -r -f
complete -c cpuledger -n "__fish_cpuledger_using_subcommand record" -l source -d 'Where the numbers come from (auto, service, ledger, walk, netlink or procfs; `cpuledger top --help` has more) [default: auto]' -r -f -a "auto\t''
service\t''
ledger\t''
walk\t''
netlink\t''
procfs\t''"
complete -c cpuledger -n "__fish_cpuledger_using_subcommand record" -l socket -d 'The socket of the service; otherwise $CPULEDGER_SOCKET or /run/cpuledger/io.cpuledger.Ledger' -r -F
complete -c cpuledger -n "__fish_cpuledger_using_subcommand record" -l with -d 'Also keep account of these, as for `cpuledger top`' -r -f -a "blame\t''
disk\t''
network\t''
pairs\t''"
complete -c cpuledger -n "__fish_cpuledger_using_subcommand record" -l slots -d 'The size of the ledger, as for `cpuledger top`' -r -f
complete -c cpuledger -n "__fish_cpuledger_using_subcommand record" -s H -l threads -d 'Record threads too (ledger and service always do)'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand record" -s v -l verbose -d 'If the kernel rejects a BPF program, also print the last lines of its verifier\'s log'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand record" -s h -l help -d 'Print help'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand report" -l since -d 'Start time [default: start of the recording]' -r -f
complete -c cpuledger -n "__fish_cpuledger_using_subcommand report" -l until -d 'Stop time [default: end of the recording]' -r -f
complete -c cpuledger -n "__fish_cpuledger_using_subcommand report" -l by -d 'What the rows are: command, user, cgroup, unit, container, pod, image, process or ancestor. With wait, as in wait,unit: what they did off the CPU, and what waited most comes first. device: what each disk read and wrote, and how long that took' -r -f -a "wait\t''
command\t''
user\t''
cgroup\t''
unit\t''
container\t''
pod\t''
image\t''
process\t''
ancestor\t''
device\t''"
complete -c cpuledger -n "__fish_cpuledger_using_subcommand report" -l columns -d 'What is told of them, by headers of text or keys of JSON, separated by commas: self,%cap,usr,sys,rsspeak,read,write,vcsw,icsw' -r -f
complete -c cpuledger -n "__fish_cpuledger_using_subcommand report" -l top -d 'Number of rows; the rest is one row' -r -f
complete -c cpuledger -n "__fish_cpuledger_using_subcommand report" -l format -d 'Output format: text, json, csv, csv-safe (csv with an apostrophe before text that a spreadsheet would run as a formula) or html (one page that needs nothing else)' -r -f -a "text\t''
json\t''
csv\t''
csv-safe\t''
html\t''"
complete -c cpuledger -n "__fish_cpuledger_using_subcommand report" -l output -d 'Write to this file; a failed run leaves no partial file' -r -F
complete -c cpuledger -n "__fish_cpuledger_using_subcommand report" -l compare -d 'Two spans side by side: what grew most from A to B comes first' -r -f
complete -c cpuledger -n "__fish_cpuledger_using_subcommand report" -l fleet -d 'Ask the exports of many machines, by DuckDB, which has to be installed: a directory or s3://BUCKET/PREFIX' -r -f
complete -c cpuledger -n "__fish_cpuledger_using_subcommand report" -s v -l verbose -d 'If the kernel rejects a BPF program, also print the last lines of its verifier\'s log'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand report" -s h -l help -d 'Print help'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand serve" -l config -d 'The configuration; otherwise /etc/cpuledger/config.toml, if it is there' -r -F
complete -c cpuledger -n "__fish_cpuledger_using_subcommand serve" -l socket -d 'The socket that readers connect to; otherwise $CPULEDGER_SOCKET or /run/cpuledger/io.cpuledger.Ledger' -r -F
complete -c cpuledger -n "__fish_cpuledger_using_subcommand serve" -l interval -d 'Length of an interval in seconds, whatever the configuration says' -r -f
complete -c cpuledger -n "__fish_cpuledger_using_subcommand serve" -l check-config -d 'Check the configuration, explain it, and end'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand serve" -s v -l verbose -d 'If the kernel rejects a BPF program, also print the last lines of its verifier\'s log'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand serve" -s h -l help -d 'Print help'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand run" -l format -d 'Format of the account' -r -f -a "text\t'For people'
json\t'One object, schema cpuledger.run/1'"
complete -c cpuledger -n "__fish_cpuledger_using_subcommand run" -s o -l output -d 'Write the account to this file [default: standard error]' -r -F
complete -c cpuledger -n "__fish_cpuledger_using_subcommand run" -l source -d 'Where the numbers come from: service, ledger, or auto, which takes the service where it runs' -r -f -a "auto\t'The service where it runs, else the ledger'
service\t'The books of `cpuledger serve`'
ledger\t'A ledger of its own: root, or CAP_BPF and CAP_PERFMON'"
complete -c cpuledger -n "__fish_cpuledger_using_subcommand run" -l socket -d 'The socket of the service; otherwise $CPULEDGER_SOCKET or /run/cpuledger/io.cpuledger.Ledger' -r -F
complete -c cpuledger -n "__fish_cpuledger_using_subcommand run" -l repeat -d 'Run it N times, one after another, and report median and spread; a run that fails is the last' -r -f
complete -c cpuledger -n "__fish_cpuledger_using_subcommand run" -s v -l verbose -d 'If the kernel rejects a BPF program, also print the last lines of its verifier\'s log'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand export" -s o -l output -d 'The directory of the tables; it is made if it is missing' -r -f -a "(__fish_complete_directories)"
complete -c cpuledger -n "__fish_cpuledger_using_subcommand export" -l to -d 'Where the tables go: a directory, `s3://BUCKET/PREFIX`, or the `https://` address of a folder of a WebDAV server' -r -f
complete -c cpuledger -n "__fish_cpuledger_using_subcommand export" -l format -d 'Format of the files' -r -f -a "parquet\t'Apache Parquet, compressed by zstd'
arrow\t'Arrow IPC files (Feather 2), compressed by zstd'
csv\t'CSV with a header'
csv-safe\t'CSV with an apostrophe before text that a spreadsheet would run as a formula'
jsonl\t'A JSON object a line'"
complete -c cpuledger -n "__fish_cpuledger_using_subcommand export" -l since -d 'Only intervals from this time on: `2026-03-01 03:12`, `yesterday 03:12`, `03:12`, `@1700000000`, or `10m ago` before the end' -r -f
complete -c cpuledger -n "__fish_cpuledger_using_subcommand export" -l until -d 'Only intervals until this time' -r -f
complete -c cpuledger -n "__fish_cpuledger_using_subcommand export" -s v -l verbose -d 'If the kernel rejects a BPF program, also print the last lines of its verifier\'s log'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand export" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand metrics" -l listen -d 'Where to listen: ADDRESS:PORT, :PORT or unix:PATH; may be repeated [default: 127.0.0.1:10911, or the sockets of the service manager]' -r -f
complete -c cpuledger -n "__fish_cpuledger_using_subcommand metrics" -l by -d 'Dimensions, separated by commas' -r -f -a "command\t'Name of the process'
user\t'Effective user'
cgroup\t'Cgroup'
unit\t'Unit of systemd'
container\t'Container'
pod\t'Pod of Kubernetes'
image\t'Image of the container'"
complete -c cpuledger -n "__fish_cpuledger_using_subcommand metrics" -l series -d 'Maximum number of named series in a dimension, not counting `other`' -r -f
complete -c cpuledger -n "__fish_cpuledger_using_subcommand metrics" -l compat -d 'Also export CPU time under the names that another exporter has for it; separated by commas' -r -f -a "process-exporter\t'`namedprocess_namegroup_*` of process-exporter'
cadvisor\t'`container_cpu_*` of cAdvisor'"
complete -c cpuledger -n "__fish_cpuledger_using_subcommand metrics" -l process-names -d 'Rules of process-exporter that say which process is in which group [default: a group for each name of a program]' -r -F
complete -c cpuledger -n "__fish_cpuledger_using_subcommand metrics" -l children -d 'Whether a process that no rule matches is in the group of its parent [default: true]' -r -f -a "true\t''
false\t''"
complete -c cpuledger -n "__fish_cpuledger_using_subcommand metrics" -l web-config -d 'TLS and passwords, in the format of Prometheus\' exporters; read again when it changes' -r -F
complete -c cpuledger -n "__fish_cpuledger_using_subcommand metrics" -l socket -d 'The socket of the service [default: $CPULEDGER_SOCKET, or that of the machine]' -r -F
complete -c cpuledger -n "__fish_cpuledger_using_subcommand metrics" -s v -l verbose -d 'If the kernel rejects a BPF program, also print the last lines of its verifier\'s log'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand metrics" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand push" -l otlp -d 'Where to; `/v1/metrics` is added unless it is there [default: $OTEL_EXPORTER_OTLP_ENDPOINT, or http://localhost:4318]' -r -f
complete -c cpuledger -n "__fish_cpuledger_using_subcommand push" -l header -d 'A header of each request, as in `X-Scope: one`; may be repeated' -r -f
complete -c cpuledger -n "__fish_cpuledger_using_subcommand push" -l certificate -d 'Certificates of the authorities that the receiver may have, in PEM [default: those of the machine]' -r -F
complete -c cpuledger -n "__fish_cpuledger_using_subcommand push" -l every -d 'Seconds between two pushes' -r -f
complete -c cpuledger -n "__fish_cpuledger_using_subcommand push" -l queue -d 'Keep what is not sent yet in this directory, beyond the end of the program [default: in memory]' -r -f -a "(__fish_complete_directories)"
complete -c cpuledger -n "__fish_cpuledger_using_subcommand push" -l queue-size -d 'Size of that directory, in MiB; in memory it is 8 at most' -r -f
complete -c cpuledger -n "__fish_cpuledger_using_subcommand push" -l by -d 'Dimensions, separated by commas' -r -f -a "command\t'Name of the process'
user\t'Effective user'
cgroup\t'Cgroup'
unit\t'Unit of systemd'
container\t'Container'
pod\t'Pod of Kubernetes'
image\t'Image of the container'"
complete -c cpuledger -n "__fish_cpuledger_using_subcommand push" -l series -d 'Number of series in a dimension, beside `other`' -r -f
complete -c cpuledger -n "__fish_cpuledger_using_subcommand push" -l processes -d 'Number of processes that are sent one by one: those that use most' -r -f
complete -c cpuledger -n "__fish_cpuledger_using_subcommand push" -l socket -d 'The socket of the service [default: $CPULEDGER_SOCKET, or that of the machine]' -r -F
complete -c cpuledger -n "__fish_cpuledger_using_subcommand push" -s v -l verbose -d 'If the kernel rejects a BPF program, also print the last lines of its verifier\'s log'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand push" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand mcp" -l socket -d 'The socket of the service [default: $CPULEDGER_SOCKET, or that of the machine]' -r -F
complete -c cpuledger -n "__fish_cpuledger_using_subcommand mcp" -s v -l verbose -d 'If the kernel rejects a BPF program, also print the last lines of its verifier\'s log'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand mcp" -s h -l help -d 'Print help'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand web" -l listen -d 'Where to listen: ADDRESS:PORT, :PORT or unix:PATH; may be repeated [default: 127.0.0.1:10912, or the sockets of the service manager]' -r -f
complete -c cpuledger -n "__fish_cpuledger_using_subcommand web" -l web-config -d 'TLS and passwords, in the format of Prometheus\' exporters; read again when it changes' -r -F
complete -c cpuledger -n "__fish_cpuledger_using_subcommand web" -l idle -d 'End after so many seconds without a visitor; 0: never [default: 60 if the service manager starts it for a visitor, else 0]' -r -f
complete -c cpuledger -n "__fish_cpuledger_using_subcommand web" -l socket -d 'The socket of the service [default: $CPULEDGER_SOCKET, or that of the machine]' -r -F
complete -c cpuledger -n "__fish_cpuledger_using_subcommand web" -s v -l verbose -d 'If the kernel rejects a BPF program, also print the last lines of its verifier\'s log'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand web" -s h -l help -d 'Print help'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand ps" -s v -l verbose -d 'If the kernel rejects a BPF program, also print the last lines of its verifier\'s log'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand status" -l as -d 'Which file\'s text to print' -r -f -a "status\t''
stat\t''
statm\t''"
complete -c cpuledger -n "__fish_cpuledger_using_subcommand status" -l source -d 'Where the text comes from: walk, procfs (the files in /proc), or auto, which takes the walk for long listings if it works. The walk is a BPF program; it needs Linux 6.7, and root or CAP_BPF and CAP_PERFMON' -r -f -a "auto\t''
walk\t''
procfs\t''"
complete -c cpuledger -n "__fish_cpuledger_using_subcommand status" -s e -l all -d 'Print every process, in order of pid'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand status" -s H -l threads -d 'Print one entry per thread, as in /proc/PID/task/TID'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand status" -s n -l numbered -d 'Put the pid or tid before each entry (useful with statm, whose text lacks it)'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand status" -s v -l verbose -d 'If the kernel rejects a BPF program, also print the last lines of its verifier\'s log'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand status" -s h -l help -d 'Print help'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand doctor" -l format -d 'Output format' -r -f -a "text\t'For people'
json\t'One object, schema cpuledger.doctor/1'"
complete -c cpuledger -n "__fish_cpuledger_using_subcommand doctor" -l socket -d 'The socket of the service; otherwise $CPULEDGER_SOCKET or /run/cpuledger/io.cpuledger.Ledger' -r -F
complete -c cpuledger -n "__fish_cpuledger_using_subcommand doctor" -s v -l verbose -d 'If the kernel rejects a BPF program, also print the last lines of its verifier\'s log'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand help; and not __fish_seen_subcommand_from top record report serve run export metrics push mcp web ps status doctor help" -f -a "top" -d 'Show what ran in each interval, on the whole screen or as text'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand help; and not __fish_seen_subcommand_from top record report serve run export metrics push mcp web ps status doctor help" -f -a "record" -d 'Record what ran, interval after interval, in a directory'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand help; and not __fish_seen_subcommand_from top record report serve run export metrics push mcp web ps status doctor help" -f -a "report" -d 'Summarise a time span of a recording, by command, user, cgroup, process, ancestor or unit'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand help; and not __fish_seen_subcommand_from top record report serve run export metrics push mcp web ps status doctor help" -f -a "serve" -d 'Keep one ledger for all readers of this machine'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand help; and not __fish_seen_subcommand_from top record report serve run export metrics push mcp web ps status doctor help" -f -a "run" -d 'Run a command, and report what it and everything that descends from it used'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand help; and not __fish_seen_subcommand_from top record report serve run export metrics push mcp web ps status doctor help" -f -a "export" -d 'Write a recording as tables for others: Parquet, Arrow, CSV or JSON lines'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand help; and not __fish_seen_subcommand_from top record report serve run export metrics push mcp web ps status doctor help" -f -a "metrics" -d 'Export CPU time to Prometheus by command, user, unit and container'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand help; and not __fish_seen_subcommand_from top record report serve run export metrics push mcp web ps status doctor help" -f -a "push" -d 'Send the books to OpenTelemetry (OTLP/HTTP), as cumulative sums'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand help; and not __fish_seen_subcommand_from top record report serve run export metrics push mcp web ps status doctor help" -f -a "mcp" -d 'Answer questions of programs that speak the Model Context Protocol'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand help; and not __fish_seen_subcommand_from top record report serve run export metrics push mcp web ps status doctor help" -f -a "web" -d 'Show the books in a browser: what runs now, and what ran before'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand help; and not __fish_seen_subcommand_from top record report serve run export metrics push mcp web ps status doctor help" -f -a "ps" -d 'List tasks once, with the options of procps\' ps'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand help; and not __fish_seen_subcommand_from top record report serve run export metrics push mcp web ps status doctor help" -f -a "status" -d 'Print the text of /proc/PID/status, stat or statm for many tasks at once'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand help; and not __fish_seen_subcommand_from top record report serve run export metrics push mcp web ps status doctor help" -f -a "doctor" -d 'Show which ways of measuring CPU time (sources) work here, why, and what the others need'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand help; and not __fish_seen_subcommand_from top record report serve run export metrics push mcp web ps status doctor help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand run" -f -a "(__fish_complete_subcommand --fcs-skip=2 -o --format --output --source --socket --repeat)"
