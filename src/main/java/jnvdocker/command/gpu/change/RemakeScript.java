package jnvdocker.command.gpu.change;

import jnvdocker.words.ShellWord;

import java.util.List;
import java.util.stream.Collectors;

/**
 * The shell script by which a user's client makes a container again: it outlasts the daemon, and
 * has no rights but the user's own.
 *
 * @param docker the user's docker, with its global options
 * @param container the id of the old container
 * @param state when the old container started last, and its status
 * @param suffix of the name that the old container has meanwhile, which nobody else uses
 * @param networks the words after {@code docker network connect}, for each further network
 */
record RemakeScript(
        List<String> docker,
        String container,
        String name,
        String state,
        String suffix,
        List<List<String>> networks) {
    /**
     * The new container has its name from the beginning: logs and networks know it by that. Until
     * it runs, a failure or a signal has it removed, with the image that nothing else is made of.
     * What the old one has done since it was saved would be lost, so it must not have been started.
     */
    private static final String BODY =
            """
            image= renamed=
            say() {
                echo "jnvdocker: $*" >&2
            }
            inspect() {
                docker container inspect --format "{{.State.$2}} {{.State.$3}}" "$1"
            }
            undo() {
                code=$?
                trap - EXIT
                trap '' HUP INT TERM
                if [ -n "$image" ]; then
                    for new in $(docker ps -aq --filter "ancestor=$image"); do
                        docker rm -f "$new" > /dev/null
                    done
                    docker image rm "$image" > /dev/null
                fi
                [ -z "$renamed" ] || docker rename "$old" "$name" 2> /dev/null
                if [ "$(docker container inspect --format '{{.Name}}' "$old")" = "/$name" ]; then
                    say "container $name is not made again, and is as it was"
                else
                    say "container $name is not made again, and is called $name-old-$suffix now"
                fi
                exit "$code"
            }
            trap undo EXIT
            trap 'exit 129' HUP
            trap 'exit 130' INT
            trap 'exit 143' TERM
            image=$(docker commit --message "saved by 'jnvdocker gpu remake'" "$old") || exit 125
            renamed=yes
            docker rename "$old" "$name-old-$suffix" || exit 125
            new=$(create "$image") || exit 125
            connect || exit 125
            docker start "$new" > /dev/null || exit 125
            # A program that cannot work mostly ends at once.
            sleep 1
            now=$(inspect "$new" Status ExitCode)
            case $now in
                'running 0' | 'exited 0') ;;
                *)
                    docker logs --tail 10 "$new" >&2
                    say "the new container does not run: it is ${now% *}, with exit code ${now#* }"
                    exit 125
                    ;;
            esac
            if [ "$(inspect "$old" StartedAt Status)" != "$state" ]; then
                say "container $name was started meanwhile; stop it, then try again"
                exit 125
            fi
            trap - EXIT
            trap '' HUP INT TERM
            docker rm "$old" > /dev/null || say "the old container remains as $name-old-$suffix"
            printf 'made container %s again (%.12s)\\n' "$name" "$new"
            """;

    /**
     * @param create the user's docker with all words that create the new container, of which the
     *     last is the image
     */
    List<String> command(List<String> create) {
        String head =
                """
                docker() { %s "$@"; }
                create() { %s "$1"; }
                connect() { :%s; }
                old=%s name=%s state=%s suffix=%s
                """
                        .formatted(
                                quoted(docker),
                                quoted(create.subList(0, create.size() - 1)),
                                networks.stream()
                                        .map(words ->
                                                " && docker network connect "
                                                        + quoted(words)
                                                        + " \"$new\"")
                                        .collect(Collectors.joining()),
                                ShellWord.quoted(container),
                                ShellWord.quoted(name),
                                ShellWord.quoted(state),
                                ShellWord.quoted(suffix));
        return List.of("sh", "-c", head + BODY);
    }

    private static String quoted(List<String> words) {
        return words.stream().map(ShellWord::quoted).collect(Collectors.joining(" "));
    }
}
