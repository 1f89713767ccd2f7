package jnvdocker.host;

import java.io.IOException;
import java.nio.file.Files;

/** What helps where NVIDIA's kernel module is not loaded, by what keeps the module out. */
final class MissingDriver {
    /** With the GUID of the variables that UEFI itself defines. */
    private static final String SECURE_BOOT =
            "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";

    /** Behind the four bytes of a variable's attributes. */
    private static final int VALUE = 4;

    private MissingDriver() {}

    /** The advice for a host without the module. */
    static String remedy(Host host) throws IOException {
        if (Files.exists(host.resolve("/dev/dxg"))) {
            return "this is WSL, whose GPUs have no device nodes of NVIDIA's: use docker's own"
                    + " --gpus with NVIDIA's toolkit there";
        }
        if (Files.exists(host.resolve("/sys/module/nouveau"))) {
            return "the driver nouveau has the GPUs: install NVIDIA's driver, which keeps nouveau"
                    + " from being loaded, and restart the host";
        }
        String load = "install the driver, or load it with 'modprobe nvidia'";
        return isSecure(host)
                ? load
                        + "; Secure Boot is on: if that is refused, enroll the key of the module"
                        + " (mokutil --import /var/lib/dkms/mok.pub), and restart the host"
                : load;
    }

    private static boolean isSecure(Host host) {
        try {
            String bytes = KernelText.read(host.resolve(SECURE_BOOT));
            return bytes.length() == VALUE + 1 && bytes.charAt(VALUE) == 1;
        } catch (IOException e) {
            return false; // a host without UEFI
        }
    }
}
