package jnvdocker.command;

import com.fasterxml.jackson.databind.node.ArrayNode;

import jnvdocker.host.Gpu;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Leases;
import jnvdocker.lease.Refusals;
import jnvdocker.lease.Span;
import jnvdocker.protocol.ExitCode;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

import java.io.IOException;
import java.io.PrintWriter;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.Callable;

@Command(
        name = "ls",
        description = {
            "Lists the GPUs, and who has them, or uses them without having them.",
            "AGE is how long a GPU has been held, or idle since it was held last."
        })
final class GpuLs implements Callable<Integer> {
    private static final String MODEL = "MODEL";

    private final Host host;
    private final Leases leases;
    private final int columns;

    @Spec private CommandSpec spec;

    @Option(names = "--json", description = "Print JSON, with full UUIDs and ids.")
    private boolean json;

    /**
     * @param columns of the user's terminal, 0 when there is none
     */
    GpuLs(Host host, Leases leases, int columns) {
        this.host = host;
        this.leases = leases;
        this.columns = columns;
    }

    @Override
    public Integer call() throws IOException {
        List<GpuStatus> gpus = leases.status(HostDriver.read(host).gpus());
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            ArrayNode all = LeaseJson.array();
            gpus.forEach(gpu -> all.add(LeaseJson.gpu(gpu)));
            out.println(LeaseJson.text(all));
        } else {
            table(gpus, Instant.now()).lines(columns, MODEL).forEach(out::println);
        }
        return ExitCode.OK.code();
    }

    static TextTable table(List<GpuStatus> gpus, Instant now) {
        TextTable table =
                new TextTable("GPU", "UUID", MODEL, "STATE", "USER", "CONTAINER", "AGE", "NOTE");
        for (GpuStatus status : gpus) {
            Gpu gpu = status.gpu();
            table.row(
                    gpu.index(),
                    gpu.shortUuid(),
                    gpu.model(),
                    status.state(),
                    user(status),
                    container(status),
                    age(status, now),
                    status.note());
        }
        return table;
    }

    private static String user(GpuStatus status) {
        return status.lease()
                .map(Holding::user)
                .or(() -> status.user().map(Holding::user))
                .orElse("-");
    }

    private static String container(GpuStatus status) {
        return status.lease()
                .map(Holding::container)
                .or(() -> status.user().map(Refusals::name))
                .orElse("-");
    }

    private static String age(GpuStatus status, Instant now) {
        return status.lease()
                .map(Lease::since)
                .map(since -> Span.between(since, now))
                .or(() -> status.idleSince().map(since -> "idle " + Span.between(since, now)))
                .orElse("-");
    }
}
