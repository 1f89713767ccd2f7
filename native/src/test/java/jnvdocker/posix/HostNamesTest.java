package jnvdocker.posix;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

import java.util.Optional;

class HostNamesTest {
    private final HostNames names = HostNames.ofThisHost();

    @Test
    void usersHaveNamesAndOthersNone() {
        assertEquals(Optional.of("root"), names.ofUser(0));
        assertEquals(Optional.empty(), names.ofUser(2_000_000_123));
        assertEquals(Optional.empty(), names.ofUser(-1));
    }

    @Test
    void namesHaveNumbersAndOthersNone() throws NoAnswerException {
        assertEquals(Optional.of(0), names.user("root", HostNames.LONGEST));
        assertEquals(Optional.of(0), names.group("root"));
        assertEquals(Optional.empty(), names.user("no such user", HostNames.LONGEST));
        assertEquals(Optional.empty(), names.group("no such group"));
        assertEquals(Optional.empty(), names.group(""));
    }
}
