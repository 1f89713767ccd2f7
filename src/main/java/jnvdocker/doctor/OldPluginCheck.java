package jnvdocker.doctor;

import jnvdocker.docker.engine.DockerEngine;
import jnvdocker.holder.ContainerEngine.Listed;
import jnvdocker.host.Host;
import jnvdocker.labels.DriverVersion;
import jnvdocker.volume.DriverVolume;
import jnvdocker.volume.DriverVolumeStore;
import jnvdocker.volume.plugin.DriverVolumes;
import jnvdocker.words.Quote;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/** Finds remains of nvidia-docker 1.0 on this host; its plugin had the name of ours. */
final class OldPluginCheck implements Check {
    private static final String FOLDER = "/var/lib/nvidia-docker/volumes";
    private static final String UNIT = "nvidia-docker.service";
    private static final List<String> UNIT_FOLDERS =
            List.of("/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system");
    private static final List<String> SPEC_FOLDERS =
            List.of("/etc/docker/plugins", "/usr/lib/docker/plugins");

    private final Host host;
    private final DockerEngine engine;
    private final DriverVolumeStore volumes;
    private final DaemonFacts daemon;
    private final DockerlessHost dockerless;

    OldPluginCheck(
            Host host,
            DockerEngine engine,
            DriverVolumeStore volumes,
            DaemonFacts daemon,
            DockerlessHost dockerless) {
        this.host = host;
        this.engine = engine;
        this.volumes = volumes;
        this.daemon = daemon;
        this.dockerless = dockerless;
    }

    @Override
    public String name() {
        return "leftovers";
    }

    @Override
    public List<Finding> findings() throws IOException {
        List<Finding> found = new ArrayList<>();
        for (Path unit : there(UNIT_FOLDERS, List.of(UNIT))) {
            found.add(
                    Finding.wrong(
                            unit + " is nvidia-docker 1.0's, whose plugin takes our plugin's name",
                            "systemctl disable --now "
                                    + UNIT
                                    + ", and remove its package (apt-get purge nvidia-docker) or "
                                    + unit));
        }
        List<String> specs = List.of(daemon.pluginName() + ".spec", daemon.pluginName() + ".json");
        for (Path spec : there(SPEC_FOLDERS, specs)) {
            found.add(
                    Finding.wrong(
                            spec
                                    + " gives Docker another address of plugin "
                                    + daemon.pluginName()
                                    + " than ours",
                            "rm " + spec));
        }
        Path folder = host.resolve(FOLDER);
        if (Files.isDirectory(folder)) {
            found.add(
                    Finding.hint(
                            folder + " has volumes of nvidia-docker 1.0, which nobody serves",
                            "when no container that it started runs any more: rm -r " + folder));
        }
        found.addAll(containers());
        return found.isEmpty()
                ? List.of(Finding.ok("nothing is left of nvidia-docker 1.0"))
                : found;
    }

    /** Usrmerge makes two of the directories one. */
    private Set<Path> there(List<String> folders, List<String> names) throws IOException {
        Set<Path> there = new TreeSet<>();
        for (String folder : folders) {
            for (String name : names) {
                Path path = host.resolve(folder + "/" + name);
                if (Files.exists(path)) {
                    there.add(path);
                }
            }
        }
        return there;
    }

    /**
     * The engine lists only volumes that our plugin lists, so this goes by its containers, which
     * name them.
     */
    private List<Finding> containers() throws IOException {
        Set<String> there = new TreeSet<>();
        for (DriverVersion version : volumes.versions()) {
            there.add(DriverVolume.name(version));
        }
        if (dockerless.isSo()) {
            return List.of();
        }
        engine.facts(EngineCheck.LIMIT);
        List<Finding> found = new ArrayList<>();
        for (Listed container : engine.withVolumesOf(daemon.pluginName(), EngineCheck.LIMIT)) {
            container.volumes().stream()
                    .filter(DriverVolumes::isDriver)
                    .filter(volume -> !there.contains(volume))
                    .forEach(volume -> found.add(finding(container, volume)));
        }
        return found;
    }

    private static Finding finding(Listed container, String volume) {
        String name = Quote.shown(container.name());
        String shown = Quote.shown(volume);
        return Finding.hint(
                "container "
                        + name
                        + " has volume "
                        + shown
                        + ", of which there are no files: it gets those of the loaded driver",
                "create it again with 'jnvdocker run', and docker rm "
                        + name
                        + " && docker volume rm "
                        + shown);
    }
}
