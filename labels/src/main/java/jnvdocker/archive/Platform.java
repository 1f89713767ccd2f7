package jnvdocker.archive;

/** The platform of an image, as images spell it: linux and amd64. */
public record Platform(String os, String architecture) {

    /**
     * @param architecture as Java's {@code os.arch} has it
     */
    public static Platform linux(String architecture) {
        return new Platform("linux", architecture.equals("aarch64") ? "arm64" : architecture);
    }

    /** Whether an image does not say. */
    boolean isUnknown() {
        return os.isEmpty() || architecture.isEmpty();
    }

    /** BuildKit's mark for entries of an index that are not images. */
    boolean isNone() {
        return os.equals("unknown") && architecture.equals("unknown");
    }

    @Override
    public String toString() {
        return os + "/" + architecture;
    }
}
