package jnvdocker.command.gpu.view;

import jnvdocker.lease.Owner;
import jnvdocker.lease.text.Owners;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

/** A user whom the caller names. */
public final class UserOption {
    private UserOption() {}

    /**
     * @param user a name or a uid
     * @throws RefusedException when this host knows no such user
     */
    public static Owner owner(String user) throws RefusedException {
        Owner owner =
                user.matches("[0-9]{1,10}")
                        ? Owners.of((int) Long.parseLong(user))
                        : Owners.named(user);
        if (owner.uid() == Owner.UNKNOWN.uid()) {
            throw new RefusedException(
                    "this host knows no user " + Quote.quoted(user), "give a user's name or uid");
        }
        return owner;
    }
}
