package jnvdocker.request;

import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Lists of GPUs as the option and the variable have them in common. */
final class GpuIds {
    private static final Pattern SEPARATORS = Pattern.compile("[\\s,]+");

    private static final Pattern RANGE = Pattern.compile("([0-9]{1,4})-([0-9]{1,4})");

    /** The prefix of CDI names of GPUs: NVIDIA's, ours, and ours for pods. */
    private static final Pattern CDI_KIND =
            Pattern.compile("((runtime\\.)?nvidia\\.com|(pod\\.)?jnvdocker)/gpu=");

    private GpuIds() {}

    static boolean isCdiName(String id) {
        return CDI_KIND.matcher(id).lookingAt();
    }

    static List<String> split(String list) {
        return expanded(SEPARATORS.splitAsStream(list).filter(id -> !id.isEmpty()).toList());
    }

    /**
     * The ids of a list in which {@code 4-7} means each of these indices, as we print them, and
     * {@code nvidia.com/gpu=0} the same GPU as {@code 0}.
     */
    static List<String> expanded(List<String> list) {
        List<String> ids = new ArrayList<>();
        list.forEach(id -> {
            Matcher kind = CDI_KIND.matcher(id);
            add(kind.lookingAt() ? id.substring(kind.end()) : id, ids);
        });
        return ids;
    }

    /** A range that is no list of GPUs stays as it is, and means none. */
    private static void add(String id, List<String> ids) {
        Matcher range = RANGE.matcher(id);
        int first = range.matches() ? Integer.parseInt(range.group(1)) : 0;
        int last = range.matches() ? Integer.parseInt(range.group(2)) : -1;
        if (first > last || last - first >= GpuRequest.MAX_IDS || ids.size() > GpuRequest.MAX_IDS) {
            ids.add(id);
            return;
        }
        for (int index = first; index <= last; index++) {
            ids.add(Integer.toString(index));
        }
    }

    /**
     * @param source the option or variable that the ids come from
     * @param example how several GPUs are named there
     */
    static GpuRequest request(String source, String example, List<String> ids)
            throws InvalidGpuRequestException {
        Set<String> folded = new HashSet<>(ids);
        for (String word : List.of("all", "none")) {
            if (folded.contains(word) && folded.size() > 1) {
                throw new InvalidGpuRequestException(
                        Refusal.of(
                                "%s: '%s' cannot be combined with ids: write it alone, or ids as in %s"
                                        .formatted(source, word, example)));
            }
        }
        check(source, example, ids);
        return switch (ids.getFirst()) {
            case "all" -> new GpuRequest.All();
            case "none" -> new GpuRequest.None();
            default -> new GpuRequest.Devices(List.copyOf(ids));
        };
    }

    private static void check(String source, String example, List<String> ids)
            throws InvalidGpuRequestException {
        if (ids.isEmpty()) {
            throw new InvalidGpuRequestException(
                    Refusal.of(
                            "%s: names no GPU: write for example %s".formatted(source, example)));
        }
        if (ids.size() > GpuRequest.MAX_IDS) {
            throw new InvalidGpuRequestException(
                    new Refusal(
                            "%s: %d GPUs are named, at most %d can be"
                                    .formatted(source, ids.size(), GpuRequest.MAX_IDS),
                            "name fewer"));
        }
        for (String id : ids) {
            if (!GpuRequest.Devices.isId(id)) {
                throw new InvalidGpuRequestException(
                        Refusal.of(
                                "%s: %s is not a GPU's index, UUID or PCI address, as in %s"
                                        .formatted(source, Quote.quoted(id), example)));
            }
        }
    }
}
