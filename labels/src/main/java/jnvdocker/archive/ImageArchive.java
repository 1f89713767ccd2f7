package jnvdocker.archive;

import jnvdocker.labels.ImageConfig;
import jnvdocker.words.Quote;

import java.io.InputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The images in a tar as {@code docker save} and others write it: a docker-archive ({@code
 * manifest.json}), an OCI image layout ({@code index.json}), or both in one, of which the first
 * counts, as it does for {@code docker load}. Plain, or compressed with gzip or zstd.
 *
 * <p>Whatever is named by its SHA-256 must have it.
 */
public final class ImageArchive {
    private static final int INDEXES = 4;
    private static final int MANIFESTS = 1000;
    private static final int SHOWN = 10;
    private static final int SHORT_ID = 12;
    private static final String HUB = "docker.io/";
    private static final String OFFICIAL = "library/";
    private static final Pattern DIGEST = Pattern.compile("sha256:([0-9a-f]{64})");

    /** {@code <digest>.json}, {@code blobs/sha256/<digest>}, {@code sha256:<digest>}. */
    private static final Pattern NAMED_BY_DIGEST =
            Pattern.compile("(?:blobs/sha256/|sha256:)?([0-9a-f]{64})(?:\\.json)?");

    private final ArchiveDocuments documents;

    /** The archive's images by name; a name may have several configurations. */
    private final Map<List<String>, List<Variant>> images = new LinkedHashMap<>();

    private int manifests;

    /**
     * @param config the name of the configuration in the archive
     * @param platform as far as it is known without that
     */
    private record Variant(String config, Platform platform) {}

    private ImageArchive(ArchiveDocuments documents) {
        this.documents = documents;
    }

    /**
     * Reads an archive to its end, and does not close it.
     *
     * @throws BadArchiveException when it is none, is damaged, or has more of something than is
     *     read
     */
    public static ImageArchive read(InputStream file) throws BadArchiveException {
        return read(file, ArchiveLimits.STANDARD);
    }

    static ImageArchive read(InputStream file, ArchiveLimits limits) throws BadArchiveException {
        ImageArchive archive = new ImageArchive(ArchiveDocuments.read(file, limits));
        archive.find();
        return archive;
    }

    /**
     * The image of that name, or the only one, for this machine.
     *
     * @throws BadArchiveException when there is not exactly one
     */
    public ArchivedImage choose(Optional<String> name, Platform machine)
            throws BadArchiveException {
        List<List<String>> found =
                images.keySet().stream()
                        .filter(names -> name.isEmpty() || isAmong(name.get(), names))
                        .toList();
        if (found.isEmpty()) {
            throw new BadArchiveException(
                    "has no image " + Quote.quoted(name.orElse("")),
                    "it has " + shown() + "; name one of these with --image");
        }
        if (found.size() > 1) {
            throw new BadArchiveException(
                    "has several images: " + shown(), "name one of them with --image");
        }
        List<String> names = found.getFirst();
        return new PlatformChoice(names).read(machine);
    }

    private void find() throws BadArchiveException {
        if (documents.has(ArchiveDocuments.MANIFEST)) {
            findSaved();
        }
        if (images.isEmpty() && documents.has(ArchiveDocuments.INDEX)) {
            findInLayout();
        } else if (images.isEmpty() && !documents.has(ArchiveDocuments.MANIFEST)) {
            throw new BadArchiveException(
                    "is not an image archive: it has neither manifest.json nor index.json",
                    "make one with docker save");
        }
        if (images.isEmpty()) {
            throw new BadArchiveException("has no image in it", BadArchiveException.SAVE_AGAIN);
        }
    }

    private void findSaved() throws BadArchiveException {
        byte[] json = documents.get(ArchiveDocuments.MANIFEST);
        for (ArchiveJson.Saved saved : ArchiveJson.saved(ArchiveDocuments.MANIFEST, json)) {
            count();
            List<String> names = saved.tags().isEmpty() ? List.of(id(saved)) : saved.tags();
            add(names, new Variant(saved.config(), new Platform("", "")));
        }
    }

    /** Returns the short id that docker shows for an image without a name. */
    private static String id(ArchiveJson.Saved saved) {
        Matcher matcher = NAMED_BY_DIGEST.matcher(saved.config());
        return matcher.matches() ? matcher.group(1).substring(0, SHORT_ID) : saved.config();
    }

    private void add(List<String> names, Variant variant) {
        images.computeIfAbsent(names, _ -> new ArrayList<>()).add(variant);
    }

    /** Indexes can name each other so often that they are millions. */
    private void count() throws BadArchiveException {
        manifests++;
        if (manifests > MANIFESTS) {
            throw new BadArchiveException(
                    "has more than " + MANIFESTS + " manifests", BadArchiveException.LOAD);
        }
    }

    private void findInLayout() throws BadArchiveException {
        ArchiveJson.Node index = node(ArchiveDocuments.INDEX);
        if (!documents.has(ArchiveDocuments.LAYOUT)) {
            throw new BadArchiveException(
                    "is not an OCI image layout: its file oci-layout is missing",
                    BadArchiveException.SAVE_AGAIN);
        }
        for (ArchiveJson.Descriptor each : index.manifests()) {
            findBelow(each, names(each), 1);
        }
    }

    private ArchiveJson.Node node(String name) throws BadArchiveException {
        return ArchiveJson.node(name, verified(name));
    }

    private static List<String> names(ArchiveJson.Descriptor descriptor) {
        Map<String, String> annotations = descriptor.annotations();
        String whole = annotations.getOrDefault("io.containerd.image.name", "");
        String name =
                whole.isEmpty()
                        ? annotations.getOrDefault("org.opencontainers.image.ref.name", "")
                        : whole;
        return name.isEmpty() ? List.of() : List.of(name);
    }

    private void findBelow(ArchiveJson.Descriptor descriptor, List<String> names, int depth)
            throws BadArchiveException {
        count();
        if (descriptor.isAttestation()) {
            return;
        }
        if (depth > INDEXES) {
            throw new BadArchiveException(
                    "has indexes nested more than " + INDEXES + " deep", BadArchiveException.LOAD);
        }
        ArchiveJson.Node node = node(blob(descriptor));
        for (ArchiveJson.Descriptor each : node.manifests()) {
            findBelow(each, names, depth + 1);
        }
        for (ArchiveJson.Descriptor config : node.config()) {
            if (config.isImageConfig()) {
                add(names, new Variant(blob(config), descriptor.platform()));
            }
        }
    }

    private static String blob(ArchiveJson.Descriptor descriptor) throws BadArchiveException {
        Matcher matcher = DIGEST.matcher(descriptor.digest());
        if (!matcher.matches()) {
            throw new BadArchiveException(
                    "names something by "
                            + Quote.quoted(descriptor.digest())
                            + ", which is not a SHA-256",
                    BadArchiveException.SAVE_AGAIN);
        }
        return "blobs/sha256/" + matcher.group(1);
    }

    /** A document, which is what its name says if that says it. */
    private byte[] verified(String name) throws BadArchiveException {
        byte[] document = documents.get(name);
        Matcher matcher = NAMED_BY_DIGEST.matcher(name);
        if (matcher.matches() && !matcher.group(1).equals(sha256(document))) {
            throw new BadArchiveException(
                    "its file %s is not what its name says: its SHA-256 is %s"
                            .formatted(Quote.shown(name), sha256(document)),
                    BadArchiveException.SAVE_AGAIN);
        }
        return document;
    }

    private static String sha256(byte[] document) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(document));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
    }

    private static boolean isAmong(String name, List<String> names) {
        return names.stream().map(ImageArchive::whole).anyMatch(whole(name)::equals)
                || names.contains(name);
    }

    /** Completes a name as docker does, without the registry and its library. */
    private static String whole(String name) {
        String bare = name.startsWith(HUB) ? name.substring(HUB.length()) : name;
        bare = bare.startsWith(OFFICIAL) ? bare.substring(OFFICIAL.length()) : bare;
        boolean tagged = bare.indexOf('@') >= 0 || bare.indexOf(':', bare.lastIndexOf('/') + 1) > 0;
        return tagged ? bare : bare + ":latest";
    }

    private String shown() {
        Set<String> names =
                images.keySet().stream()
                        .map(ImageArchive::first)
                        .limit(SHOWN)
                        .collect(Collectors.toCollection(LinkedHashSet::new));
        String list = names.stream().map(Quote::shown).collect(Collectors.joining(", "));
        return images.size() > SHOWN ? list + ", and " + (images.size() - SHOWN) + " more" : list;
    }

    private static String first(List<String> names) {
        return names.isEmpty() ? "one without a name" : names.getFirst();
    }

    /** Chooses among the platforms of one image. */
    private final class PlatformChoice {
        private final List<String> names;
        private final Map<String, Platform> known = new HashMap<>();

        PlatformChoice(List<String> names) {
            this.names = names;
        }

        /** An image that names no platform counts as built for this machine's. */
        ArchivedImage read(Platform machine) throws BadArchiveException {
            Set<String> others = new LinkedHashSet<>();
            for (Variant variant : images.get(names)) {
                Platform platform = platform(variant);
                if (platform.isUnknown() || platform.equals(machine)) {
                    ImageConfig config = config(variant).image();
                    return new ArchivedImage(first(names), platform, config);
                }
                others.add(Quote.shown(platform.toString()));
            }
            throw new BadArchiveException(
                    "has no image for this machine, which is "
                            + machine
                            + "; it has "
                            + others.stream().limit(SHOWN).collect(Collectors.joining(", ")),
                    "save the one for this machine (docker pull --platform " + machine + ")");
        }

        private Platform platform(Variant variant) throws BadArchiveException {
            if (!variant.platform().isUnknown()) {
                return variant.platform();
            }
            Platform platform = known.get(variant.config());
            if (platform == null) {
                platform = config(variant).platform();
                known.put(variant.config(), platform);
            }
            return platform;
        }

        private ArchiveJson.Config config(Variant variant) throws BadArchiveException {
            return ArchiveJson.config(variant.config(), verified(variant.config()));
        }
    }
}
