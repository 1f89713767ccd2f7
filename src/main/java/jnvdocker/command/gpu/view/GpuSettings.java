package jnvdocker.command.gpu.view;

import jnvdocker.web.ListenAddress;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * The parts of the configuration that these commands follow, as they are now.
 *
 * @param keepHistory for how long a lease is kept after its end; empty if for ever
 * @param hosts that {@code --on all} means
 * @param stopOverdue whether the holder of an overdue lease is stopped
 * @param page where the page is
 */
public record GpuSettings(
        Supplier<Optional<Duration>> keepHistory,
        Supplier<List<String>> hosts,
        BooleanSupplier stopOverdue,
        Page page) {
    /**
     * Where browsers find the page.
     *
     * @param socket the daemon's own
     * @param listen the address over TCP, if there is one
     * @param labels whether users are named there
     */
    public record Page(
            Path socket, Supplier<Optional<ListenAddress>> listen, BooleanSupplier labels) {}
}
