package jnvdocker.oci.spec;

import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The texts about a container, read where a runtime's hook has said that they are. Our runtime
 * sends those of its containers itself.
 */
public record ContainerTexts(RuntimeSpec spec, Optional<DockerContainer> docker) {
    private static final int LIMIT = 4 << 20;
    private static final String KNOWN = "config.v2.json";
    private static final String SETTINGS = "hostconfig.json";

    /** Counts the memory of objects that are about to be made. */
    @FunctionalInterface
    public interface Memory {
        void take(long bytes) throws IOException;
    }

    /**
     * @throws RefusedException when one of them is not root's, or is not what it should be
     */
    public static ContainerTexts read(ContainerState state, Memory memory)
            throws RefusedException, IOException {
        RuntimeSpec spec = spec(text(state.bundle().resolve("config.json"), memory), memory);
        Optional<Path> root =
                DockerContainer.dataRoot(spec, state.id()).or(() -> above(spec, state.id()));
        if (root.isEmpty()) {
            return new ContainerTexts(spec, Optional.empty());
        }
        Path directory = root.get().resolve("containers").resolve(state.id());
        boolean itsOwn =
                spec.binds().stream().anyMatch(bind -> bind.source().startsWith(directory + "/"));
        if (!itsOwn && !Files.isDirectory(directory)) {
            return new ContainerTexts(spec, Optional.empty());
        }
        return new ContainerTexts(
                spec,
                DockerContainer.parse(
                        spec,
                        text(directory.resolve(KNOWN), memory),
                        text(directory.resolve(SETTINGS), memory)));
    }

    /**
     * Reads the texts about a container of docker's that was created and is not being started. Its
     * {@code config.json} does not exist yet: what decides about GPUs in it is drafted.
     *
     * @param root docker's data directory
     * @param gpuMajor of the nodes of GPUs
     */
    public static ContainerTexts beforeStart(Path root, String id, int gpuMajor, Memory memory)
            throws RefusedException, IOException {
        Path directory = root.resolve("containers").resolve(id);
        String known = text(directory.resolve(KNOWN), memory);
        String settings = text(directory.resolve(SETTINGS), memory);
        RuntimeSpec spec = spec(RuntimeSpec.draft(directory, known, settings, gpuMajor), memory);
        return new ContainerTexts(spec, DockerContainer.parse(spec, known, settings));
    }

    private static RuntimeSpec spec(String json, Memory memory)
            throws RefusedException, IOException {
        memory.take(RuntimeSpec.memory(json));
        return RuntimeSpec.parse(json);
    }

    /**
     * Docker's data directory above the container's root, for when its user has mounted other files
     * in place of docker's (native/oci/docker.c finds it in the same way).
     */
    private static Optional<Path> above(RuntimeSpec spec, String id) {
        if (!DockerContainer.isId(id) || !spec.rootPath().startsWith("/")) {
            return Optional.empty();
        }
        return Stream.iterate(
                        Path.of(spec.rootPath()).getParent(), Objects::nonNull, Path::getParent)
                .filter(it -> Files.exists(it.resolve("containers").resolve(id).resolve(KNOWN)))
                .findFirst();
    }

    private static String text(Path file, Memory memory) throws RefusedException, IOException {
        try {
            Map<String, Object> has =
                    Files.readAttributes(
                            file, "unix:uid,size,isRegularFile", LinkOption.NOFOLLOW_LINKS);
            boolean roots = has.get("isRegularFile").equals(true) && has.get("uid").equals(0);
            if (!roots) {
                throw unfit(file, "not owned by root");
            }
            memory.take(2 * Math.min((long) has.get("size"), LIMIT));
            try (InputStream in =
                    Files.newInputStream(
                            file, StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS)) {
                byte[] bytes = in.readNBytes(LIMIT + 1);
                if (bytes.length > LIMIT) {
                    throw unfit(file, "longer than 4 MiB");
                }
                return StandardCharsets.UTF_8
                        .newDecoder()
                        .decode(ByteBuffer.wrap(bytes))
                        .toString();
            }
        } catch (CharacterCodingException e) {
            throw unfit(file, "not UTF-8");
        } catch (NoSuchFileException e) {
            throw unfit(file, "not visible to jnvdockerd");
        }
    }

    private static RefusedException unfit(Path file, String what) {
        return new RefusedException(
                Quote.shown(file.toString()) + " is " + what, "create the container again");
    }
}
