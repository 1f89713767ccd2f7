package jnvdocker.screen;

import java.util.List;
import java.util.function.Supplier;

/**
 * A list: a row for each of its subjects.
 *
 * @param nothing the sentence that people read in place of an empty table
 */
public record Listing<T>(List<T> rows, List<Column<T>> columns, Supplier<?> records, String nothing)
        implements Shown {
    @Override
    public Object document() {
        return records.get();
    }

    @Override
    public List<String> lines(Screen screen) {
        return rows.isEmpty() ? List.of(nothing) : new TextTable<>(columns).lines(rows, screen);
    }
}
