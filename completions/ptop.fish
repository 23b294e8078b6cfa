complete -c ptop -s n -l iterations -d 'Exit after N intervals [default: unlimited on the screen and with -b, otherwise 2]' -r
complete -c ptop -s d -l delay -d 'Length of an interval in seconds, at least 0.01 [default: 3]' -r
complete -c ptop -s p -l pid -d 'Show only these processes (pids, separated by commas)' -r
complete -c ptop -s u -l user -d 'Show only processes with this effective user (name or number)' -r
complete -c ptop -s o -l sort -d 'Sort by a column (%CPU, %MEM, TIME+, PID, …) or a JSON key, highest first; -KEY sorts lowest first' -r
complete -c ptop -l format -d 'Output format: text, json (one object per line), csv, or csv-safe (no cell is a formula in a spreadsheet)' -r
complete -c ptop -l source -d 'Where the numbers come from: auto, ledger, walk, netlink or procfs' -r
complete -c ptop -l slots -d 'Fix the ledger\'s size to N tasks [default: it grows as needed; `cpuledger doctor` shows the initial size]' -r
complete -c ptop -l config -d 'Configuration file of the screen [default: $XDG_CONFIG_HOME/cpuledger/ptop.toml]' -r -F
complete -c ptop -l theme -d 'Colours of the screen: auto, 16, 256, true, contrast or mono' -r
complete -c ptop -s v -l verbose -d 'Explain errors in more detail: print the last lines of the kernel\'s BPF verifier'
complete -c ptop -s b -l batch -d 'Print one interval after another instead of showing the screen; -n limits their number'
complete -c ptop -s H -l threads -d 'Show threads instead of processes; JSON and CSV show both'
complete -c ptop -s i -l idle -d 'Hide what did not run in the interval (the default; the opposite of --all)'
complete -c ptop -s c -l command-line -d 'Show command lines instead of names'
complete -c ptop -l all -d 'Also list processes that did not run in the interval'
complete -c ptop -l procps -d 'Behave like procps\' top: same options, head and columns (see `--procps --help`)'
complete -c ptop -s h -l help -d 'Print help'
complete -c ptop -s V -l version -d 'Print version'
