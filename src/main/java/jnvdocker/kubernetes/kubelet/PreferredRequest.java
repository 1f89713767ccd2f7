package jnvdocker.kubernetes.kubelet;

import com.google.protobuf.ByteString;

import jnvdocker.wire.WireMessage;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** A query for the best devices: {@code PreferredAllocationRequest}. */
public record PreferredRequest(List<Choice> containers) {
    /**
     * The choice for one container.
     *
     * @param available the ids to choose from
     * @param included those of them that must be among the answer
     */
    public record Choice(List<String> available, List<String> included, int size) {
        public Choice {
            available = List.copyOf(available);
            included = List.copyOf(included);
        }
    }

    private static final int CONTAINERS = 1;
    private static final int AVAILABLE = 1;
    private static final int INCLUDED = 2;
    private static final int SIZE = 3;

    public PreferredRequest {
        containers = List.copyOf(containers);
    }

    /**
     * @throws IOException when it is malformed
     */
    public static PreferredRequest parse(ByteString bytes) throws IOException {
        List<Choice> containers = new ArrayList<>();
        for (WireMessage container : WireMessage.parse(bytes).messages(CONTAINERS)) {
            containers.add(
                    new Choice(
                            container.texts(AVAILABLE),
                            container.texts(INCLUDED),
                            (int) container.number(SIZE)));
        }
        return new PreferredRequest(containers);
    }
}
