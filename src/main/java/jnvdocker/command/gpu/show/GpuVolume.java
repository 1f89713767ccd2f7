package jnvdocker.command.gpu.show;

import jnvdocker.command.caller.Caller;
import jnvdocker.command.caller.ShowCommand;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.labels.DriverVersion;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.screen.Screen;
import jnvdocker.screen.Shown;
import jnvdocker.upkeep.Prune;
import jnvdocker.volume.DriverVolume;
import jnvdocker.volume.DriverVolumeStore;
import jnvdocker.volume.GpuHost;
import jnvdocker.volume.ServedVolumes;
import jnvdocker.words.RefusedException;

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.io.IOException;
import java.util.List;
import java.util.Optional;

@Command(
        name = "volume",
        description = {
            "Show the volume of the loaded driver, which containers get at /usr/local/nvidia.",
            "It is created if it does not exist."
        })
public final class GpuVolume extends ShowCommand {
    private final Host host;
    private final DriverVolumeStore store;
    private final ServedVolumes served;
    private final Prune prune;
    private final ClientRequest request;

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

    public GpuVolume(GpuHost gpuHost, Prune prune, ClientRequest request) {
        super(Screen.of(request));
        this.host = gpuHost.host();
        this.store = gpuHost.store();
        this.served = gpuHost.served();
        this.prune = prune;
        this.request = request;
    }

    @Override
    protected Shown show() throws IOException, RefusedException {
        DriverVersion driver = HostDriver.readVersion(host);
        if (remake) {
            Caller.refuseUnlessRoot(request, "make the driver volume again");
            prune.forRemake(driver);
        }
        DriverVolume volume = store.build(host, driver);
        served.prepare(host, driver);
        Optional<List<String>> problems =
                verify ? Optional.of(served.verify(host, volume)) : Optional.empty();
        return VolumeReport.of(volume, served.known(volume), problems);
    }
}
