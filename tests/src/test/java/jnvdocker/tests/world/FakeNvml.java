package jnvdocker.tests.world;

import jnvdocker.host.Gpu;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/** A libnvidia-ml of tests/fake-nvml, with a machine that can be changed while it is in use. */
public final class FakeNvml {
    private static final String MACHINES = "tests/fake-nvml/machines";
    private static final Pattern GPU = Pattern.compile("gpu (\\S+)(?:\nuuid (\\S+))?");
    private static final byte[] PLACEHOLDER = "@machine@".getBytes(StandardCharsets.UTF_8);

    private final Path library;
    private final Path machine;

    private FakeNvml(Path library, Path machine) {
        this.library = library;
        this.machine = machine;
    }

    /**
     * Puts one into a directory.
     *
     * @param machine a file of tests/fake-nvml/machines, without its ending
     */
    public static FakeNvml in(Path directory, String machine) {
        FakeNvml nvml =
                new FakeNvml(
                        directory.resolve("libnvidia-ml.so.1"), directory.resolve("machine.txt"));
        nvml.install(machine);
        return nvml;
    }

    /** Puts one in the place of a host's own, with the addresses and UUIDs of the host's GPUs. */
    public static FakeNvml of(DriverRoot host, String machine) {
        Path library =
                host.directory()
                        .resolve("usr/lib/x86_64-linux-gnu/libnvidia-ml.so." + host.version());
        FakeNvml nvml = new FakeNvml(library, host.directory().resolve("machine.txt"));
        nvml.install(machine);
        nvml.rename(host);
        return nvml;
    }

    private void rename(DriverRoot host) {
        try {
            String text = Files.readString(machine);
            List<MatchResult> its = GPU.matcher(text).results().toList();
            List<Gpu> gpus = HostDriver.read(Host.at(host.directory())).gpus();
            for (int i = 0; i < Math.min(its.size(), gpus.size()); i++) {
                text = text.replace(its.get(i).group(1), gpus.get(i).pciAddress());
                String uuid = its.get(i).group(2);
                text = uuid == null ? text : text.replace(uuid, gpus.get(i).uuid());
            }
            write(text);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void install(String text) {
        try {
            Path built = Path.of(Command.of(Project.world("fake-nvml")).run().ok().out().strip());
            // A file of its own: the loader takes two names of one file for one library.
            Files.deleteIfExists(library);
            Files.write(library, pointingTo(machine, Files.readAllBytes(built)));
            write(Files.readString(Project.root().resolve(MACHINES).resolve(text + ".txt")));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static byte[] pointingTo(Path machine, byte[] library) {
        byte[] path = (machine + "\0").getBytes(StandardCharsets.UTF_8);
        for (int i = 0; i < library.length - path.length; i++) {
            if (Arrays.equals(
                    library, i, i + PLACEHOLDER.length, PLACEHOLDER, 0, PLACEHOLDER.length)) {
                System.arraycopy(path, 0, library, i, path.length);
                return library;
            }
        }
        throw new AssertionError("the fake has no place for its machine's path");
    }

    public Path library() {
        return library;
    }

    /** The file that says what the library reports; the library reads it at each call. */
    public Path machine() {
        return machine;
    }

    private void write(String text) throws IOException {
        Path next = machine.resolveSibling("machine.new");
        Files.writeString(next, text);
        Files.move(next, machine, StandardCopyOption.ATOMIC_MOVE);
    }

    /** Changes the machine's text. */
    public void change(UnaryOperator<String> change) {
        try {
            String before = Files.readString(machine);
            String after = change.apply(before);
            if (after.equals(before)) {
                throw new AssertionError("nothing to change in " + before);
            }
            write(after);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Adds lines to a GPU, or with an empty address to the machine. */
    public void add(String address, String lines) {
        change(text ->
                address.isEmpty()
                        ? lines + "\n" + text
                        : text.replace("gpu " + address, "gpu " + address + "\n" + lines));
    }

    /** The driver is unloaded. */
    public void unload() {
        try {
            Files.delete(machine);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
