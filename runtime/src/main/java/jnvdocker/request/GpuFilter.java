package jnvdocker.request;

import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Which GPUs may be among a number of them, and how much of each is requested. {@code toString} is
 * the spelling that {@code --gpus} takes behind the number.
 *
 * @param memory that each has at least
 * @param model a part of the name of each model; {@code A10} is no part of {@code A100}
 * @param share how much memory of each is requested, beside other holders; empty for whole GPUs
 */
public record GpuFilter(
        Optional<MemorySize> memory, Optional<String> model, Optional<MemorySize> share) {
    public static final GpuFilter ANY = sharing(Optional.empty());

    /**
     * The smallest share. A program takes about as much for its CUDA context alone, before it has
     * allocated anything: with less, no program runs.
     */
    public static final MemorySize LEAST_SHARE = new MemorySize(256, "MiB");

    private static final Pattern MODEL =
            Pattern.compile("[A-Za-z0-9._/()+-]([A-Za-z0-9 ._/()+-]{0,62}[A-Za-z0-9._/()+-])?");

    public GpuFilter {
        if (model.isPresent() && !isModel(model.get())) {
            throw new IllegalArgumentException("not a part of a model's name: " + model.get());
        }
        if (share.isPresent() && !isShare(share.get())) {
            throw new IllegalArgumentException("not a share: " + share.get());
        }
    }

    /** Any GPUs, whole or with that much memory of each. */
    public static GpuFilter sharing(Optional<MemorySize> share) {
        return new GpuFilter(Optional.empty(), Optional.empty(), share);
    }

    /** Whether a share may be as small as that. */
    public static boolean isShare(MemorySize amount) {
        return amount.bytes() >= LEAST_SHARE.bytes();
    }

    static boolean isModel(String text) {
        return MODEL.matcher(text).matches();
    }

    public boolean isAny() {
        return equals(ANY);
    }

    /** Whether a model has this name, in whichever case; numbers in it count as a whole. */
    public boolean allowsModel(String name) {
        return model.isEmpty() || isPart(model.get().toLowerCase(Locale.ROOT), name);
    }

    private static boolean isPart(String part, String name) {
        String lower = name.toLowerCase(Locale.ROOT);
        for (int at = lower.indexOf(part); at >= 0; at = lower.indexOf(part, at + 1)) {
            int end = at + part.length();
            if (!isAmidNumber(lower, at) && !isAmidNumber(lower, end)) {
                return true;
            }
        }
        return false;
    }

    private static boolean isAmidNumber(String text, int at) {
        return at > 0
                && at < text.length()
                && Character.isDigit(text.charAt(at - 1))
                && Character.isDigit(text.charAt(at));
    }

    @Override
    public String toString() {
        return memory.map(it -> ",memory=" + it).orElse("")
                + model.map(it -> ",model=" + it).orElse("")
                + share.map(it -> ",share=" + it).orElse("");
    }
}
