package jnvdocker.command.gpu;

import jnvdocker.lease.GpuTime;
import jnvdocker.lease.Owner;
import jnvdocker.posix.HostNames;

import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.Map;

/** Adds up the GPU time of users by the group that each of them is in first. */
final class GroupTime {
    /** Stands for the group of users without one. */
    private static final String NONE = "-";

    private GroupTime() {}

    static GpuTime of(GpuTime users) {
        Map<String, GpuTime.Use> groups = new LinkedHashMap<>();
        for (GpuTime.Use use : users.users()) {
            groups.merge(group(use.owner()), use, GroupTime::sum);
        }
        return new GpuTime(
                users.from(),
                users.until(),
                groups.entrySet().stream()
                        .map(entry -> named(entry.getKey(), entry.getValue()))
                        .sorted(Comparator.comparing(GpuTime.Use::time).reversed())
                        .toList());
    }

    private static String group(Owner owner) {
        return owner.uid() == Owner.UNKNOWN.uid()
                ? NONE
                : HostNames.ofThisHost().groupOf(owner.uid()).orElse(NONE);
    }

    private static GpuTime.Use named(String group, GpuTime.Use sum) {
        return new GpuTime.Use(
                new Owner(Owner.UNKNOWN.uid(), group),
                sum.time(),
                sum.idle(),
                sum.leases(),
                sum.containers(),
                sum.held(),
                sum.last());
    }

    private static GpuTime.Use sum(GpuTime.Use one, GpuTime.Use other) {
        return new GpuTime.Use(
                one.owner(),
                one.time().plus(other.time()),
                one.idle().plus(other.idle()),
                one.leases() + other.leases(),
                one.containers() + other.containers(),
                one.held() + other.held(),
                one.last().isAfter(other.last()) ? one.last() : other.last());
    }
}
