package jnvdocker.lease.text;

import jnvdocker.lease.Claim;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Outcome;
import jnvdocker.lease.Owner;
import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;

import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;

/** Words about two containers or programs that are to have the same GPUs. */
public final class PartnerText {
    private PartnerText() {}

    /** The refusal of {@code --gpus with=NAME}. */
    static Refusal refusal(Outcome.NotBeside why) {
        String with = "--gpus with=" + why.name();
        if (why.holders().isEmpty()) {
            return new Refusal(
                    with + ": no container or process of that name holds a GPU",
                    "start that one first ('jnvdocker gpu ls' shows the holders)");
        }
        if (why.several()) {
            return new Refusal(
                    with + ": several of your containers and processes have that name",
                    "write the id of one claim ('jnvdocker gpu leases' shows them)");
        }
        Lease lease = why.holders().getFirst();
        String held = with + ": " + HoldersText.held(lease.claim().gpus(), List.of(lease));
        boolean given = lease.claim().share().isPresent() || lease.claim().origin().isScheduled();
        if (!given && (why.user().isUnknown() || lease.claim().owner().isUnknown())) {
            return new Refusal(
                    held + ", and nothing shows that both belong to one user",
                    toBeOfOneUser(why, lease.claim()));
        }
        return new Refusal(
                held + ", and cannot be given to this one, too",
                lease.claim().share().isPresent()
                        ? "request a share of its own, as in --gpus share=10G"
                        : lease.claim().origin().isScheduled()
                                ? "the scheduler that has given them alone decides"
                                : "name a container or process of your own whose GPUs this one may"
                                        + " have");
    }

    /**
     * How both get an owner. A lease keeps the owner that was known when its container was started,
     * whatever the configuration trusts since.
     */
    private static String toBeOfOneUser(Outcome.NotBeside why, Claim partner) {
        String name = Quote.shown(partner.displayName());
        boolean isPartnerUnknown = partner.owner().isUnknown();
        if (isGuessed(why.user())) {
            return "have an administrator add 'directory' to trust_owner below [runtime]"
                    + (isPartnerUnknown ? ", and start %s again".formatted(name) : "")
                    + ": then containers of compose belong to the owner of its directory";
        }
        if (!why.user().isUnknown() && isGuessed(partner.owner())) {
            return "start %s again: with 'directory' in trust_owner its owner is known from then on"
                    .formatted(name);
        }
        return "'jnvdocker run' shows whose a container is; make %s with it"
                .formatted(!isPartnerUnknown ? "this one" : why.user().isUnknown() ? "both" : name);
    }

    private static boolean isGuessed(Owner owner) {
        return owner.isUnknown() && !owner.equals(Owner.UNKNOWN);
    }

    /**
     * How a service of compose gets the GPUs of another of its project; empty when none of these
     * has them, or nothing can show that both belong to one user.
     *
     * @param owner of the service, as far as it is known
     * @param isPartner whether a claim is of such a service
     */
    static Optional<String> ofService(Outcome.Busy busy, Owner owner, Predicate<Claim> isPartner) {
        return busy instanceof Outcome.Taken taken
                ? taken.leases().stream()
                        .map(Lease::claim)
                        .filter(isPartner)
                        .findFirst()
                        .flatMap(partner -> label(owner, partner))
                : Optional.empty();
    }

    /** A claim whose owner is not known is shared with nobody. */
    private static Optional<String> label(Owner owner, Claim partner) {
        String name = Quote.shown(partner.displayName());
        String label =
                "give this service the label jnvdocker.gpus: with=%s to have the same"
                        .formatted(name);
        if (isGuessed(owner)) {
            return Optional.of(
                    label + " once an administrator has added 'directory' to trust_owner");
        }
        if (!owner.isUnknown() && isGuessed(partner.owner())) {
            return Optional.of(label + " once %s was started again".formatted(name));
        }
        return owner.isUnknown() || partner.owner().isUnknown()
                ? Optional.empty()
                : Optional.of(label);
    }
}
