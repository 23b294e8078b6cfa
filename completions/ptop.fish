complete -c ptop -s n -l iterations -d 'End after so many intervals [default with neither -b nor a terminal: 2]' -r
complete -c ptop -s d -l delay -d 'Length of an interval in seconds, at least 0.01 [default: 3]' -r
complete -c ptop -s p -l pid -d 'Only these processes, separated by commas' -r
complete -c ptop -s u -l user -d 'Only processes of this effective user, by name or number' -r
complete -c ptop -s o -l sort -d 'Sort by %CPU, %MEM, TIME+, PID, … or a key of the JSON output, from high to low; -KEY: from low to high' -r
complete -c ptop -l format -d 'How to print: text, json (one object a line), csv, or csv-safe (the same for spreadsheets: no text is a formula)' -r
complete -c ptop -l source -d 'Where numbers come from: auto, ledger, walk, netlink or procfs' -r
complete -c ptop -l slots -d 'Tasks that the ledger can tell apart, no more; without this it grows [default: see `cpuledger doctor`]' -r
complete -c ptop -l config -d 'The screen: read this file instead of $XDG_CONFIG_HOME/cpuledger/ptop.toml' -r -F
complete -c ptop -l theme -d 'The screen: auto, 16, 256, true, contrast or mono' -r
complete -c ptop -s v -l verbose -d 'Say more about what went wrong: the verifier\'s last lines'
complete -c ptop -s b -l batch -d 'Print intervals one after another, until stopped or for -n of them, instead of the screen'
complete -c ptop -s H -l threads -d 'Threads in the place of processes; in JSON and CSV, besides processes'
complete -c ptop -s i -l idle -d 'Hide what did not run in the interval, which is the default; the opposite of --all'
complete -c ptop -s c -l command-line -d 'Show arguments in the place of names'
complete -c ptop -l all -d 'List processes that did not run in the interval too'
complete -c ptop -l procps -d 'Be procps\' top, with its options, head and columns; `--procps --help` lists them'
complete -c ptop -s h -l help -d 'Print help'
complete -c ptop -s V -l version -d 'Print version'
