package jnvdocker.request;

import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Reads one value of {@code --gpus}: what docker's command line accepts (its opts/gpus.go), and
 * what its engine then makes of it (daemon/nvidia_linux.go). As nothing of the option reaches
 * docker, what the engine would refuse is refused here.
 */
final class GpuOption {
    private static final String EXAMPLE = "--gpus '\"device=0,1\"'";
    private static final Pattern NUMBER = Pattern.compile("[+-]?[0-9]{1,9}");

    private final String value;
    private final Set<String> keys = new HashSet<>();
    private final List<String> ids = new ArrayList<>();
    private final List<String> capabilities = new ArrayList<>();
    private String count;
    private Optional<MemorySize> memory = Optional.empty();
    private Optional<String> model = Optional.empty();
    private Optional<MemorySize> share = Optional.empty();
    private Optional<String> with = Optional.empty();

    GpuOption(String value) {
        this.value = value;
    }

    GpuRequest request() throws InvalidGpuRequestException {
        String key = "";
        for (String field : fields()) {
            int equals = field.indexOf('=');
            if (equals >= 0) {
                key = field.substring(0, equals);
                keyed(key, field.substring(equals + 1));
            } else if (key.equals("device")) {
                ids.addAll(GpuIds.split(field));
            } else {
                bare(field);
            }
        }
        return decided();
    }

    /** The capabilities that docker puts into {@code NVIDIA_DRIVER_CAPABILITIES}. */
    List<String> capabilities() {
        return capabilities.stream().filter(it -> !DeviceRequest.ANY_GPU.contains(it)).toList();
    }

    private List<String> fields() throws InvalidGpuRequestException {
        if (value.isBlank()) {
            throw wrong("a value is missing: write a number of GPUs, 'all', 'none' or " + EXAMPLE);
        }
        return CsvLine.parse(value)
                .orElseThrow(() ->
                        wrong(
                                "quotes in %s must go round a whole field, as in %s"
                                        .formatted(Quote.quoted(value), EXAMPLE)));
    }

    private void bare(String field) throws InvalidGpuRequestException {
        if (count != null) {
            throw wrong(
                    "%s is more than one number of GPUs: write %s to name GPUs"
                            .formatted(Quote.quoted(value), EXAMPLE));
        }
        count = field;
    }

    private void keyed(String key, String text) throws InvalidGpuRequestException {
        if (!keys.add(key) || (key.equals("count") && count != null)) {
            throw wrong(
                    "%s is given more than once in %s: give it once"
                            .formatted(Quote.quoted(key), Quote.quoted(value)));
        }
        switch (key) {
            case "count" -> count = text;
            case "device" -> ids.addAll(GpuIds.split(text));
            case "capabilities" -> readCapabilities(text);
            case "driver" -> checkDriver(text);
            case "options" -> {} // for NVIDIA's runtime hook, which has no options either
            case "memory" -> memory = Optional.of(memory(key, text));
            case "share" -> share = Optional.of(share(key, text));
            case "model" -> model = Optional.of(model(text));
            case "with" -> with = Optional.of(holder(text));
            default ->
                    throw wrong(
                            "unknown key %s, not one of count, memory, model, share, device, with, capabilities, driver, options"
                                    .formatted(Quote.quoted(key)));
        }
    }

    private void readCapabilities(String text) throws InvalidGpuRequestException {
        for (String capability : text.split(",", -1)) {
            if (!DeviceRequest.CAPABILITIES.contains(capability)) {
                throw wrong(
                        "%s is not a capability: there are %s"
                                .formatted(
                                        Quote.quoted(capability),
                                        String.join(
                                                ", ",
                                                DeviceRequest.CAPABILITIES.stream()
                                                        .sorted()
                                                        .toList())));
            }
            capabilities.add(capability);
        }
    }

    private static void checkDriver(String text) throws InvalidGpuRequestException {
        if (!text.isEmpty() && !text.equals("nvidia")) {
            throw wrong(
                    "driver=%s cannot be given with a lease: write driver=nvidia or leave it out"
                            .formatted(Quote.quoted(text)));
        }
    }

    private static MemorySize memory(String key, String text) throws InvalidGpuRequestException {
        return MemorySize.parse(text)
                .orElseThrow(() ->
                        wrong(
                                "%s=%s is not an amount of memory: write a number from 1 to 999999 and M, G, MiB or GiB, as in %s=40G"
                                        .formatted(key, Quote.quoted(text), key)));
    }

    private static MemorySize share(String key, String text) throws InvalidGpuRequestException {
        MemorySize amount = memory(key, text);
        if (!GpuFilter.isShare(amount)) {
            throw wrong(
                    "%s=%s is less than the smallest share: write %s or more"
                            .formatted(key, Quote.quoted(text), GpuFilter.LEAST_SHARE));
        }
        return amount;
    }

    private static String model(String text) throws InvalidGpuRequestException {
        String model = text.strip();
        if (!GpuFilter.isModel(model)) {
            throw wrong(
                    "model=%s is not a part of a model's name: write one that 'jnvdocker gpu ls' shows, as in model=A100"
                            .formatted(Quote.quoted(text)));
        }
        return model;
    }

    private static String holder(String text) throws InvalidGpuRequestException {
        String holder = text.strip();
        if (!GpuRequest.With.isName(holder)) {
            throw wrong(
                    "with=%s is not the name of a container: write one that 'jnvdocker gpu ls' shows as a holder, as in with=train-7"
                            .formatted(Quote.quoted(text)));
        }
        return holder;
    }

    private GpuRequest decided() throws InvalidGpuRequestException {
        GpuFilter filter = new GpuFilter(memory, model, share);
        if (with.isPresent()) {
            if (count != null || keys.contains("device") || !filter.isAny()) {
                throw wrong(
                        "with in %s means all GPUs of that container: leave out count, device, memory, model and share"
                                .formatted(Quote.quoted(value)));
            }
            return new GpuRequest.With(with.get());
        }
        if (!keys.contains("device")) {
            GpuRequest request = count == null ? new GpuRequest.Count(1) : counted(count);
            return filter.isAny() ? request : filtered(request, filter);
        }
        if (!filter.isAny()) {
            throw wrong(
                    "memory, model and share in %s cannot be combined with the names of GPUs: write a number of GPUs, as in --gpus count=2,memory=40G"
                            .formatted(Quote.quoted(value)));
        }
        if (count != null) {
            throw wrong(
                    "%s has both a number of GPUs and names of GPUs: give one of them, as in %s"
                            .formatted(Quote.quoted(value), EXAMPLE));
        }
        return GpuIds.request("--gpus", EXAMPLE, ids);
    }

    private GpuRequest filtered(GpuRequest request, GpuFilter filter)
            throws InvalidGpuRequestException {
        return switch (request) {
            case GpuRequest.Count(int number, _) -> new GpuRequest.Count(number, filter);
            case GpuRequest.All _, GpuRequest.None _, GpuRequest.Devices _, GpuRequest.With _ ->
                    throw wrong(
                            "memory, model and share in %s need a number of GPUs: write it, as in --gpus count=2,memory=40G"
                                    .formatted(Quote.quoted(value)));
        };
    }

    /**
     * Any negative number is all GPUs to the engine, and 0 is none (before docker 27.3 a 0 left it
     * to the image's environment, which never selects GPUs here).
     */
    private static GpuRequest counted(String count) throws InvalidGpuRequestException {
        if (count.equals("all")) {
            return new GpuRequest.All();
        }
        if (count.equals("none")) {
            return new GpuRequest.None();
        }
        if (!NUMBER.matcher(count).matches()) {
            throw wrong(
                    "%s is not a number of GPUs: write a number, 'all', 'none' or device=<ids>"
                            .formatted(Quote.quoted(count)));
        }
        int number = Integer.parseInt(count);
        if (number < 0) {
            return new GpuRequest.All();
        }
        return number == 0 ? new GpuRequest.None() : new GpuRequest.Count(number);
    }

    private static InvalidGpuRequestException wrong(String what) {
        return new InvalidGpuRequestException(Refusal.of("--gpus: " + what));
    }
}
