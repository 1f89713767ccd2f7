package jnvdocker.core;

import jnvdocker.lease.Owner;
import jnvdocker.request.GpuFilter;
import jnvdocker.request.GpuRequest;
import jnvdocker.request.MemorySize;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Random;

/**
 * Who comes when to a lab, with which request and for how long. Minutes are counted from eight in
 * the morning.
 */
public final class LabPlan {
    /** Of each GPU, in bytes. */
    static final long MEMORY = 40L << 30;

    /** The last minute before midnight, when GPU-hours are counted anew. */
    public static final int DAY = 16 * 60 - 1;

    private static final int FIRST_UID = 1_987_655_000;
    private static final List<String> THESIS = List.of("ada", "ben", "cora", "dan");
    private static final List<String> LAB =
            List.of("eva", "finn", "gus", "hana", "ivo", "jana", "karl", "lena");
    private static final List<String> COURSE =
            List.of(
                    "mia", "nils", "olga", "paul", "quinn", "rosa", "sven", "tara", "uwe", "vera",
                    "wim", "xenia", "yann", "zoe", "amir", "bela", "cleo", "dora");

    private LabPlan() {}

    /**
     * A container that a student wants to run.
     *
     * @param minute when it is requested
     * @param time how long the GPUs are wanted, if the student says so
     * @param waits whether the request waits, or is refused
     * @param minutes how long the container runs
     * @param active how many of these it uses its GPUs
     */
    record Session(
            int minute,
            Owner owner,
            String name,
            String image,
            GpuRequest request,
            Optional<Duration> time,
            boolean waits,
            int minutes,
            int active) {}

    /**
     * GPUs that a student books.
     *
     * @param minute when that is done
     * @param from when it begins
     * @param minutes how long it lasts
     */
    record Booking(int minute, Owner owner, int gpus, int from, int minutes) {}

    /** All students. */
    public static List<Owner> students() {
        List<Owner> students = new ArrayList<>();
        for (List<String> group : List.of(THESIS, LAB, COURSE)) {
            group.forEach(name -> students.add(new Owner(FIRST_UID + students.size(), name)));
        }
        return students;
    }

    /** A student by name. */
    public static Owner student(String name) {
        return students().stream()
                .filter(owner -> owner.name().equals(name))
                .findFirst()
                .orElseThrow();
    }

    static Owner owner(int uid) {
        return students().get(uid - FIRST_UID);
    }

    /** The group that a student is in. */
    static String groupOf(int uid) {
        int number = uid - FIRST_UID;
        return number < THESIS.size()
                ? "thesis"
                : number < THESIS.size() + LAB.size() ? "lab" : "course";
    }

    static List<Booking> bookings() {
        return List.of(new Booking(90, student("cora"), 2, 6 * 60, 120));
    }

    /** The first to come first. */
    static List<Session> sessions() {
        Random random = new Random(20261128);
        List<Session> sessions = new ArrayList<>();
        for (Owner owner : students()) {
            int count = groupOf(owner.uid()).equals("course") ? 3 : 2;
            for (int i = 1; i <= count; i++) {
                int minute = 1 + random.nextInt(DAY * i / count - 60);
                sessions.add(session(minute, i, owner, random));
            }
        }
        sessions.sort(
                Comparator.comparingInt(Session::minute)
                        .thenComparingInt(session -> session.owner().uid()));
        return List.copyOf(sessions);
    }

    private static Session session(int minute, int number, Owner owner, Random random) {
        String group = groupOf(owner.uid());
        boolean course = group.equals("course");
        boolean notebook = course && random.nextBoolean();
        int gpus = course ? 1 : 1 + random.nextInt(2);
        int minutes = 20 + random.nextInt(course ? 110 : 240);
        // Some are left alone after a while.
        int active = random.nextInt(6) == 0 ? 15 : minutes;
        Optional<Duration> time =
                random.nextInt(3) == 0
                        ? Optional.of(Duration.ofMinutes(minutes + random.nextInt(30)))
                        : Optional.empty();
        GpuRequest request =
                notebook
                        ? new GpuRequest.Count(
                                1, GpuFilter.sharing(Optional.of(new MemorySize(10, "G"))))
                        : new GpuRequest.Count(gpus);
        return new Session(
                minute,
                owner,
                (notebook ? "notebook-" : "train-") + owner.name() + "-" + number,
                notebook ? "jupyter" : "nvidia/cuda",
                request,
                time,
                random.nextInt(8) > 0,
                minutes,
                active);
    }
}
