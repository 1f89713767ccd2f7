package jnvdocker.command.gpu;

import jnvdocker.web.ListenAddress;

import java.nio.file.Path;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * Where browsers find the page.
 *
 * @param socket the daemon's own
 * @param listen the address over TCP, if there is one
 * @param labels whether users are named there
 */
public record PagePlaces(
        Path socket, Supplier<Optional<ListenAddress>> listen, BooleanSupplier labels) {}
