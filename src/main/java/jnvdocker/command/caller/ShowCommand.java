package jnvdocker.command.caller;

import jnvdocker.protocol.ExitCode;
import jnvdocker.screen.Json;
import jnvdocker.screen.Screen;
import jnvdocker.screen.Shown;
import jnvdocker.words.RefusedException;

import picocli.CommandLine.Option;

import java.io.IOException;
import java.time.Duration;
import java.util.Optional;

/** A command that shows something. */
public abstract class ShowCommand extends OwnCommand {
    private final Screen screen;

    @Option(names = "--json", description = "Print JSON, in which nothing is shortened.")
    private boolean json;

    protected ShowCommand(Screen screen) {
        this.screen = screen;
    }

    /** Reads the present output. */
    protected abstract Shown show() throws IOException, RefusedException;

    /** Returns the interval at which it is shown again; empty when it is shown once. */
    protected Optional<Duration> interval() {
        return Optional.empty();
    }

    /** Whether it is shown again and again: each document is a line then. */
    protected final boolean isRepeated() {
        return interval().isPresent();
    }

    protected final boolean isJson() {
        return json;
    }

    protected final Screen screen() {
        return screen;
    }

    @Override
    public final CommandOutcome call() throws IOException, RefusedException {
        Shown shown = show();
        if (json) {
            print(isRepeated() ? Json.line(shown.document()) : Json.text(shown.document()));
            shown.remark().ifPresent(this::warn);
        } else {
            shown.lines(screen).forEach(this::print);
            shown.remark().ifPresent(this::print);
        }
        return shown.exitCode() == ExitCode.OK && isRepeated()
                ? new CommandOutcome.Again(interval().orElseThrow(), json)
                : new CommandOutcome.Exit(shown.exitCode());
    }
}
