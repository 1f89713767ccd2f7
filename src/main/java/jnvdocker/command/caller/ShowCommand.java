package jnvdocker.command.caller;

import jnvdocker.screen.Json;
import jnvdocker.screen.Screen;
import jnvdocker.screen.Shown;
import jnvdocker.words.RefusedException;

import picocli.CommandLine.Option;

import java.io.IOException;

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

    /** Whether it is shown again and again: each document is a line then. */
    protected boolean isRepeated() {
        return false;
    }

    protected final boolean isJson() {
        return json;
    }

    protected final Screen screen() {
        return screen;
    }

    @Override
    public final Integer call() throws IOException, RefusedException {
        Shown shown = show();
        if (json) {
            print(isRepeated() ? Json.line(shown.document()) : Json.text(shown.document()));
            shown.remark().ifPresent(this::warn);
        } else {
            shown.lines(screen).forEach(this::print);
            shown.remark().ifPresent(this::print);
        }
        return shown.exitCode().code();
    }
}
