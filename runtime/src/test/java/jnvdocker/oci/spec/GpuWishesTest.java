package jnvdocker.oci.spec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.labels.ImageConfig;
import jnvdocker.lease.ClaimKey;
import jnvdocker.lease.ClaimNames;
import jnvdocker.lease.ObserverPolicy;
import jnvdocker.lease.TestingLeases;
import jnvdocker.lease.text.ContainerOwner;
import jnvdocker.request.GpuRequest;
import jnvdocker.use.ImageNames;
import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvFileSource;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Which settings of a container count, and for what. */
@Attack(
        by = "a user of podman",
        what =
                "locks all others out by `NVIDIA_VISIBLE_DEVICES=none` or `=1` on a plain image,"
                        + " which got all GPUs",
        result = "no GPU; GPU 1")
@Attack(
        by = "a user",
        what =
                "sets the same variable or label as the image, or names a node of the driver"
                        + " without a GPU",
        result = "no GPU, and the container's output and the daemon's log say why")
@Attack(
        by = "a member",
        what =
                "has the directory of another's claim mounted (`--volume`, `--mount`, a directory"
                        + " above it, podman), with the node of the other's GPU or without",
        result = "leased or refused like any container; no evidence that the other's holder lives")
class GpuWishesTest {
    private static final String WORDS = "../tests/fixtures/gpu-words";
    private static final String CLAIM = "0123456789ab";
    private static final ClaimKey KEY = TestingLeases.key(CLAIM);
    private static final Path CLAIMS = Path.of("/var/lib/jnvdocker/claims");
    private static final Set<Integer> MINORS = Set.of(0, 1, 2, 3);
    private static final GpuRequest ONE = new GpuRequest.Count(1);
    private static final GpuWishes.Settings LAB =
            new GpuWishes.Settings(
                    true,
                    false,
                    ONE,
                    new GpuRequest.All(),
                    false,
                    Set.of("NVIDIA-GPU"),
                    ObserverPolicy.NONE);

    private static final String DOCKER =
            "{'ID':'c','Name':'/train','Image':'sha256:1','Config':{'Image':'cuda','Env':[ENV],"
                    + "'Labels':{LABELS}},'MountPoints':{POINTS}}";

    private static final String BIND =
            "{'destination':'/run/jnvdocker','type':'bind','source':'/var/lib/jnvdocker/claims/"
                    + CLAIM
                    + "/mount'}";
    private static final String POINT =
            "'/run/jnvdocker':{'Type':'volume','Name':'jnvdocker_claim_"
                    + KEY.text()
                    + "','Driver':'nvidia-docker','Destination':'/run/jnvdocker'}";

    private String environment = "";
    private String labels = "";
    private String annotations = "";
    private String devices = "";
    private String rules = "{'allow':false,'access':'rwm'}";
    private String mounts = "";
    private String points = "";
    private String requests = "";
    private String named = "";
    private Optional<ImageConfig> image = Optional.of(new ImageConfig(Map.of(), Map.of()));
    private GpuWishes.Settings settings = LAB;
    private String standard = "runc";
    private String runtime = "nvidia";
    private Optional<GpuRequest> claims = Optional.empty();
    private boolean known = true;
    private boolean namesIt;

    private static String json(String text) {
        return text.replace('\'', '"');
    }

    private RuntimeSpec spec() throws RefusedException {
        return RuntimeSpec.parse(
                json(
                        "{'process':{'env':["
                                + environment
                                + "]},'annotations':{"
                                + annotations
                                + "},'mounts':["
                                + mounts
                                + "],'linux':{'devices':["
                                + devices
                                + "],'resources':{'devices':["
                                + rules
                                + "]}}}"));
    }

    private GpuWish ofDocker() throws Exception {
        String container =
                DOCKER.replace("ENV", environment)
                        .replace("LABELS", labels)
                        .replace("POINTS", points);
        String host =
                "{'DeviceRequests':["
                        + requests
                        + "],'Devices':["
                        + named
                        + "],'Runtime':'"
                        + runtime
                        + "'}";
        return wish(DockerContainer.parse(spec(), json(container), json(host)));
    }

    /** The wish of a container of podman or containerd. */
    private GpuWish ofAnother() throws Exception {
        image = Optional.empty();
        return wish(Optional.empty());
    }

    private GpuWish wish(Optional<DockerContainer> docker) throws Exception {
        return new GpuWishes(() -> settings, "nvidia-docker", () -> Optional.of(standard))
                .of(
                        spec(),
                        docker,
                        image,
                        new GpuWishes.World(MINORS, new Majors(195, Set.of(510)), CLAIMS),
                        new GpuWishes.Claims() {
                            @Override
                            public Optional<GpuWishes.Made> of(ClaimKey claim) {
                                return claims.filter(_ -> claim.equals(KEY))
                                        .map(request -> new GpuWishes.Made(request, namesIt));
                            }

                            @Override
                            public boolean isKnown(ClaimKey claim) {
                                return known;
                            }
                        });
    }

    private static GpuWish claimed(GpuRequest request) {
        return new GpuWish.Claimed(KEY, request, Set.of());
    }

    private static GpuWish gpus(GpuRequest request, GpuWish.Source source) {
        return new GpuWish.Gpus(request, source, Set.of());
    }

    private void visible(String value) {
        environment = "'NVIDIA_VISIBLE_DEVICES=" + value + "'";
    }

    private void imageSays(String variable, String value) {
        image = Optional.of(new ImageConfig(Map.of(), Map.of(variable, value)));
    }

    /** Our runtime starts such containers whether the daemon runs or not. */
    @ParameterizedTest
    @CsvFileSource(files = WORDS, delimiter = '|', quoteCharacter = '~')
    void containerThatStartsWithoutTheDaemonRequestsNothing(
            String labels, String variables, String annotations, String starts) throws Exception {
        this.labels = Objects.toString(labels, "");
        this.environment = Objects.toString(variables, "");
        this.annotations = Objects.toString(annotations, "");
        if (starts.equals("alone")) {
            assertEquals(new GpuWish.Nothing(), ofDocker());
            assertEquals(new GpuWish.Nothing(), ofAnother());
        }
    }

    /** One by one: a label that the table lacks may be one that the C program does not know. */
    @Test
    void tableOfWordsHasEachLabelOfOurs() throws IOException {
        String table = Files.readString(Path.of(WORDS));
        Stream.concat(ClaimNames.LABELS.stream(), Stream.of(ContainerOwner.LABEL))
                .forEach(label -> assertTrue(table.contains("\n\"" + label + "\""), label));
    }

    @Test
    void claimVolumeCountsBeforeEverything() throws Exception {
        mounts = BIND;
        points = POINT;
        labels = "'jnvdocker.claim':'" + KEY.text() + "','jnvdocker.gpus':'all'";
        assertEquals(new GpuWish.ClaimVolume(CLAIM), ofDocker());
        mounts = mounts.replace(CLAIM, "../claims/x");
        claims = Optional.of(ONE);
        assertEquals(claimed(ONE), ofDocker());
    }

    /** A bind mount can name any directory, also that of a claim that another container has. */
    @Test
    void bindOfAClaimsDirectoryIsNoClaim() throws Exception {
        mounts = BIND;
        devices = "{'path':'/dev/nvidia0','type':'c','major':195,'minor':0}";
        named = "{'PathOnHost':'/dev/nvidia0','PathInContainer':'/dev/nvidia0'}";
        GpuWish node = new GpuWish.Nodes(Set.of(0), GpuWish.Source.NODE);
        List<String> others =
                List.of(
                        "",
                        "'/run/jnvdocker':{'Type':'bind','Name':'','Driver':''}",
                        POINT.replace("/run/jnvdocker", "/elsewhere"),
                        POINT.replace("nvidia-docker", "local"),
                        POINT.replace(CLAIM, "ba9876543210"));
        for (String other : others) {
            points = other;
            assertEquals(node, ofDocker(), other);
        }
        assertEquals(node, ofAnother());
    }

    @Test
    void claimsLabelCountsForItsOwnContainerAlone() throws Exception {
        labels = "'jnvdocker.claim':'" + KEY.text() + "','jnvdocker.gpus':'all'";
        assertTrue(
                assertThrows(RefusedException.class, this::ofDocker)
                        .getMessage()
                        .contains("names the claim " + CLAIM));
        claims = Optional.of(new GpuRequest.Count(2));
        assertEquals(claimed(new GpuRequest.Count(2)), ofDocker());
        image = Optional.of(new ImageConfig(Map.of("jnvdocker.claim", KEY.text()), Map.of()));
        assertEquals(gpus(new GpuRequest.All(), GpuWish.Source.LABEL), ofDocker());
        labels = "'jnvdocker.claim':'" + KEY.text() + "'";
        requests = "{'Driver':'','Count':1,'DeviceIDs':null,'Capabilities':[['gpu']]}";
        assertEquals(gpus(ONE, GpuWish.Source.DEVICE_REQUEST), ofDocker());
    }

    /** The registry that knew the claim is lost: what was requested is in the other label. */
    @Test
    void claimThatNobodyKnowsLeavesTheLabelBesideIt() throws Exception {
        labels = "'jnvdocker.claim':'" + KEY.text() + "','jnvdocker.gpus':'2'";
        assertThrows(RefusedException.class, this::ofDocker);
        known = false;
        assertEquals(gpus(new GpuRequest.Count(2), GpuWish.Source.LABEL), ofDocker());
        labels = "'jnvdocker.claim':'" + KEY.text() + "'";
        assertThrows(RefusedException.class, this::ofDocker);
    }

    /** Every user sees the id. */
    @Test
    void idOfAClaimIsNotItsName() {
        claims = Optional.of(ONE);
        for (String made : List.of(CLAIM, CLAIM + "-" + "0".repeat(32))) {
            labels = "'jnvdocker.claim':'" + made + "'";
            String message = assertThrows(RefusedException.class, this::ofDocker).getMessage();
            assertEquals(
                    "this container's label jnvdocker.claim names the claim "
                            + CLAIM
                            + ", which is not its own; create it again with 'jnvdocker run'",
                    message);
        }
    }

    /** As with an image that was removed, and whose container is started again. */
    @Test
    void claimThatNamesItsContainerCountsWhateverItsImageSays() throws Exception {
        labels = "'jnvdocker.claim':'" + KEY.text() + "'";
        image = Optional.empty();
        assertEquals(new GpuWish.Nothing(), ofDocker());
        claims = Optional.of(ONE);
        assertEquals(
                "docker's directory has no configuration of this container's image, so the label"
                        + " jnvdocker.claim may be the image's; pull the image, then create the"
                        + " container again",
                assertThrows(RefusedException.class, this::ofDocker).getMessage());
        namesIt = true;
        assertEquals(claimed(ONE), ofDocker());
    }

    /** Kubernetes has a pod's annotations put on each of its containers, and on its sandbox. */
    @ParameterizedTest
    @CsvSource({
        "io.kubernetes.cri.container-type, sandbox, true",
        "io.kubernetes.cri-o.ContainerType, sandbox, true",
        "io.kubernetes.cri.container-type, container, false",
        "io.kubernetes.cri.container-name, sandbox, false"
    })
    void sandboxOfAPodHasNone(String kind, String value, boolean left) throws Exception {
        annotations = "'jnvdocker.gpus':'2','%s':'%s'".formatted(kind, value);
        GpuWish two = gpus(new GpuRequest.Count(2), GpuWish.Source.ANNOTATION);
        assertEquals(left ? new GpuWish.Nothing() : two, ofAnother());
        devices = "{'path':'/dev/own','type':'c','major':195,'minor':1}";
        assertEquals(
                new GpuWish.Gpus(new GpuRequest.Count(2), GpuWish.Source.ANNOTATION, Set.of(1)),
                ofAnother());
        image = Optional.of(new ImageConfig(Map.of(), Map.of()));
        devices = "";
        assertEquals(two, ofDocker());
    }

    @Test
    void usersWordsCountInTheirOrder() throws Exception {
        visible("3");
        requests = "{'Driver':'','Count':4,'DeviceIDs':null,'Capabilities':[['gpu']]}";
        environment += ",'JNVDOCKER_GPUS=3'";
        annotations = "'jnvdocker.gpus':'2'";
        labels = "'jnvdocker.gpus':'1'";
        assertEquals(gpus(ONE, GpuWish.Source.LABEL), ofDocker());
        labels = "";
        assertEquals(gpus(new GpuRequest.Count(2), GpuWish.Source.ANNOTATION), ofDocker());
        annotations = "";
        assertEquals(gpus(new GpuRequest.Count(3), GpuWish.Source.VARIABLE), ofDocker());
        environment = environment.replace("GPUS=3", "GPUS=count=2,memory=40G");
        assertEquals(
                gpus(GpuRequest.parseOption("2,memory=40G"), GpuWish.Source.VARIABLE), ofDocker());
        visible("3");
        assertEquals(gpus(new GpuRequest.Count(4), GpuWish.Source.DEVICE_REQUEST), ofDocker());
        requests = "";
        devices = "{'path':'/dev/own','type':'c','major':195,'minor':1}";
        assertEquals(new GpuWish.Nodes(Set.of(1), GpuWish.Source.NODE), ofDocker());
        devices = "";
        assertEquals(
                gpus(new GpuRequest.Devices(List.of("3")), GpuWish.Source.VISIBLE_DEVICES),
                ofDocker());
    }

    /** An image has no mounts, so these are its user's in every engine. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "1 | device=1",
                "0 GPU-5c1a1003 | device=0,GPU-5c1a1003",
                "all | all",
                "0 all | all",
                "none | none",
                "1 imex/0 | device=1",
                "cdi/nvidia.com/gpu=2 | device=2",
                "cdi/nvidia.com/gpu/2 | device=2",
                "cdi/nvidia.com/gpu/all | all",
            })
    void mountsNameGpusAsForNvidiasRuntime(String names, String request) throws Exception {
        mounts = mountsOf("/dev/null", names);
        visible("3");
        settings = settings(false, true, ONE, false);
        GpuRequest wanted = GpuRequest.parseOption(request);
        GpuWish wish = gpus(wanted instanceof GpuRequest.All ? ONE : wanted, GpuWish.Source.MOUNTS);
        assertEquals(wish, ofDocker());
        assertEquals(wish, ofAnother());
        mounts = mountsOf("/dev/zero", names);
        visible("void");
        assertEquals(new GpuWish.Nothing(), ofDocker());
    }

    private static String mountsOf(String source, String names) {
        return Stream.of(names.split(" "))
                .map(name ->
                        "{'destination':'/var/run/nvidia-container-devices/"
                                + name
                                + "','type':'bind','source':'"
                                + source
                                + "'}")
                .collect(Collectors.joining(","));
    }

    @Test
    void channelsBetweenHostsAreNoGpus() throws Exception {
        mounts = mountsOf("/dev/null", "imex/0");
        assertEquals(new GpuWish.Nothing(), ofDocker());
    }

    @Test
    void mountThatNamesNoGpuIsRefused() {
        mounts = mountsOf("/dev/null", "a/b");
        assertTrue(
                assertThrows(RefusedException.class, this::ofDocker)
                        .getMessage()
                        .contains(
                                "a mount below /var/run/nvidia-container-devices is called 'a/b',"
                                        + " which does not name GPUs; call each"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '"',
            value = {
                "2 | null | 2",
                "-1 | null | all",
                "0 | [] | all",
                "0 | ['all'] | all",
                "0 | ['0','1'] | \"device=0,1\"",
                "0 | ['0,1'] | \"device=0,1\"",
                "0 | null | none"
            })
    void deviceRequestsMeanWhatTheyMeanToDocker(String count, String ids, String request)
            throws Exception {
        visible("all");
        requests =
                "{'Driver':'nvidia','Count':"
                        + count
                        + ",'DeviceIDs':"
                        + ids
                        + ",'Capabilities':[['utility','gpu']]}";
        assertEquals(
                gpus(GpuRequest.parseOption(request), GpuWish.Source.DEVICE_REQUEST), ofDocker());
        requests = requests.replace("'utility','gpu'", "'compute','utility'");
        assertEquals(
                gpus(GpuRequest.parseOption(request), GpuWish.Source.DEVICE_REQUEST), ofDocker());
        requests = requests.replace("nvidia", "other");
        imageSays("NVIDIA_VISIBLE_DEVICES", "all");
        assertEquals(gpus(ONE, GpuWish.Source.IMAGE), ofDocker());
    }

    /** As a compose file has it whose variable is not set. */
    @Test
    void emptyIdIsNoRequestForNothing() {
        for (String ids : List.of("['']", "['',' ']", "['none','']")) {
            requests =
                    "{'Driver':'','Count':0,'DeviceIDs':%s,'Capabilities':[['gpu']]}"
                            .formatted(ids);
            RefusedException refused = assertThrows(RefusedException.class, this::ofDocker);
            assertTrue(refused.getMessage().contains("empty id"), refused::getMessage);
        }
    }

    @Test
    void nodesAndRulesAreKnownByTheirNumbers() throws Exception {
        devices =
                "{'path':'/dev/a','type':'c','major':195,'minor':2},"
                        + "{'path':'/dev/nvidiactl','type':'c','major':195,'minor':255},"
                        + "{'path':'/dev/nvidia0','type':'c','major':1,'minor':3}";
        assertEquals(new GpuWish.Nodes(Set.of(2), GpuWish.Source.NODE), ofAnother());
        devices = "";
        rules = "{'allow':true,'type':'c','major':195,'access':'rw'}";
        assertEquals(new GpuWish.Nodes(MINORS, GpuWish.Source.NODE), ofAnother());
        rules = "{'allow':true,'type':'c','major':195,'minor':3,'access':'m'}";
        assertEquals(new GpuWish.Nothing(), ofAnother());
    }

    @Test
    void devicesNamedBesidesTheRequestAreReported() throws Exception {
        devices = "{'path':'/dev/nvidia2','type':'c','major':195,'minor':2}";
        labels = "'jnvdocker.gpus':'device=1'";
        named = "{'PathOnHost':'/x','PathInContainer':'/dev/nvidia2'}";
        GpuRequest request = new GpuRequest.Devices(List.of("1"));
        assertEquals(new GpuWish.Gpus(request, GpuWish.Source.LABEL, Set.of(2)), ofDocker());
        named = "";
        assertEquals(gpus(request, GpuWish.Source.LABEL), ofDocker());
    }

    @Test
    void privilegedNeedsTheLabsWordOnlyWithGpus() throws Exception {
        rules = "{'allow':true,'access':'rwm'}";
        devices = "{'path':'/dev/nvidia2','type':'c','major':195,'minor':2}";
        assertEquals(new GpuWish.Nothing(), ofDocker());
        visible("1");
        assertTrue(
                assertThrows(RefusedException.class, this::ofDocker)
                        .getMessage()
                        .contains("allow_privileged = true"));
        settings = settings(true, false, new GpuRequest.All(), true);
        assertEquals(
                gpus(new GpuRequest.Devices(List.of("1")), GpuWish.Source.VISIBLE_DEVICES),
                ofDocker());
    }

    /** It has the host's other nodes as well. */
    @Test
    void privilegedOneRequestsTheNodesAndCdiDevicesThatItsUserNames() throws Exception {
        rules = "{'allow':true,'access':'rwm'}";
        devices =
                "{'path':'/dev/nvidia1','type':'c','major':195,'minor':1},"
                        + "{'path':'/dev/nvidia2','type':'c','major':195,'minor':2}";
        named = "{'PathOnHost':'/dev/nvidia2','PathInContainer':'/dev/nvidia2'}";
        assertThrows(RefusedException.class, this::ofDocker);
        GpuWishes.Settings strict = settings;
        settings = settings(true, false, new GpuRequest.All(), true);
        assertEquals(new GpuWish.Nodes(Set.of(2), GpuWish.Source.NODE), ofDocker());
        named = "";
        requests =
                "{'Driver':'cdi','DeviceIDs':['vendor.com/net=0','jnvdocker/gpu=1',"
                        + "'nvidia.com/gpu=GPU-5c1a2006']}";
        assertEquals(
                gpus(
                        new GpuRequest.Devices(List.of("1", "GPU-5c1a2006")),
                        GpuWish.Source.DEVICE_REQUEST),
                ofDocker());
        settings = strict;
        assertThrows(RefusedException.class, this::ofDocker);
        requests = "{'Driver':'cdi','DeviceIDs':['vendor.com/net=0']}";
        assertEquals(new GpuWish.Nothing(), ofDocker());
    }

    /** To runc, its numbers and rights mean nothing. */
    @ParameterizedTest
    @CsvSource({"10, 1, rwm", "10, 1, m", "-1, -1, m", "195, 1, r"})
    void ruleOfTypeAIsAsGoodAsPrivileges(String major, String minor, String access)
            throws Exception {
        rules =
                "{'allow':true,'type':'a','major':%s,'minor':%s,'access':'%s'}"
                        .formatted(major, minor, access);
        assertEquals(new GpuWish.Nothing(), ofDocker());
        assertTrue(spec().hasNvidia(Majors.NONE));
        visible("1");
        assertThrows(RefusedException.class, this::ofDocker);
    }

    @Test
    void privilegedWithoutGpusIsNoMoreThanThat() throws Exception {
        rules = "{'allow':true,'access':'rwm'}";
        visible("void");
        assertEquals(new GpuWish.Nothing(), ofDocker());
        labels = "'jnvdocker.gpus':'none'";
        assertEquals(new GpuWish.Nothing(), ofDocker());
        assertTrue(spec().hasNvidia(new Majors(195, Set.of())));
        mounts = BIND;
        points = POINT;
        assertThrows(RefusedException.class, this::ofDocker);
    }

    @Test
    void severalRequestsAreAddedUpOrRefused() throws Exception {
        String request = "{'Driver':'','Count':%s,'DeviceIDs':%s,'Capabilities':[['gpu']]}";
        String many = request.formatted("2000000000", "null");
        requests = many + "," + many;
        assertEquals(
                gpus(new GpuRequest.Count(Integer.MAX_VALUE), GpuWish.Source.DEVICE_REQUEST),
                ofDocker());
        String ids = request.formatted("0", "[" + "'0',".repeat(200) + "'1']");
        requests = ids + "," + ids;
        assertThrows(RefusedException.class, this::ofDocker);
        requests = request.formatted("1", "null") + "," + request.formatted("0", "['1']");
        assertThrows(RefusedException.class, this::ofDocker);
    }

    @Test
    void swarmsResourcesAreThoseOfTheConfiguration() throws Exception {
        environment = "'DOCKER_RESOURCE_NVIDIA-GPU=GPU-aaaa,GPU-bbbb','DOCKER_RESOURCE_FPGA=1'";
        assertEquals(
                gpus(new GpuRequest.Devices(List.of("GPU-aaaa", "GPU-bbbb")), GpuWish.Source.SWARM),
                ofDocker());
        environment = "'DOCKER_RESOURCE_nvidia-gpu=2'";
        assertEquals(gpus(new GpuRequest.Count(2), GpuWish.Source.SWARM), ofDocker());
        environment = "'DOCKER_RESOURCE_NVIDIA-GPU=0'";
        assertEquals(gpus(new GpuRequest.None(), GpuWish.Source.SWARM), ofDocker());
        environment = "'DOCKER_RESOURCE_FPGA=1'";
        assertEquals(new GpuWish.Nothing(), ofDocker());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '"',
            value = {"all | all", "none | none", "0,GPU-aaaa | \"device=0,GPU-aaaa\""})
    void visibleDevicesOfTheUserSelect(String value, String request) throws Exception {
        visible(value);
        assertEquals(
                gpus(GpuRequest.parseOption(request), GpuWish.Source.VISIBLE_DEVICES), ofDocker());
    }

    @ParameterizedTest
    @CsvSource({"void", "''"})
    void voidIsNothing(String value) throws Exception {
        visible(value);
        assertEquals(new GpuWish.Nothing(), ofDocker());
    }

    @Test
    void settingsOfAnImageNeverCountAsItsUsers() throws Exception {
        environment =
                "'JNVDOCKER_GPUS=all','DOCKER_RESOURCE_NVIDIA-GPU=4','NVIDIA_VISIBLE_DEVICES=0,1'";
        labels = "'jnvdocker.gpus':'all','jnvdocker.claim':'0123456789ac-" + "0".repeat(32) + "'";
        claims = Optional.of(new GpuRequest.All());
        image =
                Optional.of(
                        ImageConfig.of(
                                Map.of(
                                        "jnvdocker.gpus",
                                        "all",
                                        "jnvdocker.claim",
                                        "0123456789ac-" + "0".repeat(32)),
                                List.of(
                                        "JNVDOCKER_GPUS=all",
                                        "DOCKER_RESOURCE_NVIDIA-GPU=4",
                                        "NVIDIA_VISIBLE_DEVICES=0,1")));
        assertEquals(gpus(ONE, GpuWish.Source.IMAGE), ofDocker());
        image = Optional.empty();
        environment = environment.replace("0,1", "all");
        assertEquals(gpus(ONE, GpuWish.Source.IMAGE), ofDocker());
        assertThrows(RefusedException.class, this::ofAnother);
    }

    /** A commit of a container makes the GPUs that its user named those of an image. */
    @ParameterizedTest
    @CsvSource({"1", "GPU-5c1a1003", "'0,2'"})
    void imageNamesNoGpusOfAHost(String value) throws Exception {
        visible(value);
        GpuWish named =
                gpus(GpuRequest.parseOption("device=" + value), GpuWish.Source.VISIBLE_DEVICES);
        imageSays("PATH", "/bin");
        assertEquals(named, ofDocker());
        assertEquals(named, wish(Optional.empty()));
        imageSays("NVIDIA_VISIBLE_DEVICES", value);
        assertEquals(gpus(ONE, GpuWish.Source.IMAGE), ofDocker());
        assertEquals(gpus(ONE, GpuWish.Source.IMAGE), wish(Optional.empty()));
        GpuWishes.Settings images = settings;
        settings = settings(true, true, new GpuRequest.All(), false);
        assertWithheld("has no GPU: its image's request does not count", ofDocker());
        settings = images;
        String why = "has no GPU: its variable NVIDIA_VISIBLE_DEVICES=%s is taken as its image's,";
        assertWithheld(why.formatted(value), ofAnother());
        assertWithheld(why.formatted(value), ofDocker());
    }

    @Test
    void variableOfOursCountsWhereTheImageOfAnotherEngineIsKnown() throws Exception {
        environment = "'JNVDOCKER_GPUS=1'";
        imageSays("PATH", "/bin");
        assertEquals(gpus(ONE, GpuWish.Source.VARIABLE), wish(Optional.empty()));
        imageSays("JNVDOCKER_GPUS", "1");
        assertWithheld(
                "has no GPU: its variable JNVDOCKER_GPUS=1 is taken as its image's; request",
                wish(Optional.empty()));
    }

    @Test
    void noneIsNoneWhereverItComesFrom() throws Exception {
        visible("none");
        assertEquals(gpus(new GpuRequest.None(), GpuWish.Source.VISIBLE_DEVICES), ofDocker());
        assertEquals(gpus(new GpuRequest.None(), GpuWish.Source.VISIBLE_DEVICES), ofAnother());
        imageSays("NVIDIA_VISIBLE_DEVICES", "none");
        assertEquals(gpus(new GpuRequest.None(), GpuWish.Source.IMAGE), ofDocker());
        image =
                Optional.of(
                        new ImageConfig(
                                Map.of("com.nvidia.volumes.needed", "nvidia_driver"),
                                Map.of("NVIDIA_VISIBLE_DEVICES", "none")));
        assertEquals(gpus(new GpuRequest.None(), GpuWish.Source.IMAGE), ofDocker());
        requests = "{'Driver':'','Count':1,'DeviceIDs':null,'Capabilities':[['gpu']]}";
        assertEquals(gpus(ONE, GpuWish.Source.DEVICE_REQUEST), ofDocker());
    }

    private static void assertWithheld(String why, GpuWish wish) {
        String message = ((GpuWish.Withheld) wish).reason().message();
        assertTrue(message.startsWith("this container " + why), message);
    }

    /** Whoever of both says so. */
    @Test
    void noneOfAnImagesLabelStaysNone() throws Exception {
        labels = "'jnvdocker.gpus':'none'";
        image =
                Optional.of(
                        new ImageConfig(
                                Map.of("jnvdocker.gpus", "none"),
                                Map.of("NVIDIA_VISIBLE_DEVICES", "all")));
        assertEquals(gpus(new GpuRequest.None(), GpuWish.Source.LABEL), ofDocker());
    }

    @Test
    void wordsThatDoNotCountAreNamed() throws Exception {
        labels = "'jnvdocker.gpus':'2'";
        image = Optional.of(new ImageConfig(Map.of("jnvdocker.gpus", "2"), Map.of()));
        assertWithheld(
                "has no GPU: its label jnvdocker.gpus=2 is taken as its image's;"
                        + " request GPUs with --gpus",
                ofDocker());
        image = Optional.empty();
        assertWithheld(
                "has no GPU: its label jnvdocker.gpus=2 is taken as its image's, which is not"
                        + " known;",
                ofDocker());
    }

    @Test
    void variableOfOursIsRefusedWhereItMayBeTheImages() throws Exception {
        environment = "'JNVDOCKER_GPUS=1'";
        String message = assertThrows(RefusedException.class, this::ofAnother).getMessage();
        assertTrue(message.contains("may come from its image"), message);
        environment = "'JNVDOCKER_GPUS=none'";
        assertEquals(new GpuWish.Nothing(), ofAnother());
    }

    @Test
    void nodesThatAreNoUseWithoutAGpuAreNamed() throws Exception {
        devices = "{'path':'/dev/nvidiactl','type':'c','major':195,'minor':255}";
        named = "{'PathOnHost':'/dev/nvidiactl','PathInContainer':'/dev/nvidiactl'}";
        assertWithheld("does not get /dev/nvidiactl, since it requests no GPU; ", ofDocker());
        assertWithheld("does not get /dev/nvidiactl, since it requests no GPU; ", ofAnother());
        rules = "{'allow':true,'access':'rwm'}";
        assertEquals(new GpuWish.Nothing(), ofAnother());
    }

    /** Docker puts the user's variables in front, then those of the image in its order. */
    @Test
    void usersVariableIsKnownByItsPlaceThoughTheImageHasTheSame() throws Exception {
        Map<String, String> own = new LinkedHashMap<>();
        own.put("PATH", "/bin");
        own.put("NVIDIA_VISIBLE_DEVICES", "all");
        own.put("JNVDOCKER_GPUS", "1");
        image = Optional.of(new ImageConfig(Map.of(), own));
        settings = settings(true, true, new GpuRequest.All(), false);
        GpuWish all = gpus(new GpuRequest.All(), GpuWish.Source.VISIBLE_DEVICES);
        environment = "'NVIDIA_VISIBLE_DEVICES=all','PATH=/bin'";
        assertEquals(all, ofDocker());
        environment = "'NVIDIA_VISIBLE_DEVICES=all','X=1','PATH=/sbin','JNVDOCKER_GPUS=1'";
        assertEquals(all, ofDocker());
        environment = "'JNVDOCKER_GPUS=1','PATH=/bin','NVIDIA_VISIBLE_DEVICES=all'";
        assertEquals(gpus(ONE, GpuWish.Source.VARIABLE), ofDocker());
        environment = "'X=1','PATH=/bin','NVIDIA_VISIBLE_DEVICES=all'";
        assertWithheld("has no GPU: its image's request does not count", ofDocker());
        image =
                Optional.of(
                        ImageConfig.of(
                                Map.of(),
                                List.of("A", "NVIDIA_VISIBLE_DEVICES=all", "A=1", "B=1", "B=2")));
        standard = "nvidia";
        environment = "'A','NVIDIA_VISIBLE_DEVICES=all','A=1','B=1','B=2'";
        assertWithheld("has no GPU: its image's request does not count", ofDocker());
        environment = "'X=1','A','NVIDIA_VISIBLE_DEVICES=all','B=1'";
        assertWithheld("has no GPU: its image's request does not count", ofDocker());
    }

    @Test
    void variableOfEitherCountsAsThatOfAUserWhoNamesTheRuntime() throws Exception {
        imageSays("NVIDIA_VISIBLE_DEVICES", "all");
        settings = settings(true, true, new GpuRequest.All(), false);
        visible("all");
        GpuWish all = gpus(new GpuRequest.All(), GpuWish.Source.VISIBLE_DEVICES);
        assertEquals(all, ofDocker());
        image = Optional.empty();
        assertEquals(all, ofDocker());
        standard = "nvidia";
        assertWithheld("has no GPU: its image's request does not count", ofDocker());
    }

    private void capabilities(String words) {
        environment = "'NVIDIA_DRIVER_CAPABILITIES=" + words + "'";
    }

    @Test
    void allGpusForUtilityAloneAreToObserve() throws Exception {
        String all = "{'Driver':'','Count':-1,'DeviceIDs':null,'Capabilities':[['gpu','utility']]}";
        GpuWish held = gpus(new GpuRequest.All(), GpuWish.Source.DEVICE_REQUEST);
        requests = all;
        capabilities("utility");
        assertEquals(new GpuWish.Observing(held), ofDocker());
        // Where all GPUs mean one, they do for a container that has to hold them.
        GpuWishes.Settings strict = settings;
        settings = settings(true, false, ONE, false);
        assertEquals(new GpuWish.Observing(gpus(ONE, GpuWish.Source.DEVICE_REQUEST)), ofDocker());
        settings = strict;
        for (String more : List.of("compute,utility", "utility,graphics", "all", "video", "")) {
            capabilities(more);
            assertEquals(held, ofDocker());
        }
        capabilities("utility");
        requests = all.replace("-1", "1");
        assertEquals(gpus(ONE, GpuWish.Source.DEVICE_REQUEST), ofDocker());
        requests = "";
        labels = "'jnvdocker.gpus':'all'";
        assertEquals(
                new GpuWish.Observing(gpus(new GpuRequest.All(), GpuWish.Source.LABEL)),
                ofDocker());
        labels = "'jnvdocker.claim':'" + KEY.text() + "'";
        claims = Optional.of(new GpuRequest.All());
        assertEquals(new GpuWish.Observing(claimed(new GpuRequest.All())), ofDocker());
        claims = Optional.of(ONE);
        assertEquals(claimed(ONE), ofDocker());
    }

    /** An administrator who names an image says what it is for. */
    @Test
    void allGpusForAnImageThatObserversNameAreToObserve() throws Exception {
        requests = "{'Driver':'','Count':-1,'DeviceIDs':null,'Capabilities':[['gpu']]}";
        capabilities("compute,utility,compat32");
        GpuWish held = gpus(new GpuRequest.All(), GpuWish.Source.DEVICE_REQUEST);
        settings = observedBy("other");
        assertEquals(held, ofDocker());
        settings = observedBy("cuda");
        assertEquals(new GpuWish.Observing(held), ofDocker());
        requests = requests.replace("-1", "1");
        assertEquals(gpus(ONE, GpuWish.Source.DEVICE_REQUEST), ofDocker());
    }

    private static GpuWishes.Settings settings(
            boolean envSelects,
            boolean imagesGetNone,
            GpuRequest allMeans,
            boolean allowPrivileged) {
        return new GpuWishes.Settings(
                envSelects,
                imagesGetNone,
                ONE,
                allMeans,
                allowPrivileged,
                Set.of(),
                ObserverPolicy.NONE);
    }

    private static GpuWishes.Settings observedBy(String image) {
        return new GpuWishes.Settings(
                true,
                false,
                ONE,
                new GpuRequest.All(),
                false,
                Set.of(),
                new ObserverPolicy(new ImageNames(Set.of(image)), Set.of()));
    }

    /** Whatever its image says. */
    @Test
    void capabilitiesOfALabelDecideWhetherItIsToObserve() throws Exception {
        labels = "'jnvdocker.gpus':'\\'capabilities=utility\\',all'".replace("\\'", "\\\"");
        assertInstanceOf(GpuWish.Observing.class, ofDocker());
        labels = labels.replace("utility", "compute");
        capabilities("utility");
        assertInstanceOf(GpuWish.Gpus.class, ofDocker());
    }

    @Test
    void labelNamesCapabilities() throws Exception {
        labels = "'jnvdocker.gpus':'\\'capabilities=gpu,graphics\\',all'".replace("\\'", "\\\"");
        assertEquals(
                new GpuWish.Gpus(
                        new GpuRequest.All(), GpuWish.Source.LABEL, Set.of(), List.of("graphics")),
                ofDocker());
    }

    /** NVIDIA's runtime gives GPUs to its images of 2016 to 2018, which have no other variable. */
    @Test
    void cudaVersionAloneMeansGpus() throws Exception {
        imageSays("CUDA_VERSION", "9.0.176");
        environment = "'CUDA_VERSION=9.0.176'";
        assertEquals(gpus(ONE, GpuWish.Source.IMAGE), ofDocker());
        environment = "'NVIDIA_VISIBLE_DEVICES=void','CUDA_VERSION=9.0.176'";
        assertEquals(new GpuWish.Nothing(), ofDocker());
        environment = "'CUDA_VERSION=9.0.176'";
        rules = "{'allow':true,'access':'rwm'}";
        assertWithheld("has no GPU: it is privileged, and its image", ofDocker());
        imageSays("CUDA_VERSION", "cu90");
        assertEquals(new GpuWish.Nothing(), ofDocker());
    }

    @Test
    void labSaysWhatAllAndAnImagesNeedMeanAndWhetherVariablesSelect() throws Exception {
        settings = settings(false, true, new GpuRequest.Count(2), false);
        imageSays("NVIDIA_VISIBLE_DEVICES", "all");
        visible("all");
        assertWithheld(
                "has no GPU: its image's request does not count here (image_need); request"
                        + " GPUs with --gpus, or a label jnvdocker.gpus",
                ofDocker());
        labels = "'jnvdocker.gpus':'all'";
        assertEquals(gpus(new GpuRequest.Count(2), GpuWish.Source.LABEL), ofDocker());
        labels = "";
        visible("1");
        assertEquals(
                "a variable does not select GPUs here (env_selects), and this container's user sets"
                        + " NVIDIA_VISIBLE_DEVICES; request GPUs with --gpus or the label"
                        + " jnvdocker.gpus",
                assertThrows(RefusedException.class, this::ofDocker).getMessage());
        visible("none");
        assertEquals(gpus(new GpuRequest.None(), GpuWish.Source.VISIBLE_DEVICES), ofDocker());
    }

    @ParameterizedTest
    @CsvSource({"jnvdocker.gpus, two", "jnvdocker.gpus, device=$(id)", "jnvdocker.gpus, ''"})
    void unreadableLabelIsRefused(String label, String value) {
        labels = "'" + label + "':'" + value + "'";
        String message = assertThrows(RefusedException.class, this::ofDocker).getMessage();
        assertTrue(message.startsWith("its label jnvdocker.gpus is '" + value + "'"), message);
    }

    @ParameterizedTest
    @CsvSource({"MIG-GPU-1/0", "0;rm", "'GPU a'"})
    void visibleDevicesThatNameNoGpuAreRefused(String value) {
        visible(value);
        String message = assertThrows(RefusedException.class, this::ofDocker).getMessage();
        assertTrue(message.startsWith("NVIDIA_VISIBLE_DEVICES is '" + value), message);
    }

    @ParameterizedTest
    @CsvSource({"''", "[]", "{", "{}{}", "null", "'{\"a\":01}'"})
    void configThatIsNoJsonObjectIsRefused(String text) {
        assertEquals(
                "the engine's config.json is not a JSON object, so its GPU request is not known;"
                        + " create the container again",
                assertThrows(RefusedException.class, () -> RuntimeSpec.parse(text)).getMessage());
    }
}
