package jnvdocker.command.gpu;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * The parts of the configuration that these commands follow, as they are now.
 *
 * @param keepHistory for how long a lease is kept after its end; empty if for ever
 * @param hosts that {@code --on all} means
 * @param page where the page is
 */
public record GpuSettings(
        Supplier<Optional<Duration>> keepHistory, Supplier<List<String>> hosts, PagePlaces page) {}
