package jnvdocker.labels;

import java.util.List;
import java.util.Optional;

/**
 * Which CUDA version each branch of the driver supports. A query of the driver itself is better;
 * this is for the time until it has answered, and for messages that name a sufficient driver.
 *
 * <p>From the table "CUDA Toolkit and Corresponding Driver Versions" of NVIDIA's CUDA Toolkit
 * release notes (7.0 to 13.3: the branch of the first driver that is listed for a CUDA version),
 * but for these: 340 was the driver of the CUDA 6.5 toolkit; 387 is the driver that the notes
 * listed for 9.1 when it came out (390 since); 565 belongs to no toolkit, and its nvidia-smi prints
 * 12.7; 615.71.09, of the time of CUDA 13.4, prints 13.4. The libcuda of 470.256.02, 535.261.03 and
 * 550.163.01 report the same as the table.
 *
 * <p>A branch between two lines supports at least what the one below it does, and is taken for
 * that: some drivers of 430 print 10.2, others 10.1.
 */
public final class DriverBranches {
    private record Branch(int number, CudaVersion cuda) {
        DriverVersion first() {
            return DriverVersion.parse(number + ".0");
        }
    }

    private static final List<Branch> BRANCHES =
            List.of(
                    branch(340, 6, 5),
                    branch(346, 7, 0),
                    branch(352, 7, 5),
                    branch(367, 8, 0),
                    branch(384, 9, 0),
                    branch(387, 9, 1),
                    branch(390, 9, 1),
                    branch(396, 9, 2),
                    branch(410, 10, 0),
                    branch(418, 10, 1),
                    branch(440, 10, 2),
                    branch(450, 11, 0),
                    branch(455, 11, 1),
                    branch(460, 11, 2),
                    branch(465, 11, 3),
                    branch(470, 11, 4),
                    branch(495, 11, 5),
                    branch(510, 11, 6),
                    branch(515, 11, 7),
                    branch(520, 11, 8),
                    branch(525, 12, 0),
                    branch(530, 12, 1),
                    branch(535, 12, 2),
                    branch(545, 12, 3),
                    branch(550, 12, 4),
                    branch(555, 12, 5),
                    branch(560, 12, 6),
                    branch(565, 12, 7),
                    branch(570, 12, 8),
                    branch(575, 12, 9),
                    branch(580, 13, 0),
                    branch(590, 13, 1),
                    branch(595, 13, 2),
                    branch(610, 13, 3),
                    branch(615, 13, 4));

    private DriverBranches() {}

    /**
     * Empty for a driver that is older than the table or of a branch newer than its newest: an
     * unknown version cannot be compared.
     */
    public static Optional<CudaVersion> cudaOf(DriverVersion driver) {
        if (driver.branch() > BRANCHES.getLast().number()) {
            return Optional.empty();
        }
        return BRANCHES.reversed().stream()
                .filter(branch -> branch.number() <= driver.branch())
                .findFirst()
                .map(Branch::cuda);
    }

    /**
     * The lowest branch above the loaded driver's from which on every branch of the table meets
     * these needs, with the same GPU; empty when there is none.
     */
    static Optional<Integer> driverFor(GpuNeeds needs, DriverFacts facts) {
        Integer lowest = null;
        for (Branch branch : BRANCHES.reversed()) {
            boolean newer = branch.number() > facts.driver().branch();
            if (!newer || !needs.areMetBy(facts.withDriver(branch.first(), branch.cuda()))) {
                break;
            }
            lowest = branch.number();
        }
        return Optional.ofNullable(lowest);
    }

    private static Branch branch(int number, int major, int minor) {
        return new Branch(number, new CudaVersion(major, minor));
    }
}
