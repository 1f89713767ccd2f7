package jnvdocker.command.job;

import jnvdocker.command.caller.Caller;
import jnvdocker.posix.FileErrors;
import jnvdocker.posix.ProcessId;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.screen.Screen;
import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;
import jnvdocker.words.ShellWord;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** {@code gpu submit}, {@code jobs} and {@code cancel}, and what a job's own process requests. */
public final class JobCommands {
    /** The word with which a unit's process requests its command: {@code gpu __job 17}. */
    static final String LAUNCH = "__job";

    private static final Pattern NUMBER = Pattern.compile("[0-9]{1,18}");

    /** How many jobs a message names. */
    private static final int NAMED = 10;

    private static final Logger LOG = LoggerFactory.getLogger(JobCommands.class);

    private final Jobs jobs;

    public JobCommands(Jobs jobs) {
        this.jobs = jobs;
    }

    /** The commands by their names, each made when it is needed. */
    public Map<String, Supplier<?>> commands(
            ClientRequest request, ClientConnection client, Screen screen) {
        Map<String, Supplier<?>> all = new LinkedHashMap<>();
        all.put("submit", () -> GpuSubmit.command(jobs, request, client));
        all.put("jobs", () -> new GpuJobs(jobs, request, screen));
        all.put("cancel", () -> new GpuCancel(jobs, request));
        return all;
    }

    /** The jobs without which jnvdocker could not be removed: empty, or one refusal for all. */
    public List<Refusal> inTheWay() {
        List<Long> open =
                jobs.all().stream()
                        .filter(job -> job.state() != Job.State.ENDED)
                        .map(Job::id)
                        .toList();
        String numbers =
                open.stream().limit(NAMED).map(String::valueOf).collect(Collectors.joining(","))
                        + (open.size() > NAMED ? ",…" : "");
        return open.isEmpty()
                ? List.of()
                : List.of(
                        new Refusal(
                                open.size() == 1
                                        ? "job " + numbers + " has not ended"
                                        : "jobs " + numbers + " have not ended",
                                "wait for that, or cancel with 'jnvdocker gpu cancel "
                                        + (open.size() == 1 ? numbers : "NUMBER")
                                        + "'"));
    }

    /**
     * Finds a job of the caller's, or of anybody's for root.
     *
     * @param word its number, or a word for the holder of its GPUs
     */
    static Job find(Jobs jobs, String word, ClientRequest request)
            throws IOException, RefusedException {
        boolean isNumber = NUMBER.matcher(word).matches();
        Set<Long> meant = isNumber ? Set.of(Long.valueOf(word)) : holding(jobs, word);
        List<Job> found =
                visible(jobs, request).stream().filter(job -> meant.contains(job.id())).toList();
        if (found.size() == 1) {
            return found.getFirst();
        }
        String list = "'jnvdocker gpu jobs --all' shows your jobs";
        if (isNumber) {
            throw new RefusedException("you have no job " + word, list);
        }
        throw found.isEmpty()
                ? new RefusedException(
                        "none of your jobs holds GPUs, or waits for them, under the name "
                                + Quote.quoted(word),
                        "'docker stop' stops a container, and " + list)
                : new RefusedException(
                        Quote.quoted(word)
                                + " means jobs "
                                + found.stream()
                                        .map(job -> Long.toString(job.id()))
                                        .collect(Collectors.joining(", ")),
                        "type the number of one");
    }

    /** The numbers of the jobs whose GPUs are held by what a word means. */
    private static Set<Long> holding(Jobs jobs, String word) throws IOException {
        Set<Long> found = new HashSet<>();
        for (Job job : jobs.all()) {
            if (jobs.isMeant(word, job)) {
                found.add(job.id());
            }
        }
        return found;
    }

    /** The jobs of the caller, or all for root: a command is nobody else's business. */
    static List<Job> visible(Jobs jobs, ClientRequest request) {
        int caller = Caller.owner(request).uid();
        return jobs.all().stream()
                .filter(job -> Caller.isRoot(request) || job.owner() == caller)
                .toList();
    }

    /**
     * Has a unit's process become the command of its job, with the environment of its user.
     *
     * @param words as typed: {@code gpu __job 17}, or any others
     * @return whether these are the words of a unit's process
     */
    public boolean launch(List<String> words, ClientRequest request, ClientConnection client)
            throws IOException, RefusedException {
        if (words.size() != 3
                || !words.subList(0, 2).equals(List.of("gpu", LAUNCH))
                || !NUMBER.matcher(words.get(2)).matches()) {
            return false;
        }
        ProcessId process = Caller.process(request);
        Job job = jobs.launch(Long.parseLong(words.get(2)), process, request.peer().uid());
        List<String> command = new ArrayList<>();
        // Reports a directory that is gone, in the log of the job.
        command.addAll(List.of("/usr/bin/env", "--chdir=" + job.request().directory(), "--"));
        command.add(jobs.units().client().toString());
        command.addAll(job.request().command());
        client.program(job.request().environment(), command);
        return true;
    }

    /** Records that a job runs, if the client is one's process, before it becomes a program. */
    public void watch(ClientRequest request, ClientConnection client) {
        Optional<ProcessId> process = request.process();
        process.flatMap(jobs::of)
                .ifPresent(job ->
                        client.beforeItBecomes(() -> jobs.started(job, process.orElseThrow())));
    }

    /**
     * Records why a request is refused, if the client is a job's process. When the daemon stops, it
     * interrupts those who answer clients: a job that waits then goes on to wait for the next
     * daemon.
     */
    public void refused(ClientRequest request, String why) {
        if (Thread.currentThread().isInterrupted()) {
            return;
        }
        request.process()
                .flatMap(jobs::of)
                .ifPresent(job -> {
                    try {
                        jobs.refused(job, why);
                    } catch (IOException e) {
                        LOG.warn("job {}: {}", job.id(), FileErrors.describe(e));
                    }
                });
    }

    /** A command line as one types it, for people. */
    static String title(List<String> command) {
        return Quote.shown(command.stream().map(ShellWord::typed).collect(Collectors.joining(" ")));
    }
}
