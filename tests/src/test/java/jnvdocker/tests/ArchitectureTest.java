package jnvdocker.tests;

import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.jna.Library;
import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaCodeUnitAccess;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.syntax.ArchRuleDefinition;

import jnr.posix.POSIX;

import jnvdocker.feature.Feature;
import jnvdocker.host.Gpu;
import jnvdocker.keeper.Keeper;
import jnvdocker.lease.Verdict;
import jnvdocker.posix.PermanentThread;
import jnvdocker.posix.RegularFile;
import jnvdocker.registry.LeaseWriter;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Project;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Which packages may depend on which. Maven enforces the order of the modules. */
class ArchitectureTest {
    private static final String ROOT = "jnvdocker.";

    /** Every package, each of which sees only those before it. */
    private static final List<String> LINE =
            """
            words json labels archive
            posix process host nvml
            volume.files volume volume.plugin
            wire program request container use lease lease.text registry
            holder decision keeper recovery supply grant claim oci.lease core idle
            docker.cli docker.engine oci.root oci.spec oci.refuse oci.install
            config protocol screen web page upkeep doctor
            command.caller command.start command.complete command.hosts command.job
            command.gpu.view command.gpu.history command.gpu.show command.gpu.change command.gpu
            command.runtime command feature mesos.agent mesos.launch mesos
            kubernetes kubernetes.kubelet kubernetes.dra kubernetes.node metrics rest notify proxy daemon
            """
                    .lines()
                    .flatMap(line -> Stream.of(line.strip().split(" ")))
                    .toList();

    static final JavaClasses OURS =
            new ClassFileImporter()
                    .withImportOption(new ImportOption.DoNotIncludeTests())
                    .withImportOption(location -> !location.contains("-tests.jar"))
                    .importPackages("jnvdocker");

    @Test
    void packagesFormNoCycle() {
        slices().matching("jnvdocker.(**)").should().beFreeOfCycles().check(OURS);
    }

    @Test
    void eachPackageSeesOnlyThoseBeforeIt() {
        Set<String> wrong = new TreeSet<>();
        for (JavaClass each : OURS) {
            int place = place(each);
            for (Dependency dependency : each.getDirectDependenciesFromSelf()) {
                JavaClass target = dependency.getTargetClass();
                if (target.getPackageName().startsWith(ROOT) && place(target) > place) {
                    wrong.add(each.getName() + " -> " + target.getName());
                }
            }
        }
        assertEquals(Set.of(), wrong);
    }

    /** Each is in a directory of its own, which can be deleted with its line in the list. */
    @Test
    void onlyTheListNamesAFeature() {
        Set<String> naming = new TreeSet<>();
        Set<String> features = new TreeSet<>();
        for (JavaClass each : OURS) {
            if (each.isAssignableTo(Feature.class) && !each.isInterface()) {
                features.add(each.getPackageName().replaceAll("^(jnvdocker[.]\\w+).*", "$1"));
            }
        }
        for (JavaClass each : OURS) {
            for (Dependency dependency : each.getDirectDependenciesFromSelf()) {
                String target = dependency.getTargetClass().getPackageName();
                for (String feature : features) {
                    if (isIn(feature, target) && !isIn(feature, each.getPackageName())) {
                        naming.add(each.getName() + " -> " + feature);
                    }
                }
            }
        }
        assertEquals(
                features.stream()
                        .map(feature -> "jnvdocker.daemon.Features -> " + feature)
                        .collect(Collectors.toSet()),
                naming);
        assertEquals(Set.of("jnvdocker.kubernetes", "jnvdocker.mesos"), features);
    }

    /** The words that only Kubernetes has. */
    private static final Pattern PODS =
            Pattern.compile("[Kk]ubernetes|[Kk]ubelet|Pods?(?![a-z])|\\bpods?\\b|POD(?!MAN)");

    private static final Pattern COMMENT =
            Pattern.compile("/[*].*?[*]/|^ *//[^\n]*", Pattern.DOTALL | Pattern.MULTILINE);

    /** The files that name pods outside of their feature, by reason. */
    private static final Map<String, Set<String>> NAMES_OF_PODS =
            Map.of(
                    "the registry keeps whose a lease is, without the feature as well",
                    Set.of("Claim", "Lease", "LeaseWriter", "Origin", "Owner", "StoredOrigin"),
                    "a holder is shown, and an end explained, without the feature as well",
                    Set.of(
                            "Explanation",
                            "GpuQueue",
                            "GpuSamples",
                            "HolderJson",
                            "HolderName",
                            "HostGpus",
                            "LeaseJson",
                            "LeaseText",
                            "HolderText",
                            "Purpose"),
                    "the argument of a command may be a pod's name",
                    Set.of("GpuExtend", "GpuRelease", "GpuWhy"),
                    "a refusal is put into words for its addressee",
                    Set.of("Addressee", "Reservations", "Wait"),
                    "limits of namespaces are beside those of users",
                    Set.of("ConfiguredLimits", "DecisionLog", "QuotaText", "Subject"),
                    "CDI names of GPUs are parsed together",
                    Set.of("AccessRecords", "GpuIds", "RunCommand"),
                    "the OCI runtime is called for containers of pods",
                    Set.of(
                            "CommandParts",
                            "EngineKind",
                            "Feature",
                            "GpuWishes",
                            "PodContainers",
                            "RuntimeCheck",
                            "RuntimeCreate",
                            "RuntimeHost",
                            "RuntimeInstall",
                            "RuntimeSpec",
                            "UsersWords"),
                    "the list of features",
                    Set.of("Features"));

    /** Whoever adds a name finds a more general one, or a reason. */
    @Test
    void podsAreNamedOutsideOfTheirFeatureForAReason() throws IOException {
        Set<String> naming = new TreeSet<>();
        for (String module : List.of("labels", "native", "volume-plugin", "runtime", ".")) {
            Path sources = Project.source(module).resolve("src/main/java").normalize();
            Path feature = sources.resolve("jnvdocker/kubernetes");
            try (Stream<Path> files = Files.walk(sources)) {
                for (Path file : files.filter(it -> it.toString().endsWith(".java")).toList()) {
                    String code = COMMENT.matcher(Files.readString(file)).replaceAll("");
                    if (!file.startsWith(feature) && PODS.matcher(code).find()) {
                        naming.add(file.getFileName().toString().replace(".java", ""));
                    }
                }
            }
        }
        assertEquals(
                NAMES_OF_PODS.values().stream()
                        .flatMap(Set::stream)
                        .collect(Collectors.toCollection(TreeSet::new)),
                naming);
    }

    private static boolean isIn(String feature, String name) {
        return name.equals(feature) || name.startsWith(feature + ".");
    }

    private static int place(JavaClass each) {
        int place = LINE.indexOf(each.getPackageName().substring(ROOT.length()));
        if (place < 0) {
            throw new AssertionError(each.getName() + " is in no package of the line");
        }
        return place;
    }

    /**
     * The registry relies on its callers' facts: it reads nothing from the host itself and formats
     * no messages.
     */
    @Test
    void registryLooksAtNothing() {
        ArchRuleDefinition.noClasses()
                .that()
                .resideInAPackage("jnvdocker.registry")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(
                        "jnvdocker.process..",
                        "jnvdocker.host..",
                        "jnvdocker.use..",
                        "jnvdocker.lease.text..")
                .orShould()
                .dependOnClassesThat()
                .haveNameMatching("jnvdocker[.](posix[.]HostNames|words[.](Quote|Span))")
                .check(OURS);
    }

    /** The code that chooses GPUs is given all its input and returns data. */
    @Test
    void choiceDoesNoWorkOfItsOwn() {
        ArchRuleDefinition.noClasses()
                .that()
                .resideInAPackage("jnvdocker.lease")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("java.io..", "java.nio.file..", "java.sql..", "org.slf4j..")
                .check(OURS);
    }

    /** What shows GPUs, refuses them or offers them to a scheduler judges none by itself. */
    @Test
    void verdictsAreMadeInOnePlace() {
        ArchRuleDefinition.noClasses()
                .that()
                .resideOutsideOfPackage("jnvdocker.lease")
                .should()
                .callConstructor(Verdict.class, Gpu.class, List.class, long.class, List.class)
                .check(OURS);
    }

    @Test
    void namesOfCStopAtTheBinding() {
        ArchRuleDefinition.noClasses()
                .that()
                .resideOutsideOfPackages("jnvdocker.posix", "jnvdocker.nvml")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("com.sun.jna..")
                .check(OURS);
        ArchRuleDefinition.noClasses()
                .that()
                .resideOutsideOfPackage("jnvdocker.posix")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("jnr..", "com.kenai.jffi..")
                .check(OURS);
    }

    /** Two bindings of one call would differ in what they take and in how they fail. */
    @Test
    void noCallHasTwoBindings() {
        Set<String> covered =
                Stream.of(POSIX.class.getMethods())
                        .map(Method::getName)
                        .collect(Collectors.toSet());
        Set<String> bound = new TreeSet<>();
        for (JavaClass each : OURS) {
            if (each.isAssignableTo(Library.class)
                    && each.getPackageName().equals("jnvdocker.posix")) {
                each.getMethods().forEach(method -> bound.add(method.getName()));
            }
        }
        assertTrue(bound.contains("mount"), bound::toString);
        bound.retainAll(covered);
        assertEquals(Set.of(), bound);
    }

    /** A daemon that has nothing to do with a kubelet loads none of its classes. */
    @Test
    void gRpcStopsAtTheKubelet() {
        ArchRuleDefinition.noClasses()
                .that()
                .resideOutsideOfPackages("jnvdocker.kubernetes.kubelet", "jnvdocker.kubernetes.dra")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("io.grpc..")
                .check(OURS);
    }

    /** What reads files by itself, with the reason. All others have {@link RegularFile}. */
    private static final Map<String, String> READERS =
            Map.ofEntries(
                    Map.entry("RegularFile", "the reader"),
                    Map.entry("ForeignDirectory", "the reader below a container's root"),
                    Map.entry("CgroupDirectory", "files of the kernel"),
                    Map.entry("Daemon", "files of the kernel"),
                    Map.entry("DirectoryLock", "files of the kernel"),
                    Map.entry("DrmNodes", "files of the kernel"),
                    Map.entry("HostName", "files of the kernel"),
                    Map.entry("KernelText", "files of the kernel"),
                    Map.entry("MountSources", "files of the kernel"),
                    Map.entry("MountTable", "files of the kernel"),
                    Map.entry("NamespaceScan", "files of the kernel"),
                    Map.entry("Posix", "files of the kernel"),
                    Map.entry("ProcDirectory", "files of the kernel"),
                    Map.entry("ProcessGroup", "files of the kernel"),
                    Map.entry("SocketServers", "files of the kernel"),
                    Map.entry("StartedProgram", "files of the kernel"),
                    Map.entry("ElfFile", "parts of the driver's files"),
                    Map.entry("FileCloner", "copies the driver's files"),
                    Map.entry("LdCache", "the host's loader's, checked before"),
                    Map.entry("VolumeBuilder", "the driver's files, checked before"),
                    Map.entry("VolumeCheck", "the driver's files, checked before"),
                    Map.entry("CheckpointFile", "a kubelet's, streamed and bounded"),
                    Map.entry("ContainerTexts", "an engine's, checked before"),
                    Map.entry("ForeignRuntimes", "others' programs, checked before"),
                    Map.entry("ImageFiles", "an engine's, checked before"),
                    Map.entry("RuntimeUsers", "an engine's, checked before"),
                    Map.entry("RuntimeDirectory", "a Mesos agent's, for one launch"),
                    Map.entry("RuntimeProgram", "an engine's program, checked before"),
                    Map.entry("DirectoryArchive", "only writes"),
                    Map.entry("Manifest", "only syncs"),
                    Map.entry("Pressure", "the kernel's"),
                    Map.entry("PrivateFile", "a lock"),
                    Map.entry("WholeFile", "only writes and syncs"));

    private static final Set<String> READING =
            Set.of(
                    "lines",
                    "newBufferedReader",
                    "newByteChannel",
                    "newInputStream",
                    "readAllBytes",
                    "readAllLines",
                    "readString");

    /** A pipe has no end, a device is endless, and a file of others says what they like. */
    @Test
    void filesHaveOneReader() {
        Set<String> found = new TreeSet<>();
        for (JavaClass each : OURS) {
            boolean reads =
                    each.getConstructorCallsFromSelf().stream()
                                    .anyMatch(call ->
                                            OPENERS.contains(call.getTargetOwner().getName()))
                            || each.getMethodCallsFromSelf().stream()
                                    .anyMatch(ArchitectureTest::isReading)
                            || each.getMethodReferencesFromSelf().stream()
                                    .anyMatch(ArchitectureTest::isReading);
            if (reads && !isTest(each)) {
                found.add(each.getName().replaceAll("^.*[.]|[$].*", ""));
            }
        }
        assertEquals(new TreeSet<>(READERS.keySet()), found);
    }

    /** Whether a class is of the tests of another module, which these use. */
    private static boolean isTest(JavaClass each) {
        String source = each.getSource().orElseThrow().getUri().toString();
        return source.contains("-tests.jar") || source.contains("/test-classes/");
    }

    /** A claim's secret is a random number: whoever guesses it has the claim's GPUs. */
    @Test
    void randomNumbersAreSecure() {
        Set<String> guessable =
                Set.of(
                        "java.util.Random",
                        "java.util.SplittableRandom",
                        "java.util.concurrent.ThreadLocalRandom");
        Set<String> found = new TreeSet<>();
        for (JavaClass each : OURS) {
            for (Dependency dependency : each.getDirectDependenciesFromSelf()) {
                if (guessable.contains(dependency.getTargetClass().getName()) && !isTest(each)) {
                    found.add(each.getName());
                }
            }
        }
        assertEquals(Set.of(), found);
    }

    private static final Set<String> OPENERS =
            Set.of(
                    "java.io.FileInputStream",
                    "java.io.FileReader",
                    "java.io.RandomAccessFile",
                    "java.util.Scanner");

    private static boolean isReading(JavaCodeUnitAccess<?> call) {
        String owner = call.getTargetOwner().getName();
        return owner.equals("java.nio.file.Files") && READING.contains(call.getName())
                || owner.equals("java.nio.channels.FileChannel") && call.getName().equals("open");
    }

    /** Makers of threads whose work ends, or whose executor makes another one after a failure. */
    private static final Set<String> THREADS_FOR_TASKS =
            Set.of(
                    "ApiServer",
                    "BriefTasks",
                    "Competitors",
                    "Daemon",
                    "Deadlines",
                    "DeviceScan",
                    "EngineWatch",
                    "EventFeed",
                    "Examination",
                    "FirstVolume",
                    "GpuMonitor",
                    "GpuWaker",
                    "GrpcSockets",
                    "HolderStops",
                    "HostPaths",
                    "LeaseParts",
                    "MesosFeature",
                    "OciKeeper",
                    "Pace",
                    "PluginCalls",
                    "PluginServer",
                    "RegistryDatabase",
                    "ShortProcess",
                    "SlowQueries",
                    "VerbThreads",
                    "WebConnection",
                    "WebServer",
                    "WebThreads");

    /** A lease begins, changes and ends by one class, in the transaction of one decision. */
    @Test
    void leasesAreWrittenInOnePlace() throws IOException {
        Map<String, Set<String>> writers = new TreeMap<>();
        Pattern write = Pattern.compile("\"(INSERT INTO|UPDATE|DELETE FROM) (lease|lease_gpu)\\b");
        try (Stream<Path> files =
                Files.walk(Project.source("runtime").resolve("src/main/java").normalize())) {
            for (Path file : files.filter(it -> it.toString().endsWith(".java")).toList()) {
                Matcher found = write.matcher(Files.readString(file));
                while (found.find()) {
                    writers.computeIfAbsent(found.group(1), _ -> new TreeSet<>())
                            .add(file.getFileName().toString());
                }
            }
        }
        assertEquals(Set.of("LeaseWriter.java"), writers.get("INSERT INTO"));
        // Times follow a clock that is set; what has ended is history, which is deleted in time.
        assertEquals(Set.of("BootTime.java", "LeaseWriter.java"), writers.get("UPDATE"));
        assertEquals(Set.of("HistoryRows.java"), writers.get("DELETE FROM"));
    }

    /**
     * An end is compared with the lease that its caller has seen, by one method of the Keeper. Only
     * the decision to begin a holder's next lease ends its last one by itself, in one step.
     */
    @Test
    void leasesEndByTheKeeper() {
        assertEquals(Set.of("Keeper#endAsSeen"), callers(LeaseWriter.class, "end"));
        assertEquals(
                Set.of("ClaimStarts$Start#outcome", "Keeper#write", "OpenRequest#begin"),
                callers(Keeper.class, "endAsSeen"));
    }

    /** The methods that call one of a class. */
    private static Set<String> callers(Class<?> owner, String method) {
        JavaClass its = OURS.get(owner);
        return Stream.concat(
                        its.getMethodCallsToSelf().stream(),
                        its.getMethodReferencesToSelf().stream())
                .filter(call -> call.getName().equals(method))
                .map(call ->
                        call.getOriginOwner().getName().replaceFirst(".*[.]", "")
                                + "#"
                                + call.getOrigin().getName())
                .collect(Collectors.toSet());
    }

    /** A request that is decided elsewhere would not see unmanaged uses, or those who wait. */
    @Test
    void leasesBeginByABid() {
        assertEquals(
                // The last gives one to a pod that runs without.
                Set.of(
                        "ClaimStarts$Start#begin",
                        "LeaseWriter#begin",
                        "OpenRequest#begin",
                        "PodBid#begin",
                        "PodReport#update"),
                callers(LeaseWriter.class, "begin"));
        assertEquals(Set.of("PodBid#promise"), callers(LeaseWriter.class, "promise"));
    }

    /** Its holder changes when docker, a pod or a client takes it over, or more is learnt of it. */
    @Test
    void leasesChangeTheirHoldersInFewPlaces() {
        assertEquals(
                Set.of(
                        "ClaimStarts$Start#goOn",
                        "LeaseWriter#pass",
                        "OciKeeper#began",
                        "OciKeeper#ranBriefly",
                        "PodBid#goesOn",
                        "PodReport#learn",
                        "Recovery#runs",
                        "Reservations#becomes"),
                callers(LeaseWriter.class, "hold"));
        assertEquals(Set.of("OpenRequest#begin"), callers(LeaseWriter.class, "pass"));
    }

    /** A loop that has ended is noticed by nobody: leases would end no more, say. */
    @Test
    void threadsThatNeverEndSurviveAnyFailure() {
        ArchRuleDefinition.noClasses()
                .that(
                        DescribedPredicate.describe(
                                "make threads that never end",
                                made ->
                                        !THREADS_FOR_TASKS.contains(
                                                        made.getName()
                                                                .replaceAll("^.*[.]|[$].*", ""))
                                                && !made.isEquivalentTo(PermanentThread.class)))
                .should()
                .callMethod(Thread.class, "ofPlatform")
                .orShould()
                .callMethod(Thread.class, "ofVirtual")
                .orShould()
                .callMethod(Thread.class, "startVirtualThread", Runnable.class)
                .check(OURS);
    }

    /** Threads that read a stream, or have more to wait for than a period and a change. */
    private static final Set<String> LOOPS_OF_THEIR_OWN =
            Set.of(
                    "FirstVolume",
                    "GpuMonitor",
                    "HeldStart",
                    "KubernetesParts",
                    "OciKeeper",
                    "Periodic",
                    "SlicePublisher",
                    "SocketServer");

    /** One loop knows when it is to be done again, what wakes it, and when it is over. */
    @Test
    void workThatIsDoneAgainIsPeriodic() {
        Set<String> loops = new TreeSet<>();
        for (String kind : List.of("platform", "virtual")) {
            callers(PermanentThread.class, kind)
                    .forEach(it -> loops.add(it.replaceAll("[$#].*", "")));
        }
        loops.removeIf(it -> it.endsWith("Test"));
        assertEquals(LOOPS_OF_THEIR_OWN, loops);
    }

    private static final int LONG = 400;

    /** Files that are longer, with the reason. */
    private static final Map<String, String> LONG_FOR_A_REASON =
            Map.ofEntries(
                    Map.entry("ClaimVolumes.java", "the verbs of one volume, with their refusals"),
                    Map.entry("GpuMonitor.java", "one driver, queried in turns"),
                    Map.entry("Keeper.java", "all that ends a lease"),
                    Map.entry("ProcDirectory.java", "one method for each question"),
                    Map.entry("Reconciler.java", "one comparison"),
                    Map.entry("RegistryDatabase.java", "one file's life"),
                    Map.entry("StartContainer.java", "one command's way"));

    /** A reader who has met one of them would take another for it. */
    @Test
    void namesOfClassesDiffer() {
        Map<String, List<String>> byName =
                OURS.stream()
                        .filter(it -> it.isTopLevelClass() && !it.getSimpleName().isEmpty())
                        .filter(it -> !it.getSimpleName().equals("package-info"))
                        .collect(
                                Collectors.groupingBy(
                                        JavaClass::getSimpleName,
                                        TreeMap::new,
                                        Collectors.mapping(
                                                JavaClass::getName, Collectors.toList())));
        byName.values().removeIf(names -> names.size() == 1);
        assertEquals(Map.of(), byName);
    }

    @Test
    void filesAreShort() throws IOException {
        Map<String, Long> found = new TreeMap<>();
        for (String module : List.of("labels", "native", "volume-plugin", "runtime", ".")) {
            Path sources = Project.source(module).resolve("src/main/java").normalize();
            try (Stream<Path> files = Files.walk(sources)) {
                for (Path file : files.filter(it -> it.toString().endsWith(".java")).toList()) {
                    try (Stream<String> lines = Files.lines(file)) {
                        long count = lines.count();
                        if (count > LONG) {
                            found.put(file.getFileName().toString(), count);
                        }
                    }
                }
            }
        }
        found.keySet().removeAll(LONG_FOR_A_REASON.keySet());
        assertEquals(Map.of(), found);
    }

    private static final Pattern PLACE = Pattern.compile("`(?!Class#)([A-Z]\\w+)#(\\w+)`");

    /** Finds each name on the page, as a reader that follows it. */
    @Test
    void pageNamesWhatThereIs() throws IOException {
        String page =
                Files.readString(Project.source("src").resolve("site/markdown/architecture.md"));
        Set<String> missing = new TreeSet<>();
        Matcher place = PLACE.matcher(page);
        int places = 0;
        while (place.find()) {
            places++;
            boolean found = false;
            for (JavaClass each : OURS) {
                found |=
                        each.getSimpleName().equals(place.group(1))
                                && each.getAllMembers().stream()
                                        .anyMatch(it -> it.getName().equals(place.group(2)));
            }
            if (!found && !place.group(1).endsWith("Test")) {
                missing.add(place.group());
            }
        }
        assertTrue(places > 50, () -> page);
        assertEquals(Set.of(), missing);
    }

    /** Code that has changed may leave a fault behind that cannot be made any more. */
    @Test
    void faultsThatTestsShouldFindCanBeMade() {
        Command.Result made =
                Command.of(Project.root().resolve("tests/mutations"), "--check").run();
        assertEquals("", made.out());
        assertEquals(0, made.exitCode(), made::toString);
    }
}
