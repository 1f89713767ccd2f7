package jnvdocker.cuda;

import com.sun.jna.Library;
import com.sun.jna.Native;

/**
 * Has the kernel end this process after a while, wherever it hangs and even if its parent has died.
 */
interface Alarm extends Library {
    Alarm INSTANCE = Native.load("c", Alarm.class);

    int alarm(int seconds);
}
