package jnvdocker.command.complete;

import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.HolderName;
import jnvdocker.lease.Lease;
import jnvdocker.oci.install.EngineKind;
import jnvdocker.words.Indices;

import java.io.IOException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** The values of arguments; the label in the help determines their kind. */
final class Values {
    /** The label of a command's name, and of a program with its arguments. */
    static final String COMMAND = "COMMAND";

    /** The label of a request for GPUs, as docker spells it. */
    static final String GPUS = "GPUS";

    /** Labels of values that only the user knows. */
    static final Set<String> FREE =
            Set.of(
                    "DURATION",
                    "GROUP",
                    "JOB",
                    "MONTH",
                    "N",
                    "NAME",
                    "NAMES",
                    "NUMBER",
                    "PORT",
                    "TEXT",
                    "TIME",
                    "WHEN");

    private static final String DEVICE = "device=";
    private static final String WITH = "with=";

    private final Visible visible;

    Values(Visible visible) {
        this.visible = visible;
    }

    /**
     * @param label what the help calls the value: {@code GPU}
     * @param typed the beginning of the value
     * @param before the part of the word that stands before the value: {@code --gpus=}
     * @param others values that the argument has already
     * @return whether the label is known
     */
    boolean add(String label, String typed, String before, List<String> others, Answer answer)
            throws IOException {
        switch (label) {
            case "GPU" -> gpus(before, others, answer);
            case "GPU|CONTAINER" -> {
                gpus(before, others, answer);
                containers(before, Set.of(), answer);
            }
            case GPUS -> requests(typed, before, answer);
            case "CONTAINER|CLAIM" -> claims(before, answer);
            case "USER" -> visible.users().forEach(user -> answer.add(before + user, ""));
            case "ENGINE" -> {
                for (EngineKind kind : EngineKind.values()) {
                    answer.add(before + kind.word(), "");
                }
            }
            case "user|group" -> {
                for (String word : label.split("\\|")) {
                    answer.add(before + word, "");
                }
            }
            case "HOST" -> answer.add(before + "all", "those of the configuration");
            case "DIR" -> answer.way(Answer.DIRECTORIES);
            case "FILE" -> answer.way(Answer.FILES);
            case "IMAGE|FILE" -> {
                answer.way(Answer.FILES);
                if (!typed.startsWith("/") && !typed.startsWith(".")) {
                    answer.way(Answer.DOCKER + " image inspect");
                }
            }
            default -> {
                return FREE.contains(label);
            }
        }
        return true;
    }

    private static boolean isNew(Gpu gpu, List<String> others) {
        return !others.contains(gpu.number()) && !others.contains(gpu.uuid());
    }

    private static void uuids(String before, List<Gpu> gpus, Answer answer) {
        gpus.stream()
                .filter(Gpu::hasUuid)
                .forEach(gpu -> answer.add(before + gpu.uuid(), "GPU " + gpu.number()));
    }

    private void requests(String typed, String before, Answer answer) throws IOException {
        List<Gpu> gpus = visible.gpus();
        if (typed.startsWith(DEVICE)) {
            gpus.forEach(gpu -> answer.add(before + DEVICE + gpu.number(), described(gpu)));
            uuids(before + DEVICE, gpus, answer);
            return;
        }
        if (!typed.isEmpty() && (WITH.startsWith(typed) || typed.startsWith(WITH))) {
            containers(before + WITH, Set.of(), answer);
            return;
        }
        answer.add(before + "all", "all GPUs");
        answer.add(before + "none", "no GPU");
        for (int count = 1; count <= gpus.size(); count++) {
            answer.add(before + count, count == 1 ? "a free GPU" : count + " free GPUs");
        }
        gpus.forEach(gpu -> answer.add(before + DEVICE + gpu.number(), described(gpu)));
    }

    private void claims(String before, Answer answer) throws IOException {
        List<Lease> leases = visible.leases();
        Set<String> ids = new HashSet<>();
        for (Lease lease : leases) {
            ids.add(lease.claim().id());
            answer.add(before + lease.claim().id(), described(lease));
        }
        containers(before, ids, answer);
    }

    /**
     * @param ids of which a name must not be the beginning
     */
    private void containers(String before, Set<String> ids, Answer answer) throws IOException {
        for (Lease lease : visible.leases()) {
            String name = HolderName.typed(lease.claim());
            boolean isNamed =
                    lease.claim().container().isPresent() || !lease.claim().origin().isMounted();
            if (isNamed && ids.stream().noneMatch(id -> id.startsWith(name))) {
                answer.add(before + name, described(lease));
            }
        }
    }

    private void gpus(String before, List<String> others, Answer answer) throws IOException {
        List<Gpu> gpus = visible.gpus().stream().filter(gpu -> isNew(gpu, others)).toList();
        gpus.forEach(gpu -> answer.add(before + gpu.number(), described(gpu)));
        uuids(before, gpus, answer);
    }

    private static String described(Gpu gpu) {
        return gpu.hasUuid() ? gpu.shortUuid() + " " + gpu.model() : gpu.model();
    }

    private static String described(Lease lease) {
        Claim claim = lease.claim();
        return claim.owner().name()
                + ", GPU "
                + Indices.numbers(claim.gpus().stream().map(ClaimedGpu::number))
                + ", "
                + claim.displayName();
    }
}
