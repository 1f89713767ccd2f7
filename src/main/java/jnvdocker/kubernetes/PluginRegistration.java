package jnvdocker.kubernetes;

import jnvdocker.words.Refusal;

import java.time.Instant;

/**
 * Whether a kubelet gives out our devices of a resource.
 *
 * @param resource {@code nvidia.com/gpu}
 * @param since when this has been so
 */
public record PluginRegistration(String resource, State state, Instant since) {

    /** The outcome of the registration. */
    public sealed interface State {}

    /** Nothing is known yet. */
    public record Trying() implements State {}

    /** The kubelet has accepted it, and reads the list of devices. */
    public record Registered() implements State {}

    /** There is no kubelet: nothing serves its socket. */
    public record NoKubelet() implements State {}

    /**
     * Another device plugin gives out GPUs of ours.
     *
     * @param socket the name of its socket in the kubelet's directory
     */
    public record Competitor(String socket) implements State {}

    /** The registration has failed, and is retried. */
    public record Failed(Refusal reason) implements State {}
}
