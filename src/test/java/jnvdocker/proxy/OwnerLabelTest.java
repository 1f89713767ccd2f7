package jnvdocker.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.charset.StandardCharsets;

class OwnerLabelTest {
    private static final String OURS = "'jnvdocker.owner':'uid:1001'";

    /** With single quotes in place of double ones. */
    private static String set(String body, OwnerLabel.Place place) throws IOException {
        byte[] bytes = body.replace('\'', '"').getBytes(StandardCharsets.UTF_8);
        return new String(OwnerLabel.set(bytes, place, 1001), StandardCharsets.UTF_8)
                .replace('"', '\'');
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{}|{'Labels':{OURS}}",
                "{'Image':'x','Labels':null}|{'Image':'x','Labels':{OURS}}",
                "{'Labels':{'a':'b'},'Image':'x'}|{'Image':'x','Labels':{'a':'b',OURS}}",
                "{'Labels':{'jnvdocker.owner':'root','a':'b'}}|{'Labels':{'a':'b',OURS}}",
                "{'Labels':{'jnvdocker.owner':['root',{}],'a':'b'}}|{'Labels':{'a':'b',OURS}}",
                // Labels have the case that they are written in; the name of their member has not.
                "{'LABELS':{'JNVDOCKER.OWNER':'x'}}|{'Labels':{'JNVDOCKER.OWNER':'x',OURS}}",
                "{'label\u017f':{'jnvdocker.owner':'root','a':'b'}}|{'Labels':{'a':'b',OURS}}",
                "{'Labels':{'a':'1'},'x':1,'labels':{'a':'2','b':'3'}}"
                        + "|{'x':1,'Labels':{'a':'1','a':'2','b':'3',OURS}}",
                "{'Labels':{'a':'1'},'lAbels':null,'labelS':{'b':'2'}}|{'Labels':{'b':'2',OURS}}",
                "{'HostConfig':{'Labels':{'jnvdocker.owner':'root'}}}"
                        + "|{'HostConfig':{'Labels':{'jnvdocker.owner':'root'}},'Labels':{OURS}}",
            })
    void labelOfAContainerIsTheLastWord(String body, String expected) throws IOException {
        assertEquals(
                expected.replace("OURS", OURS), set(body, OwnerLabel.Place.OF_CONTAINER), body);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{'Labels':{'a':'b'},'TaskTemplate':{'ContainerSpec':{'Image':'x'},'y':1}}"
                        + "|{'Labels':{'a':'b'},'TaskTemplate':{'y':1,'ContainerSpec':{'Image':'x',"
                        + "'Labels':{OURS}}}}",
                "{'TaskTemplate':{'ContainerSpec':{'Labels':{'jnvdocker.owner':'root'}}},"
                    + "'ta\u017f\u212atemplate':{'containerspec':{'label\u017f':"
                    + "{'jnvdocker.owner':'root','a':'b'},'Image':'x'}}}"
                    + "|{'TaskTemplate':{'ContainerSpec':{'Image':'x','Labels':{'a':'b',OURS}}}}",
                "{'TaskTemplate':{'Runtime':'plugin','PluginSpec':{}}}"
                        + "|{'TaskTemplate':{'Runtime':'plugin','PluginSpec':{}}}",
                "{'Name':'x'}|{'Name':'x'}",
            })
    void labelOfAServiceIsThatOfItsContainers(String body, String expected) throws IOException {
        assertEquals(expected.replace("OURS", OURS), set(body, OwnerLabel.Place.OF_SERVICE), body);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{'Labels':{'jnvdocker.owner':'alice','a':'b'}}"
                        + "|{'Labels':{'jnvdocker.owner':'alice','a':'b'}}",
                "{'Labels':{'jnvdocker.owner':'alice'},'labels':null}"
                        + "|{'Labels':{'jnvdocker.owner':'uid:0'}}",
                "{'Labels':{'a':'b'}}|{'Labels':{'a':'b','jnvdocker.owner':'uid:0'}}",
            })
    void rootNamesOthers(String body, String expected) throws IOException {
        byte[] bytes = body.replace('\'', '"').getBytes(StandardCharsets.UTF_8);
        byte[] set = OwnerLabel.set(bytes, OwnerLabel.Place.OF_CONTAINER, 0);
        assertEquals(expected, new String(set, StandardCharsets.UTF_8).replace('"', '\''));
    }

    /** To the engine, duplicates are no error. */
    @Test
    void allElseComesOutTheSame() throws IOException {
        String members =
                "'int64':-9223372036854775808,'uint64':18446744073709551615,'long':"
                    + "123456789012345678901234567890,'d':1.10,'e':1E+2,'z':-0.0,'t':true,'f':false,"
                    + "'n':null,'empty':'','dup':1,'dup':2,'a':[[],{},[1,{'b':[2]}],'x'],'esc':'\\u0000\\n\\\\"
                    + " \\/ \\ud83d\\ude00 \ud83d\ude00 \u00e4 \u2028','Labels':{'\ud83d\ude00"
                    + " \u00e4':'\ud83d\ude00 \\ud83d\\ude00\\n'}";
        String body = "{" + members + "}";
        JsonMapper mapper =
                JsonMapper.builder()
                        .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
                        .build();
        String out = set(body, OwnerLabel.Place.OF_CONTAINER).replace("'", "\"");
        ObjectNode expected = (ObjectNode) mapper.readTree(body.replace("'", "\""));
        ((ObjectNode) expected.get("Labels")).put("jnvdocker.owner", "uid:1001");
        assertEquals(expected, mapper.readTree(out));
        for (String text :
                new String[] {
                    "-9223372036854775808",
                    "18446744073709551615",
                    "123456789012345678901234567890",
                    "1.10,",
                    "1E+2",
                    "-0.0",
                    "\"dup\":1,\"dup\":2"
                }) {
            assertEquals(true, out.contains(text), out);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                " ",
                "[]",
                "'x'",
                "null",
                "{",
                "{}{}",
                "{} x",
                "{'Labels':[]}",
                "{'Labels':'x'}",
                "{'Labels':{}",
                "{'a':01}",
                "{'a':NaN}",
                "{'a':.5}",
                "{a:1}",
                "{'a':1,}",
                "{'a':1}/**/",
            })
    void whatIsNoDescriptionIsRefused(String body) {
        var refusal =
                assertThrows(RequestRefusal.class, () -> set(body, OwnerLabel.Place.OF_CONTAINER));
        assertEquals(RequestRefusal.BAD_REQUEST, refusal.status());
    }

    @Test
    void nestingHasALimit() {
        String deep = "{'a':" + "[".repeat(100_000) + "]".repeat(100_000) + "}";
        assertThrows(RequestRefusal.class, () -> set(deep, OwnerLabel.Place.OF_CONTAINER));
    }
}
