package jnvdocker.core;

import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimKey;
import jnvdocker.lease.ClaimNames;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.posix.ProcessId;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** A container as a simulated engine keeps it, and the facts about it. */
final class SimulatedContainer {
    /** As the engine's list has it, and {@code STARTING}, which it shows as the state before. */
    enum State {
        CREATED,
        STARTING,
        RUNNING,
        PAUSED,
        RESTARTING,
        EXITED
    }

    /**
     * How it was made.
     *
     * @param volume of a claim, if it mounts one
     * @param gpus the minors of the GPUs' nodes that it was given, by UUID
     * @param always whether it is started again whenever it ends
     * @param remove whether it goes when it ends
     */
    record Settings(
            Map<String, String> labels,
            Optional<String> volume,
            Map<String, Integer> gpus,
            boolean always,
            boolean remove) {
        List<Integer> minors() {
            return gpus.values().stream().sorted().toList();
        }
    }

    final String id;
    final Settings settings;
    String name;
    State state = State.CREATED;
    State before = State.CREATED;

    /** Whether it was given an empty directory in place of the claim's that it shares. */
    boolean guest;

    /** Whether docker waits for the answer to a verb about it. */
    boolean waiting;

    /** Docker's name for its mount, as long as it has one. */
    Optional<String> use = Optional.empty();

    int mounts;
    boolean stoppedByHand;

    /** When a restart ended it that is yet to start it again, by the machine's clock. */
    Optional<Long> restarted = Optional.empty();

    /** Whether that restart may only be refused for a reason. */
    boolean mustComeBack;

    /** Whether docker starts it again whenever it ends. */
    boolean policy;

    /** Why it could not be started the last time, as docker keeps it. */
    String error = "";

    /** How often it has ended, which stands for the time of the last end. */
    int ends;

    /** Whether it may have been refused a start that no user has typed. */
    boolean refusedByItself;

    Optional<ProcessId> init = Optional.empty();

    /** The processes that may outlive its first process. */
    final List<ProcessId> others = new ArrayList<>();

    /** The lease that it was last started under, as far as known. */
    Optional<Long> lease = Optional.empty();

    /** Whether that lease was released by force. */
    boolean released;

    /** Whether something has happened after which a new start may be refused. */
    boolean troubled;

    SimulatedContainer(int number, Settings settings) {
        this.id = "%04d".formatted(number).repeat(16);
        this.name = "c" + number;
        this.settings = settings;
        this.policy = settings.always();
    }

    /** Whether it mounts this claim's volume, if only in name: its next start may have the GPUs. */
    boolean isOf(ClaimKey claim) {
        return settings.volume().equals(Optional.of(ClaimNames.volume(claim)));
    }

    /** The claim whose GPUs it may have now. */
    Optional<String> claim() {
        return settings.volume()
                .filter(_ -> !guest)
                .flatMap(ClaimNames::ofVolume)
                .map(ClaimKey::id);
    }

    /** The minors of a claim's GPUs, by UUID. */
    static Map<String, Integer> gpus(Claim claim) {
        return claim.gpus().stream().collect(Collectors.toMap(ClaimedGpu::uuid, ClaimedGpu::minor));
    }

    /** The minors of its GPUs' nodes, by UUID. */
    Map<String, Integer> gpus() {
        return settings.gpus();
    }

    String cgroup() {
        return "/sys/fs/cgroup/docker/" + id;
    }

    boolean lives(SimulatedMachine machine) {
        return init.filter(machine::lives).isPresent() || others.stream().anyMatch(machine::lives);
    }

    /** Whether it has a live process that docker may not know of. */
    boolean outlives(SimulatedMachine machine) {
        return others.stream().anyMatch(machine::lives);
    }

    /** Whether it occupies the GPUs of its nodes. */
    boolean usesGpus(SimulatedMachine machine) {
        return !settings.minors().isEmpty() && lives(machine);
    }

    /** Whether docker has locked it, so that everything else that concerns it has to wait. */
    boolean isLocked() {
        return waiting || state == State.STARTING || restarted.isPresent();
    }

    boolean isRunning() {
        return state == State.RUNNING || state == State.PAUSED;
    }

    /** As the engine's list has it. */
    State shown() {
        return state == State.STARTING ? before : state;
    }

    String shownState() {
        return shown().name().toLowerCase(Locale.ROOT);
    }

    @Override
    public String toString() {
        return name;
    }
}
