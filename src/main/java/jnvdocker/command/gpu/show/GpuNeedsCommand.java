package jnvdocker.command.gpu.show;

import jnvdocker.command.caller.ShowCommand;
import jnvdocker.command.start.SuitedGpus;
import jnvdocker.host.Gpu;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.host.NoDriverException;
import jnvdocker.labels.DriverFacts;
import jnvdocker.nvml.CudaVersions;
import jnvdocker.nvml.GpuFacts;
import jnvdocker.screen.Screen;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

@Command(
        name = "needs",
        description = {
            "Show what an image needs and whether this host has it; exit with 1 if it does not.",
            "Nothing is pulled. A FILE is the output of docker save, or a tar with an OCI image"
                    + " layout, plain or compressed with gzip or zstd; it is read with your rights."
        })
public final class GpuNeedsCommand extends ShowCommand {
    private final Host host;
    private final CudaVersions cuda;
    private final ImageSource images;
    private final Function<Gpu, Optional<GpuFacts>> known;

    @Parameters(
            paramLabel = "IMAGE|FILE",
            description = {
                "An image that the Docker engine has, or an archive of images.",
                "A file begins with /, ./ or ../, or ends in .tar, .tar.gz, .tgz,",
                ".tar.zst or .tzst."
            })
    private String source;

    @Option(
            names = "--image",
            paramLabel = "NAME",
            description = "Choose one of several images in a FILE.")
    private String image;

    /**
     * @param known what NVML has reported about a GPU
     */
    public GpuNeedsCommand(
            Host host,
            CudaVersions cuda,
            ImageSource images,
            Function<Gpu, Optional<GpuFacts>> known,
            Screen screen) {
        super(screen);
        this.host = host;
        this.cuda = cuda;
        this.images = images;
        this.known = known;
    }

    @Override
    protected NeedsReport show() throws IOException, RefusedException {
        return report(find());
    }

    private ImageSource.Found find() throws IOException, RefusedException {
        if (source.isEmpty()) {
            throw usage("the image's name is empty");
        }
        if (ImageSource.isFile(source)) {
            return images.archive(source, Optional.ofNullable(image));
        }
        if (image != null) {
            throw usage(
                    "--image needs an archive FILE; " + Quote.quoted(source) + " is an image name");
        }
        return images.image(source);
    }

    /** The report; on a host with different GPUs, for the first that has what the image needs. */
    private NeedsReport report(ImageSource.Found found) throws IOException {
        HostDriver driver;
        try {
            driver = HostDriver.read(host);
        } catch (NoDriverException e) {
            return NeedsReport.of(found, Optional.empty(), e.getMessage());
        }
        DriverFacts facts = cuda.facts(driver.version());
        if (NeedsReport.needsNewerCuda(found, facts)) {
            Optional<Boolean> compat = images.compat(found, driver.version());
            facts = compat.map(facts::withCompat).orElse(facts);
        }
        List<DriverFacts> gpus = SuitedGpus.facts(facts, driver.gpus(), known);
        return gpus.stream()
                .map(each -> NeedsReport.of(found, Optional.of(each), ""))
                .reduce((one, other) -> one.isMet() ? one : other.isMet() ? other : one)
                .orElseThrow();
    }
}
