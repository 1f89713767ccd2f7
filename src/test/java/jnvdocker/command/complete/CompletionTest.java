package jnvdocker.command.complete;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.command.CommandGroups;
import jnvdocker.command.start.RunHelp;
import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimKey;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Owner;
import jnvdocker.posix.ProcessId;

import org.junit.jupiter.api.Test;

import picocli.CommandLine;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;

import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;

class CompletionTest {
    /** Any user of docker chooses the names of containers. */
    private static final List<String> HOSTILE =
            List.of("$(reboot)", "`reboot`", "a b", "x;reboot", "'", "\u001b[2J", "-\n:files", "*");

    private static final Visible HOST =
            new Visible() {
                @Override
                public List<Gpu> gpus() {
                    return IntStream.range(0, 3).mapToObj(CompletionTest::gpu).toList();
                }

                @Override
                public List<Lease> leases() {
                    List<Lease> leases = new ArrayList<>(List.of(lease(1, "train-1.5_b")));
                    HOSTILE.forEach(name -> leases.add(lease(leases.size() + 1, name)));
                    return leases;
                }

                @Override
                public List<String> users() {
                    return List.of("alice", "bob", "$(reboot)");
                }
            };

    private static final Completion COMPLETION =
            new Completion(HOST, CommandGroups.ALL, RunHelp.options());

    private static Gpu gpu(int index) {
        String uuid = "GPU-5c1a%d00%d-1d2c-4e5f-8a9b-01234567890%d".formatted(index, index, index);
        return new Gpu(index, uuid, index, "0000:0" + index + ":00.0", "NVIDIA A100");
    }

    private static Lease lease(int id, String name) {
        Claim claim =
                new Claim(
                        ClaimKey.secretless("%012x".formatted(id * 0x111)),
                        new Origin.EngineContainer("ENGINE", Optional.of("nvidia/cuda")),
                        new Owner(1000, "alice"),
                        List.of(
                                new ClaimedGpu(
                                        gpu(1).uuid(), 1, 1, Optional.empty(), Optional.empty())),
                        Instant.EPOCH,
                        Optional.of(new Claim.ContainerRef("3f2a".repeat(16), name)));
        return new Lease(
                id,
                claim,
                Holder.reserved(new ProcessId(4711, 5)),
                "boot",
                Instant.EPOCH,
                Optional.empty(),
                1,
                Optional.empty());
    }

    private static List<String> lines(String... words) {
        return COMPLETION.answer(List.of(words), CommandGroups.REQUEST, null).lines().toList();
    }

    /** The candidates, and the other ways. */
    private static List<String> complete(String... words) {
        return lines(words).stream().map(line -> line.split("\t")[0]).toList();
    }

    private static CommandSpec group(String name) {
        return CommandGroups.ALL.get(name).commands(CommandGroups.REQUEST, null).getCommandSpec();
    }

    @Test
    void ownWordsAreBesideDockers() {
        assertEquals(List.of("gpu", "k8s", "mesos", "runtime", ":docker"), complete(""));
        assertEquals(List.of("gpu", ":docker"), complete("--context", "lab", "g"));
    }

    @Test
    void everyCommandIsACandidate() {
        for (String name : CommandGroups.ALL.keySet()) {
            CommandSpec group = group(name);
            List<String> names = new ArrayList<>(group.subcommands().keySet());
            names.removeIf(it -> !group.subcommands().get(it).getCommandName().equals(it));
            assertEquals(names, complete(name, ""));
            assertEquals(complete(name, ""), complete(name, "help", ""));
            for (String word : names) {
                assertTrue(complete(name, word.substring(0, 1)).contains(word), word);
            }
        }
        assertEquals(
                List.of("why\tExplain why a GPU is free or not, who had it before, and what to do"),
                lines("gpu", "wh"));
        assertEquals(List.of(), complete("gpu", Completion.WORD.substring(0, 3)));
    }

    @Test
    void everyOptionIsACandidateUntilItIsTyped() {
        for (String name : CommandGroups.ALL.keySet()) {
            for (CommandLine command : group(name).subcommands().values()) {
                String word = command.getCommandName();
                for (OptionSpec option : command.getCommandSpec().options()) {
                    List<String> offered = complete(name, word, "-");
                    List<String> names = List.of(option.names());
                    int expected = option.hidden() ? 0 : 1;
                    assertEquals(expected, offered.stream().filter(names::contains).count(), word);
                    if (option.hidden()) {
                        continue;
                    }
                    List<String> rest =
                            option.arity().min() == 0
                                    ? complete(name, word, names.getFirst(), "-")
                                    : complete(name, word, names.getFirst(), "0", "-");
                    assertEquals(offered.size() - 1, rest.size(), option::toString);
                }
            }
        }
    }

    /** Else nobody has thought about what the values of a new argument are. */
    @Test
    void kindOfEveryValueIsKnown() throws IOException {
        Set<String> unknown = new TreeSet<>();
        for (String name : CommandGroups.ALL.keySet()) {
            for (CommandLine command : group(name).subcommands().values()) {
                CommandSpec spec = command.getCommandSpec();
                List<ArgSpec> all = new ArrayList<>(spec.args());
                all.removeIf(arg -> arg.arity().max() == 0);
                for (ArgSpec arg : all) {
                    boolean operand = arg instanceof PositionalParamSpec;
                    boolean known =
                            new Values(HOST)
                                    .add(arg.paramLabel(), "", "", List.of(), new Answer(""));
                    if (!known && !(operand && arg.paramLabel().equals(Values.COMMAND))) {
                        unknown.add(command.getCommandName() + " " + arg.paramLabel());
                    }
                }
            }
        }
        assertEquals(Set.of(), unknown);
    }

    @Test
    void gpusAreNamedByIndexAndUuid() {
        List<String> all = List.of("0", "1", "2", gpu(0).uuid(), gpu(1).uuid(), gpu(2).uuid());
        assertEquals(all, complete("gpu", "why", "").subList(0, all.size()));
        assertEquals(List.of("train-1.5_b"), complete("gpu", "why", "tr"));
        assertEquals(all, complete("gpu", "history", "--gpu", ""));
        assertEquals(List.of("1\tGPU-5c1a1001 NVIDIA A100"), lines("gpu", "why", "1"));
        assertEquals(List.of(gpu(2).uuid()), complete("gpu", "why", "GPU-5c1a2"));
        assertEquals(List.of("--gpu=0"), complete("gpu", "history", "--gpu=0"));
        // Only one is explained; several are cordoned, each once.
        assertFalse(complete("gpu", "why", "0", "").contains("1"));
        assertEquals(
                List.of("1", gpu(1).uuid()),
                complete("gpu", "cordon", "--reason", "fan", "0", gpu(2).uuid(), ""));
    }

    @Test
    void claimsAreNamedByIdAndContainer() {
        List<String> claims = complete("gpu", "release", "");
        assertTrue(claims.contains("000000000111"), claims::toString);
        assertTrue(claims.contains("train-1.5_b"), claims::toString);
        assertEquals(1 + HOSTILE.size() + 1, claims.size(), claims::toString);
        assertEquals(
                List.of("train-1.5_b\talice, GPU 1, train-1.5_b"), lines("gpu", "release", "t"));
        assertEquals(List.of("--force"), complete("gpu", "release", "000000000111", "--f"));
    }

    @Test
    void nothingForAShellOrATerminalToActUponIsAnswered() {
        String all = COMPLETION.answer(List.of("gpu", "release", ""), CommandGroups.REQUEST, null);
        assertTrue(all.contains("$(reboot)"), "names are in descriptions: " + all);
        assertTrue(all.lines().allMatch(it -> it.matches("[A-Za-z0-9_.-]+\t\\P{Cntrl}+")), all);
        assertEquals(List.of("alice", "bob"), complete("gpu", "history", "--user", ""));
        assertEquals(List.of(), complete("gpu", "release", "$(r"));
    }

    @Test
    void answerIsBounded() {
        Answer answer = new Answer("");
        IntStream.range(0, 100_000).forEach(i -> answer.add("name" + i, "x".repeat(1000)));
        answer.way(Answer.DOCKER);
        assertTrue(answer.text().length() < 100_000, () -> "" + answer.text().length());
        assertTrue(answer.text().endsWith("\n:docker\n"));
    }

    @Test
    void gpusOptionHasDockersSpelling() {
        List<String> requests =
                List.of("all", "none", "1", "2", "3", "device=0", "device=1", "device=2");
        assertEquals(requests, complete("run", "--gpus", ""));
        assertEquals(requests, complete("gpu", "run", "--gpus", ""));
        assertEquals(requests, complete("container", "create", "-it", "--gpus", ""));
        assertEquals(List.of("--gpus=all"), complete("run", "--gpus=a"));
        assertEquals(
                List.of("device=1", "device=" + gpu(1).uuid()),
                complete("run", "--gpus", "device=").stream()
                        .filter(it -> it.matches("device=(1|GPU-5c1a1.*)"))
                        .toList());
        assertEquals(List.of("with=train-1.5_b"), complete("run", "--gpus", "with=t"));
        assertEquals(List.of("--gpus=with=train-1.5_b"), complete("run", "--gpus=with=t"));
    }

    @Test
    void optionsOfRunAreBesideDockers() {
        assertEquals(
                List.of("--gpus", "--gpu-wait", "--gpu-time", ":docker"), complete("run", "--gp"));
        assertEquals(
                List.of("--gpus", "--gpu-wait", "--gpu-time", ":docker"),
                complete("create", "-it", "-"));
        assertEquals(
                List.of(
                        "--gpus\tN free GPUs, or certain ones by index, UUID (or its beginning) or"
                                + " PCI address",
                        ":docker"),
                lines("run", "--gpus"));
        assertEquals(
                List.of("--gpu-wait\tWait for GPUs that are held by others", ":docker"),
                lines("run", "--gpu-w"));
        for (List<String> dockers :
                List.of(
                        List.of("run", ""),
                        List.of("run", "--name", "-"),
                        List.of("run", "--gpus", "all", "ubuntu", "-"),
                        List.of("run", "--", "-"),
                        List.of("run", "--new-option", "-"),
                        List.of("run", "--gpu-wait", ""))) {
            assertEquals(List.of(":docker"), complete(dockers.toArray(String[]::new)));
        }
    }

    @Test
    void restIsLeftToTheShell() {
        assertEquals(List.of(":command 3"), complete("gpu", "run", "py"));
        assertEquals(List.of(":command 5"), complete("gpu", "run", "--gpus=1", "--", "py"));
        assertEquals(
                List.of(":command 6"), complete("-D", "gpu", "run", "--gpu-wait", "--", "py", "x"));
        assertEquals(List.of(":directories"), complete("mesos", "install", "--launcher-dir", ""));
        assertEquals(List.of(":files"), complete("runtime", "install", "--config", "x"));
        assertEquals(List.of(":files", ":docker image inspect"), complete("gpu", "needs", "u"));
        assertEquals(List.of(":files"), complete("gpu", "needs", "./u"));
    }

    @Test
    void wordsThatAreWrongHaveNoCompletion() {
        for (String line :
                Arrays.asList("gpu nonsense ", "gpu ls --nonsense ", "gpu nonsense -", "gpu \t ")) {
            assertEquals(List.of(), complete(line.split(" ", -1)), line);
        }
        assertEquals(List.of(), complete("gpu", "leases", "-n", ""));
        assertEquals(List.of("docker"), complete("runtime", "install", "--engine", "d"));
    }
}
