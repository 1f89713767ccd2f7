package jnvdocker.command.runtime;

import jnvdocker.lease.text.Addressee;
import jnvdocker.oci.lease.OciCreation;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

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

    /** The user of a container, who may use compose or Docker's API for users. */
    Addressee userOf(CreateCall call, OciCreation creation) {
        Optional<String> project = call.project();
        if (project.isEmpty()) {
            return call.isOfApi() ? Addressee.API : Addressee.ENGINE;
        }
        return new Addressee.Service(
                creation.request().requested().owner(),
                claim ->
                        claim.container()
                                .map(it -> byContainer.get(it.id()))
                                .filter(project.get()::equals)
                                .isPresent());
    }
}
