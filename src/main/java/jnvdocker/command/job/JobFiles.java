package jnvdocker.command.job;

import com.fasterxml.jackson.core.JacksonException;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;

import jnvdocker.posix.FileErrors;
import jnvdocker.posix.Posix;
import jnvdocker.posix.RegularFile;
import jnvdocker.posix.WholeFile;
import jnvdocker.words.FailedException;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The records of jobs, a file for each, which root alone can read: environments have secrets. */
final class JobFiles {
    /** Of a record: its strings may become six times as long, as escapes. */
    private static final int LONGEST = 2 << 20;

    private static final Pattern NAME = Pattern.compile("[1-9][0-9]{0,17}\\.json");

    private static final JsonMapper JSON =
            JsonMapper.builder()
                    .enable(JsonWriteFeature.ESCAPE_NON_ASCII)
                    .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
                    .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
                    .build();

    private final Path directory;

    private JobFiles(Path directory) {
        this.directory = directory;
    }

    /** Those of a state directory. */
    static JobFiles in(Path state) throws IOException {
        Path directory = Files.createDirectories(state.resolve(Jobs.DIRECTORY));
        Posix.chmod(directory, 0700);
        return new JobFiles(directory);
    }

    /** The numbers of all jobs, in no order. */
    List<Long> ids() throws IOException {
        List<Long> ids = new ArrayList<>();
        try (Stream<Path> files = Files.list(directory)) {
            files.map(file -> file.getFileName().toString())
                    .filter(NAME.asMatchPredicate())
                    .forEach(name -> ids.add(Long.valueOf(name.replace(".json", ""))));
        }
        return ids;
    }

    Path file(long id) {
        return directory.resolve(id + ".json");
    }

    /**
     * @throws IOException naming the file, also when it is not a record of that job
     */
    Job read(long id) throws IOException {
        Path file = file(id);
        String why;
        try {
            byte[] text =
                    RegularFile.readOwn(file, LONGEST)
                            .orElseThrow(() -> new NoSuchFileException(file.toString()));
            Job job = JSON.readValue(text, Job.class);
            if (job != null && job.id() == id) {
                return job;
            }
            why = job == null ? "it is empty" : "it is another job's";
        } catch (JacksonException | RuntimeException e) {
            why = "it is no record of a job";
        } catch (IOException e) {
            throw FileErrors.of(file, e);
        }
        throw new FailedException(
                "cannot read " + file + ": " + why, "restore it, or delete it to forget the job");
    }

    void write(Job job) throws IOException {
        byte[] text = (JSON.writeValueAsString(job) + "\n").getBytes(StandardCharsets.US_ASCII);
        WholeFile.write(file(job.id()), text, WholeFile.Access.root(0600));
    }

    void delete(long id) throws IOException {
        WholeFile.delete(file(id));
    }
}
