package jnvdocker.command.gpu.show;

import jnvdocker.archive.ArchivedImage;
import jnvdocker.archive.BadArchiveException;
import jnvdocker.archive.ImageArchive;
import jnvdocker.archive.Platform;
import jnvdocker.command.caller.UserEngine;
import jnvdocker.container.CompatLibraries;
import jnvdocker.docker.engine.DockerEngine;
import jnvdocker.labels.DriverVersion;
import jnvdocker.labels.ImageConfig;
import jnvdocker.oci.root.CudaCompat;
import jnvdocker.protocol.CallResult;
import jnvdocker.protocol.CallStream;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * The place where an image is inspected: the engine that the user's docker talks to, or an archive.
 * Nothing is pulled.
 *
 * <p>The client opens an archive, as the user, and sends its bytes over the connection: the daemon
 * is root, and would read any file for every user of its socket.
 */
public final class ImageSource {
    private static final int PATIENCE_SECONDS = 60;

    private static final List<String> ENDINGS =
            List.of(".tar", ".tar.gz", ".tgz", ".tar.zst", ".tzst");
    private static final List<String> STARTS = List.of("/", "./", "../");

    private final DockerEngine engine;
    private final ClientRequest request;
    private final ClientConnection client;
    private final Semaphore reading;

    /**
     * @param name as typed, or as in the archive
     * @param file the archive, if the image is from an archive
     * @param platform empty if the engine was queried, or if the image does not name one
     */
    record Found(
            String name, Optional<String> file, Optional<Platform> platform, ImageConfig config) {}

    /**
     * @param reading one permit that all sources share: the data kept of one archive takes a good
     *     part of the daemon's memory
     */
    public ImageSource(
            DockerEngine engine,
            ClientRequest request,
            ClientConnection client,
            Semaphore reading) {
        this.reading = reading;
        this.engine = engine;
        this.request = request;
        this.client = client;
    }

    /**
     * Decides by the word alone, so that the answer is the same wherever it is typed. No image has
     * such a name.
     */
    static boolean isFile(String word) {
        String lower = word.toLowerCase(Locale.ROOT);
        return ENDINGS.stream().anyMatch(lower::endsWith)
                || STARTS.stream().anyMatch(word::startsWith);
    }

    Found image(String name) throws IOException, RefusedException {
        UserEngine where = UserEngine.withoutOptions(request, client, engine);
        ImageConfig config =
                where instanceof UserEngine.Ours
                        ? engine.image(name).orElseThrow(() -> missing(name))
                        : inspected(name);
        return new Found(name, Optional.empty(), Optional.empty(), config);
    }

    /**
     * Whether CUDA libraries of the image's own come before the driver's in its containers; empty
     * if its files cannot be seen from here.
     */
    Optional<Boolean> compat(Found image, DriverVersion driver) throws IOException {
        if (CompatLibraries.areNamed(image.config().environment())) {
            return Optional.of(true);
        }
        UserEngine where = UserEngine.withoutOptions(request, client, engine);
        if (image.file().isPresent() || !(where instanceof UserEngine.Ours)) {
            return Optional.empty();
        }
        return Optional.of(
                engine.runtimes().paths().values().stream().anyMatch(engine::isGuarded)
                        && CudaCompat.isUsed(engine, image.name(), driver));
    }

    private static RefusedException missing(String name) {
        return new RefusedException(
                "the Docker engine has no image "
                        + Quote.quoted(name)
                        + ", and none is pulled for this",
                "pull it: docker pull "
                        + Quote.shown(name)
                        + " (or name a file: docker save -o FILE.tar)");
    }

    /** Queries the user's own docker, which itself reports what is wrong. */
    private ImageConfig inspected(String name) throws IOException, RefusedException {
        CallResult result =
                client.capture(
                        request.dockerWith(
                                List.of(
                                        "image",
                                        "inspect",
                                        "--format",
                                        "{{json .Config}}",
                                        "--",
                                        name)));
        if (!result.succeeded()) {
            throw new RefusedException(
                    "docker cannot inspect the image " + Quote.quoted(name) + " and has said why",
                    "if it is missing, pull it: docker pull " + Quote.shown(name));
        }
        return ImageConfig.parse(result.output());
    }

    /**
     * @param image the name of one of the images in it, if given
     */
    Found archive(String file, Optional<String> image) throws IOException, RefusedException {
        ArchivedImage found;
        try {
            found = read(file).choose(image, Platform.linux(System.getProperty("os.arch")));
        } catch (BadArchiveException e) {
            throw new RefusedException(e.refusal().precededBy(Quote.shown(file) + ": "));
        }
        return new Found(
                found.name(), Optional.of(file), Optional.of(found.platform()), found.config());
    }

    private void waitForTurn(String file) throws RefusedException {
        try {
            if (reading.tryAcquire(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                return;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        throw new RefusedException(
                Quote.shown(file)
                        + ": another archive is being read, and they are read one at a time",
                "try again when that is done");
    }

    private ImageArchive read(String file)
            throws IOException, RefusedException, BadArchiveException {
        waitForTurn(file);
        try (CallStream bytes = client.stream(List.of("cat", "--", file))) {
            ImageArchive archive = null;
            BadArchiveException bad = null;
            try {
                archive = ImageArchive.read(bytes);
            } catch (BadArchiveException e) {
                bad = e;
            }
            if (bytes.isStalled()) {
                throw new RefusedException(
                        Quote.shown(file)
                                + ": reading it is too slow or has stalled, and others are waiting",
                        "copy it to a disk of this host, and name that file");
            }
            int exitCode = bytes.end();
            if (exitCode != 0) {
                throw new RefusedException(
                        "%s: cannot be read (cat, run as you, ended with exit code %s, see above)"
                                .formatted(Quote.shown(file), exitCode),
                        "name a file that you may read");
            }
            if (bad != null) {
                throw bad;
            }
            return archive;
        } finally {
            reading.release();
        }
    }
}
