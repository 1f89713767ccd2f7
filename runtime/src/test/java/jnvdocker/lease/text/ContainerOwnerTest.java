package jnvdocker.lease.text;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.fail;

import jnvdocker.lease.Owner;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.List;
import java.util.Map;
import java.util.Set;

class ContainerOwnerTest {
    private static Owner owner(String label, ContainerOwner.Trust... trusted) {
        return new ContainerOwner(() -> Set.of(trusted)).of(Map.of(ContainerOwner.LABEL, label));
    }

    @Test
    void labelIsAGuessUnlessItIsTrusted() {
        assertEquals(Owner.guessed("root"), owner("root"));
        assertEquals(Owner.guessed("root"), owner("root", ContainerOwner.Trust.DIRECTORY));
        assertEquals(new Owner(0, "root"), owner("root", ContainerOwner.Trust.LABEL));
        assertEquals(
                Owner.guessed("nobody-is-it"), owner("nobody-is-it", ContainerOwner.Trust.LABEL));
        for (Owner own : List.of(Owner.TRIAL, Owner.KUBERNETES, Owner.UNKNOWN)) {
            assertEquals(Owner.guessed(own.name()), owner(own.name(), ContainerOwner.Trust.LABEL));
        }
    }

    /** The host's user database may take long, and an engine or a table waits. */
    @Test
    void nameThatIsNotTrustedIsNotLookedUp() {
        ContainerOwner owners =
                new ContainerOwner(
                        () -> Set.of(ContainerOwner.Trust.DIRECTORY),
                        name -> fail(name + " is looked up"));
        assertEquals(Owner.guessed("alice"), owners.of(Map.of(ContainerOwner.LABEL, "alice")));
    }

    @Test
    void numberIsThatUser() {
        assertEquals("uid:0", ContainerOwner.label(0));
        assertEquals("uid:4294967294", ContainerOwner.label(-2));
        assertEquals(new Owner(0, "root"), owner("uid:0", ContainerOwner.Trust.LABEL));
        assertEquals(new Owner(61001, "uid 61001"), owner("uid:61001", ContainerOwner.Trust.LABEL));
        assertEquals(-2, owner(ContainerOwner.label(-2), ContainerOwner.Trust.LABEL).uid());
        assertEquals(Owner.guessed("uid 61001"), owner("uid:61001"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "uid:",
                "uid:4294967295",
                "uid:99999999999",
                "uid:-1",
                "uid:+1",
                "uid:1 ",
                "uid: 1",
                "a b",
                "-a",
                "UID:0"
            })
    void othersNameNobody(String label) {
        assertEquals(Owner.UNKNOWN, owner(label, ContainerOwner.Trust.LABEL));
    }
}
