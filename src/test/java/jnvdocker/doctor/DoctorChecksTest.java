package jnvdocker.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.doctor.Finding.State;
import jnvdocker.words.FailedException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;

class DoctorChecksTest {
    private static final DaemonFacts SERVICE =
            new DaemonFacts(
                    true,
                    "0.2.0",
                    Path.of("/opt/jnvdocker"),
                    Path.of("/run/jnvdocker"),
                    Path.of("/var/lib/jnvdocker"),
                    Path.of("/run/docker/plugins/nvidia-docker.sock"),
                    "nvidia-docker",
                    Path.of("/run/jnvdocker/docker.sock"));
    private static final String WELL =
            """
            Id=jnvdocker.socket
            LoadState=loaded
            UnitFileState=enabled
            After=sysinit.target

            Id=jnvdocker.service
            LoadState=loaded
            UnitFileState=enabled
            After=jnvdocker.socket

            Id=jnvdocker-again.service
            LoadState=loaded
            UnitFileState=static

            Id=jnvdocker-nodes.service
            LoadState=loaded
            UnitFileState=enabled
            After=

            Id=docker.service
            LoadState=loaded
            UnitFileState=enabled
            After=jnvdocker.socket containerd.service jnvdocker-nodes.service jnvdocker.service
            """;

    /** Returns what is found. */
    private static List<Finding> found(Consumer<Findings> check) {
        Findings found = new Findings();
        check.accept(found);
        return found.all();
    }

    private static void await(CountDownLatch latch) throws IOException {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IOException(e);
        }
    }

    @Test
    void checksThatFailOrHangStopNoOthers() {
        CountDownLatch end = new CountDownLatch(1);
        Doctor doctor =
                new Doctor(
                        List.of(
                                new Check("hangs", _ -> await(end)),
                                new Check(
                                        "fails",
                                        _ -> {
                                            throw new FileNotFoundException("no such disk");
                                        }),
                                new Check(
                                        "breaks",
                                        _ -> {
                                            throw new IllegalStateException("a mistake");
                                        }),
                                new Check("works", found -> found.ok("well"))),
                        Duration.ofSeconds(1));
        assertEquals(
                List.of(
                        "hangs: this check did not end in time",
                        "fails: it cannot be checked: no such disk",
                        "breaks: this check failed, and the daemon's log says why",
                        "works: well"),
                doctor.examine().stream()
                        .map(found -> found.check() + ": " + found.finding().line())
                        .toList());
        end.countDown();
    }

    @Test
    void remedyIsWhatAnExceptionOfOursSaysItIs() {
        FailedException ours = new FailedException("a: b; c is so", "mend it; or not");
        Finding finding = found(it -> it.wrong(ours)).getFirst();
        assertEquals(new Finding(State.WRONG, "a: b; c is so", "mend it; or not"), finding);
        Finding foreign = found(it -> it.wrong(new IOException("a: b; c is so"))).getFirst();
        assertEquals(new Finding(State.WRONG, "a: b; c is so", ""), foreign);
        assertEquals("a: b; c is so; mend it; or not", finding.line());
        assertEquals("a: b; c is so", foreign.line());
        assertEquals("a: b", Finding.failure(new FailedException("a: b", "mend it")));
    }

    @Test
    void foreignTextHarmsNoTerminal() {
        Finding finding = new Finding(State.WRONG, "a\n\u001b[31mb" + "c".repeat(9999), "d\te");
        assertTrue(finding.line().startsWith("a [31mbccc"), finding::line);
        assertTrue(finding.line().endsWith("…; d e"), finding::line);
        assertEquals(1001, finding.what().length());
    }

    @Test
    void unitsThatAreAllThereAreFine() {
        assertEquals(
                List.of(new Finding(State.OK, "all are enabled, and start before Docker", "")),
                units(WELL));
    }

    private static List<Finding> units(String shown) {
        return units(SERVICE, shown);
    }

    private static List<Finding> units(DaemonFacts daemon, String shown) {
        return found(it ->
                new UnitCheck(
                                daemon,
                                () ->
                                        List.of(
                                                new LaterUnit(
                                                        "kubelet.service",
                                                        "at boot the kubelet rejects pods that"
                                                                + " request GPUs")))
                        .judge(UnitCheck.parse(shown), it));
    }

    private static String only(List<Finding> findings) {
        assertEquals(1, findings.size(), findings::toString);
        assertEquals(State.WRONG, findings.getFirst().state());
        return findings.getFirst().line();
    }

    @Test
    void unitsThatAreMissingOrDisabledAreNamed() {
        assertEquals(
                "not installed: jnvdocker.socket, so that GPU containers do not come back after a"
                        + " boot; cp /opt/jnvdocker/lib/systemd/system/jnvdocker*"
                        + " /etc/systemd/system/ && systemctl daemon-reload && systemctl enable"
                        + " jnvdocker.socket jnvdocker.service jnvdocker-nodes.service",
                only(units(WELL.replaceFirst("LoadState=loaded", "LoadState=not-found"))));
        assertEquals(
                "jnvdocker.socket is not enabled, so it does not start at boot; systemctl enable"
                        + " --now jnvdocker.socket",
                only(units(WELL.replaceFirst("State=enabled", "State=disabled"))));
        String late = only(units(WELL.replace("jnvdocker-nodes.service jnv", "jnv")));
        assertTrue(
                late.startsWith("docker.service does not wait for jnvdocker-nodes.service: "),
                late);
        String kubelet = WELL + "\nId=kubelet.service\nLoadState=loaded\nAfter=network.target\n";
        assertTrue(
                only(units(kubelet))
                        .startsWith(
                                "kubelet.service does not wait for jnvdocker.service: at boot the"
                                        + " kubelet rejects pods that request GPUs; "));
        assertEquals(
                State.OK,
                units(kubelet.replace("network.target", "network.target jnvdocker.service"))
                        .getFirst()
                        .state());
        // No unit waits for an engine that is not a unit.
        assertEquals(
                State.OK, units(WELL.substring(0, WELL.indexOf("Id=docker"))).getFirst().state());
    }

    @Test
    void daemonThatAClientStartedIsNotTheUnits() {
        DaemonFacts byHand =
                new DaemonFacts(
                        false,
                        SERVICE.version(),
                        SERVICE.tree(),
                        SERVICE.run(),
                        SERVICE.state(),
                        SERVICE.pluginSocket(),
                        SERVICE.pluginName(),
                        SERVICE.proxySocket());
        assertEquals(
                "this daemon was not started by jnvdocker.service, and nothing restarts it when"
                        + " it ends; kill $(cat /run/jnvdocker/jnvdockerd.pid) && systemctl start"
                        + " jnvdocker.socket jnvdocker.service",
                only(units(byHand, WELL)));
        assertFalse(byHand.isElsewhere());
    }

    /** Without a socket, no engine is queried. */
    @Test
    void linkForLoginsWithoutAProxyIsNamed(@TempDir Path directory) throws IOException {
        Path link = directory.resolve("jnvdocker.sh");
        Path socket = directory.resolve("docker.sock");
        DaemonFacts daemon =
                new DaemonFacts(
                        true,
                        SERVICE.version(),
                        SERVICE.tree(),
                        SERVICE.run(),
                        SERVICE.state(),
                        SERVICE.pluginSocket(),
                        SERVICE.pluginName(),
                        socket);
        ProxyCheck check = new ProxyCheck(daemon, link, null, Set::of);
        assertEquals(State.OK, onlyOf(check).state());
        Files.createSymbolicLink(link, directory.resolve("gone"));
        assertEquals(
                new Finding(
                        State.HINT,
                        link
                                + " is for users of Docker's API at "
                                + socket
                                + ", which nothing serves",
                        "start it: systemctl enable --now jnvdocker-proxy.socket; or rm " + link),
                onlyOf(check));
    }

    private static Finding onlyOf(ProxyCheck check) throws IOException {
        Findings found = new Findings();
        check.findings(found);
        assertEquals(1, found.all().size(), () -> found.all().toString());
        return found.all().getFirst();
    }

    private static Finding persistence(int exitCode, String output) {
        return found(it -> DriverChecks.judge(exitCode, output, it)).getFirst();
    }

    @Test
    void persistenceModeIsQueriedOfEachGpu() {
        assertEquals(State.OK, persistence(0, "0, Enabled\n1, Enabled\n").state());
        Finding hint = persistence(0, "0, Enabled\n1, Disabled\n2, Disabled\n");
        assertEquals(State.HINT, hint.state());
        assertTrue(hint.what().startsWith("GPUs 1,2 without persistence mode: "), hint::what);
    }

    @Test
    void persistenceModeThatIsNotReportedIsNoAlarm() {
        for (String output :
                List.of("", "0, [N/A]\n", "?, Disabled\n", "0, Enabled\n1, [Unknown Error]\n")) {
            assertEquals(State.UNKNOWN, persistence(0, output).state(), output);
        }
        assertEquals(State.UNKNOWN, persistence(9, "0, Disabled\n").state());
    }

    @ParameterizedTest
    @CsvSource({
        "1.1.5+ds1, true",
        "1.1.6, true",
        "1.0.0-rc93, true",
        "'', true",
        "1.1.7, false",
        "1.1.12-0ubuntu2, false",
        "1.2.0-rc.1, false",
        "2.0.0, false",
    })
    void linksAreMissedByARuncThatNeedsThem(String runc, boolean missed) {
        assertTrue(found(it -> EngineChecks.links(runc, List.of(), SERVICE, it)).isEmpty());
        List<String> missing = List.of("195:0", "195:255");
        List<Finding> findings = found(it -> EngineChecks.links(runc, missing, SERVICE, it));
        assertEquals(missed, !findings.isEmpty());
        if (missed) {
            assertEquals(State.WRONG, findings.getFirst().state());
            assertTrue(findings.getFirst().what().endsWith(" 195:0, 195:255"), findings::toString);
            assertTrue(
                    findings.getFirst()
                            .remedy()
                            .contains(SERVICE.tree() + "/bin/jnvdockerd --make-nodes"),
                    findings::toString);
        }
    }

    private static Finding space(long free, boolean copied) {
        return found(it -> StateChecks.space(Path.of("/s"), free, copied, it)).getFirst();
    }

    @Test
    void littleSpaceIsWrongWhereAVolumeTakesSome() {
        Path state = Path.of("/s");
        assertTrue(found(it -> StateChecks.space(state, 1L << 30, true, it)).isEmpty());
        assertEquals(State.WRONG, space(1L << 29, true).state());
        Finding hint = space(1L << 29, false);
        assertEquals(State.HINT, hint.state());
        assertTrue(hint.what().startsWith("/s has 0.5 GiB free"), hint::toString);
        Finding full = space(1L << 20, false);
        assertEquals(State.WRONG, full.state());
    }

    @Test
    void fileSystemOfANetworkIsWrong() {
        assertTrue(found(it -> StateChecks.network(Path.of("/s"), "ext4", it)).isEmpty());
        assertTrue(
                found(it -> StateChecks.network(Path.of("/s"), "lustre", it))
                        .getFirst()
                        .what()
                        .contains("(lustre)"));
    }
}
