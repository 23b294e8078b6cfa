complete -c ptop -s n -l iterations -d 'Exit after N intervals [default: unlimited on the screen and with -b, otherwise 2]' -r -f
complete -c ptop -s d -l delay -l interval -d 'Length of an interval in seconds, at least 0.01 [default: 3]' -r -f
complete -c ptop -s p -l pid -d 'Show only these processes (pids, separated by commas)' -r -f
complete -c ptop -s u -l user -d 'Show only processes of these effective users (names or numbers, separated by commas)' -r -f -a "(__fish_complete_users)"
complete -c ptop -l filter -d 'Show only rows that match: \'cpu>5 user=www comm~^java\'. The manual (man/ptop.1) has the language and all names' -r -f
complete -c ptop -s o -l sort -d 'Sort by a column (%CPU, %MEM, TIME+, PID and others) or a JSON key, highest first; -KEY sorts lowest first. The manual (man/ptop.1) lists them' -r -f
complete -c ptop -l columns -d 'Columns of the text, by headers or JSON keys, separated by commas: pid,%cpu,usr,sys,unit,comm. The manual (man/ptop.1) lists them' -r -f
complete -c ptop -l by -d 'wait: show how each row spent its time; command, user, cgroup, unit, container, pod, image, process, ancestor: group the rows. With wait, what waits most comes first. Combine them with a comma: wait,cgroup. blame: which cgroup made which wait for a CPU; blame,unit: likewise by unit (or container, pod, image). device: what each disk read and wrote, and how long that took. network: what each cgroup sent and received on the wire, beside what its tasks did; network,unit: likewise by unit' -r -f -a "wait\t''
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
complete -c ptop -l format -d 'Output format: text, json (one object per line), csv, or csv-safe (csv with an apostrophe before text that a spreadsheet would run as a formula) [default: text]' -r -f -a "text\t''
json\t''
csv\t''
csv-safe\t''"
complete -c ptop -l json-keys -d 'More keys in JSON, separated by commas: realtime (begin and end as RFC 3339 and in nanoseconds), host, user (name), cgroup (path)' -r -f -a "realtime\t''
host\t''
user\t''
cgroup\t''"
complete -c ptop -l source -d 'Where the numbers come from (auto, service, ledger, walk, netlink or procfs, see below) [default: auto]' -r -f -a "auto\t''
service\t''
ledger\t''
walk\t''
netlink\t''
procfs\t''"
complete -c ptop -l with -d 'Also keep account of these, separated by commas: blame (who waits for a CPU because of whom), disk (what each task reads and writes), network (what it sends and receives by sockets), pairs (blame, and which cgroup makes which wait). The service keeps them if its configuration allows it; --source ledger keeps its own' -r -f -a "blame\t''
disk\t''
network\t''
pairs\t''"
complete -c ptop -l record -d 'Also record the intervals, in this directory; nothing that is in it is deleted' -r -f -a "(__fish_complete_directories)"
complete -c ptop -l replay -d 'Show a recording (directory or file) instead of this machine; -d merges its intervals, which else are as recorded' -r -F
complete -c ptop -l at -d 'Open the recording at this time, such as 03:12, `yesterday 03:12`, -10m (before the end), @SECONDS or 2026-03-01T03:12:00Z' -r -f
complete -c ptop -l since -d 'Leave out intervals before this time' -r -f
complete -c ptop -l until -d 'Stop at this time' -r -f
complete -c ptop -l socket -d 'The socket of the service; otherwise $CPULEDGER_SOCKET or /run/cpuledger/io.cpuledger.Ledger' -r -F
complete -c ptop -l slots -d 'Track at most N tasks at a time (slots) in the ledger, 16 to 8388608; without root at most 32768 [default: 32768, and as root it grows as needed]' -r -f
complete -c ptop -l config -d 'Configuration file of the screen [default: $XDG_CONFIG_HOME/cpuledger/ptop.toml]' -r -F
complete -c ptop -l theme -d 'Colours of the screen: auto, 16, 256, true, light, dark, contrast or mono [default: the configuration file\'s theme, else auto]' -r -f -a "auto\t''
16\t''
256\t''
true\t''
light\t''
dark\t''
contrast\t''
mono\t''"
complete -c ptop -s v -l verbose -d 'If the kernel rejects a BPF program, also print the last lines of its verifier\'s log'
complete -c ptop -s b -l batch -d 'Print one interval after another instead of showing the screen; -n limits their number'
complete -c ptop -s H -l threads -d 'Show threads instead of processes; JSON and CSV show both'
complete -c ptop -s i -l idle -d 'Hide tasks that did not run in the interval: the default, unless the configuration file has `all = true`'
complete -c ptop -s c -l command-line -d 'Show command lines instead of names'
complete -c ptop -l all -d 'Also list what did not run in the interval'
complete -c ptop -s h -l help -d 'Print help'
complete -c ptop -s V -l version -d 'Print version'
