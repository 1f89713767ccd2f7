package jnvdocker.oci.install;

import jnvdocker.docker.engine.EngineRuntimes;
import jnvdocker.posix.WholeFile;
import jnvdocker.program.TrustedDirectory;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.function.Supplier;
import java.util.regex.Pattern;

/**
 * Lays our runtime out for engines, and names it in their configurations. Only root may. An engine
 * may read its configuration, and run the program, at any time: the program is there first, and
 * goes last.
 */
public final class RuntimeInstaller {
    /** Many tools request this name. */
    public static final String NAME = "nvidia";

    /** The name of our CDI devices. */
    public static final String CDI_KIND = CdiFile.KIND;

    /** The name of NVIDIA's CDI devices, which a file of ours may offer as well. */
    public static final String NVIDIAS_CDI_KIND = CdiFile.NVIDIAS;

    /** Below it there is a directory for each engine, since each has its own real runtime. */
    public static final String DIRECTORY = "/usr/libexec/jnvdocker-runtime";

    /** Where dockerd finds programs, however it was started. */
    public static final String HOOKS = "/usr/local/bin";

    private static final Pattern PLAIN = Pattern.compile("[a-z0-9][a-z0-9-]{0,30}");
    private static final int MODE = 0755;
    private static final Object ONE_AT_A_TIME = new Object();

    private final Path source;
    private final Place place;
    private final Registrations registrations;

    /**
     * The paths of the daemon that the program must know.
     *
     * @param state its directory
     * @param markers the directory in which a file is named like each container with GPUs
     * @param socket where it receives queries
     * @param wake where it reports deletions
     */
    public record Place(Path state, Path markers, Path socket, Path wake) {}

    /**
     * @param programs where ours were installed
     */
    public RuntimeInstaller(Path programs, Place place) {
        source = programs.resolve(RuntimeProgram.NAME);
        this.place = place;
        registrations = new Registrations(place.state());
    }

    /**
     * The wanted installation.
     *
     * @param real the runtime that ours becomes; else the engine's own
     * @param standard whether containers get it that name no runtime
     * @param resources of a Swarm node; empty to leave them alone
     * @param hooks where the hook is to be for docker's {@code --gpus}
     * @param devices for CDI alone
     */
    public record Wanted(
            EngineKind engine,
            Path config,
            String name,
            Path directory,
            Optional<Path> real,
            boolean standard,
            List<String> resources,
            Optional<Path> hooks,
            Optional<CdiDevices> devices) {}

    /**
     * The planned changes.
     *
     * @param settings of the program
     * @param before the engine's configuration; empty without one
     * @param after the configuration to write
     * @param lines that an administrator has to add to the configuration
     * @param nvidiasHook which has the place of ours
     */
    public record Plan(
            Registration registration,
            RuntimeProgram.Settings settings,
            String before,
            String after,
            Optional<String> lines,
            Optional<Path> nvidiasHook) {
        /** Whether the engine must read its configuration again. */
        public boolean changesConfig() {
            return !before.equals(after);
        }
    }

    /**
     * Plans the installation, and changes nothing.
     *
     * @throws RefusedException when it cannot be done
     */
    public Plan plan(Wanted wanted) throws IOException, RefusedException {
        boolean plain = PLAIN.matcher(wanted.name()).matches() && !wanted.name().equals("runc");
        if (!plain && wanted.engine() != EngineKind.CDI) {
            throw new RefusedException(
                    Quote.quoted(wanted.name()) + " cannot be the name of a runtime",
                    "use small letters, digits and -, as in " + NAME);
        }
        TrustedDirectory.check(wanted.directory());
        Optional<Path> nvidias = wanted.hooks().flatMap(HookLink::nvidias);
        EngineSettings settings = wanted.engine().settings();
        String engines = SettingsFile.read(wanted.config());
        Path file = settings.file(wanted.config(), engines);
        Registration registration =
                new Registration(
                        wanted.engine(),
                        file,
                        wanted.name(),
                        wanted.directory(),
                        wanted.hooks()
                                .filter(directory -> nvidias.isEmpty())
                                .map(directory -> directory.resolve(HookLink.NAME)));
        checkPlace(registration.program());
        String before = SettingsFile.read(file);
        Path real = real(wanted, settings, engines);
        EngineSettings.Entry entry =
                new EngineSettings.Entry(
                        file,
                        wanted.name(),
                        registration.program(),
                        wanted.standard(),
                        wanted.resources(),
                        wanted.devices(),
                        new EngineSettings.Part(wanted.config(), engines),
                        ForeignRuntimes.beside(file, settings.besides(file)));
        String after = settings.with(before, entry);
        RuntimeProgram.Settings stored =
                new RuntimeProgram.Settings(real, place.markers(), place.socket(), place.wake());
        // Refuses a path that is too long now, rather than when the plan is carried out.
        RuntimeProgram.settle(read(), stored);
        return new Plan(
                registration, stored, before, after, settings.lines(before, entry), nvidias);
    }

    /** The one that the engine takes now, unless of jnvdocker's by now. */
    private static Path real(Wanted wanted, EngineSettings settings, String engines)
            throws IOException, RefusedException {
        Optional<Path> standard =
                settings.standardProgram(engines, wanted.config())
                        .filter(program -> !RuntimeProgram.isOursAt(program.toString()));
        return RealRuntime.of(wanted.real().or(() -> standard), wanted.engine().runtimes());
    }

    private byte[] read() throws IOException, RefusedException {
        return RuntimeProgram.bytes(source)
                .orElseThrow(() ->
                        new RefusedException(
                                "this installation has no " + source, "install jnvdocker again"));
    }

    private static void checkPlace(Path program) throws RefusedException {
        if (Files.exists(program, LinkOption.NOFOLLOW_LINKS)
                && !RuntimeProgram.isOursAt(program.toString())) {
            throw new RefusedException(
                    program + " is not jnvdocker's",
                    "name another directory with --runtime-dir, or move it away");
        }
    }

    /** Carries out a plan. The engine is not touched. */
    public void carryOut(Plan plan) throws IOException, RefusedException {
        synchronized (ONE_AT_A_TIME) {
            Registration registration = plan.registration();
            if (plan.changesConfig()) {
                // What is refused there has laid out nothing.
                SettingsFile.check(registration.config(), plan.before());
            }
            Files.createDirectories(registration.directory());
            WholeFile.write(
                    registration.program(),
                    RuntimeProgram.settle(read(), plan.settings()),
                    WholeFile.Access.root(MODE));
            registrations.add(registration);
            if (registration.hook().isPresent()) {
                HookLink.make(registration.hook().get().getParent(), registration.program());
            }
            if (plan.changesConfig()) {
                SettingsFile.write(registration.config(), plan.before(), plan.after());
            }
        }
    }

    /**
     * Replaces the programs that another version of jnvdocker installed by those of this version;
     * their settings stay. An engine that runs such a program at this moment is not disturbed.
     *
     * @return the replaced programs
     */
    public List<Path> renew() throws IOException, RefusedException {
        List<Path> replaced = new ArrayList<>();
        synchronized (ONE_AT_A_TIME) {
            for (Registration each : registered()) {
                Optional<byte[]> installed = RuntimeProgram.bytes(each.program());
                Optional<RuntimeProgram.Settings> settings = RuntimeProgram.read(each.program());
                if (installed.isPresent() && settings.isPresent()) {
                    byte[] current = RuntimeProgram.settle(read(), settings.get());
                    if (!Arrays.equals(installed.get(), current)) {
                        WholeFile.write(each.program(), current, WholeFile.Access.root(MODE));
                        replaced.add(each.program());
                    }
                }
            }
        }
        return replaced;
    }

    /**
     * Has our CDI files offer what the host has now.
     *
     * @return those that have changed
     */
    public List<Path> refresh(CdiDevices devices) throws IOException, RefusedException {
        List<Path> changed = new ArrayList<>();
        synchronized (ONE_AT_A_TIME) {
            for (Registration each : registered()) {
                String before = SettingsFile.read(each.config());
                if (each.engine() == EngineKind.CDI && !before.isEmpty()) {
                    String after =
                            each.engine()
                                    .settings()
                                    .with(
                                            before,
                                            EngineSettings.Entry.of(
                                                    each.config(),
                                                    each.name(),
                                                    each.program(),
                                                    Optional.of(
                                                            devices.keeping(
                                                                    CdiFile.driver(before)))));
                    if (!after.equals(before)) {
                        SettingsFile.write(each.config(), before, after);
                        changed.add(each.config());
                    }
                }
            }
        }
        return changed;
    }

    /** The runtimes that were installed, and not removed since. */
    public List<Registration> registered() throws IOException, RefusedException {
        return registrations.all();
    }

    /**
     * How each that was laid out fares.
     *
     * @param engine docker's answer; queried at most once, empty when docker does not answer
     * @param docker the socket of that engine
     */
    public List<RuntimeHealth> health(Supplier<Optional<EngineRuntimes>> engine, Path docker)
            throws IOException, RefusedException {
        List<Registration> all = registered();
        List<Registration> dockers =
                all.stream().filter(each -> each.engine() == EngineKind.DOCKER).toList();
        // With several dockerds we can query one, and do not know which file it has read.
        Optional<EngineRuntimes> now = dockers.size() == 1 ? engine.get() : Optional.empty();
        Optional<Instant> since =
                now.flatMap(_ -> RunningDockerd.at(docker)).flatMap(RunningDockerd::since);
        return all.stream()
                .map(each ->
                        RuntimeHealth.of(
                                each,
                                place.socket(),
                                dockers.contains(each) ? now : Optional.empty(),
                                dockers.contains(each) ? since : Optional.empty()))
                .toList();
    }

    /** The default runtime that docker's file names, if it is neither runc nor ours. */
    public static Optional<String> otherStandard(Path file, String name)
            throws IOException, RefusedException {
        return DaemonJson.otherStandard(SettingsFile.read(file), file, name);
    }

    /** Whether docker's file has a program of ours as the default. */
    public static boolean isStandardOurs(Path file) throws IOException, RefusedException {
        return DaemonJson.isStandardOurs(SettingsFile.read(file), file);
    }

    /** The names that containers of docker may have of our program. */
    public static Set<String> names(Registration registration)
            throws IOException, RefusedException {
        return DaemonJson.names(SettingsFile.read(registration.config()), registration);
    }

    /** How many GPUs docker reports to Swarm by its file; empty where it reports no number. */
    public OptionalInt swarmGpus(Registration registration) throws IOException, RefusedException {
        Path file = registration.config();
        return registration.engine() == EngineKind.DOCKER
                ? DaemonJson.swarmGpus(SettingsFile.read(file), file)
                : OptionalInt.empty();
    }

    /**
     * Takes our runtime out of an engine's configuration. The installed files stay: the engine may
     * have containers that need them.
     *
     * @param heirs the programs that have names of ours from then on, for containers of docker that
     *     were made with these
     * @return whether the configuration has changed
     */
    public boolean removeName(Registration registration, Map<String, Path> heirs)
            throws IOException, RefusedException {
        synchronized (ONE_AT_A_TIME) {
            String before = SettingsFile.read(registration.config());
            if (before.isEmpty()) {
                return false;
            }
            EngineSettings settings = registration.engine().settings();
            Optional<String> after = settings.without(before, registration);
            for (Map.Entry<String, Path> heir : heirs.entrySet()) {
                EngineSettings.Entry plain =
                        EngineSettings.Entry.of(
                                registration.config(),
                                heir.getKey(),
                                heir.getValue(),
                                Optional.empty());
                after = Optional.of(settings.with(after.orElse(""), plain));
            }
            if (after.isEmpty()) {
                WholeFile.delete(registration.config());
            } else if (!after.get().equals(before)) {
                SettingsFile.write(registration.config(), before, after.get());
            }
            return !after.equals(Optional.of(before));
        }
    }

    /**
     * Removes the installed files.
     *
     * @return false if another configuration of ours names the same program, which stays
     */
    public boolean removePrograms(Registration registration) throws IOException, RefusedException {
        synchronized (ONE_AT_A_TIME) {
            if (registration.hook().isPresent()) {
                HookLink.remove(registration.hook().get());
            }
            if (isShared(registration)) {
                registrations.remove(registration);
                return false;
            }
            if (RuntimeProgram.isOursAt(registration.program().toString())) {
                Files.deleteIfExists(registration.program());
            }
            deleteIfEmpty(registration.directory());
            if (Path.of(DIRECTORY).equals(registration.directory().getParent())) {
                deleteIfEmpty(registration.directory().getParent());
            }
            registrations.remove(registration);
            return true;
        }
    }

    private boolean isShared(Registration registration) throws IOException, RefusedException {
        return registered().stream()
                .filter(each -> !each.config().equals(registration.config()))
                .anyMatch(each -> each.program().equals(registration.program()));
    }

    private static void deleteIfEmpty(Path directory) throws IOException {
        try {
            Files.deleteIfExists(directory);
        } catch (DirectoryNotEmptyException e) {
            // Other engines' programs, or foreign files.
        }
    }
}
