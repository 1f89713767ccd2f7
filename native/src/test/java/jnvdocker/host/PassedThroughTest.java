package jnvdocker.host;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

class PassedThroughTest {
    @TempDir Path root;

    private void bind(String address, String vendor, String type) throws IOException {
        Path device = Files.createDirectories(root.resolve("sys/bus/pci/devices/" + address));
        Files.writeString(device.resolve("vendor"), vendor + "\n");
        Files.writeString(device.resolve("class"), type + "\n");
        Path driver = Files.createDirectories(root.resolve("sys/bus/pci/drivers/vfio-pci"));
        Files.createSymbolicLink(driver.resolve(address), device);
    }

    @Test
    void hostWithoutThatDriverHasNone() throws IOException {
        assertEquals(List.of(), PassedThrough.addresses(Host.at(root)));
    }

    @Test
    void onlyGpusOfNvidiasCount() throws IOException {
        bind("0000:3b:00.0", "0x10de", "0x030200");
        bind("0000:17:00.0", "0x10de", "0x030000");
        bind("0000:17:00.1", "0x10de", "0x040300"); // its sound
        bind("0000:18:00.0", "0x1002", "0x030000");
        Files.createDirectories(root.resolve("sys/bus/pci/drivers/vfio-pci/module"));
        Files.createDirectories(root.resolve("sys/bus/pci/drivers/vfio-pci/0000:19:00.0"));
        assertEquals(
                List.of("0000:17:00.0", "0000:3b:00.0"), PassedThrough.addresses(Host.at(root)));
    }
}
