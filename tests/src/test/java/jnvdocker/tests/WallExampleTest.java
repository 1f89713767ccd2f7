package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.Terminal;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** The example that writes to a user's terminals, with the sessions that a loginctl reports. */
@Tag("root")
class WallExampleTest {
    private final Path programs = Directories.make("wall");

    @AfterEach
    void remove() {
        Directories.remove(programs);
    }

    /**
     * A loginctl whose sessions are root's.
     *
     * @param terminals of the sessions, as Debian 13's has them: sshd's own has none; "gone" ends
     *     meanwhile
     */
    private void sessions(String... terminals) throws IOException {
        StringBuilder list = new StringBuilder();
        StringBuilder each = new StringBuilder();
        for (int i = 0; i < terminals.length; i++) {
            list.append(
                    "     c%d    0 root -     4711 user    %s no   -\n".formatted(i, terminals[i]));
            String answer = terminals[i].equals("gone") ? "exit 1" : "echo '" + terminals[i] + "'";
            each.append("c%d) %s;;\n".formatted(i, answer));
        }
        Path loginctl = programs.resolve("loginctl");
        Files.writeString(
                loginctl,
                """
                #!/bin/sh
                case $1 in
                list-sessions) cat << END
                %sEND
                ;;
                show-session)
                case $2 in
                %sesac
                esac
                """
                        .formatted(list, each));
        Command.of("chmod", "755", loginctl).run().ok();
    }

    private Command.Result wall(String event, String user) {
        return Command.of(Project.root().resolve("src/dist/examples/notify/wall"))
                .with("PATH", programs + ":" + System.getenv("PATH"))
                .input(
                        "{\"event\":\"%s\",\"user\":\"%s\",\"message\":\"GPU 1 is due\"}"
                                .formatted(event, user))
                .run()
                .ok();
    }

    @Test
    void writesToTheUsersTerminalsAlone() throws Exception {
        try (Terminal terminal = new Terminal(Command.of("sleep", "1000"), 80, 24)) {
            Lab.await(() ->
                    terminal.device().isPresent() ? List.of() : List.of("it has no terminal yet"));
            String own = terminal.device().orElseThrow().substring("/dev/".length());
            sessions("sshd", "gone", own, "", "-", "../tmp/none", own);
            assertEquals("", wall("due", "root").err());
            wall("due", "daemon");
            wall("refused", "root");
            Lab.await(() ->
                    terminal.written().equals("\r\nGPU 1 is due\r\n")
                            ? List.of()
                            : List.of(terminal.written()));
            assertFalse(Files.exists(Path.of("/dev/sshd")));
        }
    }
}
