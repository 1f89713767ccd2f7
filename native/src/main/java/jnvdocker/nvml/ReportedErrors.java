package jnvdocker.nvml;

import jnvdocker.posix.FileErrors;
import jnvdocker.posix.RegularFile;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The serious errors that drivers have reported of GPUs, by UUID, in a file: a driver reports each
 * only once, and a daemon may be restarted before the GPU is reset. Each line is a boot's id, a
 * load of the driver, a UUID, an Xid, a time and a count of errors.
 */
final class ReportedErrors {
    private static final Logger LOG = LoggerFactory.getLogger(ReportedErrors.class);
    private static final int MOST_BYTES = 64 * 1024;
    private static final Pattern LINE =
            Pattern.compile(
                    "(\\S{1,64}) (\\S{1,64}) (GPU-[0-9a-fA-F-]{8,64}) ([0-9]{1,4}) ([0-9]{1,12})"
                            + " ([0-9]{1,18})");

    private final Path file;
    private final String boot;
    private final Map<String, Entry> entries = new ConcurrentHashMap<>();
    private volatile String load = "";
    private volatile boolean unsaved;
    private boolean failing;

    /**
     * @param load of the driver, in which it was reported
     * @param counted the errors that its counters had counted, which a reset sets back
     */
    private record Entry(String load, Fault.Reported error, long counted) {}

    private ReportedErrors(Path file, String boot) {
        this.file = file;
        this.boot = boot;
    }

    /**
     * Reads what was written since the host was started; without a file that can be read, nothing.
     *
     * @param boot this boot's id
     */
    static ReportedErrors read(Path file, String boot) {
        ReportedErrors errors = new ReportedErrors(file, boot);
        try {
            RegularFile.readOwn(file, MOST_BYTES)
                    .ifPresent(bytes ->
                            new String(bytes, StandardCharsets.UTF_8)
                                    .lines()
                                    .forEach(errors::parse));
        } catch (IOException e) {
            LOG.warn("errors that GPUs have reported before are forgotten: {}", e.getMessage());
        }
        return errors;
    }

    private void parse(String text) {
        Matcher line = LINE.matcher(text);
        if (line.matches() && line.group(1).equals(boot)) {
            entries.put(
                    line.group(3),
                    new Entry(
                            line.group(2),
                            new Fault.Reported(
                                    Integer.parseInt(line.group(4)),
                                    Instant.ofEpochSecond(Long.parseLong(line.group(5)))),
                            Long.parseLong(line.group(6))));
        }
    }

    Optional<Fault.Reported> of(String uuid) {
        return Optional.ofNullable(entries.get(uuid)).map(Entry::error);
    }

    /** The first one of a GPU counts: others often follow from it. */
    void add(String uuid, Fault.Reported error, long counted) {
        if (entries.putIfAbsent(uuid, new Entry(load, error, counted)) == null) {
            LOG.warn("GPU {} is given to nobody: {}", uuid, error.what());
            unsaved = true;
        }
    }

    /**
     * @param evidence that the GPU was reset, for people
     */
    void forget(String uuid, String evidence) {
        if (entries.remove(uuid) != null) {
            LOG.info("what was reported of GPU {} does not count any more: {}", uuid, evidence);
            unsaved = true;
        }
    }

    /** The counters of a GPU say so: fewer errors than before are evidence of a reset. */
    void counted(String uuid, long count) {
        Entry entry = entries.get(uuid);
        if (entry != null && count < entry.counted()) {
            forget(uuid, "its counters of errors were set back");
        } else if (entry != null && count > entry.counted()) {
            entries.put(uuid, new Entry(entry.load(), entry.error(), count));
            unsaved = true;
        }
    }

    /** The driver shows these GPUs and no others. */
    void keepOnly(Collection<String> uuids) {
        for (String uuid : Set.copyOf(entries.keySet())) {
            if (!uuids.contains(uuid)) {
                forget(uuid, "the driver does not show it");
            }
        }
    }

    /** The driver was loaded so. */
    void loaded(String now) {
        load = now;
        Map.copyOf(entries)
                .forEach((uuid, entry) -> {
                    if (!entry.load().equals(now)) {
                        forget(uuid, "the driver was reloaded");
                    }
                });
    }

    /** Writes what has changed, or could not be written the last time; may wait for the disk. */
    synchronized void save() {
        if (!unsaved) {
            return;
        }
        unsaved = false;
        List<String> lines = new ArrayList<>();
        entries.forEach((uuid, entry) ->
                lines.add(
                        String.join(
                                " ",
                                boot,
                                entry.load(),
                                uuid,
                                String.valueOf(entry.error().xid()),
                                String.valueOf(entry.error().since().getEpochSecond()),
                                String.valueOf(entry.counted()))));
        Path fresh = file.resolveSibling(file.getFileName() + ".new");
        try {
            Files.deleteIfExists(fresh);
            Files.write(fresh, lines, StandardOpenOption.CREATE_NEW);
            Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE);
            failing = false;
        } catch (IOException e) {
            unsaved = true;
            if (!failing) {
                LOG.warn("the errors of GPUs are not kept: {}", FileErrors.describe(e));
            }
            failing = true;
        }
    }
}
