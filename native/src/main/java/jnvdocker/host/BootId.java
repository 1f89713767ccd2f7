package jnvdocker.host;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Pattern;

/** The id that the kernel draws at each boot. */
public final class BootId {
    private static final String FILE = "/proc/sys/kernel/random/boot_id";
    private static final Pattern FORM = Pattern.compile("[0-9a-fA-F-]{1,64}");

    private BootId() {}

    /**
     * Returns the boot id of a host. A host that is only a directory, without such a file, boots
     * with this machine.
     *
     * @throws IOException naming the file that cannot be read or holds something else
     */
    public static String read(Host host) throws IOException {
        Path ofHost = host.resolve(FILE);
        Path file = Files.exists(ofHost) ? ofHost : Path.of(FILE);
        String text = KernelText.read(file).strip();
        if (!FORM.matcher(text).matches()) {
            throw new IOException(file + " holds no boot id, but '" + text + "'");
        }
        return text;
    }
}
