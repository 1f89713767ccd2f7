package jnvdocker.labels;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.Random;

class RequirementTest {
    private static final DriverFacts HOST =
            Images.driver("535.104.05").withArch("8.6").withBrand("GeForce");

    @ParameterizedTest
    @ValueSource(
            strings = {
                "cuda>=12.2",
                "cuda=12.2",
                "cuda=12.2.0.0",
                "cuda!=12",
                "cuda>12",
                "cuda<12.10",
                "cuda<=12.2.0",
                "CUDA>=11.8",
                "Driver>=535.104.5",
                "driver<535.104.6",
                "driver=535.104.005",
                "arch>=8",
                "arch<9.0",
                "brand=geforce",
                "BRAND=GEFORCE",
                "brand!=tesla",
                "cuda>=13 brand=geforce",
                "cuda>=13 brand=tesla arch=8.6",
                "brand=geforce,driver>=535,driver<536",
                "",
                "   ",
                ",",
                " ,, cuda>=12.2 ,",
                ",cuda>=12,,driver>=535,",
            })
    void holds(String expression) {
        assertTrue(Requirement.parse(expression).isMetBy(HOST), expression);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "cuda>=12.3",
                "cuda<12.2",
                "cuda>12.2.0",
                "cuda=12",
                "cuda!=12.2.0",
                "cuda>12.10",
                "driver>=535.105",
                "arch>=8.9",
                "brand=tesla",
                "brand!=GeForce",
                "brand=geforcertx",
                "cuda>=12.2,driver>=550",
                "cuda>=13 driver>=550 brand=tesla",
                ", cuda>=13",
                "cuda>=13 ,",
            })
    void fails(String expression) {
        assertFalse(Requirement.parse(expression).isMetBy(HOST), expression);
    }

    @ParameterizedTest
    @ValueSource(strings = {"cuda>=99", "arch>=99", "brand=tesla", "cuda<1,brand!=tesla"})
    void conditionOnSomethingUnknownCountsAsTrue(String expression) {
        DriverFacts onlyDriver = DriverFacts.of(DriverVersion.parse("535.104.05"));
        Requirement requirement = Requirement.parse(expression);
        assertTrue(requirement.isMetBy(onlyDriver));
        assertEquals(expression, requirement.unknown(onlyDriver).orElseThrow().toString());
    }

    @Test
    void unknownIsNotMentionedWhereAnotherAlternativeHolds() {
        DriverFacts onlyDriver = DriverFacts.of(DriverVersion.parse("535.104.05"));
        Requirement requirement = Requirement.parse("cuda>=99 driver>=535");
        assertTrue(requirement.isMetBy(onlyDriver));
        assertTrue(requirement.unknown(onlyDriver).isEmpty());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "gpu>=3         | 'gpu>=3': known are cuda, driver, arch and brand",
                "cuda>=12 >=12  | '>=12': known are cuda, driver, arch and brand",
                "cuda           | 'cuda': known are = != < <= > and >=",
                "cuda==12       | 'cuda==12': known are = != < <= > and >=",
                "cuda=>12       | 'cuda=>12': known are = != < <= > and >=",
                "cuda!12        | 'cuda!12': known are = != < <= > and >=",
                "cuda~12        | 'cuda~12': known are cuda, driver, arch and brand",
                "cuda>=         | 'cuda>=': a version is numbers and dots",
                "cuda>=12.x     | 'cuda>=12.x': a version is numbers and dots",
                "cuda>=12..4    | 'cuda>=12..4': a version is numbers and dots",
                "cuda>=12>=3    | 'cuda>=12>=3': a version is numbers and dots",
                "arch>=sm_80    | 'arch>=sm_80': a version is numbers and dots",
                "brand>=tesla   | 'brand>=tesla': a brand is compared with = or !=",
                "brand=         | 'brand=': the brand is missing",
            })
    void malformedConditionIsQuoted(String expression, String rest) {
        assertEquals(
                "invalid expression " + rest,
                assertThrows(IllegalArgumentException.class, () -> Requirement.parse(expression))
                        .getMessage());
    }

    @Test
    void malformedConditionCantWriteToTheTerminal() {
        assertEquals(
                "invalid expression 'cuda>=\\u{1b}[2J\\u{202e}': a version is numbers and dots",
                assertThrows(
                                IllegalArgumentException.class,
                                () -> Requirement.parse("cuda>=\u001b[2J\u202e"))
                        .getMessage());
    }

    @Test
    void sizeIsBounded() {
        Requirement.parse("cuda>=12 ".repeat(1024));
        assertEquals(
                "invalid expression: more than 1024 alternatives",
                assertThrows(
                                IllegalArgumentException.class,
                                () -> Requirement.parse("cuda>=12 ".repeat(1025)))
                        .getMessage());
        assertEquals(
                "invalid expression: 65537 characters, at most 65536",
                assertThrows(
                                IllegalArgumentException.class,
                                () -> Requirement.parse(" ".repeat(65537)))
                        .getMessage());
    }

    @Test
    void anyTextParsesOrIsAnInvalidExpression() {
        String[] pieces = {
            "cuda",
            "driver",
            "arch",
            "brand",
            "=",
            "!",
            "<",
            ">",
            ">=",
            "12",
            "12.4",
            ".",
            ",",
            " ",
            "tesla",
            "x",
            "\u0000",
            "\ud800",
            "é",
            "99999999999999999999",
            "0"
        };
        Random random = new Random(20240607);
        int parsed = 0;
        for (int i = 0; i < 50_000; i++) {
            StringBuilder text = new StringBuilder();
            for (int n = random.nextInt(9); n >= 0; n--) {
                text.append(pieces[random.nextInt(pieces.length)]);
            }
            try {
                Requirement.parse(text.toString()).isMetBy(HOST);
                parsed++;
            } catch (IllegalArgumentException e) {
                assertTrue(e.getMessage().startsWith("invalid expression"), e.getMessage());
            }
        }
        assertTrue(parsed > 100, "parsed " + parsed);
    }
}
