package jnvdocker.json;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonParseException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

class BoundedParserTest {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final BoundedParser.Limits LIMITS = new BoundedParser.Limits(2000, 10_000, 1000);

    private final List<Long> weights = new ArrayList<>();

    private static boolean isRead(String parent, String member) {
        return "labels".equals(parent) ? member.equals("a") : !member.startsWith("-");
    }

    private JsonNode read(String json) throws IOException {
        try (BoundedParser parser =
                new BoundedParser(
                        BoundedParser.factory().build().createParser(json),
                        BoundedParserTest::isRead,
                        LIMITS,
                        weights::add)) {
            return JSON.readTree(parser);
        }
    }

    @Test
    void membersThatNobodyReadsWeighNothing() throws IOException {
        String much = "[" + "{\"x\":[1,\"y\"]},".repeat(1000) + "2]";
        String json =
                "{\"-\":%s,\"labels\":{\"b\":%s,\"a\":\"1\",\"c\":\"%s\"},\"list\":[{\"-\":%s}],\"z\":2}"
                        .formatted(much, much, "long".repeat(1000), much);
        assertEquals(JSON.readTree("{\"labels\":{\"a\":\"1\"},\"list\":[{}],\"z\":2}"), read(json));
        assertEquals(0, weights.getLast());
    }

    @Test
    void onlyTheLongElementOfAListIsCutShort() throws IOException {
        String longList =
                "{\"id\":1,\"list\":[" + "\"x\",".repeat(100) + "\"y\"],\"state\":\"up\"}";
        JsonNode list = read("[" + longList + ",{\"id\":2,\"list\":[\"x\",[\"z\"]]}]");
        assertEquals("up", list.get(0).get("state").textValue());
        assertTrue(list.get(0).get("list").size() < 20);
        assertEquals(JSON.readTree("{\"id\":2,\"list\":[\"x\",[\"z\"]]}"), list.get(1));
    }

    @ParameterizedTest
    @ValueSource(strings = {"[\"x\",%s]", "{\"list\":[%s]}", "{\"list\":{\"%s\":1}}", "\"%s\""})
    void anythingElseThatIsTooLongFails(String json) {
        String many = json.contains("\"%s\"") ? "x".repeat(10_000) : "[],".repeat(100) + "1";
        assertThrows(BoundedParser.TooLongException.class, () -> read(json.formatted(many)), json);
        assertEquals(0, weights.getLast());
    }

    @Test
    void textIsOneValue() throws IOException {
        BoundedParser.Tree tree = BoundedParser.tree(JSON, " {\"a\":[1]} ", (_, _) -> true, 1000);
        assertEquals(JSON.readTree("{\"a\":[1]}"), tree.root());
        assertTrue(tree.weight() > 100);
        assertThrows(
                JsonParseException.class,
                () -> BoundedParser.tree(JSON, "{} {}", (_, _) -> true, 1000));
    }
}
