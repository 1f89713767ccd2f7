package jnvdocker.oci.spec;

import jnvdocker.lease.ClaimKey;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.Refusal;

import java.util.List;
import java.util.Set;

/** The request of a container. */
public sealed interface GpuWish {

    /** It mounts the volume of a claim, and has its lease from that. */
    record ClaimVolume(String claim) implements GpuWish {}

    /**
     * GPUs of a request.
     *
     * @param named minors of those that its user names by nodes or rules besides
     * @param capabilities that the request names; those of {@code --gpus} docker sets itself
     */
    record Gpus(GpuRequest request, Source source, Set<Integer> named, List<String> capabilities)
            implements GpuWish {
        public Gpus {
            named = Set.copyOf(named);
            capabilities = List.copyOf(capabilities);
        }

        /** With those capabilities that its variable has. */
        Gpus(GpuRequest request, Source source, Set<Integer> named) {
            this(request, source, named, List.of());
        }
    }

    /**
     * The GPUs of a claim that was made for it beforehand.
     *
     * @param request of the claim
     * @param named as in {@link Gpus}
     */
    record Claimed(ClaimKey claim, GpuRequest request, Set<Integer> named) implements GpuWish {
        public Claimed {
            named = Set.copyOf(named);
        }
    }

    /** Exactly those GPUs, by minors. */
    record Nodes(Set<Integer> minors, Source source) implements GpuWish {
        public Nodes {
            minors = Set.copyOf(minors);
        }
    }

    /**
     * All GPUs to observe, which takes none from anybody.
     *
     * @param otherwise what it requests where it may not observe them: {@link Gpus} or {@link
     *     Claimed}
     */
    record Observing(GpuWish otherwise) implements GpuWish {}

    /** Nothing. */
    record Nothing() implements GpuWish {}

    /**
     * Nothing that counts, though something in it is about GPUs. Its user should read why it has
     * none.
     */
    record Withheld(Refusal reason) implements GpuWish {}

    /** By what. */
    enum Source {
        CLAIM("its claim"),
        LABEL("its label jnvdocker.gpus"),
        ANNOTATION("its annotation jnvdocker.gpus"),
        VARIABLE("its variable JNVDOCKER_GPUS"),
        DEVICE_REQUEST("--gpus"),
        NODE("nodes or rules of devices"),
        SWARM("a generic resource of Swarm's"),
        MOUNTS("a mount below " + UsersWords.DEVICES),
        VISIBLE_DEVICES("its variable NVIDIA_VISIBLE_DEVICES"),
        IMAGE("its image");

        private final String words;

        Source(String words) {
            this.words = words;
        }

        /** For people. */
        public String words() {
            return words;
        }
    }
}
