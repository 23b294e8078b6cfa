#compdef ptop

autoload -U is-at-least

_ptop() {
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
'-v[If the kernel rejects a BPF program, also print the last lines of its verifier'\''s log]' \
'--verbose[If the kernel rejects a BPF program, also print the last lines of its verifier'\''s log]' \
'-b[Print one interval after another instead of showing the screen; -n limits their number]' \
'--batch[Print one interval after another instead of showing the screen; -n limits their number]' \
'-H[Show threads instead of processes; JSON and CSV show both]' \
'--threads[Show threads instead of processes; JSON and CSV show both]' \
'-i[Hide tasks that did not run in the interval\: the default, unless the configuration file has \`all = true\`]' \
'--idle[Hide tasks that did not run in the interval\: the default, unless the configuration file has \`all = true\`]' \
'-c[Show command lines instead of names]' \
'--command-line[Show command lines instead of names]' \
'--all[Also list what did not run in the interval]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
}

(( $+functions[_ptop_commands] )) ||
_ptop_commands() {
    local commands; commands=()
    _describe -t commands 'ptop commands' commands "$@"
}

if [ "$funcstack[1]" = "_ptop" ]; then
    _ptop "$@"
else
    compdef _ptop ptop
fi
