package jnvdocker.oci.spec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.StreamSupport;

class NvidiaPartsTest {
    private static final int FS = 507;
    private static final int SWITCH = 508;
    private static final int CHANNELS = 509;
    private static final int UVM = 510;
    private static final Majors MAJORS =
            new Majors(195, Set.of(UVM), Set.of(FS, SWITCH, CHANNELS), Map.of(), Set.of());

    private static RuntimeSpec with(int... majors) throws RefusedException {
        String devices =
                IntStream.of(majors)
                        .mapToObj(
                                "{'path':'/dev/d%1$d','type':'c','major':%1$d,'minor':0}"
                                        ::formatted)
                        .collect(Collectors.joining(","));
        String rules =
                IntStream.of(majors)
                        .mapToObj(
                                ",{'allow':true,'type':'c','major':%d,'minor':0,'access':'rwm'}"
                                        ::formatted)
                        .collect(Collectors.joining());
        return RuntimeSpec.parse(
                ("{'linux':{'devices':["
                                + devices
                                + "],'resources':{'devices':[{'allow':false,'access':'rwm'}"
                                + rules
                                + "]}}}")
                        .replace('\'', '"'));
    }

    private static List<Integer> majors(RuntimeSpec spec, String... path) {
        var list = spec.root().path("linux");
        for (String name : path) {
            list = list.path(name);
        }
        return StreamSupport.stream(list.spliterator(), false)
                .filter(it -> it.has("major"))
                .map(it -> it.path("major").asInt())
                .toList();
    }

    /** A user who names such a device has no other way to it, and no GPU by it. */
    @ParameterizedTest
    @ValueSource(ints = {FS, SWITCH, CHANNELS})
    void deviceThatGivesNoGpuStaysWhereItsUserNamesIt(int major) throws RefusedException {
        assertFalse(with(major).hasNvidia(MAJORS));
        RuntimeSpec spec = with(195, major, UVM);
        assertTrue(spec.hasNvidia(MAJORS));
        SpecEdits.withoutGpus(spec, MAJORS, Optional.empty());
        assertEquals(List.of(major), majors(spec, "devices"));
        assertEquals(List.of(major), majors(spec, "resources", "devices"));
    }

    /** Who may open every device names none of them. */
    @Test
    void containerOfEveryDeviceGetsNoneOfThem() throws RefusedException {
        RuntimeSpec spec =
                RuntimeSpec.parse(
                        "{\"linux\":{\"resources\":{\"devices\":[{\"allow\":true,\"access\":\"rwm\"}]}}}");
        SpecEdits.withoutGpus(spec, MAJORS, Optional.empty());
        assertEquals(List.of(195, FS, SWITCH, CHANNELS, UVM), majors(spec, "resources", "devices"));
    }
}
