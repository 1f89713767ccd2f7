package jnvdocker.command.runtime;

import jnvdocker.lease.Claim;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * The projects of compose that containers are services of, for words alone: what was created while
 * another daemon ran is not known.
 */
final class Projects {
    private static final int MOST = 1024;

    private final Map<String, String> byContainer =
            Collections.synchronizedMap(
                    new LinkedHashMap<>() {
                        private static final long serialVersionUID = 1;

                        @Override
                        protected boolean removeEldestEntry(Map.Entry<String, String> eldest) {
                            return size() > MOST;
                        }
                    });

    void remember(CreateCall call) {
        call.project().ifPresent(project -> byContainer.put(call.container().id(), project));
    }

    /** Whether a claim is of a container of the same project. */
    Predicate<Claim> of(CreateCall call) {
        Optional<String> project = call.project();
        return claim ->
                project.isPresent()
                        && claim.container()
                                .map(it -> byContainer.get(it.id()))
                                .filter(project.get()::equals)
                                .isPresent();
    }
}
