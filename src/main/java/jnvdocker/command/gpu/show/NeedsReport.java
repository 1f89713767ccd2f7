package jnvdocker.command.gpu.show;

import jnvdocker.labels.Alternative;
import jnvdocker.labels.BadImageException;
import jnvdocker.labels.CudaVersion;
import jnvdocker.labels.DriverFacts;
import jnvdocker.labels.Fulfilment;
import jnvdocker.labels.GpuNeeds;
import jnvdocker.labels.ImageConfig;
import jnvdocker.labels.NamedRequirement;
import jnvdocker.labels.RawNeeds;
import jnvdocker.labels.Requirement;
import jnvdocker.labels.Unchecked;
import jnvdocker.protocol.ExitCode;
import jnvdocker.screen.Column;
import jnvdocker.screen.Screen;
import jnvdocker.screen.Shown;
import jnvdocker.screen.TextTable;
import jnvdocker.words.Quote;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;

/** The needs of an image, and whether this host meets them, for people and for programs. */
final class NeedsReport implements Shown {
    /** The maximum number of alternatives of a variable in a table; an image may have thousands. */
    private static final int ALTERNATIVES = 100;

    private final ImageSource.Found image;
    private final RawNeeds requested;
    private final Optional<DriverFacts> driver;
    private final boolean gpus;
    private final boolean implied;
    private final boolean checkDisabled;
    private final List<NamedRequirement> requirements;
    private final List<String> reasons;
    private final List<String> unchecked;

    /**
     * @param driver empty when none is loaded
     * @param noDriver the message for that
     */
    static NeedsReport of(ImageSource.Found image, Optional<DriverFacts> driver, String noDriver) {
        try {
            GpuNeeds needs = GpuNeeds.of(image.config());
            List<String> reasons = new ArrayList<>();
            if (needs.gpus() && driver.isEmpty()) {
                reasons.add(noDriver);
            }
            driver.map(needs::unmetBy).ifPresent(reasons::addAll);
            return new NeedsReport(image, driver, needs, reasons);
        } catch (BadImageException e) {
            return new NeedsReport(image, driver, e.getMessage());
        }
    }

    /** Whether it requires CUDA of a newer version than the driver's, which it may have itself. */
    static boolean needsNewerCuda(ImageSource.Found image, DriverFacts facts) {
        try {
            return GpuNeeds.of(image.config()).lackCuda(facts);
        } catch (BadImageException e) {
            return false;
        }
    }

    private NeedsReport(
            ImageSource.Found image,
            Optional<DriverFacts> driver,
            GpuNeeds needs,
            List<String> reasons) {
        this.image = image;
        this.requested = RawNeeds.of(image.config());
        this.driver = driver;
        this.gpus = needs.gpus();
        this.implied = needs.implied();
        this.checkDisabled = needs.requireDisabled();
        this.requirements = checkDisabled ? disabled(image.config()) : needs.requirements();
        this.reasons = List.copyOf(reasons);
        this.unchecked =
                driver.map(needs::unchecked).orElse(List.of()).stream()
                        .map(Unchecked::message)
                        .toList();
    }

    /** The report of an image with a request for GPUs that cannot be understood. */
    private NeedsReport(
            ImageSource.Found image, Optional<DriverFacts> driver, String misunderstanding) {
        this.image = image;
        this.requested = RawNeeds.of(image.config());
        this.driver = driver;
        this.gpus = true;
        this.implied = false;
        this.checkDisabled = false;
        this.requirements = List.of();
        this.reasons = List.of(misunderstanding);
        this.unchecked = List.of();
    }

    /**
     * Returns the requirements that would be checked; none if they cannot be understood, which does
     * not matter then.
     */
    private static List<NamedRequirement> disabled(ImageConfig image) {
        try {
            return GpuNeeds.of(image, Collections.singletonMap("NVIDIA_DISABLE_REQUIRE", null))
                    .requirements();
        } catch (BadImageException e) {
            return List.of();
        }
    }

    @Override
    public ExitCode exitCode() {
        return isMet() ? ExitCode.OK : ExitCode.WRONG;
    }

    /** Whether {@code jnvdocker run} would start it here, as far as its needs go. */
    boolean isMet() {
        return reasons.isEmpty();
    }

    @Override
    public List<String> lines(Screen screen) {
        List<String> lines = new ArrayList<>();
        lines.add("Image:         " + name());
        lines.add("GPUs:          " + (gpus ? "yes (" + shown(requested.by()) + ")" : no()));
        requested
                .cuda()
                .ifPresent(
                        cuda -> lines.add("CUDA version:  " + Quote.shown(cuda) + labelRemark()));
        requested
                .capabilities()
                .ifPresent(words -> lines.add("Capabilities:  " + Quote.shown(words)));
        if (checkDisabled) {
            lines.add(
                    "Check:         none (NVIDIA_DISABLE_REQUIRE="
                            + Quote.shown(requested.disableRequire().orElse(""))
                            + ")");
        }
        lines.add("This host:     " + driver.map(NeedsReport::host).orElse("no NVIDIA driver"));
        if (driver.flatMap(DriverFacts::compat).orElse(false)) {
            lines.add("CUDA libs:     the image's own come first");
        }
        lines.addAll(table(screen));
        lines.add("");
        unchecked.forEach(each -> lines.add("Not known: " + each));
        reasons.forEach(reason -> lines.add("Not met: " + reason));
        if (isMet()) {
            lines.add(
                    gpus
                            ? "Met: this host has what the image needs"
                            : "Met: the image needs no GPU");
        }
        return lines;
    }

    private String no() {
        return implied ? "no; by the OCI runtime, for it has CUDA_VERSION" : "no";
    }

    private String name() {
        String name = Quote.shown(image.name());
        String platform =
                image.platform().map(it -> " (" + Quote.shown(it.toString()) + ")").orElse("");
        return image.file().map(file -> name + platform + " in " + Quote.shown(file)).orElse(name);
    }

    private static String shown(List<String> texts) {
        return texts.stream().map(Quote::shown).collect(Collectors.joining(", "));
    }

    private String labelRemark() {
        boolean decides =
                requirements.stream().noneMatch(each -> each.name().equals("NVIDIA_REQUIRE_CUDA"));
        return " or newer (label com.nvidia.cuda.version"
                + (decides ? "" : "; NVIDIA_REQUIRE_CUDA decides instead")
                + ")";
    }

    private static String host(DriverFacts facts) {
        return "driver "
                + facts.driver()
                + ", CUDA version "
                + facts.cuda().map(CudaVersion::toString).orElse("unknown")
                + facts.arch().map(arch -> ", arch " + arch).orElse("")
                + facts.brand().map(brand -> ", brand " + Quote.shown(brand)).orElse("");
    }

    private record Row(String variable, String alternative, String here) {}

    private static final List<Column<Row>> COLUMNS =
            List.of(
                    Column.of("VARIABLE", Row::variable),
                    new Column<>("ONE OF", Column.Cut.NEXT, Row::alternative),
                    new Column<>("HERE", Column.Cut.NEXT, Row::here));

    private List<String> table(Screen screen) {
        if (requirements.isEmpty()) {
            return List.of();
        }
        List<Row> rows = new ArrayList<>();
        for (NamedRequirement named : requirements) {
            String variable = Quote.shown(named.name());
            List<Alternative> all = named.requirement().alternatives();
            for (Alternative alternative : all.subList(0, Math.min(all.size(), ALTERNATIVES))) {
                rows.add(
                        new Row(
                                variable,
                                Quote.shown(alternative.whole()),
                                here(alternative, named.requirement())));
                variable = "";
            }
            if (all.size() > ALTERNATIVES) {
                String more = "and " + (all.size() - ALTERNATIVES) + " more";
                rows.add(new Row("", more, "--json has them"));
            }
        }
        List<String> lines = new ArrayList<>(List.of(""));
        lines.addAll(new TextTable<>(COLUMNS).lines(rows, screen));
        return lines;
    }

    private String here(Alternative alternative, Requirement requirement) {
        return driver.map(facts ->
                        switch (alternative.test(facts)) {
                            case MET -> "met" + compat(requirement, facts);
                            case UNMET ->
                                    "not met: "
                                            + alternative
                                                    .only(Fulfilment.UNMET, facts)
                                                    .values(facts);
                            case UNKNOWN ->
                                    "counts as met: "
                                            + alternative
                                                    .only(Fulfilment.UNKNOWN, facts)
                                                    .values(facts)
                                            + compat(requirement, facts);
                        })
                .orElse("-");
    }

    /** Returns what to add about an alternative that the image's own CUDA libraries meet. */
    private static String compat(Requirement requirement, DriverFacts facts) {
        if (requirement.restsOnCompat(facts).isEmpty()) {
            return "";
        }
        return facts.compat()
                .map(first ->
                        first
                                ? ", by CUDA libraries of the image's own"
                                : " only by CUDA libraries of the image's own")
                .orElse(", if CUDA libraries of the image's own come first");
    }

    @Override
    public Document document() {
        return new Document(
                image.name(),
                image.file().orElse(null),
                image.platform().map(Object::toString).orElse(null),
                gpus,
                requested.by(),
                requested.cuda().orElse(null),
                requested.capabilities().orElse(null),
                checkDisabled,
                requirements.stream().map(named -> Variable.of(named, driver)).toList(),
                driver.map(facts -> facts.driver().text()).orElse(null),
                driver.flatMap(DriverFacts::cuda).map(CudaVersion::toString).orElse(null),
                driver.flatMap(DriverFacts::compat).orElse(null),
                isMet(),
                reasons,
                unchecked);
    }

    /** The needs as {@code --json} prints them. */
    record Document(
            String image,
            String file,
            String platform,
            boolean gpus,
            List<String> askedBy,
            String cudaLabel,
            String driverCapabilities,
            boolean requireDisabled,
            List<Variable> requirements,
            String driver,
            String driverCuda,
            Boolean compatFirst,
            boolean met,
            List<String> reasons,
            List<String> unchecked) {}

    /** A variable; one of its alternatives must be met. */
    record Variable(String variable, Boolean met, List<Conditions> alternatives) {
        static Variable of(NamedRequirement named, Optional<DriverFacts> driver) {
            return new Variable(
                    named.name(),
                    driver.map(named.requirement()::isMetBy).orElse(null),
                    named.requirement().alternatives().stream()
                            .map(alternative -> Conditions.of(alternative, driver))
                            .toList());
        }
    }

    /** An alternative; all of its conditions must be met. */
    record Conditions(String conditions, String outcome, String unmet, String values) {
        static Conditions of(Alternative alternative, Optional<DriverFacts> driver) {
            return new Conditions(
                    alternative.whole(),
                    driver.map(facts -> word(alternative.test(facts))).orElse(null),
                    driver.map(facts -> alternative.only(Fulfilment.UNMET, facts))
                            .filter(unmet -> !unmet.conditions().isEmpty())
                            .map(Alternative::whole)
                            .orElse(null),
                    driver.map(alternative::values).orElse(null));
        }
    }

    private static String word(Fulfilment fulfilment) {
        return fulfilment.name().toLowerCase(Locale.ROOT);
    }
}
