package jnvdocker.config;

/**
 * A table of the configuration that a feature declares: its name, and the one place that reads its
 * keys. Where it is not declared, it is as unknown as any other key.
 *
 * @param <T> what it says
 */
public final class ConfigTable<T> {
    private final String name;
    private final Reader<T> reader;

    /**
     * @param name in brackets: {@code runtime}
     */
    public ConfigTable(String name, Reader<T> reader) {
        this.name = name;
        this.reader = reader;
    }

    /** Reads the keys of a table. */
    @FunctionalInterface
    public interface Reader<T> {
        /**
         * @param written its part of the configuration; each key that is read counts as known
         * @throws StartException naming the key whose value is not valid
         */
        T read(ConfigFile written) throws StartException;
    }

    /** Its name. */
    public String name() {
        return name;
    }

    T read(ConfigFile whole) throws StartException {
        return reader.read(whole.in(name));
    }
}
