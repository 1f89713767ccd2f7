package jnvdocker.screen;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

class TextTableTest {
    private record Title(String text, Column.Cut cut) {}

    /** A table, and its rows as they are written out. */
    private record Sample(TextTable<Object[]> table, List<Object[]> rows) {
        void row(Object... cells) {
            rows.add(cells);
        }

        List<String> lines(Screen screen) {
            return table.lines(rows, screen);
        }
    }

    private static Sample table(Title... titles) {
        List<Column<Object[]>> columns = new ArrayList<>();
        for (int i = 0; i < titles.length; i++) {
            int at = i;
            columns.add(new Column<>(titles[i].text(), titles[i].cut(), row -> row[at]));
        }
        return new Sample(new TextTable<>(columns), new ArrayList<>());
    }

    private static Sample table(String... titles) {
        return table(
                Stream.of(titles).map(it -> new Title(it, Column.Cut.NEVER)).toArray(Title[]::new));
    }

    @Test
    void tableWithoutRowsIsItsTitles() {
        assertEquals(List.of("INDEX   UUID"), table("INDEX", "UUID").lines(Screen.NONE));
    }

    @Test
    void columnIsAsWideAsItsWidestCell() {
        Sample table = table("INDEX", "UUID", "MODEL");
        table.row(0, "GPU-5c1a1003", "A100");
        table.row(1234567, "", "H100 NVL");
        assertEquals(
                List.of(
                        "INDEX     UUID           MODEL",
                        "0         GPU-5c1a1003   A100",
                        "1234567                  H100 NVL"),
                table.lines(Screen.NONE));
    }

    @Test
    void linesHaveNoBlanksAtTheirEnd() {
        Sample table = table("A", "B");
        table.row("x", "");
        table.row("", "");
        assertEquals(List.of("A   B", "x", ""), table.lines(Screen.NONE));
    }

    private static Screen wide(int columns) {
        return new Screen(columns, 0, true, false, false);
    }

    private static Sample gpus() {
        Sample table =
                table(
                        new Title("GPU", Column.Cut.NEVER),
                        new Title("MODEL", Column.Cut.FIRST),
                        new Title("CONTAINER", Column.Cut.LAST),
                        new Title("NOTE", Column.Cut.NEXT));
        table.row(
                0, "NVIDIA A100-SXM4", "resnet-lr-0.01-batch-64", "its container starts just now");
        table.row(1, "NVIDIA A100-SXM4", "resnet-lr-0.1", "");
        return table;
    }

    private static void assertShown(int columns, String... lines) {
        assertEquals(List.of(lines), gpus().lines(wide(columns)));
    }

    @Test
    void withoutATerminalNothingIsShortened() {
        assertEquals(gpus().lines(wide(1000)), gpus().lines(Screen.NONE));
        assertEquals(0, gpus().lines(Screen.NONE).stream().filter(it -> it.contains("…")).count());
    }

    @Test
    void columnsGiveWayOneAfterTheOther() {
        assertEquals(gpus().lines(Screen.NONE), gpus().lines(wide(80)));
        assertShown(
                79,
                "GPU   MODEL             CONTAINER                 NOTE",
                "0     NVIDIA A100-SX…   resnet-lr-0.01-batch-64   its container starts just now",
                "1     NVIDIA A100-SX…   resnet-lr-0.1");
        assertShown(
                70,
                "GPU   MODEL      CONTAINER                 NOTE",
                "0     NVIDIA…    resnet-lr-0.01-batch-64   its container starts just…",
                "1     NVIDIA…    resnet-lr-0.1");
    }

    /** If they were any shorter, neither name would identify its owner. */
    @Test
    void namesStayDifferentAndWhatIsTooWideStaysSo() {
        String[] narrowest = {
            "GPU   MODEL      CONTAINER       NOTE",
            "0     NVIDIA…    resnet-lr-0.…   its contain…",
            "1     NVIDIA…    resnet-lr-0.1"
        };
        assertShown(45, narrowest);
        assertShown(1, narrowest);
    }

    private static Sample withNotes() {
        Sample table =
                table(
                        new Title("GPU", Column.Cut.NEVER),
                        new Title("MODEL", Column.Cut.FIRST),
                        new Title("CONTAINER", Column.Cut.LAST),
                        new Title("NOTE", Column.Cut.BELOW));
        table.row(
                0,
                "NVIDIA A100-SXM4-40GB",
                "resnet-lr-0.01-batch-64",
                "used by python3 (pid 18462), too, which has it open since before its container"
                        + " began; see /var/lib/jnvdocker/claims/c887e44aa115/a-path-that-is-longer"
                        + "-than-that-terminal-is-wide.json");
        table.row(1, "NVIDIA A100-SXM4-40GB", "resnet-lr-0.1", "");
        table.row(2, "NVIDIA A100-SXM4-40GB", "-", "cordoned by root");
        table.row(3, "NVIDIA A100-SXM4-40GB", "-", "-");
        return table;
    }

    /** As wide as most terminals, so that no other column has to be made narrower. */
    @Test
    void notesThatDoNotFitHaveLinesOfTheirOwn() {
        List<String> lines = withNotes().lines(wide(80));
        assertEquals(
                List.of(
                        "GPU   MODEL                   CONTAINER",
                        "0     NVIDIA A100-SXM4-40GB   resnet-lr-0.01-batch-64",
                        "      used by python3 (pid 18462), too, which has it open since before"
                                + " its",
                        "      container began; see",
                        "      /var/lib/jnvdocker/claims/c887e44aa115/a-path-that-is-longer"
                                + "-than-that-terminal-is-wide.json",
                        "1     NVIDIA A100-SXM4-40GB   resnet-lr-0.1",
                        "2     NVIDIA A100-SXM4-40GB   -",
                        "      cordoned by root",
                        "3     NVIDIA A100-SXM4-40GB   -"),
                lines);
        assertEquals("GPU   MODEL          CONTAINER", withNotes().lines(wide(44)).getFirst());
    }

    @Test
    void notesThatFitAreAColumn() {
        List<String> lines = withNotes().lines(Screen.NONE);
        assertEquals(5, lines.size());
        assertEquals(lines, withNotes().lines(wide(300)));
        assertTrue(lines.get(3).endsWith("   -                         cordoned by root"));
    }

    /** As in the locale C. */
    @Test
    void whereOnlyAsciiCanBeReadThereIsNothingElse() {
        Sample table =
                table(
                        new Title("GPU", Column.Cut.NEVER),
                        new Title("MODEL", Column.Cut.FIRST),
                        new Title("USER", Column.Cut.NEVER),
                        new Title("NOTE", Column.Cut.BELOW));
        table.row(0, "NVIDIA A100-SXM4-40GB", "jürgen", "Lüfter ist laut");
        table.row(1, "NVIDIA A100-SXM4-40GB", "bob", "");
        assertEquals(
                List.of(
                        "GPU   MODEL             USER",
                        "0     NVIDIA A100-...   j\\u{fc}rgen",
                        "      L\\u{fc}fter ist laut",
                        "1     NVIDIA A100-...   bob"),
                table.lines(new Screen(35, 0, true, false, true)));
        assertEquals(
                List.of(
                        "GPU   MODEL                   USER          NOTE",
                        "0     NVIDIA A100-SXM4-40GB   j\\u{fc}rgen   L\\u{fc}fter ist laut",
                        "1     NVIDIA A100-SXM4-40GB   bob"),
                table.lines(new Screen(0, 0, false, false, true)));
    }

    @Test
    void charactersAreAsWideAsATerminalShowsThem() {
        Sample table = table(new Title("NOTE", Column.Cut.FIRST), new Title("B", Column.Cut.NEVER));
        table.row("\ud83d\ude00".repeat(9), "x");
        table.row("漢字かな", "x");
        table.row("e\u0301cole", "x");
        assertEquals(
                List.of(
                        "NOTE       B",
                        "\ud83d\ude00".repeat(3) + "…    x",
                        "漢字かな   x",
                        "e\u0301cole      x"),
                table.lines(wide(5)));
    }

    @Test
    void colourTakesNoRoom() {
        Sample table = table("STATE", "USER");
        table.row(new TextTable.Cell("FREE", Colour.ofState("FREE")), "-");
        table.row(new TextTable.Cell("UNMANAGED", Colour.ofState("UNMANAGED")), "bob");
        table.row(new TextTable.Cell("HELD", Colour.ofState("HELD")), "bob");
        assertEquals(
                List.of(
                        "STATE       USER",
                        "\u001b[32mFREE\u001b[0m        -",
                        "\u001b[33mUNMANAGED\u001b[0m   bob",
                        "HELD        bob"),
                table.lines(new Screen(16, 0, true, true, false)));
        assertEquals("FREE        -", table.lines(wide(16)).get(1));
    }
}
