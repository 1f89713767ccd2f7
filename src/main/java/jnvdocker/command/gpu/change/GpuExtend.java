package jnvdocker.command.gpu.change;

import jnvdocker.command.caller.Caller;
import jnvdocker.command.caller.CommandOutcome;
import jnvdocker.command.caller.HoldTime;
import jnvdocker.command.caller.OwnCommand;
import jnvdocker.command.gpu.view.Holding;
import jnvdocker.command.gpu.view.LiveClaim;
import jnvdocker.core.Leases;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.lease.text.TimeText;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.words.RefusedException;

import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

import java.io.IOException;
import java.time.Duration;
import java.util.Optional;

@Command(
        name = "extend",
        description = {
            "Extend the time of a lease (its owner and root only), within the limits of its owner.",
            "Root may extend it beyond them."
        })
public final class GpuExtend extends OwnCommand {
    private final Leases leases;
    private final ClientRequest request;

    @Parameters(
            index = "0",
            paramLabel = "CONTAINER|CLAIM",
            description =
                    "A container, program, task or pod as 'gpu leases' shows it, a container's id,"
                            + " a claim's id, or the beginning of an id.")
    private String claim;

    @Parameters(
            index = "1",
            paramLabel = "DURATION",
            description =
                    "By how much (30m, 2h, 1d12h), from its end on, or from now on if that has"
                            + " passed.")
    private String duration;

    public GpuExtend(Leases leases, ClientRequest request) {
        this.leases = leases;
        this.request = request;
    }

    @Override
    public CommandOutcome call() throws IOException, RefusedException {
        Duration more = HoldTime.of("DURATION", Optional.of(duration)).orElseThrow();
        Lease lease = LiveClaim.find(claim, leases.live());
        Owner owner = lease.claim().owner();
        String whose = "claim " + lease.claim().id() + " is " + Holding.user(lease) + "'s";
        Caller.refuseUnlessOwner(request, owner, whose, "extend it");
        boolean isOwner = Caller.owner(request).uid() == owner.uid();
        // Users remain within their limits for their own leases, even as root by sudo.
        boolean asRoot = Caller.isRoot(request) && Caller.owner(request).uid() == 0;
        Lease longer =
                leases.releases().extend(lease, more, asRoot || Caller.isRoot(request) && !isOwner);
        print(
                "%s of %s: %s"
                        .formatted(
                                Holding.gpus(longer),
                                LeaseText.holder(longer),
                                TimeText.due(longer).orElseThrow()));
        return CommandOutcome.OK;
    }
}
