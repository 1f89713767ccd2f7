package jnvdocker.doctor;

import jnvdocker.host.Host;
import jnvdocker.mesos.agent.MesosPolicy;
import jnvdocker.mesos.agent.RunningAgent;
import jnvdocker.words.Quote;

import java.io.IOException;
import java.util.List;
import java.util.function.Supplier;

/** Checks the Mesos agents of this host, and whether their tasks get GPUs from us. */
final class MesosCheck {
    private static final String FLAGS =
            "start it with the flags that 'jnvdocker mesos flags' prints";

    private final Host host;
    private final Supplier<MesosPolicy> policy;

    MesosCheck(Host host, Supplier<MesosPolicy> policy) {
        this.host = host;
        this.policy = policy;
    }

    /** Without an agent, only the configuration is checked. */
    void findings(Findings found) throws IOException {
        for (RunningAgent agent : RunningAgent.all()) {
            Findings its = new Findings();
            describe(agent, its);
            if (agent.usesDocker()) {
                its.wrong(
                        name(agent)
                                + " has the docker containerizer: with jnvdocker's flags it exits"
                                + " at its next start on a host with NVML",
                        "leave docker out of its --containerizers");
            }
            if (!agent.isGone()) {
                its.all().forEach(found::add);
            }
        }
        if (policy.get().isRestricted()) {
            ConfigurationChecks.unknown("mesos_gpus", host, policy.get()::givesNothing, found);
        }
    }

    private static void describe(RunningAgent agent, Findings found) {
        String name = name(agent);
        if (agent.givesGpus()) {
            found.wrong(
                    name + " gives GPUs to tasks itself (gpu/nvidia in its --isolation)", FLAGS);
            return;
        }
        try {
            if (agent.callsUs()) {
                withHook(agent, name, found);
            } else {
                withoutHook(agent, name, found);
            }
        } catch (IOException e) {
            found.unknown(
                    name + " has a --launcher_dir that cannot be read: " + Finding.failure(e));
        }
    }

    private static String name(RunningAgent agent) {
        return "the Mesos agent (pid " + agent.pid() + ")";
    }

    private static void withoutHook(RunningAgent agent, String name, Findings found) {
        String instead =
                " does not query jnvdocker (its --launcher_dir is "
                        + Quote.shown(agent.launcherDir())
                        + ")";
        if (agent.hasResourcesInFile()) {
            found.unknown(
                    name + instead + ", and its --resources is a file, which is not read here");
        } else if (agent.offersGpus()) {
            found.wrong(
                    name + " offers GPUs, and its tasks get none: it" + instead,
                    "create a directory for it with 'jnvdocker mesos install', and " + FLAGS);
        } else {
            found.ok(name + " offers no GPUs");
        }
    }

    private static void withHook(RunningAgent agent, String name, Findings found) {
        List<String> missing = agent.missing();
        if (!missing.isEmpty()) {
            found.wrong(
                    name
                            + " launches no task with GPUs: it was started without "
                            + String.join(" and ", missing),
                    FLAGS);
        } else if (agent.offersGpus() || agent.hasResourcesInFile()) {
            found.ok(name + " gets its tasks' GPUs from jnvdocker");
        } else {
            found.hint(name + " queries jnvdocker, and offers no GPUs", FLAGS);
        }
    }
}
