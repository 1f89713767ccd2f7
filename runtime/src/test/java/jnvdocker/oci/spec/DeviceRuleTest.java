package jnvdocker.oci.spec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;

import jnvdocker.attack.Attack;
import jnvdocker.use.DeviceRule;
import jnvdocker.words.RefusedException;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvFileSource;

import java.util.Optional;

/** Rules of the device cgroup, in docker's words and in config.json. */
@Attack(
        by = "a member",
        what = "a device rule of type `a`, of any numbers and rights, or one without a type",
        result =
                "counts as all devices for both readers: one table of cases"
                        + " (`fixtures/device-rules`)")
@Attack(
        by = "a member",
        what = "device numbers that no device has, which crun cuts to a GPU's",
        result = "refused")
class DeviceRuleTest {
    private static final String TABLE = "../tests/fixtures/device-rules";
    private static final char NO_QUOTE = '~';

    @ParameterizedTest
    @CsvFileSource(files = TABLE, delimiter = '|', quoteCharacter = NO_QUOTE)
    void ruleOpensTheSameInEitherSpelling(String typed, String json, String devices)
            throws Exception {
        Optional<DeviceRule> expected = expected(devices);
        assertEquals(expected, RuntimeSpec.rule(new ObjectMapper().readTree(json)));
        if (typed != null) {
            assertEquals(expected, DeviceRule.parse(typed));
        }
        String config = "{'linux':{'resources':{'devices':[RULE]}}}".replace('\'', '"');
        String text = config.replace("RULE", json);
        if (devices.equals("refused")) {
            String why =
                    assertThrows(RefusedException.class, () -> RuntimeSpec.parse(text))
                            .getMessage();
            assertTrue(why.contains(" has a number that no device has "), why);
        } else {
            boolean all = devices.equals("all") || devices.startsWith("*");
            assertEquals(all, RuntimeSpec.parse(text).allowsAllDevices());
        }
    }

    private static Optional<DeviceRule> expected(String devices) {
        return switch (devices) {
            case "nothing" -> Optional.empty();
            case "all" -> Optional.of(DeviceRule.ALL);
            case "refused" -> Optional.of(DeviceRule.IMPOSSIBLE);
            default -> {
                String[] numbers = devices.split(":");
                yield Optional.of(new DeviceRule(number(numbers[0]), number(numbers[1])));
            }
        };
    }

    private static int number(String text) {
        return text.equals("*") ? DeviceRule.ANY : Integer.parseInt(text);
    }
}
