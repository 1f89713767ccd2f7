package jnvdocker.daemon;

import jnvdocker.command.gpu.view.GpuSettings;
import jnvdocker.command.runtime.RuntimeCreate;
import jnvdocker.command.start.StartContainer;
import jnvdocker.config.ConfigTable;
import jnvdocker.config.ConfigTables;
import jnvdocker.config.StartException;
import jnvdocker.lease.LeasePolicy;
import jnvdocker.lease.ObserverPolicy;
import jnvdocker.lease.text.ContainerOwner;
import jnvdocker.oci.install.OwnConfig;
import jnvdocker.oci.spec.GpuWishes;
import jnvdocker.request.GpuRequest;
import jnvdocker.use.IgnoredUsers;
import jnvdocker.web.ListenAddress;
import jnvdocker.words.FailedException;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * The configuration in force, in the parts that others need. It can be read again: each decision is
 * made by the one in force when it begins.
 */
final class LiveConfig implements ConfigTables.Live {
    private final Path file;
    private final boolean named;
    private final List<ConfigTable<?>> tables;
    private final Optional<ListenAddress> listen;
    private volatile Config config;
    private volatile IgnoredUsers ignored;

    /**
     * @param listen the address that counts in place of the configuration's
     */
    private LiveConfig(
            Path file,
            boolean named,
            List<ConfigTable<?>> tables,
            Optional<ListenAddress> listen,
            Config config) {
        this.file = file;
        this.named = named;
        this.tables = tables;
        this.listen = listen;
        set(config);
    }

    /**
     * @param tables of the features
     * @throws StartException naming the file, the line and the wrong key
     */
    static LiveConfig read(Directories directories, List<ConfigTable<?>> tables)
            throws IOException {
        boolean named = directories.configNamed();
        Config config = Config.read(directories.config(), named, tables);
        return new LiveConfig(directories.config(), named, tables, directories.listen(), config);
    }

    private void set(Config now) {
        config = now;
        ignored = new IgnoredUsers(now.ignore());
    }

    /** Refuses a configuration that is well-formed, and cannot be followed on this host. */
    @FunctionalInterface
    interface Check {
        void check(Config next) throws IOException;
    }

    /**
     * Reads the files again, and returns those that there are.
     *
     * @throws StartException naming the mistake; the previous settings stay in force then
     */
    synchronized List<Path> reload(Check check) throws IOException {
        try {
            Config next = Config.read(file, named, tables);
            check.check(next);
            set(next);
            return new OwnConfig(file).files().stream().filter(Files::exists).toList();
        } catch (FailedException e) {
            throw new StartException(
                    e.refusal().precededBy("the previous settings stay in force: "), e);
        }
    }

    /**
     * Reads the files, which may have changed since, and uses nothing of them.
     *
     * @throws StartException naming the mistake with which no daemon starts
     */
    void examine() throws IOException {
        Config.read(file, named, tables);
    }

    LeasePolicy policy() {
        return config.policy();
    }

    IgnoredUsers ignored() {
        return ignored;
    }

    List<String> driverDirectories() {
        return config.driverDirectories();
    }

    String socketGroup() {
        return config.socketGroup();
    }

    /** The address that is listened on over TCP. */
    Optional<ListenAddress> listen() {
        return listen(config);
    }

    /** The address that would be listened on with another configuration. */
    Optional<ListenAddress> listen(Config of) {
        return listen.or(() -> of.web().listen());
    }

    /** Whether users, containers, images and claims are published over TCP. */
    boolean listenLabels() {
        return config.web().labels();
    }

    /**
     * @param socket the daemon's own
     */
    GpuSettings gpuSettings(Path socket) {
        return new GpuSettings(
                this::keepHistory,
                () -> config.hosts(),
                this::stopOverdue,
                new GpuSettings.Page(socket, this::listen, this::listenLabels));
    }

    Optional<Duration> keepHistory() {
        return config.keepHistory();
    }

    Optional<Duration> idleWarn() {
        return config.idleWarn();
    }

    /** The directories of programs that are run for each event. */
    List<Path> notifyDirectories() {
        return config.notifyDirectories();
    }

    /** Whether the holder of an overdue lease is stopped. */
    boolean stopOverdue() {
        return config.stopOverdue();
    }

    GpuRequest defaultGpus() {
        return config.defaultGpus();
    }

    @Override
    public <T> T get(ConfigTable<T> table) {
        return config.features().get(table);
    }

    /** The real runtime; empty if an installer is to find it. */
    Optional<Path> realRuntime() {
        return config.runtime().real();
    }

    /** The evidence of a container's owner that counts. */
    Set<ContainerOwner.Trust> trustedOwners() {
        return config.runtime().trustedOwners();
    }

    /** Whether our CDI devices have NVIDIA's names as well. */
    boolean cdiNvidia() {
        return config.runtime().cdiNvidia();
    }

    /** Whether a restart policy tries again: {@link RuntimeCreate.Programs}. */
    boolean busyRetries() {
        return config.runtime().busyRetries();
    }

    ObserverPolicy observers() {
        return config.runtime().observers();
    }

    StartContainer.Settings start() {
        Config now = config;
        return new StartContainer.Settings(
                now.defaultGpus(),
                now.envSelects(),
                now.allowPrivileged(),
                now.runtime().observers());
    }

    GpuWishes.Settings wishes() {
        Config now = config;
        return new GpuWishes.Settings(
                now.envSelects(),
                now.runtime().imagesGetNone(),
                now.defaultGpus(),
                now.runtime().allMeans(),
                now.allowPrivileged(),
                now.runtime().swarmResources(),
                now.runtime().observers());
    }
}
