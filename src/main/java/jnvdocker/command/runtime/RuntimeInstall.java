package jnvdocker.command.runtime;

import jnvdocker.command.caller.Caller;
import jnvdocker.command.caller.CommandOutcome;
import jnvdocker.command.caller.OwnCommand;
import jnvdocker.oci.install.EngineKind;
import jnvdocker.oci.install.OwnConfig;
import jnvdocker.oci.install.Registration;
import jnvdocker.oci.install.RunningDockerd;
import jnvdocker.oci.install.RuntimeHealth;
import jnvdocker.oci.install.RuntimeInstaller;
import jnvdocker.oci.install.RuntimeInstaller.Plan;
import jnvdocker.oci.install.SwarmResources;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

@Command(
        name = "install",
        description = {
            "Install jnvdocker's OCI runtime and register it with an engine (root only).",
            "Docker is reloaded, and not restarted; other engines are left alone. After an upgrade,"
                    + " jnvdocker replaces the runtime by itself."
        })
final class RuntimeInstall extends OwnCommand {
    private static final String OF_PODS =
            "as it is, since pods get their GPUs from jnvdocker here ([kubernetes])";
    private static final String NVIDIAS_FILE = "jnvdocker-nvidia.json";

    private final RuntimeHost host;
    private final ClientRequest request;

    @Option(
            names = "--engine",
            paramLabel = "ENGINE",
            defaultValue = "docker",
            description =
                    "docker, podman, containerd, crio, or cdi for CDI devices of any engine;"
                            + " ${DEFAULT-VALUE}.")
    private String engine;

    @Option(
            names = "--config",
            paramLabel = "FILE",
            description =
                    "The engine's configuration: /etc/docker/daemon.json,"
                            + " /etc/containers/containers.conf.d/jnvdocker.conf,"
                            + " /etc/containerd/config.toml,"
                            + " /etc/crio/crio.conf.d/99-jnvdocker.conf or"
                            + " /etc/cdi/jnvdocker.json.")
    private String config;

    @Option(
            names = "--runtime-dir",
            paramLabel = "DIR",
            description =
                    "Where the runtime is laid out; " + RuntimeInstaller.DIRECTORY + "/ENGINE.")
    private String directory;

    @Option(
            names = "--name",
            paramLabel = "NAME",
            defaultValue = RuntimeInstaller.NAME,
            description = "The name for --runtime; ${DEFAULT-VALUE}.")
    private String name;

    @Option(
            names = "--real",
            paramLabel = "FILE",
            description =
                    "The real runtime, runc or crun. The default is 'real' of our configuration,"
                            + " else the engine's own.")
    private String real;

    @Option(
            names = "--default",
            negatable = true,
            description =
                    "Make it the engine's default runtime, for containers that name none. Docker's"
                            + " it becomes unless docker has another, or pods get GPUs here;"
                            + " --no-default takes that back.")
    private Boolean standard;

    @Option(
            names = "--swarm",
            description =
                    "Report the number of this host's GPUs to Swarm, as its resource "
                            + SwarmResources.KIND
                            + ".")
    private boolean swarm;

    @Option(
            names = "--hook-dir",
            paramLabel = "DIR",
            defaultValue = RuntimeInstaller.HOOKS,
            description =
                    "A directory in dockerd's PATH for the program without which docker takes no"
                            + " --gpus; ${DEFAULT-VALUE}. NVIDIA's is left as it is.")
    private String hooks;

    @Option(names = "--dry-run", description = "Print what would be done, and change nothing.")
    private boolean dryRun;

    RuntimeInstall(RuntimeHost host, ClientRequest request) {
        this.host = host;
        this.request = request;
    }

    @Override
    public CommandOutcome call() throws IOException, RefusedException {
        Caller.refuseUnlessRoot(request, "lay out an OCI runtime");
        EngineKind kind = EngineWord.parse(engine, this);
        Optional<RunningDockerd> running =
                kind == EngineKind.DOCKER
                        ? RunningDockerd.at(host.engine().socket())
                        : Optional.empty();
        Path file = config != null ? path(config) : configOf(kind, running);
        Optional<RunningDockerd> dockerd = running.filter(it -> it.reads(file));
        if (dockerd.isPresent()) {
            dockerd.get().refuseUnfit();
        }
        Optional<String> other =
                kind == EngineKind.DOCKER ? otherStandard(file, dockerd) : Optional.empty();
        boolean ofPods = kind == EngineKind.DOCKER && host.pods().getAsBoolean();
        boolean isDefault =
                standard == null
                        ? kind == EngineKind.DOCKER
                                && other.isEmpty()
                                && (!ofPods || RuntimeInstaller.isStandardOurs(file))
                        : standard;
        RuntimeInstaller.Wanted wanted = wanted(kind, file, isDefault);
        Plan plan = host.installer().plan(wanted);
        List<Plan> plans = new ArrayList<>(List.of(plan));
        if (kind == EngineKind.CDI && host.cdi().offersNvidias()) {
            plans.add(host.installer().plan(nvidias(wanted)));
        }
        if (dockerd.isPresent() && plan.changesConfig()) {
            dockerd.get().refuseConflict(plan.after(), file);
        }
        OwnConfig own = new OwnConfig(host.config());
        Optional<String> need = isDefault ? own.imageNeed() : Optional.of("");
        boolean changesOwn = need.isEmpty();
        if (!dryRun) {
            for (Plan each : plans) {
                host.installer().carryOut(each);
            }
            if (need.isEmpty()) {
                own.giveImagesNone();
            } else if (!isDefault && isNoDefault()) {
                changesOwn = own.removeOwn();
            } else if (!isDefault && kind == EngineKind.DOCKER && Files.exists(own.own())) {
                warn(
                        "jnvdocker: %s stays until docker is restarted; then run this again"
                                .formatted(own.own()));
            }
        }
        for (Plan each : plans) {
            report(each, isDefault, need, dockerd).forEach(this::print);
            remarks(each, isDefault, need).forEach(this::warn);
        }
        if (standard == null && !isDefault) {
            other.map(its ->
                            stays(
                                    "'"
                                            + Quote.shown(its)
                                            + "' ("
                                            + file
                                            + ", or a flag of dockerd)"))
                    .or(() -> ofPods ? Optional.of(stays(OF_PODS)) : Optional.empty())
                    .ifPresent(this::warn);
        }
        if (!dryRun && changesOwn) {
            host.reload().perform();
        }
        if (!dryRun && dockerd.isPresent() && plan.changesConfig()) {
            dockerd.get().reload();
        }
        if (!dryRun) {
            Path program = plan.registration().program();
            trial(kind, program, dockerd.isPresent()).forEach(this::print);
        }
        return CommandOutcome.OK;
    }

    /**
     * Tries the runtime in a container of docker's; of other engines none can be made from here.
     */
    private List<String> trial(EngineKind kind, Path program, boolean isDockers)
            throws IOException {
        if (!isDockers) {
            return List.of(
                    "it was not tried in a container; try it: "
                            + kind.trial(name, host.pods().getAsBoolean()));
        }
        return host.awaitRuntime(name, program)
                ? List.of("docker has the runtime '" + name + "' now", host.tryRuntime(name))
                : List.of(
                        "docker does not have the runtime '"
                                + name
                                + "' yet; see 'jnvdocker runtime status' and docker's log");
    }

    private static Path configOf(EngineKind kind, Optional<RunningDockerd> running) {
        return running.map(RunningDockerd::config).orElse(kind.config());
    }

    /** The default runtime that an administrator has chosen for docker, which stays. */
    private Optional<String> otherStandard(Path file, Optional<RunningDockerd> dockerd)
            throws IOException, RefusedException {
        Optional<String> flag = dockerd.flatMap(RunningDockerd::standardRuntime);
        return flag.isPresent()
                ? flag.filter(its -> !its.equals(name))
                : RuntimeInstaller.otherStandard(file, name);
    }

    private String stays(String as) {
        return "jnvdocker: docker's default runtime stays %s; containers get GPUs with --runtime %s"
                .formatted(as, name);
    }

    /**
     * Whether no engine has ours as its default, by its configuration and by its own word: docker
     * may keep a default until it is restarted.
     */
    private boolean isNoDefault() throws IOException, RefusedException {
        List<RuntimeHealth> all = host.health();
        Optional<String> docker =
                host.runtimes().map(its -> its.paths().getOrDefault(its.standard(), ""));
        return all.stream()
                .noneMatch(each ->
                        each.standard()
                                || docker.filter(each.registration().program().toString()::equals)
                                        .isPresent());
    }

    private RuntimeInstaller.Wanted wanted(EngineKind kind, Path file, boolean isDefault)
            throws IOException, RefusedException {
        return new RuntimeInstaller.Wanted(
                kind,
                file,
                kind == EngineKind.CDI ? RuntimeInstaller.CDI_KIND : name,
                directory == null
                        ? Path.of(RuntimeInstaller.DIRECTORY, kind.word())
                        : path(directory),
                Optional.ofNullable(real).map(this::path).or(host.real()),
                isDefault,
                swarm ? SwarmResources.of(host.inventory().read().gpus()) : List.of(),
                kind == EngineKind.DOCKER ? Optional.of(path(hooks)) : Optional.empty(),
                kind == EngineKind.CDI ? Optional.of(host.cdi().devices()) : Optional.empty());
    }

    /** The devices by NVIDIA's names, in a file of their own. */
    private static RuntimeInstaller.Wanted nvidias(RuntimeInstaller.Wanted ours) {
        return new RuntimeInstaller.Wanted(
                ours.engine(),
                ours.config().resolveSibling(NVIDIAS_FILE),
                RuntimeInstaller.NVIDIAS_CDI_KIND,
                ours.directory(),
                ours.real(),
                false,
                List.of(),
                Optional.empty(),
                ours.devices());
    }

    private Path path(String text) throws ParameterException {
        return directory(text, request);
    }

    private List<String> report(
            Plan plan, boolean isDefault, Optional<String> need, Optional<RunningDockerd> dockerd) {
        Registration registration = plan.registration();
        List<String> lines = new ArrayList<>();
        boolean cdi = registration.engine() == EngineKind.CDI;
        lines.add(
                verb("lay out", "laid out")
                        + registration.program()
                        + (cdi
                                ? ", which leases the devices"
                                : ", which becomes " + plan.settings().real()));
        registration
                .hook()
                .ifPresent(hook ->
                        lines.add(verb("link", "linked") + hook + ", so that docker takes --gpus"));
        if (need.isEmpty()) {
            lines.add(
                    "%simage_need = \"none\" into %s: no image gets GPUs unasked"
                            .formatted(verb("write", "wrote"), new OwnConfig(host.config()).own()));
        }
        lines.add(
                plan.changesConfig()
                        ? verb("write", "wrote")
                                + registration.config()
                                + (cdi ? ", with the devices '" : ", with the runtime '")
                                + registration.name()
                                + (isDefault ? "', the default" : "'")
                        : registration.config() + " stays as it is");
        plan.lines()
                .ifPresent(its -> {
                    lines.add("add these lines to it, since it imports no directory:");
                    its.lines().forEach(line -> lines.add("    " + line));
                });
        if (dryRun && plan.changesConfig()) {
            plan.after().lines().forEach(line -> lines.add("    " + line));
        }
        if (!dryRun) {
            lines.addAll(next(plan, dockerd.isPresent()));
            dockerd.filter(_ -> plan.changesConfig())
                    .ifPresent(
                            it -> lines.add("reloading docker (SIGHUP to pid " + it.pid() + ")"));
        }
        return lines;
    }

    private String verb(String would, String did) {
        return (dryRun ? "would " + would : did) + " ";
    }

    private List<String> next(Plan plan, boolean reloads) {
        List<String> commands = new ArrayList<>();
        if ((plan.changesConfig() || plan.lines().isPresent()) && !reloads) {
            plan.registration().engine().reload().ifPresent(commands::add);
        }
        if (plan.registration().hook().isPresent() && plan.changesConfig()) {
            commands.add(
                    "systemctl restart docker   # when convenient: until then plain 'docker run"
                            + " --gpus' fails, if it did before");
        }
        if (commands.isEmpty()) {
            return reloads && plan.changesConfig() ? List.of() : List.of("nothing is left to do");
        }
        commands.replaceAll(command -> "    " + command);
        commands.addFirst("now run:");
        return commands;
    }

    private List<String> remarks(Plan plan, boolean isDefault, Optional<String> need) {
        List<String> remarks = new ArrayList<>();
        plan.nvidiasHook()
                .ifPresent(hook ->
                        remarks.add(
                                "jnvdocker: "
                                        + hook
                                        + " is NVIDIA's, and gives GPUs to containers of other"
                                        + " runtimes without a lease"));
        if (isDefault && need.isPresent() && !need.get().equals("none")) {
            remarks.add(
                    "jnvdocker: our configuration has image_need = \""
                            + need.get()
                            + "\", so 'docker build' on an image that needs GPUs takes some, too");
        }
        if (swarm && !isDefault) {
            remarks.add("jnvdocker: Swarm services use the default runtime; add --default");
        }
        return remarks;
    }
}
