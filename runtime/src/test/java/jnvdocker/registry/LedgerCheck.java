package jnvdocker.registry;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;

/** What a registry has in memory is what a daemon that starts now would read. */
public final class LedgerCheck {
    private LedgerCheck() {}

    /**
     * @param directory that the registry is in
     */
    public static void check(LeaseRegistry registry, Path directory) throws IOException {
        Ledger memory = registry.present();
        try (Connection connection =
                DriverManager.getConnection("jdbc:sqlite:" + directory.resolve("registry.db"))) {
            Ledger disk = Ledger.read(new Transaction(new Statements(connection)));
            assertEquals(disk, memory);
        } catch (SQLException e) {
            throw new IOException(e);
        }
    }
}
