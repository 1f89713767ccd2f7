package jnvdocker.tests.bench;

import com.sun.management.OperatingSystemMXBean;

import jnvdocker.host.DrmNodes;
import jnvdocker.process.Processes;
import jnvdocker.tests.world.CProgram;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.Locale;

/**
 * The duration and processor time of a search for processes with open GPUs: with 100, 1,000 and
 * 4,000 processes of 60 descriptors each, and with 20 processes of one user with 19,900 each.
 */
public final class ScanBench {
    /** The major number of GPUs. Whether any exist does not matter. */
    private static final int MAJOR = 195;

    private static final int SCANS = 20;
    private static final int WARM_UP = 5;
    private static final int NOBODY = 65534;

    private ScanBench() {}

    public static void main(String[] arguments) throws IOException, InterruptedException {
        int scans = arguments.length == 0 ? SCANS : Integer.parseInt(arguments[0]);
        Path directory = Directories.make("scan");
        try {
            Path program = directory.resolve("openmany");
            CProgram.put("openmany", program);
            Command.of("chmod", "-R", "755", directory).run().ok();
            measure(program, 100, 60, scans);
            measure(program, 1000, 60, scans);
            measure(program, 4000, 60, scans);
            measure(program, 20, 19_900, scans);
        } finally {
            Directories.remove(directory);
        }
    }

    private static void measure(Path program, int processes, int descriptors, int scans)
            throws IOException, InterruptedException {
        String user = "--reuid=" + NOBODY;
        Process many =
                new ProcessBuilder(
                                "setpriv",
                                user,
                                "--clear-groups",
                                program.toString(),
                                String.valueOf(processes),
                                String.valueOf(descriptors))
                        .redirectError(ProcessBuilder.Redirect.INHERIT)
                        .start();
        try {
            if (!"ready".equals(many.inputReader().readLine())) {
                throw new IOException("no " + processes + " processes");
            }
            Processes machine = Processes.ofThisMachine();
            OperatingSystemMXBean system =
                    ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
            Samples times = new Samples(scans);
            Samples processors = new Samples(scans);
            for (int i = -WARM_UP; i < scans; i++) {
                long before = system.getProcessCpuTime();
                long start = System.nanoTime();
                machine.usersOf(MAJOR, DrmNodes.MAJOR);
                if (i >= 0) {
                    times.add(System.nanoTime() - start);
                    processors.add(system.getProcessCpuTime() - before);
                }
            }
            System.out.printf(
                    Locale.ROOT, "%5d processes, %5d descriptors each%n", processes, descriptors);
            System.out.println("  time        " + times);
            System.out.println("  processors  " + processors);
        } finally {
            many.destroyForcibly().waitFor();
        }
    }
}
