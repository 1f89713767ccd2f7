package jnvdocker.command.gpu.view;

import com.fasterxml.jackson.annotation.JsonUnwrapped;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonSerializable;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.jsontype.TypeSerializer;

import jnvdocker.host.Part;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Tenure;
import jnvdocker.use.Observer;

import java.io.IOException;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * A lease as {@code gpu leases}, {@code gpu why} and {@code gpu history} print it.
 *
 * @param lease its number; null for a container that observes the GPUs, which has no lease
 */
public record LeaseJson(
        Long lease,
        String state,
        String since,
        String due,
        boolean overdue,
        String until,
        String evidence,
        String containerSince,
        Integer restarts,
        @JsonUnwrapped HolderJson holder,
        String engine,
        List<Device> gpus) {

    /** A GPU as it was claimed. */
    public record Device(
            int index, Integer instance, String uuid, String parent, String node, Long shareBytes) {
        public static Device of(ClaimedGpu gpu) {
            return new Device(
                    gpu.index(),
                    gpu.part().map(Part::number).orElse(null),
                    gpu.uuid(),
                    gpu.part().map(Part::parent).orElse(null),
                    gpu.node(),
                    gpu.share().map(its -> its.amount().bytes()).orElse(null));
        }
    }

    /** Returns a lease of which the container's tenure is not known yet. */
    public static LeaseJson begun(Lease lease, GpuStatus.State state) {
        return of(lease, GpuJson.word(state), Optional.empty());
    }

    public static LeaseJson past(Lease lease) {
        return of(lease, "ended", Optional.empty());
    }

    /** Returns a container that observes the GPUs, and holds none. */
    private static LeaseJson of(Observer observer) {
        return new LeaseJson(
                null,
                "observing",
                observer.since().toString(),
                null,
                false,
                null,
                null,
                null,
                null,
                HolderJson.of(observer),
                "oci",
                List.of());
    }

    private static LeaseJson of(Lease lease, String state, Optional<Tenure> tenure) {
        return new LeaseJson(
                lease.id(),
                state,
                lease.since().toString(),
                lease.due().map(Instant::toString).orElse(null),
                lease.isOverdue(Instant.now()),
                lease.end().map(Lease.End::at).map(Instant::toString).orElse(null),
                lease.end().map(Lease.End::evidence).orElse(null),
                tenure.map(Tenure::since).map(Instant::toString).orElse(null),
                tenure.map(Tenure::restarts).orElse(null),
                HolderJson.of(lease),
                engine(lease.claim().origin()).orElse(null),
                lease.claim().gpus().stream().map(Device::of).toList());
    }

    private static Optional<String> engine(Origin origin) {
        return switch (origin) {
            case Origin.EngineContainer(String engine, _) -> Optional.of(engine);
            case Origin.HostProcess _ -> Optional.empty();
            case Origin.OciContainer _ -> Optional.of("oci");
            case Origin.MesosTask _ -> Optional.of("mesos");
            case Origin.Pod _ -> Optional.of("kubernetes");
        };
    }

    public static LeaseJson of(LeaseRow row) {
        return of(row.lease(), row.state().map(GpuJson::word).orElse("ended"), row.tenure());
    }

    /**
     * Leases that may be many and are not kept.
     *
     * @param observers the containers that observe the GPUs, which come last
     */
    public record All(ListedLeases rows, List<Observer> observers) implements JsonSerializable {
        @Override
        public void serialize(JsonGenerator json, SerializerProvider serializers)
                throws IOException {
            json.writeStartArray();
            rows.each(row -> serializers.defaultSerializeValue(LeaseJson.of(row), json));
            for (Observer observer : observers) {
                serializers.defaultSerializeValue(LeaseJson.of(observer), json);
            }
            json.writeEndArray();
        }

        @Override
        public void serializeWithType(
                JsonGenerator json, SerializerProvider serializers, TypeSerializer type)
                throws IOException {
            serialize(json, serializers);
        }
    }
}
