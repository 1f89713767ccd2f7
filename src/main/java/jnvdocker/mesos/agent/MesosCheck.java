package jnvdocker.mesos.agent;

import jnvdocker.doctor.ConfigurationChecks;
import jnvdocker.doctor.Finding;
import jnvdocker.doctor.Findings;
import jnvdocker.host.Host;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.file.Path;
import java.util.function.Supplier;

/** Checks the Mesos agents of this host, and whether their tasks get GPUs from us. */
public final class MesosCheck {
    private static final String FLAGS =
            "start it with the flags that 'jnvdocker mesos flags' prints";

    private final Host host;
    private final Supplier<MesosPolicy> policy;
    private final Path state;

    /**
     * @param state the directory in which {@code mesos install} keeps its settings
     */
    public MesosCheck(Host host, Supplier<MesosPolicy> policy, Path state) {
        this.host = host;
        this.policy = policy;
        this.state = state;
    }

    /** Without an agent, only the configuration is checked. */
    public void findings(Findings found) throws IOException {
        for (RunningAgent agent : RunningAgent.all()) {
            Findings its = new Findings();
            describe(agent, its);
            if (!agent.isGone()) {
                its.all().forEach(found::add);
            }
        }
        if (policy.get().isRestricted()) {
            ConfigurationChecks.unknown("mesos.gpus", host, policy.get()::givesNothing, found);
        }
    }

    private void describe(RunningAgent agent, Findings found) {
        String name = name(agent);
        if (agent.givesGpus()) {
            found.wrong(
                    name + " gives GPUs to tasks itself (gpu/nvidia in its --isolation)", FLAGS);
            return;
        }
        try {
            if (agent.callsUs()) {
                found.ok(name + " gets its tasks' GPUs from jnvdocker");
            } else if (isInstalled(agent.launcherDir())) {
                found.wrong(
                        "%s cannot launch containers: its --launcher_dir %s has lost jnvdocker's programs"
                                .formatted(name, Quote.shown(agent.launcherDir())),
                        "run 'jnvdocker mesos install'; the agent need not be restarted");
            } else {
                found.hint(
                        "%s does not query jnvdocker (its --launcher_dir is %s), and its tasks get no GPUs"
                                .formatted(name, Quote.shown(agent.launcherDir())),
                        "if it offers GPUs: create a directory for it with 'jnvdocker mesos"
                                + " install', and "
                                + FLAGS);
            }
        } catch (IOException e) {
            found.unknown(
                    name + " has a --launcher_dir that cannot be read: " + Finding.failure(e));
        }
    }

    /** Whether {@code mesos install} has made that directory. */
    private boolean isInstalled(String launcherDir) throws IOException {
        try {
            return InstalledDirectories.read(state)
                    .filter(it -> it.launcherDir().equals(Path.of(launcherDir).normalize()))
                    .isPresent();
        } catch (RefusedException e) {
            return false;
        }
    }

    private static String name(RunningAgent agent) {
        return "the Mesos agent (pid " + agent.pid() + ")";
    }
}
