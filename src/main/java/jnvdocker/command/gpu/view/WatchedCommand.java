package jnvdocker.command.gpu.view;

import jnvdocker.command.caller.ShowCommand;
import jnvdocker.screen.Screen;

import picocli.CommandLine.Mixin;

import java.time.Duration;
import java.util.Optional;

/** A command that can be watched. */
public abstract class WatchedCommand extends ShowCommand {
    @Mixin private final Watch watch = new Watch();

    public WatchedCommand(Screen screen) {
        super(screen);
    }

    @Override
    protected Optional<Duration> interval() {
        return watch.interval();
    }
}
