package jnvdocker.docker.cli;

import java.io.IOException;
import java.util.Optional;

/** The options of one command: those of the tables, and else those that docker's help names. */
final class KnownOptions {
    private static final OptionTable NOTHING = OptionTable.parse("");

    private final OptionTable table;
    private final OptionTable ours;
    private final Help help;
    private OptionTable learned;

    private KnownOptions(OptionTable table, OptionTable ours, Help help) {
        this.table = table;
        this.ours = ours;
        this.help = help;
    }

    static KnownOptions only(OptionTable table) {
        return new KnownOptions(table, NOTHING, () -> "");
    }

    static KnownOptions of(Verb verb, DockerHelp help) {
        return new KnownOptions(DockerOptions.of(verb), DockerOptions.OURS, () -> help.text(verb));
    }

    Optional<DockerOption> named(String name) throws IOException {
        Optional<DockerOption> known = table.named(name).or(() -> ours.named(name));
        return known.isPresent() ? known : learned().named(name);
    }

    Optional<DockerOption> lettered(char letter) throws IOException {
        Optional<DockerOption> known = table.lettered(letter);
        return known.isPresent() ? known : learned().lettered(letter);
    }

    private OptionTable learned() throws IOException {
        if (learned == null) {
            learned = NOTHING; // stays so when the help cannot be had
            learned = OptionTable.parse(help.text());
        }
        return learned;
    }

    private interface Help {
        String text() throws IOException;
    }
}
