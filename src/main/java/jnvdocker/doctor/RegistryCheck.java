package jnvdocker.doctor;

import jnvdocker.core.Leases;
import jnvdocker.registry.RegistryException;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Checks the registry, and scans for remains of a damaged one. */
final class RegistryCheck implements Check {
    /** The file itself; parts of it with longer names may lie beside it. */
    private static final String DAMAGED = "registry.db.damaged-*Z";

    private final Leases leases;
    private final DaemonFacts daemon;

    RegistryCheck(Leases leases, DaemonFacts daemon) {
        this.leases = leases;
        this.daemon = daemon;
    }

    @Override
    public String name() {
        return "registry";
    }

    @Override
    public List<Finding> findings() throws IOException {
        List<Finding> found = new ArrayList<>();
        int live;
        try {
            live = leases.live().size();
        } catch (RegistryException e) {
            return List.of(Finding.wrong(e));
        }
        found.add(
                Finding.ok(
                        "it can be read, and has "
                                + (live == 1 ? "1 live lease" : live + " live leases")));
        try (var files = Files.newDirectoryStream(daemon.state(), DAMAGED)) {
            for (Path file : files) {
                found.add(
                        Finding.hint(
                                "the registry was damaged, and rebuilt from what the containers"
                                        + " say; the history before that is in "
                                        + file,
                                "check that disk's health, and rm " + file + "*"));
            }
        }
        return found;
    }
}
