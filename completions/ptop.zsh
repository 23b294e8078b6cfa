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
'-v[Say more about what went wrong\: the verifier'\''s last lines]' \
'--verbose[Say more about what went wrong\: the verifier'\''s last lines]' \
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
