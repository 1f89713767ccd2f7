package jnvdocker.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.words.InvalidValueException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ListenAddressTest {
    @ParameterizedTest
    @CsvSource({
        "127.0.0.1:3476, 127.0.0.1, 3476",
        "127.9.8.7:1, 127.9.8.7, 1",
        "localhost:65535, 127.0.0.1, 65535",
        "[::1]:3476, 0:0:0:0:0:0:0:1, 3476"
    })
    void addressOfThisHostIsRead(String text, String host, int port) {
        var address = ListenAddress.parse(text).address();
        assertEquals(host, address.getAddress().getHostAddress());
        assertEquals(port, address.getPort());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "0.0.0.0:3476",
                "10.0.0.1:3476",
                "[::]:3476",
                "[fe80::1]:1",
                "192.168.1.1:80"
            })
    void addressThatOthersReachIsRefusedWithTheReason(String text) {
        var refused = assertThrows(InvalidValueException.class, () -> ListenAddress.parse(text));
        assertTrue(
                refused.getMessage().startsWith("'" + text + "' can be reached from other hosts"));
        assertTrue(refused.getMessage().contains("; use 127.0.0.1, and a proxy"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "3476",
                ":3476",
                "127.0.0.1",
                "127.0.0.1:",
                "127.0.0.1:x",
                "127.0.0.1:123456",
                "127.0.0.256:1",
                "::1:3476",
                "[::1%lo]:3476",
                "gpu7.example:3476",
                "localhost.evil.example:3476",
                " 127.0.0.1:3476",
                "http://127.0.0.1:3476"
            })
    void whatIsNoAddressIsRefused(String text) {
        var refused = assertThrows(InvalidValueException.class, () -> ListenAddress.parse(text));
        assertTrue(refused.getMessage().contains("' is not an IP address and a port; "));
    }

    @Test
    void portMustExist() {
        for (String text : new String[] {"127.0.0.1:0", "127.0.0.1:65536", "[::1]:99999"}) {
            var refused =
                    assertThrows(InvalidValueException.class, () -> ListenAddress.parse(text));
            assertTrue(refused.getMessage().contains("has no port between 1 and 65535"));
        }
    }
}
