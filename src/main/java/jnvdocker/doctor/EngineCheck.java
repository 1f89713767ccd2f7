package jnvdocker.doctor;

import jnvdocker.docker.engine.DockerEngine;
import jnvdocker.docker.engine.EngineException;
import jnvdocker.docker.engine.EngineFacts;
import jnvdocker.docker.engine.EngineRuntimes;
import jnvdocker.host.DeviceNodes;
import jnvdocker.host.Gpu;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.host.NoDriverException;
import jnvdocker.words.Quote;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;

/** Checks whether the engine answers, and is set up so that containers keep their GPUs. */
final class EngineCheck implements Check {
    /** The limit of a question to the engine, which mostly takes some milliseconds. */
    static final Duration LIMIT = Duration.ofSeconds(3);

    private static final int CTL_MINOR = 255;

    private final DockerEngine engine;
    private final Host host;
    private final DeviceNodes nodes;
    private final DockerlessHost dockerless;

    EngineCheck(DockerEngine engine, Host host, DeviceNodes nodes, DockerlessHost dockerless) {
        this.engine = engine;
        this.host = host;
        this.nodes = nodes;
        this.dockerless = dockerless;
    }

    @Override
    public String name() {
        return "engine";
    }

    @Override
    public List<Finding> look() throws IOException {
        if (dockerless.isSo()) {
            return List.of(
                    Finding.ok(
                            "no Docker engine runs here ("
                                    + engine.socket()
                                    + " does not exist), and Mesos tasks need none"));
        }
        EngineFacts facts;
        try {
            facts = engine.facts(LIMIT);
        } catch (EngineException e) {
            return List.of(Finding.wrong(e));
        }
        List<Finding> found = new ArrayList<>();
        found.add(
                Finding.ok(
                        "Docker "
                                + Quote.shown(facts.version())
                                + " answers at "
                                + engine.socket()
                                + ", with cgroups by "
                                + Quote.shown(facts.cgroupDriver())));
        standardRuntime(facts, engine::isGuarded).ifPresent(found::add);
        if (facts.cgroupDriver().equals("systemd")) {
            links(missingLinks()).ifPresent(found::add);
        }
        return found;
    }

    /**
     * @param guarded tells whether a program is ours
     */
    static Optional<Finding> standardRuntime(EngineFacts facts, Predicate<String> guarded) {
        EngineRuntimes runtimes = facts.runtimes();
        return runtimes.isNvidiaStandard()
                        && !guarded.test(runtimes.paths().getOrDefault(runtimes.standard(), ""))
                ? Optional.of(
                        Finding.wrong(
                                "the engine's default runtime is "
                                        + Quote.shown(facts.runtimes().standard())
                                        + ", which gives GPUs to any image that asks,"
                                        + " bypassing jnvdocker",
                                "take \"default-runtime\" out of /etc/docker/daemon.json, and"
                                        + " restart docker; or have jnvdocker's: 'jnvdocker"
                                        + " runtime install --default'"))
                : Optional.empty();
    }

    /** At each reload, systemd allows a container only the devices that it finds there. */
    static Optional<Finding> links(List<String> missing) {
        return missing.isEmpty()
                ? Optional.empty()
                : Optional.of(
                        Finding.wrong(
                                "a systemctl daemon-reload takes the GPUs of running containers:"
                                        + " systemd manages their cgroups, and /dev/char has no "
                                        + String.join(", ", missing),
                                "make these links at each boot: nvidia-ctk system"
                                        + " create-dev-char-symlinks --create-all, or ln -s for"
                                        + " each (/dev/char/195:0 leads to ../nvidia0)"));
    }

    private List<String> missingLinks() throws IOException {
        List<String> missing = new ArrayList<>();
        try {
            int major = nodes.gpuMajor();
            List<Integer> minors = new ArrayList<>();
            HostDriver.read(host).gpus().stream()
                    .filter(Gpu::isSound)
                    .map(Gpu::minor)
                    .forEach(minors::add);
            minors.add(CTL_MINOR);
            for (int minor : minors) {
                String device = major + ":" + minor;
                if (!Files.exists(
                        host.resolveParent("/dev/char/" + device), LinkOption.NOFOLLOW_LINKS)) {
                    missing.add(device);
                }
            }
        } catch (NoDriverException e) {
            // No container has GPUs.
        }
        return missing;
    }
}
