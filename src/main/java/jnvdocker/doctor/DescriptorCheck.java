package jnvdocker.doctor;

import jnvdocker.core.Leases;
import jnvdocker.lease.text.Owners;
import jnvdocker.process.OpenDevices;
import jnvdocker.words.Quote;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Finds processes with so many open files that the search for a GPU among them takes a while. */
final class DescriptorCheck implements Check {
    private final Leases leases;
    private final GpuCheck.Board board;

    DescriptorCheck(Leases leases, GpuCheck.Board board) {
        this.leases = leases;
        this.board = board;
    }

    @Override
    public String name() {
        return "files";
    }

    @Override
    public List<Finding> findings() throws IOException {
        board.status(); // so that it is up to date
        Map<Integer, List<OpenDevices.Partial>> users =
                leases.partiallyScanned().stream()
                        .collect(
                                Collectors.groupingBy(
                                        process -> process.credentials().uid(),
                                        TreeMap::new,
                                        Collectors.toList()));
        return users.isEmpty()
                ? List.of(Finding.ok("all open files can be checked in one pass"))
                : users.entrySet().stream()
                        .map(user -> finding(user.getKey(), user.getValue()))
                        .toList();
    }

    private static Finding finding(int uid, List<OpenDevices.Partial> processes) {
        long pending = processes.stream().filter(OpenDevices.Partial::pending).count();
        String what =
                Quote.shown(Owners.of(uid).name())
                        + " has more files open than are checked in one pass ("
                        + (processes.size() == 1 ? "pid " : processes.size() + " processes, pid ")
                        + processes.getFirst().process().pid()
                        + "): GPUs among them are seen some seconds late";
        String remedy =
                "see what they are (ls -l /proc/PID/fd), and end what is not needed, or limit it"
                        + " (ulimit -n)";
        return pending == 0
                ? Finding.hint(what, remedy)
                : Finding.wrong(
                        what
                                + ", and until "
                                + (pending == 1 ? "one of them is" : pending + " of them are")
                                + " read, the GPUs that they may open count as used",
                        remedy);
    }
}
