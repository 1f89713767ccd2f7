package jnvdocker.daemon;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.config.ConfigTables;
import jnvdocker.config.StartException;
import jnvdocker.kubernetes.KubernetesPolicy;
import jnvdocker.kubernetes.node.ConfiguredKubernetes;
import jnvdocker.lease.Allowance;
import jnvdocker.lease.BookingRule;
import jnvdocker.lease.LeasePolicy;
import jnvdocker.lease.Limits;
import jnvdocker.lease.ObserverPolicy;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Rule;
import jnvdocker.lease.Subject;
import jnvdocker.lease.TestingLeases;
import jnvdocker.lease.text.ContainerOwner;
import jnvdocker.mesos.agent.MesosPolicy;
import jnvdocker.request.GpuRequest;
import jnvdocker.use.ImageNames;
import jnvdocker.web.ListenAddress;
import jnvdocker.words.FailedException;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;

@Attack(
        by = "an administrator",
        what = "keeps the history for a day, with `hours_per_week`",
        result = "refused with both keys; before, 4.9 hours became 0.0")
class ConfigTest {
    private static final Path FILE = TestingConfig.FILE;
    private static final Config DEFAULT =
            new Config(
                    new GpuRequest.All(),
                    false,
                    TestingLeases.policy(OptionalInt.empty(), Optional.empty(), List.of(), false),
                    List.of(),
                    List.of(),
                    "",
                    Optional.of(Duration.ofDays(400)),
                    Optional.empty(),
                    List.of(),
                    List.of(),
                    false,
                    true,
                    new RuntimePolicy(
                            false,
                            new GpuRequest.All(),
                            true,
                            Optional.empty(),
                            true,
                            Set.of(),
                            Set.of("NVIDIA-GPU", "GPU"),
                            ObserverPolicy.NONE),
                    new WebPolicy(Optional.empty(), false),
                    new ConfigTables(
                            Map.of(
                                    MesosPolicy.TABLE,
                                    new MesosPolicy(List.of(), Duration.ofSeconds(30)),
                                    ConfiguredKubernetes.TABLE,
                                    new KubernetesPolicy(
                                            false,
                                            "nvidia.com/gpu",
                                            false,
                                            Path.of("/var/lib/kubelet"),
                                            true,
                                            List.of(),
                                            Optional.empty()))));

    @TempDir Path directory;

    @ParameterizedTest
    @ValueSource(strings = {"", "\n\n", "# nothing but words\n", "  # a\r\n# b", "\t"})
    void configThatSaysNothingIsTheDefault(String text) throws StartException {
        assertEquals(DEFAULT, parse(text));
    }

    @Test
    void otherHostsAreNotListenedTo() {
        var refused =
                assertThrows(
                        StartException.class, () -> parse("# TCP\nlisten = \"0.0.0.0:3476\"\n"));
        assertTrue(
                refused.getMessage()
                        .startsWith(
                                FILE
                                        + ":2: listen = '0.0.0.0:3476' can be reached from other"
                                        + " hosts"),
                refused.getMessage());
    }

    private static <T> Rule<T> rule(Subject subject, T value, String key, int line) {
        return new Rule<>(subject, value, key, FILE + ":" + line);
    }

    @Test
    void everyKeyIsRead() throws StartException {
        assertEquals(
                new Config(
                        new GpuRequest.None(),
                        true,
                        new LeasePolicy(
                                new Limits(
                                        List.of(
                                                rule(Subject.UNKNOWN, 2, "max_gpus_unknown", 19),
                                                rule(Subject.EVERYBODY, 4, "limits.*.gpus", 51),
                                                rule(
                                                        Subject.NAMESPACES,
                                                        3,
                                                        "max_gpus_per_namespace",
                                                        20)),
                                        List.of(),
                                        List.of(),
                                        List.of(),
                                        List.of(
                                                rule(
                                                        Subject.EVERYBODY,
                                                        Duration.ofHours(12),
                                                        "limits.*.max_wait",
                                                        51)),
                                        List.of(),
                                        List.of(),
                                        List.of()),
                                10,
                                List.of("3", "GPU-5c1a1003", "0000:3b:00.0"),
                                List.of("1", "GPU-5c1a2006"),
                                true,
                                Optional.of(Duration.ofMinutes(15)),
                                new BookingRule(BookingRule.Kind.REFUSE, Duration.ofDays(3))),
                        List.of("lab/monitor", "watcher"),
                        List.of("/opt/gpu/lib64"),
                        "gpu",
                        Optional.of(Duration.ofDays(90)),
                        Optional.of(Duration.ofHours(2)),
                        List.of(Path.of("/etc/jnvdocker/notify.d")),
                        List.of("lab1", "alice@lab2.example"),
                        true,
                        false,
                        new RuntimePolicy(
                                true,
                                new GpuRequest.Count(1),
                                false,
                                Optional.of(Path.of("/usr/bin/crun")),
                                false,
                                Set.of(ContainerOwner.Trust.DIRECTORY),
                                Set.of("A100"),
                                new ObserverPolicy(
                                        new ImageNames(Set.of("dcgm-exporter")),
                                        Set.of("monitor"))),
                        new WebPolicy(Optional.of(ListenAddress.parse("127.0.0.1:3476")), true),
                        new ConfigTables(
                                Map.of(
                                        MesosPolicy.TABLE,
                                        new MesosPolicy(
                                                List.of("0", "GPU-5c1a2006"),
                                                Duration.ofSeconds(40)),
                                        ConfiguredKubernetes.TABLE,
                                        new KubernetesPolicy(
                                                true,
                                                "lab.example/gpu",
                                                true,
                                                Path.of("/srv/kubelet"),
                                                false,
                                                List.of("2", "GPU-5c1a3009"),
                                                Optional.of(
                                                        new KubernetesPolicy.Cluster(
                                                                Path.of(
                                                                        "/etc/jnvdocker/kubeconfig"),
                                                                Optional.of("gpu-3"))))))),
                parse(
                        """
                        # The lab's policy
                        default_gpus = "none" # nobody gets one unasked
                        max_waits_per_user = 10
                        cordon = [3, "GPU-5c1a1003", "0000:3b:00.0"]
                        shareable = [1, "GPU-5c1a2006"]
                        notify = ["/etc/jnvdocker/notify.d"]
                        hold_after_stop = "15m"
                        bookings = "refuse"
                        max_booking = "3d"
                        hosts = ["lab1", "alice@lab2.example"]
                        stop_overdue = true
                        allow_privileged = true
                        allow_unmanaged = true
                        ignore = ["lab/monitor", 'watcher', ""]
                        driver_directories = ["/opt/gpu/lib64"]
                        socket_group = 'gpu'
                        keep_history = "90d"
                        idle_warn = "2h"
                        max_gpus_unknown = 2
                        max_gpus_per_namespace = 3
                        env_selects = false
                        listen = "127.0.0.1:3476"
                        listen_labels = true

                        [runtime]
                        image_need = "none"
                        all_means = "1"
                        busy_restart = "refuse"
                        real = "/usr/bin/crun"
                        swarm_resources = ["A100"]
                        observers = ["dcgm-exporter", "user:monitor"]
                        cdi_nvidia = false
                        trust_owner = ["directory"]

                        [kubernetes]
                        enabled = true
                        resource = "lab.example/gpu"
                        resource_per_model = true
                        kubelet_dir = "/srv/kubelet"
                        driver = "dra"
                        kubeconfig = "/etc/jnvdocker/kubeconfig"
                        node = "gpu-3"
                        cdi = false
                        gpus = ["2", "GPU-5c1a3009"]

                        [mesos]
                        gpus = ["0", "GPU-5c1a2006"]
                        wait = "40s"

                        [limits]
                        "*" = { gpus = 4, max_wait = "12h" }
                        """));
    }

    /** As they are printed. */
    @Test
    void listsAndRangesOfGpusMeanEachOfThem() throws StartException {
        Config config = parse("cordon = ['2,4-6']\nmesos.gpus = ['0-1', '3']");
        assertEquals(List.of("2", "4", "5", "6"), config.policy().cordon());
        assertEquals(List.of("0", "1", "3"), config.features().get(MesosPolicy.TABLE).gpus());
    }

    @Test
    void defaultGpusAreWhatTheOptionTakes() throws StartException {
        assertEquals(new GpuRequest.Count(2), parse("default_gpus = '2'").defaultGpus());
        assertEquals(new GpuRequest.Count(2), parse("default_gpus = 2").defaultGpus());
        assertEquals(
                "count=2,memory=40G,model=A100",
                parse("default_gpus = 'count=2,memory=40G,model=A100'").defaultGpus().toString());
        assertEquals(
                new GpuRequest.Devices(List.of("0", "1")),
                parse("default_gpus = 'device=0,1'").defaultGpus());
    }

    @Test
    void historyIsKeptForATimeOrForever() throws StartException {
        assertEquals(Optional.of(Duration.ofDays(1)), parse("keep_history = '1d'").keepHistory());
        assertEquals(Optional.of(Duration.ofDays(14)), parse("keep_history = '2w'").keepHistory());
        assertEquals(Optional.of(Duration.ofDays(2)), parse("keep_history = '48h'").keepHistory());
        assertEquals(
                Optional.of(Duration.ofHours(36)), parse("keep_history = '1d12h'").keepHistory());
        assertEquals(Optional.empty(), parse("keep_history = 'forever'").keepHistory());
    }

    /** The hours are added up of leases that have ended. */
    @Test
    void historyIsAsLongAsTheLimitsLookBack() throws StartException {
        String week =
                "\n[limits]\n'@a' = { hours_per_week = 'any' }\n'*' = { hours_per_week = 40 }\n";
        String day = "\n[limits]\nbob = { hours_per_day = 4 }\n";
        String keep = "keep_history = '%s'";
        refusesHistory("1d", "limits.*.hours_per_week in ", "8d", keep + week);
        refusesHistory("7d", "limits.*.hours_per_week in ", "8d", keep + week);
        refusesHistory("1d", "limits.bob.hours_per_day in ", "2d", keep + day);
        refusesHistory(
                "8d",
                "limits.*.hours_per_week in ",
                "15d",
                "hold_after_stop = '7d'\n" + keep + week);
        refusesHistory("1d", "hold_after_stop", "2d", "hold_after_stop = '2d'\n" + keep);
        for (String good : List.of("8d", "400d", "forever")) {
            parse(keep.formatted(good) + week);
        }
        parse(keep.formatted("2d") + day);
        parse(keep.formatted("1d") + "\n[limits]\nbob = { hours_per_week = 'any', gpus = 1 }\n");
        parse(week);
    }

    private static void refusesHistory(String time, String by, String least, String text) {
        StartException refused =
                assertThrows(StartException.class, () -> parse(text.formatted(time)));
        String message = refused.getMessage();
        assertTrue(
                message.contains("keep_history = '" + time + "' is too short for " + by), message);
        assertTrue(message.endsWith("; write " + least + " or more"), message);
    }

    /** Each of the values is refused, with the line, the spelling and what would be right. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            textBlock =
                    """
                    default_gpus = 'VALUE' | ; some; device=; all,none; with=train-7 | default_gpus = 'VALUE' is not a valid value: write all, none, a number, device=<ids> or count=2,memory=40G
                    keep_history = 'VALUE' | 365; ; a year | keep_history = 'VALUE' is not a duration; write one as in 90s, 30m or 1d12h, or write forever
                    keep_history = VALUE | 365; -1 | keep_history = 'VALUE' is not a duration; write one as in 90s, 30m or 1d12h, or write forever
                    keep_history = 'VALUE' | 23h59m59s; 90s; 0d; 36501d | keep_history = 'VALUE' is not between 1d and 36500d; write another duration, or write forever
                    max_gpus_unknown = VALUE | 0; -1; -2147483648 | max_gpus_unknown = VALUE is not how many GPUs containers of unknown users may have in all: write 1 or more, or leave the key out, for that of each user
                    max_gpus_unknown = VALUE | 2.5; 'many'; [1]; 99999999999; true | the value of 'max_gpus_unknown' is of the wrong kind; write a whole number
                    limits.'*'.gpus = VALUE | -1; -2147483648 | limits.*.gpus = VALUE is too few: write 0 or more, or 'any'
                    limits.'*'.max_wait = 'VALUE' | ; 12; forever; 12 h | limits.*.max_wait = 'VALUE' is not a duration; write one as in 90s, 30m or 1d12h, or leave the key out
                    limits.'*'.max_wait = 'VALUE' | 0m; 59s; 36501d | limits.*.max_wait = 'VALUE' is not between 1m and 36500d; write another duration, or leave the key out
                    cordon = ['0', 'VALUE'] | all; none; GPU 1; ../0; -1; A100; 3b:00 | cordon = 'VALUE' is not a GPU's index, UUID or PCI address: write it as 'jnvdocker gpu ls' shows it
                    mesos.gpus = ['VALUE'] | all; none; MIG/1; /dev/nvidia0 | mesos.gpus = 'VALUE' is not a GPU's index, UUID or PCI address: write it as 'jnvdocker gpu ls' shows it
                    mesos.wait = 'VALUE' | ; 30; -1s; forever | mesos.wait = 'VALUE' is not a duration; write one as in 90s, 30m or 1d12h, and keep well below the agent's --executor_registration_timeout
                    mesos.wait = 'VALUE' | 46s; 1m; 2h; 1d | mesos.wait = 'VALUE' is not between 0s and 45s; write another duration, and keep well below the agent's --executor_registration_timeout
                    kubernetes.resource = 'VALUE' | gpu | kubernetes.resource = 'VALUE' is not the name of an extended resource; write a domain and a name, as nvidia.com/gpu
                    kubernetes.kubelet_dir = 'VALUE' | kubelet | kubernetes.kubelet_dir = 'VALUE' is not an absolute path: write that of the kubelet's directory
                    idle_warn = 'VALUE' | 4m; 0s; 36501d | idle_warn = 'VALUE' is not between 5m and 36500d; write another duration, or leave the key out
                    """)
    void otherValuesAreRefusedWithTheSpelling(String line, String values, String refusal) {
        for (String value : values.split("; ?")) {
            assertEquals(
                    FILE + ":2: " + refusal.replace("VALUE", value),
                    refusal("# policy\n" + line.replace("VALUE", value)));
        }
    }

    private static Duration longestWait(Config config) {
        return allowance(config, "alice").waits().orElseThrow().limit();
    }

    private static Allowance allowance(Config config, String user, String... groups) {
        return config.policy().limits().of(new Owner(1000, user), Set.of(groups));
    }

    @Test
    void aLongestWaitIsAnyLengthOfTime() throws StartException {
        assertEquals(Duration.ofSeconds(90), longestWait(parse("limits.'*'.max_wait = '90s'")));
        assertEquals(Duration.ofHours(36), longestWait(parse("limits.'*'.max_wait = '1d12h'")));
    }

    @Test
    void unknownKeyIsNamedWithItsLineAndSimilarOnes() {
        String unknown = FILE + ":3: unknown key ";
        assertEquals(
                unknown + "'default_gpu'; did you mean default_gpus?",
                refusal("# policy\n\ndefault_gpu = 'all'\n"));
        assertEquals(
                unknown + "'Cordoned'; did you mean cordon?",
                refusal("# policy\n\nCordoned = []\n"));
        assertEquals(
                unknown + "'max_gpu'; did you mean max_gpus_per_namespace or max_gpus_unknown?",
                refusal("# policy\n\nmax_gpu = 1\n"));
        assertEquals(
                unknown + "'max_gpu_unknown'; did you mean max_gpus_unknown?",
                refusal("# policy\n\nmax_gpu_unknown = 1\n"));
        assertEquals(
                unknown + "'gpus'; move 'gpus' below a line [mesos] or [kubernetes]",
                refusal("# policy\n\ngpus = 1\n"));
        assertEquals(
                unknown + "'wait for ever'; jnvdocker.toml(5) has the known ones",
                refusal("# policy\n\n'wait for ever' = 1\n"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "Allow_Privileged = true",
                "  \"max wait\"=1",
                "'a.*b' = [1]",
                "[limit]",
                "a.b = 1"
            })
    void unknownKeyIsFoundHoweverItIsSpelled(String line) {
        String text = refusal("\n" + line);
        assertTrue(text.startsWith(FILE + ":2: unknown key"), text);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "allow_privileged = 'perhaps'",
                "allow_privileged = []",
                "allow_privileged = 1979-05-27",
                "default_gpus = ['0', '1']",
                "default_gpus = {device = 0}",
                "socket_group = [[]]",
                "keep_history = {days = 90}",
                "ignore = 'Xorg'",
                "ignore = [['Xorg']]",
                "ignore = {name = 1}",
                "mesos.gpus = '0'",
                "mesos.wait = [30]",
            })
    void valueOfTheWrongKindIsNamedWithItsLine(String line) {
        String key = line.split(" ")[0];
        String kind =
                switch (key) {
                    case "allow_privileged" -> "true or false";
                    case "ignore", "mesos.gpus" -> "a list, as [\"name\", \"another\"]";
                    default -> "text in quotes";
                };
        assertEquals(
                FILE + ":2: the value of '" + key + "' is of the wrong kind; write " + kind,
                refusal("# policy\n" + line));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "default_gpus",
                "default_gpus = ",
                "default_gpus = all",
                "default_gpus = 'all",
                "default_gpus = 'all' 'none'",
                "= 'all'",
                "[",
                "\0",
                "default_gpus = 'a'\u001b[2J",
                "socket_group = '''",
            })
    void whatIsNoTomlIsNamedWithItsLine(String line) {
        String text = refusal("# policy\n" + line);
        assertTrue(text.startsWith(FILE + ":2: "), text);
    }

    @Test
    void keyThatIsThereTwiceIsRefused() {
        String text = refusal("allow_privileged = true\nallow_privileged = false\n");
        assertEquals(FILE + ":2: allow_privileged previously defined at line 1, column 1", text);
    }

    @Test
    void numbersAreBounded() {
        refusal("default_gpus = " + "9".repeat(100_000));
        refusal("allow_privileged = 1e" + "9".repeat(1000));
    }

    @Test
    void fileThatNeedNotBeThereIsTheDefault() throws IOException {
        assertEquals(List.of(), TestingConfig.read(directory.resolve("none.toml"), false).ignore());
        assertThrows(
                IOException.class, () -> TestingConfig.read(directory.resolve("none.toml"), true));
    }

    @Test
    void fileIsReadWhetherItIsNamedOrNot() throws IOException {
        Path file = Files.writeString(directory.resolve("config.toml"), "socket_group = 'lab'");
        assertEquals("lab", TestingConfig.read(file, false).socketGroup());
        assertEquals("lab", TestingConfig.read(file, true).socketGroup());
    }

    @Test
    void filesBesideItOverrideItInTheOrderOfTheirNames() throws IOException {
        Path file = directory.resolve("config.toml");
        Path beside = Files.createDirectory(directory.resolve("config.d"));
        Files.writeString(
                file, "default_gpus = 1\nlimits.'*'.max_wait = '1h'\n[runtime]\nall_means = 1\n");
        Files.writeString(beside.resolve("b.toml"), "default_gpus = 3\n");
        Files.writeString(
                beside.resolve("a.toml"), "default_gpus = 2\n[runtime]\nimage_need = 'none'\n");
        Files.writeString(beside.resolve("c.toml~"), "default_gpus = 9\n");
        Files.writeString(beside.resolve(".d.toml"), "default_gpus = 9\n");
        Config config = TestingConfig.read(file, true);
        assertEquals(new GpuRequest.Count(3), config.defaultGpus());
        assertEquals(Duration.ofHours(1), longestWait(config));
        assertTrue(config.runtime().imagesGetNone());
        assertEquals(new GpuRequest.Count(1), config.runtime().allMeans());
        Files.delete(file);
        assertEquals(new GpuRequest.Count(3), TestingConfig.read(file, false).defaultGpus());
        Files.writeString(beside.resolve("a.toml"), "\nlimits.'*'.max_wait = 1\n");
        assertEquals(
                beside.resolve("a.toml") + ":2: limits.*.max_wait = ",
                refusalOf(file).replaceFirst("(max_wait = ).*", "$1"));
    }

    private static String refusalOf(Path file) {
        return assertTimeoutPreemptively(
                Duration.ofSeconds(30),
                () ->
                        assertThrows(FailedException.class, () -> TestingConfig.read(file, false))
                                .getMessage());
    }

    @ParameterizedTest
    @ValueSource(strings = {"config.toml", "config.d/one.toml"})
    void fileThatOthersMayWriteIsRefused(String name) throws IOException {
        Path file = directory.resolve(name);
        Files.createDirectories(file.getParent());
        Files.writeString(file, "[runtime]\nreal = '/tmp/mine'\n");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r--rw-"));
        assertEquals(
                file
                        + " may be written by users other than root, who could make root run"
                        + " anything; check its content, then run: chown root: "
                        + file
                        + " && chmod go-w "
                        + file,
                refusalOf(directory.resolve("config.toml")));
    }

    @ParameterizedTest
    @ValueSource(strings = {".", "config.d"})
    void directoryThatOthersMayWriteIsRefused(String name) throws IOException {
        Path open = Files.createDirectories(directory.resolve(name)).toRealPath();
        Files.writeString(open.resolve("config.toml"), "");
        Files.setPosixFilePermissions(open, PosixFilePermissions.fromString("rwxr-xrwx"));
        String refusal = refusalOf(directory.resolve("config.toml"));
        assertTrue(refusal.startsWith("users other than root can write to " + open), refusal);
    }

    @Test
    @Tag("root")
    void fileOfAnotherUserIsRefused() throws IOException {
        Path file = Files.writeString(directory.resolve("config.toml"), "");
        Files.setAttribute(file, "unix:uid", 4243);
        String refusal = refusalOf(file);
        assertTrue(refusal.startsWith(file + " belongs to uid 4243, who could"), refusal);
    }

    @Test
    void whatIsNoFileIsRefusedAtOnceAndNamed() throws Exception {
        Path file = directory.resolve("config.toml");
        assertEquals(0, new ProcessBuilder("mkfifo", file.toString()).start().waitFor());
        assertEquals(
                file + " is a named pipe, where a regular file should be; move it away",
                refusalOf(file));
        Files.delete(file);
        Files.createDirectory(file);
        assertEquals(
                file + " is a directory, where a regular file should be; move it away",
                refusalOf(file));
        Files.delete(file);
        Files.createSymbolicLink(file, Path.of("/nowhere/config.toml"));
        assertEquals(
                file
                        + " is a link to /nowhere/config.toml, which is not there; restore that"
                        + " file, or remove the link",
                refusalOf(file));
        Files.delete(file);
        Path beside = Files.createFile(directory.resolve("config.d"));
        assertEquals(beside + " is not a directory; move it away", refusalOf(file));
        Files.delete(beside);
        Files.writeString(file, "\ufeffdefault_gpus = 1\n");
        assertTrue(refusalOf(file).startsWith(file + " begins with a byte order mark; save it"));
    }

    @Test
    void hugeFileIsRefusedUnread() throws IOException {
        Path file = Files.writeString(directory.resolve("big"), "#".repeat((1 << 20) + 1));
        assertTrue(refusalOf(file).startsWith(file + " is longer than"), refusalOf(file));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "[runtime]\\nimage_neds = 1 | :2: unknown key 'runtime.image_neds'; known are"
                        + " [all_means, busy_restart, cdi_nvidia, image_need, observers, real,"
                        + " swarm_resources, trust_owner]",
                "[runtime]\\nobservers = ['a', 'user:'] | :2: runtime.observers = 'user:' names"
                        + " neither an image nor a user; write dcgm-exporter, or user:alice",
                "[runtime]\\nimage_need = 'all' | :2: runtime.image_need = 'all' is not a valid"
                        + " value: write default_gpus or none",
                "[runtime]\\nall_means = 'none' | :2: runtime.all_means = 'none' is not a valid"
                        + " value: write all or a number",
                "[runtime]\\n\\nreal = 'runc' | :3: runtime.real = 'runc' is not an absolute path:"
                        + " write that of runc or crun",
                "[kubernetes]\\nmax_gpus_per_user = 2 | :2: unknown key"
                        + " 'kubernetes.max_gpus_per_user'; write \"*\" = { gpus = 2 } below a line"
                        + " [limits]",
                "[kubernetes]\\nmax_gpus_unknown = 2 | :2: unknown key"
                        + " 'kubernetes.max_gpus_unknown'; move 'max_gpus_unknown' above the first"
                        + " line in brackets",
                "max_wait = '1h' | :1: unknown key 'max_wait'; write \"*\" = { max_wait = \"12h\" }"
                        + " below a line [limits]",
                "kubernetes_gpus = [1] | :1: unknown key 'kubernetes_gpus'; write gpus below a line"
                        + " [kubernetes]",
                "[runtime]\\n[kubernetes]\\nreal = '/x' | :3: unknown key 'kubernetes.real'; move"
                        + " 'real' below a line [runtime]",
                "enabled = true | :1: unknown key 'enabled'; move 'enabled' below a line"
                        + " [kubernetes]",
                "runtime = 1 | :1: 'runtime' is a table; write its keys below a line [runtime]",
                "max_gpus_unknown = 0 | :1: max_gpus_unknown = 0 is not how many GPUs containers of"
                    + " unknown users may have in all: write 1 or more, or leave the key out, for"
                    + " that of each user"
            })
    void tableOfTheRuntimeIsChecked(String text, String refusal) {
        assertEquals(FILE + refusal, refusal(text.replace("\\n", "\n")));
    }

    @Test
    void nestingIsBounded() {
        String tooDeep =
                FILE + ":2: Nesting is too deep (more than 128 levels of tables and arrays)";
        assertEquals(tooDeep, refusal("\nx = " + "[".repeat(100_000)));
        assertEquals(tooDeep, refusal("\nx" + ".y".repeat(100_000) + " = 1"));
    }

    @Test
    void whatIsQuotedIsShortAndHarmless() {
        assertEquals(
                FILE
                        + ":1: unknown key 'a\\u{a}b\\u{1b}[2J'; jnvdocker.toml(5) has the known"
                        + " ones",
                refusal("\"a\\nb\\u001b[2J\" = 1"));
        assertTrue(refusal("x".repeat(3_000) + " = 1").length() < 300);
        assertTrue(refusal("default_gpus = '" + "x".repeat(3_000) + "'").length() < 300);
        assertTrue(refusal("default_gpus = 0x" + "f".repeat(3_000)).length() < 300);
    }

    @Test
    void lineIsThatOfTheKeyAndNotOfSomethingLikeIt() {
        String text = "socket_group = \"\"\"\nidle_warn = \n\"\"\"\n\"idle_\\u0077arn\" = 'x'";
        assertTrue(refusal(text).startsWith(FILE + ":4: idle_warn = 'x' is not a duration"));
    }

    @Test
    void oneOfAListIsNamedWithItsOwnLine() {
        assertTrue(
                refusal("cordon = [\n  '0', # fan\n  'all',\n]")
                        .startsWith(FILE + ":3: cordon = "));
        assertEquals(
                FILE
                        + ":2: the value of 'ignore' is of the wrong kind; write a list, as"
                        + " [\"name\", \"another\"]",
                refusal("ignore = ['x',\n  ['y']]"));
    }

    @Test
    void ofEachLimitTheFirstThatFitsCounts() throws StartException {
        Config config =
                parse(
                        """
                        [limits]
                        alice = { gpus = "any", hours_per_week = 100, priority = -3 }
                        "@students" = { gpus = 1, max_hold = "8h", allowed = ["0-1"] }
                        [limits."@staff"]
                        gpus = 4
                        hours_per_day = "24"
                        max_wait = "any"
                        [limits."*"]
                        gpus = 2
                        max_wait = "12h"
                        """);
        Allowance alice = allowance(config, "alice", "students");
        assertEquals(Optional.empty(), alice.gpus());
        assertEquals(
                new Rule<>(
                        new Subject(Subject.Kind.USER, "alice"),
                        Duration.ofHours(100),
                        "limits.alice.hours_per_week",
                        FILE + ":2"),
                alice.perWeek().get());
        assertEquals(Duration.ofHours(8), alice.hold().get().limit());
        assertEquals(-3, alice.rank());
        assertEquals(List.of("0", "1"), alice.allowed().get().limit());
        Allowance both = allowance(config, "bob", "staff", "students");
        assertEquals(1, both.gpus().get().limit());
        assertEquals("limits.@students.gpus", both.gpus().get().key());
        assertEquals(FILE + ":3", both.gpus().get().place());
        assertEquals(Duration.ofHours(24), both.perDay().get().limit());
        assertEquals(Optional.empty(), both.waits());
        assertEquals(0, both.rank());
        Allowance other = allowance(config, "carol");
        assertEquals(2, other.gpus().get().limit());
        assertEquals(Duration.ofHours(12), other.waits().get().limit());
        assertEquals(
                2,
                config.policy().limits().of(Owner.guessed("alice"), Set.of()).gpus().get().limit());
    }

    @Test
    void limitsOfALaterFileComeFirst() throws IOException {
        Path file = directory.resolve("config.toml");
        Path beside = Files.createDirectory(directory.resolve("config.d"));
        Files.writeString(file, "[limits]\nalice = { gpus = 1, max_wait = '1h' }\n");
        Files.writeString(beside.resolve("a.toml"), "[limits]\n'*' = { gpus = 3 }\n");
        Allowance alice = allowance(TestingConfig.read(file, true), "alice");
        assertEquals(3, alice.gpus().get().limit());
        assertEquals(Duration.ofHours(1), alice.waits().get().limit());
    }

    @Test
    void mistakesInLimitsAreNamed() {
        assertEquals(
                FILE
                        + ":2: 'limits.@a b' is a table; write its keys below a line [limits.\"@a"
                        + " b\"]",
                refusal("[limits]\n'@a b' = 4"));
        assertEquals(
                FILE + ":2: limits.alice.gpus = -1 is too few: write 0 or more, or 'any'",
                refusal("[limits]\nalice = { gpus = -1 }"));
        assertEquals(
                FILE + ":2: 'limits.@' names nobody; write a user's name or uid, @group or *",
                refusal("[limits]\n'@' = { gpus = 1 }"));
        assertEquals(
                FILE + ":2: 'limits.' names nobody; write a user's name or uid, @group or *",
                refusal("[limits]\n'' = { gpus = 1 }"));
        assertEquals(
                FILE
                        + ":2: 'limits.kubernetes:a.max_hold' has no effect for a namespace; leave"
                        + " it out: pods have gpus only",
                refusal("[limits]\n'kubernetes:a' = { gpus = 1, max_hold = '1h' }"));
        assertEquals(
                FILE + ":2: limits.alice.hours_per_day = 0 is too few: write 1 or more, or 'any'",
                refusal("[limits]\nalice = { hours_per_day = 0 }"));
        assertEquals(
                FILE
                        + ":2: limits.alice.priority = 101 is no priority: write a number from -100"
                        + " to 100",
                refusal("[limits]\nalice = { priority = 101 }"));
        assertEquals(
                FILE
                        + ":2: unknown key 'limits.alice.gpu'; known are [allowed, gpus,"
                        + " hours_per_day, hours_per_week, idle_stop, max_hold, max_wait,"
                        + " priority]",
                refusal("[limits]\nalice = { gpu = 1 }"));
    }

    /** Read in the same way as by an earlier TOML library. */
    @Test
    void quotesThatAreForgottenOrTooManyAreNoMatter() throws StartException {
        assertEquals(4, allowance(parse("limits.'*'.gpus = ' 4 '"), "alice").gpus().get().limit());
        assertEquals(Limits.NONE, parse("limits.'*'.gpus = ''").policy().limits());
        assertTrue(parse("allow_privileged = 'True'").allowPrivileged());
        assertTrue(parse("allow_privileged = 1").allowPrivileged());
        assertFalse(parse("allow_privileged = ''").allowPrivileged());
        assertEquals("1000", parse("socket_group = 1000").socketGroup());
        assertEquals(
                FILE
                        + ":1: driver_directories = 'lib64' is not an absolute path; write that of"
                        + " a directory with the driver's libraries",
                refusal("driver_directories = ['lib64']"));
        assertEquals(List.of(), parse("ignore = ''").ignore());
        assertEquals(List.of("2.5", "true"), parse("ignore = [2.5, true]").ignore());
    }

    @Test
    void lineIsFoundWhateverFollowsTheKey() {
        assertTrue(refusal("\nmax_gpus = 1 # \u2028").startsWith(FILE + ":2: unknown key"));
    }

    @Test
    void fileThatIsNotUtf8IsNamed() throws IOException {
        Path file = directory.resolve("latin1");
        Files.write(file, "# Gerät".getBytes(StandardCharsets.ISO_8859_1));
        var error = assertThrows(StartException.class, () -> TestingConfig.read(file, true));
        assertTrue(error.getMessage().startsWith(file + " is not UTF-8"), error.toString());
    }

    private static Config parse(String text) throws StartException {
        return TestingConfig.parse(text);
    }

    /**
     * Returns a refusal, which begins with the file, fits on a line or two, and shows no class
     * names.
     */
    private static String refusal(String text) {
        String message = assertThrows(StartException.class, () -> parse(text)).getMessage();
        assertTrue(message.startsWith(FILE.toString()), message);
        assertFalse(message.matches("(?s).*\\b(com|java|jnvdocker(?!\\.toml))\\.[a-z].*"), message);
        assertFalse(message.contains("Exception"), message);
        return message;
    }
}
