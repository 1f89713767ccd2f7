package jnvdocker.config;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What the tables say that features declare. */
public record ConfigTables(Map<ConfigTable<?>, Object> values) {
    public ConfigTables {
        values = Map.copyOf(values);
    }

    /** What they say as the configuration is now: it may be read again. */
    @FunctionalInterface
    public interface Live {
        <T> T get(ConfigTable<T> table);
    }

    /**
     * @param whole the configuration
     * @throws StartException naming the key whose value is not valid
     */
    public static ConfigTables read(ConfigFile whole, List<ConfigTable<?>> tables)
            throws StartException {
        Map<ConfigTable<?>, Object> values = new HashMap<>();
        for (ConfigTable<?> table : tables) {
            values.put(table, table.read(whole));
        }
        return new ConfigTables(values);
    }

    /** What a table says, which is one of those that were read. */
    @SuppressWarnings("unchecked") // Its own reader made the value.
    public <T> T get(ConfigTable<T> table) {
        return (T) values.get(table);
    }
}
