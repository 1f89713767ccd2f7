package jnvdocker.command;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

import java.util.List;

class TextTableTest {
    @Test
    void tableWithoutRowsIsItsTitles() {
        assertEquals(List.of("INDEX   UUID"), new TextTable("INDEX", "UUID").lines());
    }

    @Test
    void columnIsAsWideAsItsWidestCell() {
        TextTable table = new TextTable("INDEX", "UUID", "MODEL");
        table.row(0, "GPU-5c1a1003", "A100");
        table.row(1234567, "", "H100 NVL");
        assertEquals(
                List.of(
                        "INDEX     UUID           MODEL",
                        "0         GPU-5c1a1003   A100",
                        "1234567                  H100 NVL"),
                table.lines());
    }

    @Test
    void linesHaveNoBlanksAtTheirEnd() {
        TextTable table = new TextTable("A", "B");
        table.row("x", "");
        table.row("", "");
        assertEquals(List.of("A   B", "x", ""), table.lines());
    }

    @Test
    void oneColumnMakesRoomForTheOthers() {
        TextTable table = new TextTable("ID", "MODEL", "NOTE");
        table.row(0, "NVIDIA A100-SXM4", "x");
        assertEquals(table.lines(), table.lines(0, "MODEL"));
        assertEquals(table.lines(), table.lines(100, "MODEL"));
        assertEquals(
                List.of("ID   MODEL           NOTE", "0    NVIDIA A100-…   x"),
                table.lines(25, "MODEL"));
    }

    @Test
    void columnIsNotShortenedToNothing() {
        TextTable table = new TextTable("MODEL", "NOTE");
        table.row("NVIDIA A100-SXM4", "x");
        assertEquals(List.of("MODEL     NOTE", "NVIDIA…   x"), table.lines(3, "MODEL"));
    }
}
