package jnvdocker.kubernetes.node;

import jnvdocker.command.caller.CommandOutcome;
import jnvdocker.command.caller.OwnCommand;
import jnvdocker.host.HostDriver;
import jnvdocker.words.Quote;

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.io.IOException;
import java.util.List;

@Command(
        name = "labels",
        description = {
            "Print labels for this node, key=value, by which pods choose it: the GPUs' model,"
                    + " number, memory and compute capability, the driver's version and CUDA"
                    + " version, under the names of NVIDIA's GPU feature discovery.",
            "A value that is not known has no label. On a host with several models the labels"
                    + " describe the one that most of its GPUs are."
        },
        footer = {
            "",
            "kubectl label --overwrite node NODE $(jnvdocker k8s labels) sets them by hand; Node"
                + " Feature Discovery sets them when the output of jnvdocker k8s labels --nfd is a"
                + " file in /etc/kubernetes/node-feature-discovery/features.d."
        })
final class K8sLabels extends OwnCommand {
    private final NodeFacts facts;

    @Option(
            names = "--nfd",
            description = "Print a feature file for the local source of Node Feature Discovery.")
    private boolean nfd;

    K8sLabels(NodeFacts facts) {
        this.facts = facts;
    }

    @Override
    public CommandOutcome call() throws IOException {
        HostDriver driver = facts.inventory().read();
        NodeLabels labels =
                new NodeLabels(driver, facts.cuda().of(driver.version()), facts.readings().get());
        List<String> several = labels.severalModels();
        if (!several.isEmpty()) {
            warn(
                    "jnvdocker: this host has several models of GPUs ("
                            + Quote.shown(String.join(", ", several))
                            + "), and the labels describe the first; set"
                            + " resource_per_model to give each a resource of its own");
        }
        if (nfd) {
            print("# The GPUs of this node, as 'jnvdocker k8s labels --nfd' prints them.");
        }
        labels.all().forEach((key, value) -> print(key + "=" + value));
        return CommandOutcome.OK;
    }
}
