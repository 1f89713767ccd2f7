package jnvdocker.command.gpu.view;

import jnvdocker.core.Leases;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Tenure;
import jnvdocker.registry.PastLeases;
import jnvdocker.screen.TextTable;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Leases that live, then those that have ended, which may be many and are not kept. One that ends
 * while they are printed counts as live.
 */
public record ListedLeases(List<LeaseRow> live, TextTable.Rows<Lease> past)
        implements TextTable.Rows<LeaseRow> {
    public static ListedLeases of(List<Lease> live, PastLeases past, Leases leases)
            throws IOException {
        Map<Long, Tenure> tenures = leases.tenures(live);
        return new ListedLeases(
                live.stream()
                        .map(it ->
                                LeaseRow.live(it, leases.holders().state(it), tenures.get(it.id())))
                        .toList(),
                visitor -> past.each(visitor::visit));
    }

    public boolean isEmpty() throws IOException {
        boolean[] any = {!live.isEmpty()};
        past.each(_ -> any[0] = true);
        return !any[0];
    }

    @Override
    public void each(TextTable.Visitor<LeaseRow> visitor) throws IOException {
        Set<Long> shown = live.stream().map(it -> it.lease().id()).collect(Collectors.toSet());
        for (LeaseRow row : live) {
            visitor.visit(row);
        }
        past.each(lease -> {
            if (!shown.contains(lease.id())) {
                visitor.visit(LeaseRow.past(lease));
            }
        });
    }
}
