# Completion of jnvdocker for fish.
#
# jnvdockerd answers with candidates, and with lines that begin with a colon for what others complete. Where docker is
# a link to jnvdocker, add this line to ~/.config/fish/config.fish:
#   complete -c docker -w jnvdocker
#
# Nothing that is typed or answered is evaluated.

function __jnvdocker_complete
    # With that line docker's completion comes back here.
    set -q __jnvdocker_asks_docker; and return
    set -lx __jnvdocker_asks_docker yes
    set -l raw (commandline -ct)
    set -l words (commandline -opc)
    set -e words[1]
    set -l option (string match -r '^--[^=]*=' -- "$raw")
    set -l value (string sub -s (math 1 + (string length -- "$option")) -- "$raw")
    for line in (command jnvdocker gpu __complete -- $words "$raw" 2> /dev/null)
        switch $line
            case :docker
                complete -C (string join ' ' -- docker (string escape -- $words) "$raw")
            case ':docker *'
                complete -C (string join ' ' -- docker (string sub -s 9 -- $line) "$raw")
            case ':command *'
                set -l first (string sub -s 10 -- $line)
                set -l program
                test $first -gt (count $words); or set program (string escape -- $words[$first..-1])
                complete -C (string join ' ' -- $program "$raw")
            case :directories
                string join \n -- "$option"(__fish_complete_directories "$value")
            case :files
                string join \n -- "$option"(__fish_complete_path "$value")
            case '*'
                echo $line
        end
    end
end

complete -c jnvdocker -f -a '(__jnvdocker_complete)'
