package jnvdocker.command.start;

import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.volume.DriverVolume;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.util.List;
import java.util.stream.Stream;

/**
 * {@code volume setup} of nvidia-docker 1.0's first releases: docker knows the driver volume from
 * then on, and its name is printed.
 */
public final class VolumeSetup {
    /** The first of the two words, which is a command of docker's, too. */
    public static final String GROUP = "volume";

    private static final List<String> WORDS = List.of(GROUP, "setup");

    private final Host host;
    private final String volumeDriver;
    private final StartContainer start;

    /**
     * @param volumeDriver the name of our volume plugin
     * @param start refuses engines that have no volumes of it
     */
    public VolumeSetup(Host host, String volumeDriver, StartContainer start) {
        this.host = host;
        this.volumeDriver = volumeDriver;
        this.start = start;
    }

    /**
     * @param words a command, without docker's global options
     */
    public static boolean isMeant(List<String> words) {
        return words.equals(WORDS);
    }

    /**
     * @throws IOException also without a driver
     * @throws RefusedException where {@code run} refuses the engine
     */
    public void run(ClientRequest request, ClientConnection client)
            throws IOException, RefusedException {
        List<String> typed = request.arguments();
        List<String> globals = typed.subList(0, typed.size() - WORDS.size());
        start.refuseOtherEngine(globals, request, client);
        String volume = DriverVolume.KIND + "_" + HostDriver.readVersion(host).text();
        List<String> create =
                Stream.concat(
                                globals.stream(),
                                Stream.of(GROUP, "create", "--driver", volumeDriver, volume))
                        .toList();
        client.exec(request.dockerWith(create));
    }
}
