package jnvdocker.lease;

import jnvdocker.host.Gpu;

import java.util.Map;
import java.util.Optional;

/**
 * The GPUs that get no new lease.
 *
 * @param byCommand by UUID
 */
public record Cordons(LeasePolicy policy, Map<String, Cordon.ByCommand> byCommand) {

    /** The file's cordon comes before a command's: a command cannot take it back. */
    public Optional<Cordon> of(Gpu gpu) {
        return policy.cordons(gpu)
                ? Optional.of(new Cordon.ByFile())
                : Optional.<Cordon>ofNullable(byCommand.get(gpu.uuid()))
                        .or(() -> gpu.part().map(part -> byCommand.get(part.parent())));
    }
}
