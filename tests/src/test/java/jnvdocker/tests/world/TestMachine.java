package jnvdocker.tests.world;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A machine booted by a real systemd, with the built jnvdocker in {@code /opt/jnvdocker} and
 * Debian's Docker, neither of them enabled yet.
 */
public final class TestMachine implements AutoCloseable {
    private final Path directory = Directories.make("machine");
    private final DriverRoot host;
    private final Path tree;

    /**
     * @param host whose driver the machine has, without its device nodes
     */
    public TestMachine(DriverRoot host) {
        this(host, Project.tree());
    }

    /** With other files in {@code /opt/jnvdocker} than the built tree. */
    public TestMachine(DriverRoot host, Path tree) {
        this.host = host;
        this.tree = tree;
        try {
            boot();
        } catch (AssertionError e) {
            close();
            throw e;
        }
    }

    /**
     * Boots it, or reboots it if it runs: files on disk are kept, those in /run and /dev are not.
     */
    public void boot() {
        Command.of(Project.world("machine"), "boot", directory, host.directory(), tree).run().ok();
    }

    /** A command that root runs in the machine. */
    public Command command(Object... arguments) {
        List<Object> words = new ArrayList<>(List.of(Project.world("machine"), "run", directory));
        words.addAll(Arrays.asList(arguments));
        return Command.of(words.toArray());
    }

    public Command jnvdocker(Object... arguments) {
        List<Object> words = new ArrayList<>(List.of("/opt/jnvdocker/bin/jnvdocker"));
        words.addAll(Arrays.asList(arguments));
        return command(words.toArray());
    }

    /** One property of a unit, as {@code systemctl show} prints it. */
    public String property(String unit, String property) {
        return command("systemctl", "show", "--value", "-p", property, unit)
                .run()
                .ok()
                .out()
                .strip();
    }

    /** The output of a unit's processes since the machine's boot. */
    public String journal(String unit) {
        command("journalctl", "--sync").run().ok();
        return command("journalctl", "-b", "-o", "cat", "--no-pager", "_SYSTEMD_UNIT=" + unit)
                .run()
                .ok()
                .out();
    }

    /** Makes a glibc image in its engine. The options are those of {@code tests/worlds/image}. */
    public void image(String tag, String... options) {
        Command.Result root = Command.of(Project.world("machine"), "root", directory).run().ok();
        List<Object> words =
                new ArrayList<>(
                        List.of(
                                Project.world("image"),
                                root.out().strip() + "/run/docker.sock",
                                tag));
        words.addAll(Arrays.asList(options));
        Command.of(words.toArray()).run().ok();
    }

    @Override
    public void close() {
        Command.of(Project.world("machine"), "stop", directory).run().ok();
        Directories.remove(directory);
    }
}
