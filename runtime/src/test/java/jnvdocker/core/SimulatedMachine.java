package jnvdocker.core;

import jnvdocker.posix.ProcessId;
import jnvdocker.process.AllowedDevices;
import jnvdocker.process.MountedDirectory;
import jnvdocker.process.OpenDevices;
import jnvdocker.process.ProcessTraits;
import jnvdocker.process.Processes;
import jnvdocker.process.SeenMounts;
import jnvdocker.registry.HostClock;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The processes, cgroups and clocks of one machine. Time stands still unless a step lets it pass.
 * Pids are few, so that they are soon used again, and begin again after a boot.
 */
final class SimulatedMachine implements Processes, HostClock {
    private static final int FIRST_PID = 100;
    private static final int FEW = 40;
    private static final int SOMEBODY = 1_987_654_330;
    private static final String DISK = "254:0";
    private static final Comparator<ProcessId> BY_AGE =
            Comparator.comparingLong(ProcessId::startTime);
    private static final Pattern CONTAINER = Pattern.compile("/docker/([^/]+)");
    private static final Duration TICK = Duration.ofMillis(10);

    /**
     * @param claim whose directory it has mounted, if any
     * @param cgroup it is in, if that is of a container
     */
    private record Running(
            ProcessId id, Optional<String> claim, Optional<String> cgroup, boolean killed) {}

    /**
     * A mount of a process that is in no container of ours.
     *
     * @param roots whether in a namespace that is root's
     */
    private record Foreign(Path directory, boolean roots) {}

    private final Path state;
    private final Runnable moment;
    private final Map<Integer, Running> running = new TreeMap<>();

    /** The cgroups that were made since the boot, with or without processes. */
    final Set<String> cgroups = new HashSet<>();

    /** The containers that have a monitor of podman's. */
    final Set<String> monitored = new HashSet<>();

    private final Map<ProcessId, Foreign> foreign = new HashMap<>();
    private int boots;
    private int lastPid;
    private long ticks;
    private long nanos;
    private long booted;
    private int clockSet;
    private long clockSetAt = -Duration.ofDays(1).toNanos();
    private final int pids;
    private Instant wall;

    /**
     * @param moment called at every read of the machine, since anything may have happened then
     */
    SimulatedMachine(Path state, Runnable moment) {
        this(state, moment, FEW, Instant.parse("2024-01-02T09:12:00Z"));
    }

    /**
     * @param pids how many processes it has room for
     * @param wall its time by the clock
     */
    SimulatedMachine(Path state, Runnable moment, int pids, Instant wall) {
        this.state = state;
        this.moment = moment;
        this.pids = pids;
        this.wall = wall;
        boot();
    }

    void boot() {
        boots++;
        running.clear();
        cgroups.clear();
        foreign.clear();
        lastPid = 0;
        ticks = 100;
        booted = nanos;
    }

    /** The state directory of the system under test. */
    Path state() {
        return state;
    }

    String bootId() {
        return "boot-" + boots;
    }

    /** Starts a process that is in no container. */
    ProcessId spawn() {
        return spawn(Optional.empty(), Optional.empty());
    }

    ProcessId spawn(Optional<String> claim, Optional<String> cgroup) {
        cgroup.ifPresent(cgroups::add);
        do {
            lastPid = lastPid % pids + 1;
        } while (running.containsKey(FIRST_PID + lastPid));
        pass(TICK);
        ProcessId id = new ProcessId(FIRST_PID + lastPid, ++ticks);
        running.put(id.pid(), new Running(id, claim, cgroup, false));
        return id;
    }

    /** Starts a container that has a claim of another state directory mounted. */
    ProcessId spawnElsewhere(Path directory) {
        ProcessId process = spawn();
        foreign.put(process, new Foreign(directory, true));
        return process;
    }

    /** Starts a process that has mounted our claim's directory in a namespace of its own. */
    ProcessId spawnForger(String claim) {
        ProcessId process = spawn();
        foreign.put(process, new Foreign(state.resolve("claims/" + claim + "/mount"), false));
        return process;
    }

    /** Ends a process at once. */
    void end(ProcessId process) {
        if (lives(process)) {
            running.remove(process.pid());
        }
    }

    /** A process leaves its container's cgroup and mounts, as root may have it do. */
    void leave(ProcessId process) {
        running.put(process.pid(), new Running(process, Optional.empty(), Optional.empty(), false));
    }

    /**
     * A process has been sent SIGKILL, and hangs.
     *
     * @param shown whether its mounts are still to be seen
     */
    void hang(ProcessId process, boolean shown) {
        Running before = running.get(process.pid());
        Optional<String> claim = before.claim().filter(_ -> shown);
        running.put(process.pid(), new Running(process, claim, before.cgroup(), true));
    }

    /** The truth, for callers that are not part of the system under test. */
    boolean lives(ProcessId process) {
        Running found = running.get(process.pid());
        return found != null && found.id().equals(process);
    }

    List<ProcessId> hanging() {
        return running.values().stream().filter(Running::killed).map(Running::id).toList();
    }

    /** Whether it shows its open files: a process that hangs in its end has closed them before. */
    boolean shows(ProcessId process) {
        return lives(process)
                && !(running.get(process.pid()).killed()
                        && running.get(process.pid()).claim().isEmpty());
    }

    /** Whether a hanging process shows no mounts any more. */
    boolean hidesAny() {
        return running.values().stream().anyMatch(it -> it.killed() && it.claim().isEmpty());
    }

    /** Whether a process that lives has no claim mounted. */
    boolean hasNothingMounted(ProcessId process) {
        return running.values().stream()
                .anyMatch(it -> it.id().equals(process) && it.claim().isEmpty());
    }

    void pass(Duration duration) {
        nanos += duration.toNanos();
        ticks += duration.dividedBy(TICK);
        wall = wall.plus(duration);
    }

    /** Sets the clock. */
    void setClock(Duration forth) {
        wall = wall.plus(forth);
        clockSet++;
        clockSetAt = nanos;
    }

    /** How often the clock has been set. */
    int clockSet() {
        return clockSet;
    }

    /** For how long it has not been set. */
    Duration sinceClockSet() {
        return Duration.ofNanos(nanos - clockSetAt);
    }

    long nanos() {
        return nanos;
    }

    @Override
    public Instant instant() {
        return wall;
    }

    @Override
    public Duration sinceBoot() {
        return Duration.ofNanos(nanos - booted);
    }

    @Override
    public Optional<ProcessId> find(int pid) {
        moment.run();
        return Optional.ofNullable(running.get(pid)).map(Running::id);
    }

    @Override
    public boolean isKilled(ProcessId process) {
        moment.run();
        return lives(process) && running.get(process.pid()).killed();
    }

    @Override
    public boolean isFrozen(ProcessId process) {
        return false;
    }

    @Override
    public boolean isPaused(ProcessId process, Optional<String> cgroup) {
        return false;
    }

    /** The stopped processes. */
    final Set<ProcessId> stopped = new HashSet<>();

    @Override
    public boolean isStopped(ProcessId process) {
        return stopped.contains(process);
    }

    @Override
    public Optional<String> cgroup(ProcessId process, String containerId) {
        moment.run();
        return lives(process) && !containerId.isEmpty()
                ? running.get(process.pid())
                        .cgroup()
                        .filter(path -> path.contains(containerId))
                        .map(path -> upTo(path, containerId))
                : Optional.empty();
    }

    /** A container's directory, and not one below it. */
    private static String upTo(String path, String name) {
        int end = path.indexOf('/', path.indexOf(name));
        return end < 0 ? path : path.substring(0, end);
    }

    /** The cgroups of Mesos agents, whose tasks nothing else distinguishes here. */
    final List<AllowedDevices> allowed = new ArrayList<>();

    @Override
    public List<AllowedDevices> allowed(int major) {
        return List.copyOf(allowed);
    }

    @Override
    public Map<String, Group> groups(Pattern name) {
        moment.run();
        Map<String, Group> groups = new TreeMap<>();
        for (Running process : running.values()) {
            for (Path directory = Path.of(process.cgroup().orElse("/"));
                    directory.getFileName() != null;
                    directory = directory.getParent()) {
                Matcher matcher = name.matcher(directory.getFileName().toString());
                if (matcher.matches()) {
                    groups.putIfAbsent(
                            matcher.group(1), new Group(directory.toString(), process.id()));
                }
            }
        }
        return groups;
    }

    @Override
    public Set<String> groupNames(Pattern name) {
        moment.run();
        Set<String> names = new HashSet<>();
        for (String cgroup : cgroups) {
            for (Path directory : Path.of(cgroup)) {
                Matcher matcher = name.matcher(directory.toString());
                if (matcher.matches()) {
                    names.add(matcher.group(1));
                }
            }
        }
        return names;
    }

    /** The cgroups with a privileged container. */
    final Set<String> privileged = new HashSet<>();

    @Override
    public boolean arePrivileged(String cgroup) {
        return privileged.contains(cgroup);
    }

    @Override
    public Optional<String> cgroupOf(ProcessId process, String controller) {
        return Optional.empty();
    }

    @Override
    public Optional<ProcessId> oldest(String cgroup) {
        return hasProcesses(cgroup)
                // A copy: anything may happen while a process is found.
                ? List.copyOf(running.entrySet()).stream()
                        .filter(each -> isIn(each.getValue(), cgroup))
                        .flatMap(each -> find(each.getKey()).stream())
                        .findFirst()
                : Optional.empty();
    }

    @Override
    public boolean hasProcesses(String cgroup) {
        moment.run();
        return running.values().stream().anyMatch(process -> isIn(process, cgroup));
    }

    private static boolean isIn(Running process, String cgroup) {
        return process.cgroup().filter(it -> Path.of(it).startsWith(cgroup)).isPresent();
    }

    @Override
    public boolean isAlone(ProcessId process, String cgroup) {
        moment.run();
        return running.values().stream()
                .filter(each -> each.cgroup().equals(Optional.of(cgroup)))
                .map(Running::id)
                .toList()
                .equals(List.of(process));
    }

    /** A process of each namespace that has more mounts than are read. */
    final Set<ProcessId> unread = new HashSet<>();

    @Override
    public SeenMounts mounts(Predicate<String> root) {
        moment.run();
        if (mountsFail) {
            throw new UncheckedIOException(new IOException("Input/output error"));
        }
        Map<MountedDirectory, List<ProcessId>> holders = new HashMap<>();
        for (Running process : running.values()) {
            if (unread.contains(process.id())) {
                continue;
            }
            mounts(process, root)
                    .forEach(directory ->
                            holders.computeIfAbsent(directory, _ -> new ArrayList<>())
                                    .add(process.id()));
        }
        holders.values().forEach(those -> those.sort(BY_AGE));
        // What is mounted now was not seen.
        moment.run();
        return new SeenMounts(holders, List.copyOf(unread));
    }

    @Override
    public Set<MountedDirectory> mounts(ProcessId process, Predicate<String> root) {
        moment.run();
        return lives(process) ? mounts(running.get(process.pid()), root) : Set.of();
    }

    private Set<MountedDirectory> mounts(Running process, Predicate<String> root) {
        Stream<Path> own =
                process.claim().stream().map(claim -> state.resolve("claims/" + claim + "/mount"));
        Stream<Path> others =
                Optional.ofNullable(foreign.get(process.id()))
                        .filter(Foreign::roots)
                        .map(Foreign::directory)
                        .stream();
        return Stream.concat(own, others)
                .map(directory -> new MountedDirectory(DISK, directory.toString()))
                .filter(directory -> root.test(directory.path()))
                .collect(Collectors.toSet());
    }

    /** Whether no mount can be read. */
    boolean mountsFail;

    /** No process outside this system has devices open, unless a test says so. */
    OpenDevices open = OpenDevices.NONE;

    @Override
    public OpenDevices usersOf(int major, int graphics) {
        return open;
    }

    @Override
    public Optional<SortedSet<Integer>> openBy(ProcessId process, int major) {
        return Optional.empty();
    }

    @Override
    public boolean isMonitored(String container) {
        return monitored.contains(container);
    }

    @Override
    public Optional<ProcessTraits> traits(ProcessId process) {
        return lives(process)
                ? Optional.of(
                        new ProcessTraits(
                                "python3",
                                "python3",
                                SOMEBODY,
                                container(process),
                                Optional.empty()))
                : Optional.empty();
    }

    private Optional<String> container(ProcessId process) {
        return running.get(process.pid())
                .cgroup()
                .map(CONTAINER::matcher)
                .filter(Matcher::find)
                .map(matcher -> matcher.group(1));
    }

    @Override
    public Optional<MountedDirectory> spell(Path directory) {
        return Optional.of(new MountedDirectory(DISK, directory.toString()));
    }

    @Override
    public OptionalInt loginUid(int pid) {
        return OptionalInt.empty();
    }
}
