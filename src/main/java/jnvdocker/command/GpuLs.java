package jnvdocker.command;

import jnvdocker.host.DeviceNodes;
import jnvdocker.host.Gpu;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.protocol.ExitCode;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

import java.io.IOException;
import java.util.concurrent.Callable;

@Command(name = "ls", description = "Lists the GPUs: index, UUID, model and device node.")
final class GpuLs implements Callable<Integer> {
    private final Host host;

    @Spec private CommandSpec spec;

    GpuLs(Host host) {
        this.host = host;
    }

    @Override
    public Integer call() throws IOException {
        TextTable table = new TextTable("GPU", "UUID", "MODEL", "NODE");
        for (Gpu gpu : HostDriver.read(host).gpus()) {
            table.row(gpu.index(), gpu.uuid(), gpu.model(), DeviceNodes.nameOf(gpu));
        }
        table.lines().forEach(spec.commandLine().getOut()::println);
        return ExitCode.OK.code();
    }
}
