package jnvdocker.docker.cli;

import com.fasterxml.jackson.databind.JsonNode;

import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The options of {@code docker create} that make another container like one that {@code docker
 * container inspect} describes, of an image that {@code docker commit} has made of it. That image
 * has the command, variables and labels. GPUs and what jnvdocker adds for them are left out.
 *
 * <p>No setting of the container is lost silently: one that is not known here is refused.
 */
public final class ContainerOptions {
    private static final Pattern NVIDIA_NODE = Pattern.compile("/dev/nvidia.*");

    /** The length of the id that names a container's host and network alias. */
    private static final int SHORT_ID = 12;

    /** Settings of HostConfig, each with the option that takes the same value. */
    private static final Map<String, String> VALUES =
            Map.ofEntries(
                    Map.entry("BlkioWeight", "blkio-weight"),
                    Map.entry("CgroupParent", "cgroup-parent"),
                    Map.entry("CgroupnsMode", "cgroupns"),
                    Map.entry("CpuPeriod", "cpu-period"),
                    Map.entry("CpuQuota", "cpu-quota"),
                    Map.entry("CpuRealtimePeriod", "cpu-rt-period"),
                    Map.entry("CpuRealtimeRuntime", "cpu-rt-runtime"),
                    Map.entry("CpuShares", "cpu-shares"),
                    Map.entry("CpusetCpus", "cpuset-cpus"),
                    Map.entry("CpusetMems", "cpuset-mems"),
                    Map.entry("IpcMode", "ipc"),
                    Map.entry("KernelMemory", "kernel-memory"),
                    Map.entry("Memory", "memory"),
                    Map.entry("MemoryReservation", "memory-reservation"),
                    Map.entry("MemorySwap", "memory-swap"),
                    Map.entry("OomScoreAdj", "oom-score-adj"),
                    Map.entry("PidMode", "pid"),
                    Map.entry("PidsLimit", "pids-limit"),
                    Map.entry("ShmSize", "shm-size"),
                    Map.entry("UTSMode", "uts"),
                    Map.entry("UsernsMode", "userns"),
                    Map.entry("VolumeDriver", "volume-driver"));

    private static final Map<String, String> SWITCHES =
            Map.of(
                    "AutoRemove", "rm",
                    "Init", "init",
                    "OomKillDisable", "oom-kill-disable",
                    "Privileged", "privileged",
                    "PublishAllPorts", "publish-all",
                    "ReadonlyRootfs", "read-only");

    private static final Map<String, String> LISTS =
            Map.of(
                    "CapAdd", "cap-add",
                    "CapDrop", "cap-drop",
                    "DeviceCgroupRules", "device-cgroup-rule",
                    "Dns", "dns",
                    "DnsOptions", "dns-option",
                    "DnsSearch", "dns-search",
                    "ExtraHosts", "add-host",
                    "GroupAdd", "group-add",
                    "VolumesFrom", "volumes-from");

    private static final Map<String, String> PAIRS =
            Map.of(
                    "Annotations", "annotation",
                    "StorageOpt", "storage-opt",
                    "Sysctls", "sysctl");

    /** Lists of a path with a number. */
    private static final Map<String, String> RATES =
            Map.of(
                    "BlkioWeightDevice", "blkio-weight-device",
                    "BlkioDeviceReadBps", "device-read-bps",
                    "BlkioDeviceReadIOps", "device-read-iops",
                    "BlkioDeviceWriteBps", "device-write-bps",
                    "BlkioDeviceWriteIOps", "device-write-iops");

    /** Settings that docker derives, or that concern one container alone. */
    private static final Set<String> OTHERS =
            Set.of("ConsoleSize", "ContainerIDFile", "Isolation", "MaskedPaths", "ReadonlyPaths");

    private static final Set<String> MAY_BE_ZERO = Set.of("Init", "MemorySwappiness");

    private final JsonNode container;
    private final JsonNode host;
    private final List<String> options = new ArrayList<>();
    private final MountOptions mounts;

    private ContainerOptions(JsonNode container) {
        this.container = container;
        this.host = container.path("HostConfig");
        this.mounts = new MountOptions(container, this::add);
    }

    /**
     * @param container as {@code docker container inspect} prints it
     * @throws RefusedException for a setting that no option of docker's can repeat
     */
    public static List<String> of(JsonNode container) throws RefusedException {
        ContainerOptions all = new ContainerOptions(container);
        all.addHost();
        all.mounts.addAnonymousVolumes();
        all.addConfig();
        return List.copyOf(all.options);
    }

    /**
     * The further networks of the container: for each the words that follow {@code docker network
     * connect}, without the container.
     */
    public static List<List<String>> networks(JsonNode container) throws RefusedException {
        return NetworkOptions.others(container);
    }

    private void addHost() throws RefusedException {
        for (var setting : host.properties()) {
            String name = setting.getKey();
            JsonNode value = setting.getValue();
            if (isUnset(value) && !MAY_BE_ZERO.contains(name)
                    || value.isNull()
                    || OTHERS.contains(name)) {
                continue;
            }
            if (VALUES.containsKey(name)) {
                add(VALUES.get(name), value.asText());
            } else if (SWITCHES.containsKey(name)) {
                add(SWITCHES.get(name), value.asText());
            } else if (LISTS.containsKey(name)) {
                value.forEach(each -> add(LISTS.get(name), each.asText()));
            } else if (PAIRS.containsKey(name)) {
                addPairs(PAIRS.get(name), value);
            } else if (RATES.containsKey(name)) {
                for (JsonNode each : value) {
                    String number = each.path(each.has("Weight") ? "Weight" : "Rate").asText();
                    add(RATES.get(name), each.path("Path").asText() + ":" + number);
                }
            } else {
                addOther(name, value);
            }
        }
        if (hasOpenSystemPaths()) {
            add("security-opt", "systempaths=unconfined");
        }
    }

    private void addOther(String name, JsonNode value) throws RefusedException {
        switch (name) {
            case "Binds" -> mounts.addBinds(value);
            case "DeviceRequests" -> addDeviceRequests(value);
            case "Devices" -> addDevices(value);
            case "Links" -> addLinks(value);
            case "LogConfig" -> {
                add("log-driver", value.path("Type").asText());
                addPairs("log-opt", value.path("Config"));
            }
            case "MemorySwappiness" -> {
                if (value.asInt() >= 0) {
                    add("memory-swappiness", value.asText());
                }
            }
            case "Mounts" -> {
                for (JsonNode mount : value) {
                    mounts.addMount(mount);
                }
            }
            case "NanoCpus" ->
                    add(
                            "cpus",
                            BigDecimal.valueOf(value.asLong(), 9)
                                    .stripTrailingZeros()
                                    .toPlainString());
            case "NetworkMode" -> options.addAll(NetworkOptions.of(container));
            case "PortBindings" -> addPorts(value);
            case "RestartPolicy" -> addRestartPolicy(value);
            case "Runtime" -> {
                // The engine's default is written here, too, and may be another one by now.
                if (!value.asText().equals("runc")) {
                    add("runtime", value.asText());
                }
            }
            case "SecurityOpt" -> addSecurity(value);
            case "Tmpfs" -> {
                for (var tmpfs : value.properties()) {
                    String flags = tmpfs.getValue().asText();
                    mounts.covers(tmpfs.getKey());
                    add("tmpfs", tmpfs.getKey() + (flags.isEmpty() ? "" : ":" + flags));
                }
            }
            case "Ulimits" -> {
                for (JsonNode limit : value) {
                    add(
                            "ulimit",
                            "%s=%s:%s"
                                    .formatted(
                                            limit.path("Name").asText(),
                                            limit.path("Soft").asText(),
                                            limit.path("Hard").asText()));
                }
            }
            default -> throw unknown("HostConfig." + name, value);
        }
    }

    private void addDevices(JsonNode devices) {
        for (JsonNode device : devices) {
            String path = device.path("PathOnHost").asText();
            String name = device.path("PathInContainer").asText();
            if (Stream.of(path, name).noneMatch(NVIDIA_NODE.asMatchPredicate())) {
                add("device", path + ":" + name + ":" + device.path("CgroupPermissions").asText());
            }
        }
    }

    /** {@code --gpus} is left out; names of the engine's CDI are not. */
    private void addDeviceRequests(JsonNode requests) throws RefusedException {
        for (JsonNode request : requests) {
            if (request.path("Driver").asText().equals("cdi")) {
                request.path("DeviceIDs").forEach(id -> add("device", id.asText()));
            } else if (!request.path("Capabilities").toString().contains("\"gpu\"")) {
                throw unknown("HostConfig.DeviceRequests", request);
            }
        }
    }

    /** Each is {@code /other:/this/alias}. */
    private void addLinks(JsonNode links) {
        for (JsonNode link : links) {
            String[] parts = link.asText().split(":", 2);
            String alias = parts[1].substring(parts[1].lastIndexOf('/') + 1);
            add("link", parts[0].replaceFirst("^/", "") + ":" + alias);
        }
    }

    private void addPorts(JsonNode ports) {
        for (var port : ports.properties()) {
            for (JsonNode binding : port.getValue()) {
                String ip = binding.path("HostIp").asText();
                String number = binding.path("HostPort").asText();
                String where = ip.contains(":") ? "[" + ip + "]:" : ip.isEmpty() ? "" : ip + ":";
                String what = where.isEmpty() && number.isEmpty() ? "" : number + ":";
                add("publish", where + what + port.getKey());
            }
        }
    }

    private void addRestartPolicy(JsonNode policy) {
        String name = policy.path("Name").asText();
        int most = policy.path("MaximumRetryCount").asInt();
        if (!name.isEmpty()) {
            add("restart", name + (most == 0 ? "" : ":" + most));
        }
    }

    /** Docker takes a seccomp profile from a file, which is not known any more. */
    private void addSecurity(JsonNode settings) throws RefusedException {
        for (JsonNode setting : settings) {
            if (setting.asText().startsWith("seccomp={")
                    || setting.asText().startsWith("seccomp:{")) {
                throw unknown("a seccomp profile", setting);
            }
            add("security-opt", setting.asText());
        }
    }

    private boolean hasOpenSystemPaths() {
        return !host.path("Privileged").asBoolean()
                && host.path("MaskedPaths").isArray()
                && host.path("MaskedPaths").isEmpty()
                && host.path("ReadonlyPaths").isEmpty();
    }

    private void addConfig() {
        JsonNode config = container.path("Config");
        String name = config.path("Hostname").asText();
        String network = host.path("NetworkMode").asText();
        boolean shares = network.equals("host") || network.startsWith("container:");
        if (!name.isEmpty()
                && !isShortId(name, container)
                && !shares
                && isUnset(host.path("UTSMode"))) {
            add("hostname", name);
        }
        if (!isUnset(config.path("Domainname"))) {
            add("domainname", config.path("Domainname").asText());
        }
        if (config.path("Tty").asBoolean()) {
            add("tty", "true");
        }
        if (config.path("OpenStdin").asBoolean()) {
            add("interactive", "true");
            if (!config.path("StdinOnce").asBoolean()) {
                // Without an attached input docker keeps it open for every client that attaches.
                add("attach", "stdout");
                add("attach", "stderr");
            }
        }
        if (config.path("StopTimeout").isNumber()) {
            add("stop-timeout", config.path("StopTimeout").asText());
        }
    }

    /** Whether a text is the name that a container has by its id alone. */
    static boolean isShortId(String text, JsonNode container) {
        return text.length() == SHORT_ID && container.path("Id").asText().startsWith(text);
    }

    private void addPairs(String option, JsonNode values) {
        for (var value : values.properties()) {
            add(option, value.getKey() + "=" + value.getValue().asText());
        }
    }

    /** One argument, so that no value can become an option of its own. */
    private void add(String option, String value) {
        options.add("--" + option + "=" + value);
    }

    static boolean isUnset(JsonNode value) {
        Predicate<String> empty = Set.of("", "0", "null", "false")::contains;
        return value.isContainerNode() ? value.isEmpty() : empty.test(value.asText());
    }

    static RefusedException unknown(String setting, JsonNode value) {
        return new RefusedException(
                "a setting of the container cannot be repeated: %s %s"
                        .formatted(setting, Quote.quoted(value.toString())),
                "make it again as it was made first, such as by 'docker compose up"
                        + " --force-recreate'");
    }
}
