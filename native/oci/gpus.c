#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base.h"
#include "gpus.h"

/* As procfs itself is mounted: a user namespace lets nobody take one of these away. */
enum { HARMLESS = MS_NOSUID | MS_NODEV | MS_NOEXEC };

static void complain(const char *what, const char *path)
{
	char *text = joined("jnvdocker: this container sees all GPUs in /%s: cannot %s: %s\n", path, what, strerror(errno));

	remark(text, strlen(text));
	free(text);
}

/* Whatever the image has put into its root, nothing outside of it is reached. */
static int open_inside(int root, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};

	return (int)syscall(SYS_openat2, root, path, &how, sizeof how);
}

/* A path of what is open, also of a directory that a mount has hidden. */
static char *path_of(int descriptor)
{
	return joined("/proc/self/fd/%d", descriptor);
}

/* A mount at the directory hides what is in it; the descriptor is still of what it hides. */
static bool mount_on(int directory, const char *source, const char *type, unsigned long flags, const char *data)
{
	char *target = path_of(directory);
	bool mounted = mount(source, target, type, flags, data) == 0;

	free(target);
	return mounted;
}

/* Binds one of the hidden directories to a new one of its name. */
static bool bind_entry(int hidden, int shown_now, const char *name)
{
	int entry = openat(hidden, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	/* The GPU has just gone. */
	if (entry < 0)
		return errno == ENOENT;
	if (mkdirat(shown_now, name, 0555) != 0)
		return false;
	int place = openat(shown_now, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char *source = path_of(entry);
	bool bound = place >= 0 && mount_on(place, source, NULL, MS_BIND, NULL);

	free(source);
	close(entry);
	if (place >= 0)
		close(place);
	return bound;
}

void show_own_gpus(char *const *words)
{
	if (words[0] == NULL || words[1] == NULL)
		die("this hook has no root and no directory; it is for containers of jnvdocker's OCI runtime");
	const char *path = words[1];
	int root = open(words[0], O_PATH | O_DIRECTORY | O_CLOEXEC);
	int hidden = root < 0 ? -1 : open_inside(root, path);

	if (hidden < 0) {
		/* No driver is loaded, or the container has no /proc. */
		if (errno != ENOENT && errno != ENOTDIR)
			complain("open it", path);
		return;
	}
	if (!mount_on(hidden, "tmpfs", "tmpfs", HARMLESS, "mode=0555,size=64k")) {
		complain("mount a directory there", path);
		return;
	}
	int shown_now = open_inside(root, path);
	bool done = shown_now >= 0;

	for (char *const *name = words + 2; done && *name != NULL; name++)
		done = strchr(*name, '/') == NULL && bind_entry(hidden, shown_now, *name);
	if (done)
		done = mount_on(shown_now, NULL, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | HARMLESS, NULL);
	if (!done) {
		complain("show its own alone", path);
		char *target = shown_now >= 0 ? path_of(shown_now) : NULL;

		/* With what is mounted below it. */
		if (target != NULL)
			umount2(target, MNT_DETACH);
		free(target);
	}
}
