package jnvdocker.doctor;

import jnvdocker.posix.RegularFile;
import jnvdocker.process.ShortProcess;
import jnvdocker.words.Quote;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** Checks the units, without which GPU containers do not come back after a boot. */
final class UnitCheck {
    private static final Duration LIMIT = Duration.ofSeconds(3);

    /** The directory of the tree in the Debian package and the RPM. */
    private static final Path PACKAGED = Path.of("/usr/lib/jnvdocker");

    /** See sd_booted(3). */
    private static final Path BOOTED = Path.of("/run/systemd/system");

    private static final String SERVICE = "jnvdocker.service";
    private static final String DOCKER = "docker.service";
    private static final List<String> OURS =
            List.of("jnvdocker.socket", SERVICE, "jnvdocker-nodes.service");

    /** Starts the daemon when systemd has given it up. Nothing enables this unit. */
    private static final String AGAIN = "jnvdocker-again.service";

    private static final int ENDS_SIZE = 64 << 10;

    private final DaemonFacts daemon;
    private final Supplier<List<LaterUnit>> others;

    /**
     * @param others units besides Docker's that are to wait for the daemon
     */
    UnitCheck(DaemonFacts daemon, Supplier<List<LaterUnit>> others) {
        this.daemon = daemon;
        this.others = others;
    }

    void findings(Findings found) {
        if (!Files.isDirectory(BOOTED)) {
            found.ok("systemd does not run here");
            return;
        }
        if (daemon.isElsewhere()) {
            found.ok("the units are not for this daemon, which serves " + daemon.run());
            return;
        }
        List<String> words =
                new ArrayList<>(
                        List.of("systemctl", "show", "-p", "Id,LoadState,UnitFileState,After"));
        words.addAll(OURS);
        words.add(AGAIN);
        words.add(DOCKER);
        others.get().forEach(unit -> words.add(unit.name()));
        try {
            ShortProcess.Result result = ShortProcess.run(new ProcessBuilder(words), LIMIT);
            if (result.exitCode() == 0) {
                judge(parse(result.output()), found);
            } else {
                unanswered(Quote.quoted(result.output().strip()), found);
            }
        } catch (IOException e) {
            unanswered(Finding.failure(e), found);
        }
        try {
            RegularFile.read(daemon.state().resolve("ends"), ENDS_SIZE)
                    .flatMap(lines ->
                            DaemonEnds.describe(
                                    new String(lines, StandardCharsets.UTF_8), Instant.now()))
                    .ifPresent(ends -> found.hint(ends, "'journalctl -u jnvdocker' says more"));
        } catch (IOException e) {
            found.unknown(Finding.failure(e));
        }
    }

    private static void unanswered(String why, Findings found) {
        found.unknown("systemctl show does not report it: " + why);
    }

    /**
     * Parses the properties of units by name, from the output of systemctl with a blank line
     * between units.
     */
    static Map<String, Map<String, String>> parse(String shown) {
        Map<String, Map<String, String>> units = new HashMap<>();
        for (String block : shown.split("\n\n")) {
            Map<String, String> unit = new HashMap<>();
            for (String line : block.split("\n")) {
                int end = line.indexOf('=');
                if (end > 0) {
                    unit.put(line.substring(0, end), line.substring(end + 1).strip());
                }
            }
            units.put(unit.getOrDefault("Id", ""), unit);
        }
        return units;
    }

    void judge(Map<String, Map<String, String>> units, Findings found) {
        List<String> absent =
                Stream.concat(OURS.stream(), Stream.of(AGAIN))
                        .filter(name -> !property(units, name, "LoadState", "loaded"))
                        .toList();
        if (!absent.isEmpty()) {
            found.wrong(
                    "not installed: "
                            + String.join(", ", absent)
                            + ", so that GPU containers do not come back after a boot",
                    install());
            return;
        }
        OURS.stream()
                .filter(name -> !property(units, name, "UnitFileState", "enabled"))
                .forEach(name ->
                        found.wrong(
                                name + " is not enabled, so it does not start at boot",
                                "systemctl enable --now " + name));
        order(units, found, DOCKER, OURS, "at boot Docker starts GPU containers too early");
        others.get()
                .forEach(unit ->
                        order(units, found, unit.name(), List.of(SERVICE), unit.otherwise()));
        if (!daemon.service()) {
            found.wrong(
                    "this daemon was not started by "
                            + SERVICE
                            + ", and nothing restarts it when it ends",
                    daemon.stop() + " && systemctl start " + DaemonFacts.UNITS);
        }
        found.okIfNothingElse("all are enabled, and start before Docker");
    }

    /**
     * @param later a unit of another's, which is to wait for some of ours
     * @param otherwise what happens if it does not
     */
    private void order(
            Map<String, Map<String, String>> units,
            Findings found,
            String later,
            List<String> ours,
            String otherwise) {
        if (!property(units, later, "LoadState", "loaded")) {
            return;
        }
        List<String> earlier = List.of(units.get(later).getOrDefault("After", "").split(" "));
        List<String> late = ours.stream().filter(name -> !earlier.contains(name)).toList();
        if (!late.isEmpty()) {
            found.wrong(
                    later + " does not wait for " + String.join(", ", late) + ": " + otherwise,
                    "restore our units: " + install());
        }
    }

    private String install() {
        // The units of a package are where the package manager has put them.
        if (daemon.tree().equals(PACKAGED)) {
            return "install the package jnvdocker again, then systemctl enable "
                    + String.join(" ", OURS);
        }
        return "cp "
                + daemon.tree()
                + "/lib/systemd/system/jnvdocker* /etc/systemd/system/ && systemctl daemon-reload"
                + " && systemctl enable "
                + String.join(" ", OURS);
    }

    private static boolean property(
            Map<String, Map<String, String>> units, String unit, String key, String value) {
        return units.getOrDefault(unit, Map.of()).getOrDefault(key, "").equals(value);
    }
}
