package jnvdocker.json;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.MappingIterator;
import com.fasterxml.jackson.databind.json.JsonMapper;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.util.concurrent.atomic.AtomicInteger;

class ForeignJsonTest {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final int MOST = 1 << 20;

    private static boolean isRead(String parent, String member) {
        return "labels".equals(parent) ? member.equals("a") : !member.startsWith("-");
    }

    private static JsonNode read(String json) throws IOException {
        return ForeignJson.tree(JSON, json, MOST, ForeignJsonTest::isRead);
    }

    @Test
    void membersThatNobodyReadsAreLeftOut() throws IOException {
        String much = "[" + "{\"x\":[1,\"y\"]},".repeat(20_000) + "2]";
        String json =
                "{\"-\":%s,\"labels\":{\"b\":%s,\"a\":\"1\",\"c\":\"%s\"},\"list\":[{\"-\":3},[]],\"z\":{}}"
                        .formatted(much, much, "long".repeat(1000));
        assertEquals(
                JSON.readTree("{\"labels\":{\"a\":\"1\"},\"list\":[{},[]],\"z\":{}}"), read(json));
        assertEquals(JSON.readTree("{}"), read("{\"-\":" + much + "}"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"[]", "{}", "null", "1", "\"x\"", "[[],{},null]", "{\"a\":[{\"b\":1}]}"})
    void whatIsReadStaysAsItIs(String json) throws IOException {
        assertEquals(JSON.readTree(json), read(json));
        assertEquals(JSON.readTree(json), ForeignJson.tree(JSON, json, MOST));
    }

    /** Which the objects of a list share with the list. */
    @Test
    void parentIsTheNameOfTheList() throws IOException {
        String json = "[{\"labels\":[{\"a\":1,\"b\":2}]}]";
        assertEquals(JSON.readTree("[{\"labels\":[{\"a\":1}]}]"), read(json));
    }

    @ParameterizedTest
    @ValueSource(strings = {"{} {}", "[", "[1,]", "{\"a\":}", "x", "{\"-\":[}", "{\"-\":[]}}"})
    void anythingButOneValueFails(String json) {
        assertThrows(JsonProcessingException.class, () -> read(json), json);
        assertThrows(JsonProcessingException.class, () -> ForeignJson.tree(JSON, json, MOST), json);
    }

    @Test
    void emptyTextIsNothing() throws IOException {
        assertNull(read(" "));
        assertNull(ForeignJson.tree(JSON, "", MOST));
    }

    @Test
    void bytesElementsAndDepthAreBounded() throws IOException {
        assertEquals("x", ForeignJson.tree(JSON, "\"x\"", 3).textValue());
        assertThrows(ForeignJson.TooLongException.class, () -> ForeignJson.tree(JSON, "\"xy\"", 3));
        String elements = "{\"list\":[[" + "1],[".repeat(25_000) + "2]]}";
        assertThrows(ForeignJson.TooLongException.class, () -> read(elements));
        assertThrows(StreamConstraintsException.class, () -> read("[".repeat(101)));
    }

    @Test
    void charactersThatAreReadAreBounded() throws IOException {
        String text = "\"" + "x".repeat(3 << 20) + "\",";
        assertEquals(5, filtered("[" + text.repeat(5) + "\"\"]").size() - 1);
        assertThrows(
                ForeignJson.TooLongException.class, () -> filtered("[" + text.repeat(6) + "1]"));
        assertEquals(1, filtered("[{\"-\":[" + text.repeat(6) + "1]}]").size());
    }

    private static JsonNode filtered(String json) throws IOException {
        return ForeignJson.tree(JSON, json, json.length(), ForeignJsonTest::isRead);
    }

    /** A container with as many mounts does not hide the other ones. */
    @Test
    void itemOfAListIsCutOff() throws IOException {
        String item = "{\"list\":[" + "1,".repeat(30_000) + "2]}";
        JsonNode read = filtered("[" + item + "," + item + ",{\"list\":[1]}]");
        assertEquals(3, read.size());
        assertEquals(5_000, read.get(1).get("list").size());
        assertEquals(1, read.get(2).get("list").size());
    }

    /** Those of the events of an engine are counted for each event. */
    @Test
    void documentsOfAStreamAreBoundedOneByOne() throws IOException {
        String event = "{\"-\":1,\"list\":[" + "1,".repeat(40_000) + "2]}\n";
        AtomicInteger ended = new AtomicInteger();
        var parser =
                ForeignJson.filtered(
                        ForeignJson.factory().build().createParser(event.repeat(3) + "[[],{}]"),
                        ForeignJsonTest::isRead,
                        ended::incrementAndGet);
        try (MappingIterator<JsonNode> events = JSON.readerFor(JsonNode.class).readValues(parser)) {
            for (int i = 1; i <= 3; i++) {
                assertEquals(40_001, events.nextValue().get("list").size());
                assertEquals(i, ended.get());
            }
        }
    }
}
