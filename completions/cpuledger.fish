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

complete -c cpuledger -n "__fish_cpuledger_needs_command" -s v -l verbose -d 'Say more about what went wrong: the verifier\'s last lines'
complete -c cpuledger -n "__fish_cpuledger_needs_command" -s h -l help -d 'Print help'
complete -c cpuledger -n "__fish_cpuledger_needs_command" -s V -l version -d 'Print version'
complete -c cpuledger -n "__fish_cpuledger_needs_command" -f -a "top" -d 'Show what ran, interval after interval'
complete -c cpuledger -n "__fish_cpuledger_needs_command" -f -a "ps" -d 'List tasks once; takes the options of procps\' ps'
complete -c cpuledger -n "__fish_cpuledger_needs_command" -f -a "status" -d 'Write the text of /proc/PID/status, stat or statm of many tasks at once'
complete -c cpuledger -n "__fish_cpuledger_needs_command" -f -a "doctor" -d 'Tell which sources are usable here, why, and what would mend the others'
complete -c cpuledger -n "__fish_cpuledger_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -s n -l iterations -d 'End after so many intervals [default with neither -b nor a terminal: 2]' -r
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -s d -l delay -d 'Length of an interval in seconds, at least 0.01 [default: 3]' -r
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -s p -l pid -d 'Only these processes, separated by commas' -r
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -s u -l user -d 'Only processes of this effective user, by name or number' -r
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -s o -l sort -d 'Sort by %CPU, %MEM, TIME+, PID, … or a key of the JSON output, from high to low; -KEY: from low to high' -r
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -l format -d 'How to print: text, json (one object a line), csv, or csv-safe (the same for spreadsheets: no text is a formula)' -r
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -l source -d 'Where numbers come from: auto, ledger, walk, netlink or procfs' -r
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -l slots -d 'Tasks that the ledger can tell apart, no more; without this it grows [default: see `cpuledger doctor`]' -r
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -l config -d 'The screen: read this file instead of $XDG_CONFIG_HOME/cpuledger/ptop.toml' -r -F
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -l theme -d 'The screen: auto, 16, 256, true, contrast or mono' -r
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -s b -l batch -d 'Print intervals one after another, until stopped or for -n of them, instead of the screen'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -s H -l threads -d 'Threads in the place of processes; in JSON and CSV, besides processes'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -s i -l idle -d 'Hide what did not run in the interval, which is the default; the opposite of --all'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -s c -l command-line -d 'Show arguments in the place of names'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -l all -d 'List processes that did not run in the interval too'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -l procps -d 'Be procps\' top, with its options, head and columns; `--procps --help` lists them'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -s v -l verbose -d 'Say more about what went wrong: the verifier\'s last lines'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand top" -s h -l help -d 'Print help'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand ps" -s v -l verbose -d 'Say more about what went wrong: the verifier\'s last lines'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand status" -l as -d 'The file whose text is wanted' -r
complete -c cpuledger -n "__fish_cpuledger_using_subcommand status" -l source -d 'Where the texts come from: walk renders them, procfs copies them' -r
complete -c cpuledger -n "__fish_cpuledger_using_subcommand status" -s e -l all -d 'Show every process, by pid'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand status" -s H -l threads -d 'A text for each task, as of /proc/PID/task/TID'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand status" -s n -l numbered -d 'Begin each text with the number of its task and a blank: statm does not tell it'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand status" -s v -l verbose -d 'Say more about what went wrong: the verifier\'s last lines'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand status" -s h -l help -d 'Print help'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand doctor" -l format -d 'How to print it' -r -f -a "text\t'For people'
json\t'One object of the schema cpuledger.doctor/1'"
complete -c cpuledger -n "__fish_cpuledger_using_subcommand doctor" -s v -l verbose -d 'Say more about what went wrong: the verifier\'s last lines'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand help; and not __fish_seen_subcommand_from top ps status doctor help" -f -a "top" -d 'Show what ran, interval after interval'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand help; and not __fish_seen_subcommand_from top ps status doctor help" -f -a "ps" -d 'List tasks once; takes the options of procps\' ps'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand help; and not __fish_seen_subcommand_from top ps status doctor help" -f -a "status" -d 'Write the text of /proc/PID/status, stat or statm of many tasks at once'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand help; and not __fish_seen_subcommand_from top ps status doctor help" -f -a "doctor" -d 'Tell which sources are usable here, why, and what would mend the others'
complete -c cpuledger -n "__fish_cpuledger_using_subcommand help; and not __fish_seen_subcommand_from top ps status doctor help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
