package jnvdocker.lease;

import java.util.Map;
import java.util.Set;

/**
 * What owners may have, found out before a choice is made: the groups of users and their past use
 * are not queried while others wait for it.
 *
 * @param known of those owners that the choice may concern
 */
public record Allowances(Limits limits, Map<Owner, Allowance> known) {
    public Allowances {
        known = Map.copyOf(known);
    }

    /** Returns allowances by these limits alone, without groups and used hours. */
    public static Allowances of(Limits limits) {
        return new Allowances(limits, Map.of());
    }

    /** Returns the allowance of an owner. */
    public Allowance of(Owner owner) {
        Allowance found = known.get(owner);
        if (found != null) {
            return found;
        }
        Allowance own = limits.of(owner, Set.of());
        boolean open = owner.uid() != Owner.UNKNOWN.uid() && !limits.groups().isEmpty();
        return open || own.countsHours() ? Allowance.UNKNOWN : own;
    }
}
