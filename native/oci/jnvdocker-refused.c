/*
 * jnvdocker-refused: run by a container in place of its own program while its GPUs are busy, at a start that no
 * user typed. It prints the reason and fails, so that the container's restart policy tries again.
 *
 * Responsibilities:
 *   - write each argument and a newline to standard error
 *   - end with 125, as docker does when it cannot start a container
 *
 * It is alone in its root, may run as any user without rights, and its standard error may be closed or gone: none
 * of that changes its exit code.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { REFUSED = 125 };

static void say(const char *text, size_t length)
{
	while (length > 0) {
		ssize_t written = write(STDERR_FILENO, text, length);
		if (written > 0) {
			text += written;
			length -= (size_t)written;
		} else if (errno != EINTR)
			return;
	}
}

int main(int count, char **words)
{
	/* Otherwise it would die of SIGPIPE if the reader is gone. */
	signal(SIGPIPE, SIG_IGN);
	for (int i = 1; i < count; i++) {
		say(words[i], strlen(words[i]));
		say("\n", 1);
	}
	_exit(REFUSED);
}
