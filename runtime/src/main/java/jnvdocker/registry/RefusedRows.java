package jnvdocker.registry;

import jnvdocker.lease.Claim;
import jnvdocker.lease.RefusedStart;
import jnvdocker.words.ForeignText;
import jnvdocker.words.Refusal;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The starts that were refused, in the registry. */
final class RefusedRows {
    /** The limit of containers that are started again, one for each claim. */
    private static final int MOST = 1000;

    /**
     * The limit of different reasons of one claim: containers that have its volumes are refused
     * with the name of each other.
     */
    private static final int REASONS = 16;

    private static final String SEPARATOR = "\n";

    private RefusedRows() {}

    /** The refused starts of claims that still exist, the oldest first. */
    static List<RefusedStart> all(Transaction transaction) throws SQLException {
        List<RefusedStart> all = new ArrayList<>();
        for (Row row :
                transaction.list(
                        RefusedRows::row,
                        "SELECT claim, reasons, what, since, refused_start.container, finished"
                                + " FROM refused_start ORDER BY since, claim")) {
            LeaseRows.claim(transaction, row.claim()).map(row::of).ifPresent(all::add);
        }
        return all;
    }

    /**
     * Updates the reason of a known start, unless it may belong to another container of the claim
     * that a user has tried to start. Adds other starts if their containers have run and did not
     * end before their engine did.
     *
     * @param starts whether the engine is just starting
     */
    static void add(Transaction transaction, String claim, Refusal why, boolean starts, Instant now)
            throws SQLException {
        Optional<List<String>> known =
                transaction.first(
                        row -> lines(row.getString(1)),
                        "SELECT reasons FROM refused_start WHERE claim = ?",
                        claim);
        List<String> reasons = new ArrayList<>(known.orElse(List.of()));
        String line =
                ForeignText.beginning(why.message().replace(SEPARATOR, " "), ForeignText.LINE);
        reasons.remove(line);
        reasons.add(line);
        String text =
                String.join(
                        SEPARATOR,
                        reasons.subList(Math.max(0, reasons.size() - REASONS), reasons.size()));
        if (known.isPresent()) {
            transaction.update(
                    "UPDATE refused_start SET reasons = ?, what = ? WHERE claim = ?"
                            + " AND (? OR container IS NOT NULL)",
                    text,
                    ForeignText.line(why.what()),
                    claim,
                    starts);
        } else if (starts) {
            transaction.update(
                    "INSERT INTO refused_start (claim, reasons, what, since) SELECT id, ?, ?, ?"
                            + " FROM claim WHERE id = ? AND forgotten IS NULL AND NOT stopped AND"
                            + " EXISTS (SELECT 1 FROM lease WHERE lease.claim = claim.id AND"
                            + " lease.holder = 'held') AND (SELECT count(*) FROM refused_start) <"
                            + " ?",
                    text,
                    ForeignText.line(why.what()),
                    now.toEpochMilli(),
                    claim,
                    MOST);
        }
    }

    /** Adds a container that docker could not start, whose end was not observed. */
    static void addMissed(
            Transaction transaction, String claim, String error, String what, Instant now)
            throws SQLException {
        String line = error.lines().findFirst().orElse("");
        transaction.update(
                "INSERT INTO refused_start (claim, reasons, what, since) SELECT id, ?, ?, ?"
                        + " FROM claim WHERE id = ? AND forgotten IS NULL"
                        + " AND (SELECT count(*) FROM refused_start) < ?"
                        + " ON CONFLICT DO UPDATE SET reasons = excluded.reasons,"
                        + " what = excluded.what, container = NULL",
                ForeignText.beginning(line, ForeignText.LINE),
                ForeignText.line(what),
                now.toEpochMilli(),
                claim,
                MOST);
    }

    static void seen(Transaction transaction, String claim, RefusedStart.Seen seen)
            throws SQLException {
        transaction.update(
                "UPDATE refused_start SET container = ?, finished = ? WHERE claim = ?",
                seen.container(),
                seen.finished(),
                claim);
    }

    static void remove(Transaction transaction, String claim) throws SQLException {
        transaction.update("DELETE FROM refused_start WHERE claim = ?", claim);
    }

    private record Row(
            String claim,
            List<String> reasons,
            String what,
            Instant since,
            Optional<RefusedStart.Seen> seen) {

        RefusedStart of(Claim its) {
            return new RefusedStart(its, reasons, what, since, seen);
        }
    }

    private static Row row(ResultSet row) throws SQLException {
        String container = row.getString("container");
        return new Row(
                row.getString("claim"),
                lines(row.getString("reasons")),
                row.getString("what"),
                Instant.ofEpochMilli(row.getLong("since")),
                container == null
                        ? Optional.empty()
                        : Optional.of(new RefusedStart.Seen(container, row.getString("finished"))));
    }

    private static List<String> lines(String text) {
        return List.of(text.split(SEPARATOR));
    }
}
