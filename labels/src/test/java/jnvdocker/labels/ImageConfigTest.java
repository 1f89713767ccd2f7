package jnvdocker.labels;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.List;
import java.util.Map;
import java.util.Random;

class ImageConfigTest {
    @Test
    void laterVariableWinsAndOneWithoutValueIsEmpty() {
        ImageConfig image = ImageConfig.of(null, List.of("A=1", "B", "C=x=y", "A=2", "D="));
        assertEquals(Map.of("A", "2", "B", "", "C", "x=y", "D", ""), image.environment());
        assertEquals(List.of("A", "B", "C", "D"), List.copyOf(image.environment().keySet()));
        assertEquals(Map.of(), image.labels());
        assertEquals(Map.of(), ImageConfig.of(null, null).environment());
    }

    @Test
    void readsWhatDockerPrints() throws BadImageException {
        ImageConfig image =
                ImageConfig.parse(
                        """
                        {"Hostname":"","ExposedPorts":{"80/tcp":{}},"Env":["PATH=/bin","NVIDIA_VISIBLE_DEVICES=all"],
                         "Cmd":["/bin/bash"],"OnBuild":null,
                         "Labels":{"z":"1","com.nvidia.volumes.needed":"nvidia_driver","a":null}}
                        """);
        assertEquals(
                ImageConfig.of(
                        Map.of("z", "1", "com.nvidia.volumes.needed", "nvidia_driver", "a", ""),
                        List.of("PATH=/bin", "NVIDIA_VISIBLE_DEVICES=all")),
                image);
        assertEquals(
                List.of("z", "com.nvidia.volumes.needed", "a"),
                List.copyOf(image.labels().keySet()));
    }

    @ParameterizedTest
    @ValueSource(strings = {"{}", "null", "{\"Labels\":null,\"Env\":null}", "{\"Env\":[]}"})
    void absentIsEmpty(String json) throws BadImageException {
        assertEquals(ImageConfig.of(null, null), ImageConfig.parse(json));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{\"Env\":           | it is not JSON (line 1, column 8)",
                "{} {}              | it is not JSON (line 1, column 4)",
                "[]                 | it is not a JSON object",
                "\"text\"           | it is not a JSON object",
                "{\"Env\":{}}       | its Env is not a list",
                "{\"Env\":[1]}      | an entry of its Env is not text",
                "{\"Labels\":[]}    | its Labels are not an object",
                "{\"Labels\":{\"a\":{}}} | a label is not text",
            })
    void malformedConfigurationIsRefused(String json, String reason) {
        assertEquals(
                "image configuration cannot be read: "
                        + reason
                        + "; inspect it with docker image inspect",
                assertThrows(BadImageException.class, () -> ImageConfig.parse(json)).getMessage());
    }

    @Test
    void sizeIsBounded() {
        String json = " ".repeat(1024 * 1024 - 1) + "{}";
        assertTrue(
                assertThrows(BadImageException.class, () -> ImageConfig.parse(json))
                        .getMessage()
                        .startsWith(
                                "image configuration cannot be read: it has more than 1048576"
                                        + " bytes; "));
        assertThrows(BadImageException.class, () -> ImageConfig.parse("[".repeat(100_000)));
    }

    @Test
    void anyTextIsAnImageOrABadImage() {
        String[] pieces = {
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\"Env\"",
            "\"Labels\"",
            "\"a=b\"",
            "null",
            "1",
            "\"",
            "\\",
            "\u0000"
        };
        Random random = new Random(8);
        int images = 0;
        for (int i = 0; i < 50_000; i++) {
            StringBuilder json = new StringBuilder(random.nextBoolean() ? "{\"Env\":[" : "");
            for (int n = random.nextInt(6); n >= 0; n--) {
                json.append(pieces[random.nextInt(pieces.length)]);
            }
            try {
                ImageConfig.parse(json.toString());
                images++;
            } catch (BadImageException e) {
                assertTrue(e.getMessage().startsWith("image configuration"), e.getMessage());
            }
        }
        assertTrue(images > 100, "images " + images);
    }
}
