package jnvdocker.command.gpu.change;

import jnvdocker.command.caller.Caller;
import jnvdocker.command.caller.CommandOutcome;
import jnvdocker.command.caller.OwnCommand;
import jnvdocker.command.gpu.view.Holding;
import jnvdocker.command.gpu.view.KeptClaim;
import jnvdocker.command.gpu.view.LiveClaim;
import jnvdocker.core.Leases;
import jnvdocker.lease.AfterStop;
import jnvdocker.lease.Claim;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

import java.io.IOException;
import java.util.List;
import java.util.Optional;

@Command(
        name = "release",
        description = {
            "End the lease of a container that is gone. Any user may do this.",
            "Give back what is kept for the owner of a stopped container (hold_after_stop), as that"
                    + " user or root.",
            "With --force, also end a lease that docker may be about to need, or a reservation (its"
                    + " owner and root only). A container that runs keeps its GPUs unless root"
                    + " forces it."
        })
public final class GpuRelease extends OwnCommand {
    private final Leases leases;
    private final ClientRequest request;

    @Parameters(
            paramLabel = "CONTAINER|CLAIM",
            description =
                    "A container, program, task or pod as 'gpu leases' shows it, a container's id,"
                            + " a claim's id, or the beginning of an id.")
    private String claim;

    @Option(
            names = "--force",
            description =
                    "End it even if it may be needed again; the history records who did it, and"
                            + " why.")
    private boolean force;

    @Option(
            names = "--reason",
            paramLabel = "TEXT",
            description = "Why; --force needs it. At most " + TypedReason.LONGEST + " characters.")
    private String reason;

    public GpuRelease(Leases leases, ClientRequest request) {
        this.leases = leases;
        this.request = request;
    }

    @Override
    public CommandOutcome call() throws IOException, RefusedException {
        checkUsage();
        List<Lease> live = leases.live();
        List<AfterStop> kept = KeptClaim.find(claim, live, leases.afterStop().values());
        if (!kept.isEmpty()) {
            for (AfterStop each : kept) {
                giveBack(each);
            }
            return CommandOutcome.OK;
        }
        Lease lease = LiveClaim.find(claim, live);
        Optional<String> runs = force ? byForce(lease) : Optional.empty();
        if (!force) {
            leases.releases().ifGone(lease.claim().id());
        }
        print("released " + Holding.gpus(lease) + " of " + LeaseText.holder(lease));
        runs.map(what -> warning(lease.claim(), what)).ifPresent(this::warn);
        return CommandOutcome.OK;
    }

    private void giveBack(AfterStop kept) throws IOException, RefusedException {
        String owner = Quote.shown(kept.owner().name());
        String whose = "the GPUs of " + Quote.shown(kept.name()) + " are kept for " + owner;
        Caller.refuseUnlessOwner(request, kept.owner(), whose, "give them back");
        leases.releases().afterStop(kept.claim());
        print("the GPUs of " + Quote.shown(kept.name()) + " are no longer kept for " + owner);
    }

    /** Returns the programs that still run. */
    private Optional<String> byForce(Lease lease) throws IOException, RefusedException {
        String id = lease.claim().id();
        Caller.refuseUnlessOwner(
                request,
                lease.claim().owner(),
                "claim " + id + " is " + Holding.user(lease) + "'s",
                "release it by force");
        String why = who() + ": " + Quote.shown(reason.strip());
        if (Caller.isRoot(request)) {
            return leases.releases().byForce(id, why).runs();
        }
        leases.releases().unused(id, why);
        return Optional.empty();
    }

    private static String warning(Claim claim, String runs) {
        return "jnvdocker: warning: "
                + runs
                + ", and can use "
                + (claim.origin().isRevocable() ? "what it has opened" : "its GPUs")
                + " as before, though others get "
                + (claim.gpus().size() == 1 ? "it" : "them")
                + " now; "
                + LeaseText.toEnd(claim);
    }

    private void checkUsage() {
        if (force != (reason != null && !reason.isBlank())) {
            throw usage("--force and --reason go together: say why, in a few words");
        }
        if (force) {
            TypedReason.check(reason, this);
        }
    }

    /** Returns {@code alice (uid 1000) as root}. */
    private String who() {
        Owner caller = Caller.owner(request);
        String name = Quote.shown(caller.name());
        String uid = "uid " + Integer.toUnsignedString(caller.uid());
        boolean asRoot = Caller.isRoot(request) && caller.uid() != 0;
        return (name.equals(uid) ? uid : name + " (" + uid + ")") + (asRoot ? " as root" : "");
    }
}
