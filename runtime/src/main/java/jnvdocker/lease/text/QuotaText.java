package jnvdocker.lease.text;

import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Quota;
import jnvdocker.words.Quote;

import java.util.List;

/** Says how many GPUs users may have. */
public final class QuotaText {
    private QuotaText() {}

    /** {@code each user may have 4 at a time (max_gpus_per_user in /etc/jnvdocker/config.toml)}. */
    public static String rule(Quota.Limit limit) {
        return who(limit) + " may have " + limit.gpus() + " at a time (" + limit.key() + ")";
    }

    private static String who(Quota.Limit limit) {
        return switch (limit.of()) {
            case USER -> "each user";
            case UNKNOWN -> "containers of unknown users, all together,";
            case NAMESPACE -> "the pods of a namespace, all together,";
        };
    }

    /** {@code alice has 3 of the 4 that each user may have at a time (…): GPU 0 is held by …}. */
    public static String excess(Owner owner, List<Lease> leases, Quota.Limit limit) {
        List<ClaimedGpu> gpus =
                leases.stream().flatMap(lease -> lease.claim().gpus().stream()).toList();
        return Quote.shown(owner.name())
                + " has "
                + gpus.size()
                + " of the "
                + limit.gpus()
                + " that "
                + who(limit)
                + " may have at a time ("
                + limit.key()
                + "): "
                + LeaseText.held(gpus, leases);
    }
}
