package jnvdocker.doctor;

import jnvdocker.host.Host;
import jnvdocker.mesos.agent.MesosPolicy;
import jnvdocker.mesos.agent.RunningAgent;
import jnvdocker.words.Quote;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/** Checks the Mesos agents of this host, and whether their tasks get GPUs from us. */
final class MesosCheck implements Check {
    private static final String FLAGS =
            "start it with the flags that 'jnvdocker mesos flags' prints";

    private final Host host;
    private final Supplier<MesosPolicy> policy;
    private final DaemonFacts daemon;

    MesosCheck(Host host, Supplier<MesosPolicy> policy, DaemonFacts daemon) {
        this.host = host;
        this.policy = policy;
        this.daemon = daemon;
    }

    @Override
    public String name() {
        return "mesos";
    }

    /** Without an agent, only the configuration is checked. */
    @Override
    public List<Finding> findings() throws IOException {
        List<Finding> found = new ArrayList<>();
        for (RunningAgent agent : RunningAgent.all()) {
            List<Finding> its = new ArrayList<>(List.of(finding(agent)));
            if (agent.usesDocker()) {
                its.add(withDocker(agent));
            }
            if (!agent.isGone()) {
                found.addAll(its);
            }
        }
        if (policy.get().isRestricted()) {
            found.addAll(
                    ConfiguredGpus.check(host, policy.get()::givesNothing, "mesos_gpus", daemon));
        }
        return found;
    }

    private static Finding finding(RunningAgent agent) {
        String name = name(agent);
        if (agent.givesGpus()) {
            return Finding.wrong(
                    name + " gives GPUs to tasks itself (gpu/nvidia in its --isolation)", FLAGS);
        }
        try {
            return agent.callsUs() ? withHook(agent, name) : withoutHook(agent, name);
        } catch (IOException e) {
            return Finding.unknown(
                    name + " has a --launcher_dir that cannot be read: " + Finding.failure(e));
        }
    }

    private static String name(RunningAgent agent) {
        return "the Mesos agent (pid " + agent.pid() + ")";
    }

    private static Finding withDocker(RunningAgent agent) {
        return Finding.wrong(
                name(agent)
                        + " has the docker containerizer: with jnvdocker's flags it exits at its"
                        + " next start on a host with NVML",
                "leave docker out of its --containerizers");
    }

    private static Finding withoutHook(RunningAgent agent, String name) {
        String instead =
                " does not query jnvdocker (its --launcher_dir is "
                        + Quote.shown(agent.launcherDir())
                        + ")";
        if (agent.hasResourcesInFile()) {
            return Finding.unknown(
                    name + instead + ", and its --resources is a file, which is not read here");
        }
        return agent.offersGpus()
                ? Finding.wrong(
                        name + " offers GPUs, and its tasks get none: it" + instead,
                        "create a directory for it with 'jnvdocker mesos install', and " + FLAGS)
                : Finding.ok(name + " offers no GPUs");
    }

    private static Finding withHook(RunningAgent agent, String name) {
        List<String> missing = agent.missing();
        if (!missing.isEmpty()) {
            return Finding.wrong(
                    name
                            + " launches no task with GPUs: it was started without "
                            + String.join(" and ", missing),
                    FLAGS);
        }
        return agent.offersGpus() || agent.hasResourcesInFile()
                ? Finding.ok(name + " gets its tasks' GPUs from jnvdocker")
                : Finding.hint(name + " queries jnvdocker, and offers no GPUs", FLAGS);
    }
}
