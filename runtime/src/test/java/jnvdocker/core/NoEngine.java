package jnvdocker.core;

import jnvdocker.holder.ContainerEngine;

import java.io.IOException;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The engine of a host on which none runs. */
public final class NoEngine implements ContainerEngine {
    private static IOException away() {
        return new IOException("the engine does not run");
    }

    @Override
    public boolean hasStarted() {
        return false;
    }

    @Override
    public boolean isPodman(Duration limit) throws IOException {
        throw away();
    }

    @Override
    public Optional<Down> down(String container, Duration limit) throws IOException {
        throw away();
    }

    @Override
    public List<Down> ended(Duration limit) throws IOException {
        throw away();
    }

    @Override
    public boolean stop(String container, Duration limit) throws IOException {
        throw away();
    }

    @Override
    public void start(String container, Duration limit) throws IOException {
        throw away();
    }

    @Override
    public Optional<String> knownId() {
        return Optional.empty();
    }

    @Override
    public String id(Duration limit) throws IOException {
        throw away();
    }

    @Override
    public List<Listed> labelled(String label, Duration limit) throws IOException {
        throw away();
    }

    @Override
    public List<Listed> all(Duration limit) throws IOException {
        throw away();
    }

    @Override
    public List<Listed> using(Collection<String> volumes, Duration limit) throws IOException {
        throw away();
    }

    @Override
    public Optional<Inspected> inspect(String container, Duration limit) throws IOException {
        throw away();
    }

    @Override
    public Optional<Map<String, String>> imageLabels(String image, Duration limit)
            throws IOException {
        throw away();
    }

    @Override
    public boolean removeVolume(String volume, Duration limit) throws IOException {
        throw away();
    }
}
