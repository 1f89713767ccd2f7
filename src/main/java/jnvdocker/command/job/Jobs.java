package jnvdocker.command.job;

import jnvdocker.command.job.Job.Start;
import jnvdocker.command.job.Job.State;
import jnvdocker.command.job.JobUnits.Unit;
import jnvdocker.core.LeaseParts;
import jnvdocker.decision.DecisionLog;
import jnvdocker.holder.Pace;
import jnvdocker.holder.Periodic;
import jnvdocker.lease.Owner;
import jnvdocker.lease.text.Owners;
import jnvdocker.posix.FileErrors;
import jnvdocker.posix.ProcessId;
import jnvdocker.process.Processes;
import jnvdocker.words.RefusedException;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/**
 * All jobs of this host. A record is on disk before its unit starts ({@link #submit}), has the
 * unit's process before that gets its command ({@link #launch}), and says that the job runs before
 * the process becomes the user's program ({@link #started}): so whatever is killed in between, no
 * job is lost and none is run twice. A thread starts units, and records how they ended.
 */
public final class Jobs implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Jobs.class);

    /** In the state directory. */
    public static final String DIRECTORY = "jobs";

    /** Jobs that have not ended. */
    static final int MOST_OF_USER = 64;

    private static final int MOST = 512;

    /** Jobs that have ended. */
    private static final int KEPT_OF_USER = 100;

    private static final int KEPT = 2000;
    private static final Duration PERIOD = Duration.ofSeconds(1);

    /** How often the time for which ended jobs are kept is applied when there are no others. */
    private static final Duration IDLE_PERIOD = Duration.ofMinutes(10);

    private static final Duration PATIENCE = Duration.ofSeconds(5);

    private final JobFiles files;
    private final JobUnits units;
    private final String boot;
    private final Processes processes;
    private final JobLeases leases;
    private final DecisionLog log;
    private final Supplier<Optional<Duration>> kept;
    private boolean isThereWork;
    private boolean discarded;
    private final Periodic thread =
            new Periodic("jobs", () -> isThereWork ? PERIOD : IDLE_PERIOD, this::keep);

    /** Without their requests. They change, like the files, under the lock of this alone. */
    private final ConcurrentSkipListMap<Long, Job> jobs = new ConcurrentSkipListMap<>();

    /** Why the records of others cannot be read. They are final. */
    private final Map<Long, String> unreadable = new TreeMap<>();

    /** Why a job does not go on, as it was logged. */
    private final Map<Long, String> troubles = new ConcurrentSkipListMap<>();

    private Jobs(
            JobFiles files,
            JobUnits units,
            LeaseParts.World world,
            LeaseParts parts,
            Supplier<Optional<Duration>> kept) {
        this.files = files;
        this.units = units;
        this.boot = world.boot();
        this.processes = world.processes();
        this.log = world.log();
        this.leases = new JobLeases(parts);
        this.kept = kept;
    }

    /**
     * Reads all records, and keeps them from now on.
     *
     * @param client our program for users
     * @param socket of the daemon
     * @param kept for how long a job is kept after its end; empty when for ever
     * @throws IOException when their directory cannot be read; a record that cannot is only shown
     */
    public static Jobs start(
            LeaseParts.World world,
            LeaseParts parts,
            Path client,
            Path socket,
            Supplier<Optional<Duration>> kept)
            throws IOException {
        Jobs all =
                new Jobs(
                        JobFiles.in(world.state()),
                        new JobUnits(client, socket),
                        world,
                        parts,
                        kept);
        for (long id : all.files.ids()) {
            try {
                all.jobs.put(id, all.files.read(id).light());
            } catch (IOException e) {
                all.unreadable.put(id, FileErrors.describe(e));
                LOG.error("job {}: {}", id, all.unreadable.get(id));
            }
        }
        all.thread.start();
        return all;
    }

    /** All jobs, the oldest first, without their requests. */
    List<Job> all() {
        return List.copyOf(jobs.values());
    }

    Map<Long, String> unreadable() {
        return unreadable;
    }

    /** Why a job does not go on, though it should. */
    Optional<String> trouble(long id) {
        return Optional.ofNullable(troubles.get(id));
    }

    JobUnits units() {
        return units;
    }

    /**
     * Records a job, which is started soon.
     *
     * @param uid that it runs as
     * @param owner the user who submits it
     */
    synchronized Job submit(int uid, Owner owner, String title, Job.Request request)
            throws RefusedException, IOException {
        List<Job> open = open();
        long own = open.stream().filter(job -> job.owner() == owner.uid()).count();
        if (own >= MOST_OF_USER || open.size() >= MOST) {
            throw new RefusedException(
                    own >= MOST_OF_USER
                            ? "you have " + own + " jobs that have not ended, the most for one user"
                            : "this host has "
                                    + open.size()
                                    + " jobs that have not ended, the most for all users",
                    "submit more when some have ended, or cancel some with 'jnvdocker gpu cancel'");
        }
        long id =
                1
                        + Stream.of(jobs, unreadable)
                                .flatMap(each -> each.keySet().stream())
                                .reduce(0L, Math::max);
        Job job =
                new Job(
                        id,
                        uid,
                        owner.uid(),
                        owner.name(),
                        Instant.now().toString(),
                        title,
                        request,
                        false,
                        null,
                        null,
                        null,
                        null);
        files.write(job);
        jobs.put(id, job.light());
        thread.wake();
        return job;
    }

    private List<Job> open() {
        return jobs.values().stream().filter(job -> job.state() != State.ENDED).toList();
    }

    private synchronized Job update(long id, UnaryOperator<Job> change) throws IOException {
        Job before = files.read(id);
        Job after = change.apply(before);
        if (!after.equals(before)) {
            files.write(after);
            jobs.put(id, after.light());
        }
        return after;
    }

    /**
     * Records the process of a job's unit, and returns the job with its request.
     *
     * @param uid the process's
     * @throws RefusedException when the job is not to be run by that process
     */
    Job launch(long id, ProcessId process, int uid) throws RefusedException, IOException {
        boolean isOurs = units.isMain(process, id) && processes.isAlive(process);
        synchronized (this) {
            Job job = jobs.get(id);
            boolean isFirst =
                    job != null
                            && job.uid() == uid
                            && job.process(boot).filter(its -> !its.equals(process)).isEmpty();
            if (!isOurs || !isFirst || job.state() != State.WAITING || job.cancelled()) {
                throw new RefusedException(
                        "this process is not to run job " + id,
                        "'jnvdocker gpu jobs' shows the jobs");
            }
            return update(
                    id,
                    its ->
                            its.launchedAs(
                                    new Job.Launch(boot, process.pid(), process.startTime())));
        }
    }

    /** The job that a process is, if it is one's and not only started by it. */
    Optional<Job> of(ProcessId process) {
        return open().stream()
                .filter(job -> job.process(boot).filter(process::equals).isPresent())
                .findFirst();
    }

    boolean isMeant(String word, Job job) throws IOException {
        return leases.isMeant(word, job, job.process(boot));
    }

    /** Records that a request of a job's process was refused. */
    void refused(Job job, String why) throws IOException {
        update(job.id(), its -> its.refusedAs(why));
    }

    /** Records that a job runs: its process is about to become docker, or a program. */
    void started(Job job, ProcessId process) throws IOException {
        Optional<String> claim = leases.claimOf(process);
        Start start = new Start(Instant.now().toString(), claim.orElse(null));
        update(job.id(), its -> its.startedAs(start));
    }

    /**
     * Has a job stopped, with its container.
     *
     * @return whether its process is gone
     */
    boolean cancel(Job job) throws IOException {
        Job now = update(job.id(), Job::asCancelled);
        leases.stop(now);
        units.stop(List.of(job.id()));
        thread.wake();
        Instant deadline = Instant.now().plus(PATIENCE);
        while (isAlive(now) && Instant.now().isBefore(deadline)) {
            Pace.REAL.sleep(Duration.ofMillis(20));
        }
        return !isAlive(now);
    }

    private boolean isAlive(Job job) {
        return job.process(boot).filter(processes::isAlive).isPresent();
    }

    private void keep() throws IOException {
        if (!discarded) {
            units.discard(
                    all().stream()
                            .filter(job ->
                                    job.state() == State.ENDED && job.process(boot).isPresent())
                            .map(Job::id)
                            .toList());
            discarded = true;
        }
        List<Job> open = open();
        isThereWork = !open.isEmpty() && units.isSystemdThere();
        if (isThereWork) {
            settle(open.stream().filter(job -> !isAlive(job)).toList());
        }
        prune();
    }

    /**
     * @param unsure jobs of which no process is known to live
     */
    private void settle(List<Job> unsure) throws IOException {
        if (unsure.isEmpty()) {
            return;
        }
        Map<Long, Unit> shown = units.show(unsure.stream().map(Job::id).toList());
        // What the shutdown has ended is settled after the boot.
        if (units.areEnding()) {
            return;
        }
        for (Job job : unsure) {
            try {
                act(job, JobStep.of(job, shown.get(job.id()), boot, Instant.now()));
                troubles.remove(job.id());
            } catch (IOException e) {
                String why = FileErrors.describe(e);
                if (!why.equals(troubles.put(job.id(), why))) {
                    LOG.warn("job {}: {}", job.id(), why);
                }
            }
        }
    }

    private void act(Job job, JobStep step) throws IOException {
        switch (step) {
            case JobStep.Nothing _ -> {}
            case JobStep.Launch _ -> launch(job);
            case JobStep.Finish(Job.End end) -> finish(job, end);
        }
    }

    /** The number of a user who was removed may be another's by now. A name may be unknown. */
    private void launch(Job job) throws IOException {
        Owner now = Owners.of(job.uid());
        boolean isAnother =
                job.uid() == job.owner()
                        && !now.name().equals(job.user())
                        && List.of(now.name(), job.user()).stream()
                                .noneMatch(name -> name.startsWith("uid "));
        if (isAnother) {
            finish(job, new Job.End(Instant.now().toString(), Job.Outcome.NO_USER, null));
        } else {
            units.start(job);
        }
    }

    private void finish(Job job, Job.End end) throws IOException {
        Job ended = update(job.id(), its -> its.end() == null ? its.endedAs(end) : its);
        units.discard(List.of(job.id()));
        Optional<Duration> ran =
                Optional.ofNullable(ended.start())
                        .map(its ->
                                Duration.between(Instant.parse(its.at()), Instant.parse(end.at())));
        log.jobEnded(job.submitter(), job.id(), ended.ending().orElseThrow(), ran);
    }

    /** The latest job is never deleted: numbers would come again. */
    private synchronized void prune() throws IOException {
        Optional<Instant> limit = kept.get().map(Instant.now()::minus);
        Map<Integer, Integer> counts = new TreeMap<>();
        int all = 0;
        for (Job job : jobs.descendingMap().values()) {
            if (job.state() == State.ENDED) {
                boolean isOld =
                        limit.filter(Instant.parse(job.end().at())::isBefore).isPresent()
                                || counts.merge(job.owner(), 1, Integer::sum) > KEPT_OF_USER
                                || ++all > KEPT;
                if (isOld && job.id() != jobs.lastKey()) {
                    files.delete(job.id());
                    jobs.remove(job.id());
                    troubles.remove(job.id());
                }
            }
        }
    }

    @Override
    public void close() {
        thread.end(PATIENCE);
    }
}
