package jnvdocker.doctor;

import jnvdocker.docker.engine.DockerEngine;
import jnvdocker.docker.engine.EngineException;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.labels.DriverVersion;
import jnvdocker.volume.DriverVolume;
import jnvdocker.volume.DriverVolumeStore;
import jnvdocker.words.Quote;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** Checks whether the engine reaches our volume plugin, without which no container gets a GPU. */
final class PluginCheck implements Check {
    /** dockerd itself tries for 15 s. */
    private static final Duration LIMIT = Duration.ofSeconds(4);

    private static final Duration SHORT = Duration.ofSeconds(1);

    /** The plugin of any jnvdocker, unless it has a name of its own. */
    private static final String OURS = "nvidia-docker";

    private final DockerEngine engine;
    private final Host host;
    private final DriverVolumeStore volumes;
    private final DaemonFacts daemon;
    private final DockerlessHost dockerless;

    PluginCheck(
            DockerEngine engine,
            Host host,
            DriverVolumeStore volumes,
            DaemonFacts daemon,
            DockerlessHost dockerless) {
        this.engine = engine;
        this.host = host;
        this.volumes = volumes;
        this.daemon = daemon;
        this.dockerless = dockerless;
    }

    @Override
    public String name() {
        return "plugin";
    }

    @Override
    public List<Finding> findings() throws IOException {
        // If the socket does not exist, a query through the engine takes long and finds nothing
        // more.
        Optional<Finding> fault = new PluginSocket(daemon).fault();
        if (fault.isEmpty() && dockerless.isSo()) {
            return List.of(Finding.ok("it listens at " + daemon.pluginSocket()));
        }
        return List.of(fault.isPresent() ? fault.get() : byTheEngine());
    }

    /** Has the engine request the loaded driver's volume, as every run does. */
    private Finding byTheEngine() throws IOException {
        DriverVersion driver = HostDriver.readVersion(host);
        engine.facts(EngineCheck.LIMIT);
        if (volumes.find(driver).isEmpty()) {
            return Finding.unknown("the engine was not queried: its driver volume is incomplete");
        }
        String volume = DriverVolume.name(driver);
        try {
            engine.createVolume(volume, daemon.pluginName(), LIMIT);
            return Finding.ok("the engine gets " + volume + " from " + daemon.pluginSocket());
        } catch (EngineException e) {
            Optional<Finding> foreign = foreign(volume);
            if (foreign.isPresent()) {
                return foreign.get();
            }
            return Finding.wrong(
                    "the engine does not get "
                            + volume
                            + " from plugin "
                            + daemon.pluginName()
                            + " ("
                            + Finding.failure(e)
                            + ")",
                    "see that "
                            + daemon.pluginSocket()
                            + " is in its directory of plugins, and "
                            + daemon.restart());
        }
    }

    /**
     * Docker makes a volume of its own of that name for any container that mounts it without our
     * driver.
     */
    private Optional<Finding> foreign(String volume) {
        Optional<String> driver;
        List<String> users;
        try {
            driver = engine.volumeDriver(volume, SHORT).filter(it -> !it.equals(OURS));
            users =
                    engine.using(List.of(volume), SHORT).stream()
                            .map(user -> Quote.shown(user.name()))
                            .sorted()
                            .toList();
        } catch (EngineException e) {
            return Optional.empty(); // it still waits for the plugin
        }
        if (driver.isEmpty()) {
            return Optional.empty();
        }
        String remove = "docker volume rm " + volume;
        return Optional.of(
                Finding.wrong(
                        "the engine has a volume "
                                + volume
                                + " of the driver '"
                                + Quote.shown(driver.get())
                                + "', so that no container gets the one of "
                                + daemon.pluginName()
                                + (users.isEmpty()
                                        ? ""
                                        : "; it is used by " + String.join(", ", users)),
                        users.isEmpty()
                                ? "if its files are not needed: " + remove
                                : "remove these containers when they are not needed, then "
                                        + remove));
    }
}
