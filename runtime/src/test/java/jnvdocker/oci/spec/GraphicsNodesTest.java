package jnvdocker.oci.spec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.Test;

import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The graphics nodes of a host with a card of another vendor, which is the first, and two GPUs. */
class GraphicsNodesTest {
    private static final Majors MAJORS =
            new Majors(
                    195,
                    Set.of(510),
                    Set.of(),
                    Map.of(1, 0, 129, 0, 2, 1, 130, 1),
                    Set.of(0, 128, 1, 129, 2, 130));

    private static String device(String path, int minor) {
        return "{'path':'%s','type':'c','major':226,'minor':%d}".formatted(path, minor);
    }

    private static String rule(String minor) {
        return "{'allow':true,'type':'c','major':226" + minor + ",'access':'rwm'}";
    }

    private static RuntimeSpec spec(String devices, String rules) throws RefusedException {
        String text =
                "{'linux':{'devices':["
                        + devices
                        + "],'resources':{'devices':[{'allow':false,'access':'rwm'}"
                        + (rules.isEmpty() ? "" : "," + rules)
                        + "]}}}";
        return RuntimeSpec.parse(text.replace('\'', '"'));
    }

    private static Optional<DockerContainer> docker(RuntimeSpec spec, String devices, String rules)
            throws RefusedException {
        String container =
                "{'ID':'c','Name':'/train','Image':'sha256:1','Config':{'Image':'cuda'}}";
        String host =
                "{'Devices':[" + devices + "],'DeviceCgroupRules':[" + rules + "],'Runtime':'x'}";
        return DockerContainer.parse(spec, container.replace('\'', '"'), host.replace('\'', '"'));
    }

    private static final String ALL =
            device("/dev/dri/card0", 0)
                    + ","
                    + device("/dev/dri/renderD128", 128)
                    + ","
                    + device("/dev/dri/card2", 2)
                    + ","
                    + device("/dev/dri/renderD130", 130);

    @Test
    void nodeThatIsNamedIsARequestForItsGpu() throws RefusedException {
        RuntimeSpec spec = spec(device("/dev/dri/renderD130", 130), rule(",'minor':130"));
        String named = "{'PathOnHost':'/dev/dri/renderD130','PathInContainer':''}";
        assertEquals(Set.of(1), GraphicsNodes.named(spec, docker(spec, named, ""), MAJORS));
        assertEquals(Set.of(1), GraphicsNodes.named(spec, Optional.empty(), MAJORS));
        RuntimeSpec other = spec("", rule(",'minor':129"));
        assertEquals(
                Set.of(0), GraphicsNodes.named(other, docker(other, "", "'c 226:129 rw'"), MAJORS));
    }

    @Test
    void anotherVendorsNodeRequestsNone() throws RefusedException {
        RuntimeSpec spec = spec(device("/dev/dri/renderD128", 128), rule(",'minor':128"));
        String named = "{'PathOnHost':'/dev/dri/renderD128','PathInContainer':''}";
        assertEquals(Set.of(), GraphicsNodes.named(spec, docker(spec, named, ""), MAJORS));
        assertEquals(Set.of(), GraphicsNodes.named(spec, Optional.empty(), MAJORS));
        assertFalse(GraphicsNodes.areIn(spec, MAJORS));
        assertFalse(GraphicsNodes.leaveOut(spec, MAJORS, Set.of()));
    }

    @Test
    void ofTheDirectoryTheNodesOfOthersAreLeftOut() throws RefusedException {
        RuntimeSpec spec = spec(ALL, rule(",'minor':128") + "," + rule(",'minor':130"));
        String directory = "{'PathOnHost':'/dev/dri','PathInContainer':'/dev/dri'}";
        assertEquals(Set.of(), GraphicsNodes.named(spec, docker(spec, directory, ""), MAJORS));
        assertEquals(Set.of(), GraphicsNodes.named(spec, Optional.empty(), MAJORS));
        assertFalse(GraphicsNodes.leaveOut(spec, MAJORS, Set.of(1)));
        assertTrue(GraphicsNodes.leaveOut(spec, MAJORS, Set.of(0)));
        assertFalse(GraphicsNodes.areIn(spec, MAJORS));
        assertEquals(Set.of(0, 128), spec.minors(226, Set.of()));
    }

    /** A container makes nodes of its own for what a rule allows. */
    @Test
    void ruleForAllMeansTheOtherCards() throws RefusedException {
        RuntimeSpec spec = spec("", rule(""));
        assertEquals(
                Set.of(), GraphicsNodes.named(spec, docker(spec, "", "'c 226:* rwm'"), MAJORS));
        assertTrue(GraphicsNodes.areIn(spec, MAJORS));
        assertTrue(GraphicsNodes.leaveOut(spec, MAJORS, Set.of(1)));
        assertEquals(Set.of(0, 128, 2, 130), spec.minors(226, Set.of(77)));
    }

    @Test
    void containerWithoutGpusKeepsTheOtherCardAlone() throws RefusedException {
        RuntimeSpec spec = spec(ALL, rule(",'minor':128") + "," + rule(",'minor':2"));
        assertTrue(spec.hasNvidia(MAJORS));
        SpecEdits.withoutGpus(spec, MAJORS, Optional.empty());
        assertEquals(Set.of(0, 128), spec.minors(226, Set.of()));
    }
}
