package jnvdocker.labels;

import java.util.List;
import java.util.Optional;

/** Words for unmet needs: the condition, the value of the host, and a value that would do. */
final class UnmetNeeds {
    private UnmetNeeds() {}

    /** The message begins like that of nvidia-docker 1.0, for which scripts search. */
    static UnmetNeedException label(GpuNeeds needs, CudaVersion minimum, DriverFacts facts) {
        return new UnmetNeedException(
                "unsupported CUDA version: driver %s < image %s"
                        .formatted(facts.shown(Property.CUDA), minimum),
                remedy(needs, facts));
    }

    static UnmetNeedException requirement(
            GpuNeeds needs, NamedRequirement named, DriverFacts facts) {
        Optional<Condition> lacking = named.requirement().restsOnCompat(facts);
        if (lacking.isPresent()) {
            return compat(needs, named, lacking.get(), facts);
        }
        List<Alternative> alternatives = named.requirement().alternatives();
        Alternative failed = alternatives.getFirst().only(Fulfilment.UNMET, facts);
        return new UnmetNeedException(
                "unsatisfied condition: %s (%s; %s%s)"
                        .formatted(
                                failed,
                                failed.values(facts),
                                named.where(),
                                others(alternatives.size() - 1)),
                remedy(needs, facts));
    }

    private static UnmetNeedException compat(
            GpuNeeds needs, NamedRequirement named, Condition condition, DriverFacts facts) {
        return new UnmetNeedException(
                "unsatisfied condition: %s (%s is %s; %s), and no cuda-compat of"
                                .formatted(
                                        condition,
                                        condition.property(),
                                        facts.shown(condition.property()),
                                        named.where())
                        + " the image is in use",
                remedy(needs, facts));
    }

    private static String others(int count) {
        return switch (count) {
            case 0 -> "";
            case 1 -> "; 1 other alternative fails too";
            default -> "; " + count + " other alternatives fail too";
        };
    }

    private static String remedy(GpuNeeds needs, DriverFacts facts) {
        String driver =
                DriverBranches.driverFor(needs, facts)
                        .map(branch ->
                                "use driver %s or newer (%s is loaded), an older image"
                                        .formatted(branch, facts.driver()))
                        .orElse("no known driver would do; use another image");
        return driver + ", or " + NeedsReader.DISABLE_REQUIRE + "=1";
    }
}
