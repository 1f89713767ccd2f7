package jnvdocker.doctor;

import jnvdocker.core.Leases;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Subject;
import jnvdocker.posix.HostNames;
import jnvdocker.posix.NoAnswerException;
import jnvdocker.words.Quote;

import java.util.ArrayList;
import java.util.List;

/** Finds limits in the configuration for users or groups that this host does not have. */
final class LimitsCheck implements Check {
    private final Leases leases;
    private final HostNames names;

    LimitsCheck(Leases leases, HostNames names) {
        this.leases = leases;
        this.names = names;
    }

    @Override
    public String name() {
        return "limits";
    }

    @Override
    public List<Finding> findings() {
        List<String> unknown = new ArrayList<>();
        try {
            for (Subject subject : leases.limited()) {
                if (!isKnown(subject)) {
                    unknown.add(Quote.shown(subject.spelled()));
                }
            }
        } catch (NoAnswerException e) {
            return List.of(Finding.unknown("this host does not say which users and groups it has"));
        }
        return List.of(
                unknown.isEmpty()
                        ? Finding.ok("every user and group with limits exists")
                        : Finding.hint(
                                "limits are for "
                                        + String.join(", ", unknown)
                                        + ", which this host does not have: they limit nobody",
                                "correct the names in [limits], then run 'jnvdocker gpu reload'"));
    }

    /** A uid needs no name, and only the API server knows the namespaces of Kubernetes. */
    private boolean isKnown(Subject subject) throws NoAnswerException {
        String name = subject.name();
        return switch (subject.kind()) {
            case EVERYBODY, UNKNOWN, NAMESPACES -> true;
            case GROUP -> names.group(name).isPresent();
            case USER ->
                    name.startsWith(Owner.NAMESPACE)
                            || name.chars().allMatch(Character::isDigit)
                            || names.user(name).isPresent();
        };
    }
}
