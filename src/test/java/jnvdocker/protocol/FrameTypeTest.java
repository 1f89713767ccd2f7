package jnvdocker.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

class FrameTypeTest {
    private static final Pattern LETTER = Pattern.compile("FRAME_([A-Z]+) = '(.)',");

    @Test
    void clientsHaveTheSameLetters() throws IOException {
        Map<String, Character> ours = new TreeMap<>();
        for (FrameType type : FrameType.values()) {
            ours.put(type.name(), (char) type.code());
        }
        Map<String, Character> theirs = new TreeMap<>();
        Matcher letter = LETTER.matcher(Files.readString(Path.of("../native/common/frames.h")));
        while (letter.find()) {
            theirs.put(letter.group(1), letter.group(2).charAt(0));
        }
        assertEquals(ours, theirs);
        assertEquals(ours.size(), ours.values().stream().distinct().count());
    }
}
