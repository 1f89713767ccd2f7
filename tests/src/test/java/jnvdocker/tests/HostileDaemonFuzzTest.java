package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.labels.Mutations;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.HostileDaemon;
import jnvdocker.tests.world.SanitizedClient;

import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.RandomDistribution;
import net.jqwik.api.lifecycle.AfterContainer;
import net.jqwik.api.lifecycle.BeforeContainer;

import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** Whatever a daemon sends, the client ends as it must and touches only its own memory. */
class HostileDaemonFuzzTest {
    /** A process takes long to start, so each try runs many, two at a time. */
    private static final int AT_ONCE = Boolean.getBoolean("tests.quick") ? 20 : 100;

    private static final AtomicInteger PLAYED = new AtomicInteger();

    private static SanitizedClient client;

    @BeforeContainer
    static void makeClient() {
        client = new SanitizedClient();
    }

    @AfterContainer
    static void removeClient() {
        client.close();
        System.out.println(PLAYED + " scripts were played to the client");
    }

    @Property(tries = 16, seed = "9")
    void damagedFramesEndTheClientAsTheyMust(@ForAll("damaged") List<byte[]> scripts) {
        assertEndAsTheyMust(scripts);
    }

    @Provide
    Arbitrary<List<byte[]>> damaged() {
        List<byte[]> corpus = FrameScripts.all().stream().map(FrameScripts.Kept::bytes).toList();
        return Mutations.of(corpus)
                .list()
                .ofMinSize(1)
                .ofMaxSize(AT_ONCE)
                .withSizeDistribution(RandomDistribution.uniform());
    }

    @Property(tries = 16, seed = "10")
    void soundFramesInAnyOrderEndTheClientAsTheyMust(@ForAll("shuffled") List<byte[]> scripts) {
        assertEndAsTheyMust(scripts);
    }

    @Provide
    Arbitrary<List<byte[]>> shuffled() {
        return Arbitraries.of(FrameScripts.frames())
                .list()
                .ofMaxSize(12)
                .map(FrameScripts::joined)
                .list()
                .ofMinSize(1)
                .ofMaxSize(AT_ONCE)
                .withSizeDistribution(RandomDistribution.uniform());
    }

    private static void assertEndAsTheyMust(List<byte[]> scripts) {
        scripts.parallelStream().forEach(HostileDaemonFuzzTest::assertEndsAsItMust);
        client.assertSound();
        client.assertNothingLeft();
    }

    private static void assertEndsAsItMust(byte[] script) {
        PLAYED.incrementAndGet();
        FrameModel.End end = FrameModel.end(script);
        HostileDaemon.Script saying = HostileDaemon.Script.saying(script);
        Command.Result result = end.retries() ? client.runAndEnd(saying) : client.run(saying);
        String hex = HexFormat.of().formatHex(script);
        // The model does not know whether a program that cannot be run exists.
        int code = result.exitCode() == 126 ? 127 : result.exitCode();
        assertEquals(end.exitCode(), code, () -> hex + "\n" + result.err());
        assertEquals(end.out(), result.out(), hex);
        assertTrue(!end.explained() || result.err().contains("jnvdocker: "), hex);
    }
}
