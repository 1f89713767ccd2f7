package jnvdocker.mesos.agent;

import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * An agent's {@code --resources} in Mesos' text form, {@code name(role):value;…}, parsed as Mesos
 * does. Resources other than GPUs are kept as they were written.
 */
record AgentResources(List<Entry> entries) {
    static final String GPUS = "gpus";
    static final String UUIDS = "gpu_uuids";

    /** An amount, as Mesos reads it; no host has more GPUs than these digits allow. */
    private static final Pattern AMOUNT = Pattern.compile("[0-9]{1,9}(\\.[0-9]{0,9})?");

    /**
     * @param key the name, and the role in parentheses if there is one
     */
    record Entry(String key, String value) {
        String name() {
            return key.replaceFirst("\\(.*", "").strip();
        }

        private String role() {
            return key.substring(key.indexOf('(') < 0 ? key.length() : key.indexOf('('));
        }

        @Override
        public String toString() {
            return key + ":" + value;
        }
    }

    AgentResources {
        entries = List.copyOf(entries);
    }

    /**
     * @throws RefusedException when Mesos would not accept the text, or it is JSON or a file's name
     */
    static AgentResources parse(String text) throws RefusedException {
        String stripped = text.strip();
        if (stripped.startsWith("[") || stripped.startsWith("{")) {
            throw new RefusedException(
                    "--resources in JSON is not supported here",
                    "write it as name(role):value;…, or leave it out and add the printed gpus to"
                            + " your JSON");
        }
        if (stripped.startsWith("/") || stripped.startsWith("file:")) {
            throw new RefusedException(
                    "--resources names a file, "
                            + Quote.quoted(stripped)
                            + ", which is not read here",
                    "write its content as name(role):value;…");
        }
        List<Entry> entries = new ArrayList<>();
        for (String token : stripped.split(";")) {
            if (!token.isBlank()) {
                entries.add(entry(token.strip()));
            }
        }
        return new AgentResources(entries);
    }

    private static Entry entry(String token) throws RefusedException {
        List<String> pair = Stream.of(token.split(":")).filter(part -> !part.isEmpty()).toList();
        if (pair.size() != 2) {
            throw wrong("missing or extra ':' in " + Quote.shown(token));
        }
        Entry entry = new Entry(pair.getFirst().strip(), pair.getLast().strip());
        if (entry.key().indexOf('(') >= 0 && entry.key().indexOf(')') < entry.key().indexOf('(')) {
            throw wrong("mismatched parentheses in " + Quote.shown(token));
        }
        if (entry.name().equals(UUIDS)) {
            throw new RefusedException(
                    UUIDS + " in --resources is not supported here",
                    "leave it out and use --uuids");
        }
        return entry;
    }

    private static RefusedException wrong(String why) {
        return new RefusedException(
                "bad value for resources, " + why, "write name:value;… or name(role):value;…");
    }

    /** Whether it has a number of GPUs, even zero. */
    boolean saysGpus() {
        return entries.stream().anyMatch(AgentResources::isGpus);
    }

    /** Whether it has several such numbers, for several roles. */
    boolean sharesGpus() {
        return entries.stream().filter(AgentResources::isGpus).count() > 1;
    }

    /**
     * All of them, whatever their roles; three decimals count, as for Mesos.
     *
     * @throws RefusedException when it is not a whole number
     */
    int gpus() throws RefusedException {
        BigDecimal sum = BigDecimal.ZERO;
        for (Entry entry : entries) {
            if (isGpus(entry)) {
                if (!AMOUNT.matcher(entry.value()).matches()) {
                    throw notWhole(entry);
                }
                sum = sum.add(new BigDecimal(entry.value()).movePointRight(3));
            }
        }
        long thousandths = Math.round(sum.doubleValue());
        if (thousandths % 1000 != 0) {
            throw notWhole(
                    entries.stream().filter(AgentResources::isGpus).findFirst().orElseThrow());
        }
        return (int) Math.min(thousandths / 1000, Integer.MAX_VALUE);
    }

    private static RefusedException notWhole(Entry entry) {
        return new RefusedException(
                AgentFlags.INVALID + "The 'gpus' resource must be an non-negative integer",
                "write a whole number in " + Quote.quoted(entry.toString()));
    }

    /** With that number of GPUs in place of its own, for the same role. */
    AgentResources withGpus(int count) {
        return with(GPUS, "" + count);
    }

    /** With these GPUs by name, in place of their number, for the same role. */
    AgentResources withUuids(List<String> uuids) {
        return with(UUIDS, "{" + String.join(",", uuids) + "}");
    }

    private AgentResources with(String name, String value) {
        String role =
                entries.stream()
                        .filter(AgentResources::isGpus)
                        .map(Entry::role)
                        .findFirst()
                        .orElse("");
        List<Entry> others = new ArrayList<>(entries);
        others.removeIf(AgentResources::isGpus);
        others.add(new Entry(name + role, value));
        return new AgentResources(others);
    }

    private static boolean isGpus(Entry entry) {
        return entry.name().equals(GPUS);
    }

    @Override
    public String toString() {
        return entries.stream().map(Entry::toString).collect(Collectors.joining(";"));
    }
}
