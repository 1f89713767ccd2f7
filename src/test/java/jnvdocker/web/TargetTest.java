package jnvdocker.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import jnvdocker.words.InvalidValueException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.List;
import java.util.Map;

class TargetTest {
    @Test
    void pathAndParametersAreDecodedOnce() {
        assertEquals(
                new Target(
                        "/docker/cli", Map.of("dev", List.of("0 1", "GPU-5"), "vol", List.of(""))),
                Target.parse("/docker/cli?dev=0+1&vol&dev=GPU%2d5&"));
        assertEquals("/a+b/%20/ü", Target.parse("/a+b/%2520/%C3%BC").path());
        assertEquals(Map.of("a=b", List.of("c=d")), Target.parse("/?a%3Db=c=d").query());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "*",
                "gpu/info",
                "http://localhost/gpu/info",
                "/%",
                "/%2",
                "/%2g",
                "/%-1",
                "/%ff",
                "/%c0%af",
                "/%00",
                "/a%0ab",
                "/ü",
                "/a b",
                "/?a=%7f"
            })
    void whatIsNotWellFormedIsRefused(String text) {
        assertThrows(InvalidValueException.class, () -> Target.parse(text));
    }

    @Test
    void parametersAreBounded() {
        assertEquals(64, Target.parse("/?" + numbered(64)).query().size());
        assertThrows(InvalidValueException.class, () -> Target.parse("/?" + numbered(65)));
    }

    private static String numbered(int count) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < count; i++) {
            text.append(i == 0 ? "" : "&").append('p').append(i).append("=1");
        }
        return text.toString();
    }
}
