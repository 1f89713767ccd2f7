package jnvdocker.command.gpu;

import jnvdocker.command.caller.Caller;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.labels.DriverVersion;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.protocol.ExitCode;
import jnvdocker.screen.Column;
import jnvdocker.screen.Json;
import jnvdocker.screen.Screen;
import jnvdocker.screen.TextTable;
import jnvdocker.upkeep.Prune;
import jnvdocker.volume.DriverVolume;
import jnvdocker.volume.DriverVolumeStore;
import jnvdocker.volume.GpuHost;
import jnvdocker.volume.Manifest;
import jnvdocker.volume.ServedVolumes;
import jnvdocker.volume.files.DriverFiles;
import jnvdocker.words.RefusedException;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

import java.io.IOException;
import java.io.PrintWriter;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;

@Command(
        name = "volume",
        description = {
            "Show the volume of the loaded driver, which containers get at /usr/local/nvidia.",
            "It is created if it does not exist."
        })
final class GpuVolume implements Callable<Integer> {
    private final Host host;
    private final DriverVolumeStore store;
    private final ServedVolumes served;
    private final Prune prune;
    private final ClientRequest request;
    private final Screen screen;

    @Spec private CommandSpec spec;

    @Option(
            names = "--verify",
            description =
                    "Compare every file with the host's and follow every link; exit 1 if"
                            + " one is wrong.")
    private boolean verify;

    @Option(
            names = "--remake",
            description =
                    "Make it again of the host's files (root only); refused while a container has"
                            + " it.")
    private boolean remake;

    @Option(names = "--json", description = "Print JSON.")
    private boolean json;

    GpuVolume(GpuHost gpuHost, Prune prune, ClientRequest request) {
        this.host = gpuHost.host();
        this.store = gpuHost.store();
        this.served = gpuHost.served();
        this.prune = prune;
        this.request = request;
        this.screen = Screen.of(request);
    }

    @Override
    public Integer call() throws IOException, RefusedException {
        PrintWriter out = spec.commandLine().getOut();
        DriverVersion driver = HostDriver.readVersion(host);
        if (remake) {
            Caller.refuseUnlessRoot(request, "make the driver volume again");
            prune.forRemake(driver);
        }
        DriverVolume volume = store.build(host, driver);
        served.prepare(host, driver);
        if (json) {
            Optional<List<String>> problems =
                    verify ? Optional.of(served.verify(host, volume)) : Optional.empty();
            out.println(Json.text(VolumeJson.of(volume, served.known(volume), problems)));
            return problems.filter(it -> !it.isEmpty()).isPresent()
                    ? ExitCode.WRONG.code()
                    : ExitCode.OK.code();
        }
        summary(volume).forEach(out::println);
        out.println();
        if (verify) {
            return verify(volume, out);
        }
        files(volume.manifest()).forEach(out::println);
        out.println();
        leftOut(volume.manifest()).forEach(out::println);
        return ExitCode.OK.code();
    }

    private int verify(DriverVolume volume, PrintWriter out) throws IOException {
        List<String> problems = served.verify(host, volume);
        if (problems.isEmpty()) {
            out.println("verified: every file is the host's and every link leads to one");
            return ExitCode.OK.code();
        }
        problems.forEach(problem -> out.println("wrong: " + problem));
        out.println(ServedVolumes.REMAKE);
        return ExitCode.WRONG.code();
    }

    private List<String> summary(DriverVolume volume) {
        Manifest manifest = volume.manifest();
        String cloned =
                volume.cloned().entrySet().stream()
                        .map(way -> way.getValue() + " by " + way.getKey())
                        .collect(Collectors.joining(", "));
        return List.of(
                "Volume:   " + DriverVolume.name(volume.version()),
                "Folder:   " + volume.path(),
                "Served:   " + served(volume),
                "Files:    %d, %,d bytes (%s)"
                        .formatted(manifest.contents().size(), volume.bytes(), cloned),
                "Links:    " + manifest.links().size(),
                "Left out: " + manifest.leftOut().size());
    }

    /** Describes the volume as containers see it. */
    private String served(DriverVolume volume) {
        ServedVolumes.Served now = served.known(volume);
        return now.path()
                + now.copied()
                        .map(why -> ", writable: " + why.message())
                        .orElse(", read-only for everybody");
    }

    private List<String> files(Manifest manifest) {
        TextTable table =
                new TextTable(
                        Column.of("FILE"),
                        Column.of("BYTES"),
                        Column.of("CLONED"),
                        Column.of("FROM"));
        for (Manifest.Content file : manifest.contents()) {
            table.row(file.path(), file.size(), file.cloned(), file.source());
        }
        for (DriverFiles.DriverLink link : manifest.links()) {
            table.row(link.folder() + "/" + link.name(), "-", "link to", link.target());
        }
        return table.lines(screen);
    }

    private List<String> leftOut(Manifest manifest) {
        TextTable table = new TextTable(Column.of("LEFT OUT"), Column.note("WHY"));
        manifest.leftOut().forEach(file -> table.row(file.path(), file.reason().words()));
        return table.lines(screen);
    }
}
