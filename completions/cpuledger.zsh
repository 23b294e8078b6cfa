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
'-v[Say more about what went wrong\: the verifier'\''s last lines]' \
'--verbose[Say more about what went wrong\: the verifier'\''s last lines]' \
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
'-n+[End after so many intervals \[default with neither -b nor a terminal\: 2\]]:N:_default' \
'--iterations=[End after so many intervals \[default with neither -b nor a terminal\: 2\]]:N:_default' \
'-d+[Length of an interval in seconds, at least 0.01 \[default\: 3\]]:S:_default' \
'--delay=[Length of an interval in seconds, at least 0.01 \[default\: 3\]]:S:_default' \
'*-p+[Only these processes, separated by commas]:LIST:_default' \
'*--pid=[Only these processes, separated by commas]:LIST:_default' \
'-u+[Only processes of this effective user, by name or number]:USER:_default' \
'--user=[Only processes of this effective user, by name or number]:USER:_default' \
'-o+[Sort by %CPU, %MEM, TIME+, PID, … or a key of the JSON output, from high to low; -KEY\: from low to high]:KEY:_default' \
'--sort=[Sort by %CPU, %MEM, TIME+, PID, … or a key of the JSON output, from high to low; -KEY\: from low to high]:KEY:_default' \
'--format=[How to print\: text, json (one object a line), csv, or csv-safe (the same for spreadsheets\: no text is a formula)]:FORMAT:_default' \
'--source=[Where numbers come from\: auto, ledger, walk, netlink or procfs]:SOURCE:_default' \
'--slots=[Tasks that the ledger can tell apart, no more; without this it grows \[default\: see \`cpuledger doctor\`\]]:N:_default' \
'--config=[The screen\: read this file instead of \$XDG_CONFIG_HOME/cpuledger/ptop.toml]:FILE:_files' \
'--theme=[The screen\: auto, 16, 256, true, contrast or mono]:NAME:_default' \
'-b[Print intervals one after another, until stopped or for -n of them, instead of the screen]' \
'--batch[Print intervals one after another, until stopped or for -n of them, instead of the screen]' \
'-H[Threads in the place of processes; in JSON and CSV, besides processes]' \
'--threads[Threads in the place of processes; in JSON and CSV, besides processes]' \
'-i[Hide what did not run in the interval, which is the default; the opposite of --all]' \
'--idle[Hide what did not run in the interval, which is the default; the opposite of --all]' \
'-c[Show arguments in the place of names]' \
'--command-line[Show arguments in the place of names]' \
'--all[List processes that did not run in the interval too]' \
'--procps[Be procps'\'' top, with its options, head and columns; \`--procps --help\` lists them]' \
'-v[Say more about what went wrong\: the verifier'\''s last lines]' \
'--verbose[Say more about what went wrong\: the verifier'\''s last lines]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(ps)
_arguments "${_arguments_options[@]}" : \
'-v[Say more about what went wrong\: the verifier'\''s last lines]' \
'--verbose[Say more about what went wrong\: the verifier'\''s last lines]' \
'*::arguments -- Options in UNIX, BSD and GNU style; `ps --help` lists them:_default' \
&& ret=0
;;
(status)
_arguments "${_arguments_options[@]}" : \
'--as=[The file whose text is wanted]:status|stat|statm:_default' \
'--source=[Where the texts come from\: walk renders them, procfs copies them]:auto|walk|procfs:_default' \
'()-e[Show every process, by pid]' \
'()--all[Show every process, by pid]' \
'-H[A text for each task, as of /proc/PID/task/TID]' \
'--threads[A text for each task, as of /proc/PID/task/TID]' \
'-n[Begin each text with the number of its task and a blank\: statm does not tell it]' \
'--numbered[Begin each text with the number of its task and a blank\: statm does not tell it]' \
'-v[Say more about what went wrong\: the verifier'\''s last lines]' \
'--verbose[Say more about what went wrong\: the verifier'\''s last lines]' \
'-h[Print help]' \
'--help[Print help]' \
'*::pids -- Processes to show, in this order:_default' \
&& ret=0
;;
(doctor)
_arguments "${_arguments_options[@]}" : \
'--format=[How to print it]:FORMAT:((text\:"For people"
json\:"One object of the schema cpuledger.doctor/1"))' \
'-v[Say more about what went wrong\: the verifier'\''s last lines]' \
'--verbose[Say more about what went wrong\: the verifier'\''s last lines]' \
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
'top:Show what ran, interval after interval' \
'ps:List tasks once; takes the options of procps'\'' ps' \
'status:Write the text of /proc/PID/status, stat or statm of many tasks at once' \
'doctor:Tell which sources are usable here, why, and what would mend the others' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'cpuledger commands' commands "$@"
}
(( $+functions[_cpuledger__subcmd__doctor_commands] )) ||
_cpuledger__subcmd__doctor_commands() {
    local commands; commands=()
    _describe -t commands 'cpuledger doctor commands' commands "$@"
}
(( $+functions[_cpuledger__subcmd__help_commands] )) ||
_cpuledger__subcmd__help_commands() {
    local commands; commands=(
'top:Show what ran, interval after interval' \
'ps:List tasks once; takes the options of procps'\'' ps' \
'status:Write the text of /proc/PID/status, stat or statm of many tasks at once' \
'doctor:Tell which sources are usable here, why, and what would mend the others' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'cpuledger help commands' commands "$@"
}
(( $+functions[_cpuledger__subcmd__help__subcmd__doctor_commands] )) ||
_cpuledger__subcmd__help__subcmd__doctor_commands() {
    local commands; commands=()
    _describe -t commands 'cpuledger help doctor commands' commands "$@"
}
(( $+functions[_cpuledger__subcmd__help__subcmd__help_commands] )) ||
_cpuledger__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'cpuledger help help commands' commands "$@"
}
(( $+functions[_cpuledger__subcmd__help__subcmd__ps_commands] )) ||
_cpuledger__subcmd__help__subcmd__ps_commands() {
    local commands; commands=()
    _describe -t commands 'cpuledger help ps commands' commands "$@"
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
(( $+functions[_cpuledger__subcmd__ps_commands] )) ||
_cpuledger__subcmd__ps_commands() {
    local commands; commands=()
    _describe -t commands 'cpuledger ps commands' commands "$@"
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

if [ "$funcstack[1]" = "_cpuledger" ]; then
    _cpuledger "$@"
else
    compdef _cpuledger cpuledger
fi
