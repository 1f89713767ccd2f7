/*
 * jnvdocker-prestart: the last command that Mesos' helper runs before it enters a container.
 *
 *   jnvdocker-prestart refuse REASON      prints why the container is not started, and fails
 *   jnvdocker-prestart apply WORDS        carries out the daemon's plan, and nothing else
 *
 *     rootfs PATH               the container's root on the host; without it only the rules are set
 *     mount SOURCE TARGET       binds a directory of the host at a place in the container, read-only
 *     cgroup DIRECTORY             a devices cgroup in which the rules are allowed; parents come first
 *     device PATH MAJOR MINOR   a rule in each cgroup, and /dev/NAME in the container
 *
 * Responsibilities:
 *   - repeat the messages that the agent's fetcher removed when it emptied the sandbox's files
 *   - set the rules, mount and make the nodes, in that order
 *   - ensure that none of them takes effect outside of this container
 *
 * It runs as root, in the container's cgroups and mount namespace; its root is still the host's. The image is
 * hostile: only the kernel follows paths in it, with the container's root as the root (openat2).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base.h"
#include "files.h"
#include "remarks.h"

const int failure_code = 1;

#define OTHER_IMAGE "use another image, or have this one changed"
#define OWN_CGROUP \
	"the agent has not put the container into a devices cgroup of its own; start it with --isolation=...,cgroups/devices"

/* Many times the number of each that a container may be given. */
enum { MAX_ENTRIES = 256 };
/* The limit of a file that only the helper and the fetcher have written to. */
enum { MAX_STDERR = 1 << 20 };
/* The limits of a dev_t of Linux. */
enum { MAX_MAJOR = (1 << 12) - 1, MAX_MINOR = (1 << 20) - 1 };
enum { IN_CONTAINER = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };

struct device {
	const char *path;
	unsigned major, minor;
};

struct bind {
	const char *source, *target;
};

struct plan {
	const char *rootfs;
	struct bind mounts[MAX_ENTRIES];
	const char *cgroups[MAX_ENTRIES];
	struct device devices[MAX_ENTRIES];
	size_t mount_count, cgroup_count, device_count;
};

/* ---- the plan -------------------------------------------------------------------------------- */

static unsigned parse_number(const char *text, unsigned long limit)
{
	char *end;

	errno = 0;
	unsigned long number = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || number > limit)
		die("'%s' is not a device number; install client and daemon of the same version", text);
	return number;
}

/* An absolute path that never goes up. */
static const char *parse_path(const char *text)
{
	size_t length = strlen(text);

	if (text[0] != '/' || length >= PATH_MAX || strstr(text, "/../") != NULL ||
	    (length >= 3 && strcmp(text + length - 3, "/..") == 0))
		die("'%s' is not an absolute path; install client and daemon of the same version", text);
	return text;
}

static const char *parse_device(const char *text)
{
	const char *name = text + strlen("/dev/");

	if (!has_prefix(text, "/dev/") || *name == '\0' || strchr(name, '/') != NULL || strcmp(name, ".") == 0 ||
	    strcmp(name, "..") == 0)
		die("'%s' is not a device node in /dev; install client and daemon of the same version", text);
	return name;
}

/* The number of words of a keyword, including itself; 0 if it is not a keyword. */
static int word_count(const char *keyword)
{
	static const struct {
		const char *keyword;
		int words;
	} known[] = { { "rootfs", 2 }, { "mount", 3 }, { "cgroup", 2 }, { "device", 4 } };

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strcmp(keyword, known[i].keyword) == 0)
			return known[i].words;
	return 0;
}

static void add_to_plan(struct plan *plan, char **words)
{
	if (plan->mount_count == MAX_ENTRIES || plan->cgroup_count == MAX_ENTRIES || plan->device_count == MAX_ENTRIES)
		die("more than %d mounts, cgroups or devices; install client and daemon of the same version", MAX_ENTRIES - 1);
	switch (words[0][0]) {
	case 'r':
		if (plan->rootfs != NULL)
			die("'%s' is the second rootfs; install client and daemon of the same version", words[1]);
		plan->rootfs = parse_path(words[1]);
		break;
	case 'm':
		plan->mounts[plan->mount_count++] = (struct bind){ parse_path(words[1]), parse_path(words[2]) };
		break;
	case 'c':
		plan->cgroups[plan->cgroup_count++] = parse_path(words[1]);
		break;
	case 'd':
		parse_device(words[1]);
		plan->devices[plan->device_count++] =
			(struct device){ words[1], parse_number(words[2], MAX_MAJOR), parse_number(words[3], MAX_MINOR) };
		break;
	}
}

static void parse_plan(struct plan *plan, int argc, char **argv)
{
	for (int i = 0; i < argc; ) {
		int words = word_count(argv[i]);

		if (words == 0 || words > argc - i)
			die("'%s' is not a complete part of a plan; install client and daemon of the same version", argv[i]);
		add_to_plan(plan, argv + i);
		i += words;
	}
	/* Otherwise the container could open every device, or none. */
	if (plan->device_count > 0 && plan->cgroup_count == 0)
		die(OWN_CGROUP);
}

/* ---- opening --------------------------------------------------------------------------------- */

static int open_beneath(int directory, const char *path, int flags, uint64_t resolve)
{
	struct open_how how = { .flags = flags | O_CLOEXEC, .resolve = resolve };
	int opened;

	do
		opened = syscall(SYS_openat2, directory, path, &how, sizeof how);
	while (opened < 0 && (errno == EINTR || errno == EAGAIN)); /* something was moved meanwhile */
	if (opened < 0 && errno == ENOSYS)
		die("the kernel has no openat2, which keeps links in an image from leading out of it; use Linux 5.6 or newer");
	return opened;
}

static char *by_descriptor(int descriptor)
{
	return joined("/proc/self/fd/%d", descriptor);
}

/* ---- cgroups --------------------------------------------------------------------------------- */

/* The cgroup that this process is in, from the root of the hierarchy; NULL when there is none. */
static char *own_cgroup(void)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	char *line = NULL, *found = NULL;
	size_t size = 0;

	if (file == NULL)
		die("cannot read /proc/self/cgroup: %s; mount /proc", strerror(errno));
	while (found == NULL && getline(&line, &size, file) > 0) {
		char *controllers = strchr(line, ':');
		char *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;

		line[strcspn(line, "\n")] = '\0';
		if (path == NULL)
			continue;
		*path++ = '\0';
		for (char *name = strtok(controllers + 1, ","); name != NULL && found == NULL; name = strtok(NULL, ","))
			if (strcmp(name, "devices") == 0)
				found = joined("%s", path);
	}
	free(line);
	fclose(file);
	return found;
}

/* Whether a path is that directory or is in it: returns the rest of the path, "" or from a slash on; else NULL. */
static const char *below(const char *path, const char *directory)
{
	size_t length = strlen(directory);

	if (strcmp(directory, "/") == 0)
		return path;
	if (!has_prefix(path, directory) || (path[length] != '\0' && path[length] != '/'))
		return NULL;
	return path + length;
}

/* Blanks and backslashes are written as octal digits there. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from != '\0'; ) {
		if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] >= '0' && from[2] <= '7' && from[3] >= '0' &&
		    from[3] <= '7') {
			*to++ = (from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0');
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

/* The mount of the devices controller's hierarchy that a directory is in. */
struct hierarchy {
	char point[PATH_MAX], root[PATH_MAX];
};

static bool is_devices(const char *type_and_options)
{
	char type[64], options[4096];

	if (sscanf(type_and_options, " - %63s %*s %4095s", type, options) != 2 || strcmp(type, "cgroup") != 0)
		return false;
	for (char *option = strtok(options, ","); option != NULL; option = strtok(NULL, ","))
		if (strcmp(option, "devices") == 0)
			return true;
	return false;
}

static bool find_hierarchy(const char *directory, struct hierarchy *found)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t size = 0;
	struct hierarchy mount;
	bool any = false;

	if (file == NULL)
		die("cannot read /proc/self/mountinfo: %s; mount /proc", strerror(errno));
	while (getline(&line, &size, file) > 0) {
		const char *rest = strstr(line, " - ");

		if (rest == NULL || strlen(line) >= PATH_MAX || !is_devices(rest) ||
		    sscanf(line, "%*s %*s %*s %4095s %4095s", mount.root, mount.point) != 2)
			continue;
		unescape(mount.root);
		unescape(mount.point);
		/* The innermost, and among several of those the topmost. */
		if (below(directory, mount.point) != NULL && (!any || strlen(mount.point) >= strlen(found->point))) {
			*found = mount;
			any = true;
		}
	}
	free(line);
	fclose(file);
	return any;
}

/* Opens a cgroup, which must be the given one that this process is in, or one above it, but not the root. */
static int open_cgroup(const char *directory, const char *own, bool innermost)
{
	struct hierarchy hierarchy;
	struct statfs system;

	if (!find_hierarchy(directory, &hierarchy))
		die("'%s' is not in a devices cgroup hierarchy of version 1; check the agent's --cgroups_hierarchy", directory);
	const char *inside = below(directory, hierarchy.point);
	char *path = strcmp(hierarchy.root, "/") == 0 ? joined("%s", inside) : joined("%s%s", hierarchy.root, inside);
	const char *rest = path[0] == '/' && strcmp(path, "/") != 0 ? below(own, path) : NULL;
	if (inside[0] != '/' || inside[1] == '\0' || rest == NULL || (innermost && *rest != '\0'))
		die(OWN_CGROUP);
	free(path);
	int point = open(hierarchy.point, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int opened = point < 0 ? -1 : open_beneath(point, inside + 1, O_PATH | O_DIRECTORY,
						   RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
	if (opened < 0)
		die("cannot open the cgroup '%s': %s; see the agent's log", directory, strerror(errno));
	if (fstatfs(opened, &system) < 0 || system.f_type != CGROUP_SUPER_MAGIC)
		die("'%s' is not a cgroup of version 1; check the agent's --cgroups_hierarchy", directory);
	close(point);
	return opened;
}

static void allow(int cgroup, const char *directory, const struct device *device)
{
	int file = openat(cgroup, "devices.allow", O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	char *rule = joined("c %u:%u rw", device->major, device->minor);

	/* Each write sets one rule. */
	if (file < 0 || write(file, rule, strlen(rule)) != (ssize_t)strlen(rule))
		die("cannot allow %s (%s) in the cgroup '%s': %s; check what the agent's own cgroup allows", device->path,
		    rule, directory, strerror(errno));
	close(file);
	free(rule);
}

/* Opens all cgroups before any gets a rule. */
static void set_rules(const struct plan *plan)
{
	int cgroups[MAX_ENTRIES];

	if (plan->cgroup_count == 0)
		return;
	char *own = own_cgroup();
	if (own == NULL || strcmp(own, "/") == 0)
		die(OWN_CGROUP);
	for (size_t i = 0; i < plan->cgroup_count; i++)
		cgroups[i] = open_cgroup(plan->cgroups[i], own, i + 1 == plan->cgroup_count);
	for (size_t i = 0; i < plan->cgroup_count; i++)
		for (size_t j = 0; j < plan->device_count; j++)
			allow(cgroups[i], plan->cgroups[i], &plan->devices[j]);
	free(own);
}

/* ---- mounts ---------------------------------------------------------------------------------- */

/*
 * Makes a missing directory. If the name exists although opening it failed, it is a dangling link, and following it
 * would let the image choose the place.
 */
static int make_directory(int parent, const char *name, const char *target)
{
	char link[PATH_MAX];

	if (mkdirat(parent, name, 0755) < 0) {
		int reason = errno;
		ssize_t length = reason == EEXIST ? readlinkat(parent, name, link, sizeof link - 1) : -1;

		if (length >= 0)
			die("cannot mount at %s: the image's %s is a link to '%.*s', which does not exist; " OTHER_IMAGE, target,
			    name, (int)length, link);
		die("cannot create %s for %s in the container: %s; " OTHER_IMAGE, name, target, strerror(reason));
	}
	return open_beneath(parent, name, O_PATH | O_DIRECTORY, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
}

/*
 * Opens the directory of that path in the container, part by part, so that missing parts are made in the right
 * place.
 */
static int open_directory(int root, const char *target)
{
	char *path = joined("%s", target);
	int directory = open_beneath(root, "/", O_PATH | O_DIRECTORY, IN_CONTAINER);
	char *name, *next = path;

	while (directory >= 0) {
		for (name = next; *name == '/'; name++)
			continue;
		if (*name == '\0')
			break;
		next = strchrnul(name, '/');
		char after = *next;
		*next = '\0';
		int inner = open_beneath(root, path, O_PATH | O_DIRECTORY, IN_CONTAINER);
		if (inner < 0 && errno == ENOENT)
			inner = make_directory(directory, name, target);
		*next = after;
		close(directory);
		directory = inner;
	}
	if (directory < 0)
		die("cannot open %s in the container: %s; " OTHER_IMAGE, target, strerror(errno));
	free(path);
	return directory;
}

static bool is_same_directory(int one, int other)
{
	struct stat first, second;

	return fstat(one, &first) == 0 && fstat(other, &second) == 0 && first.st_dev == second.st_dev &&
	       first.st_ino == second.st_ino;
}

static void mount_read_only(int root, const struct bind *bind)
{
	const unsigned long wanted = ST_RDONLY | ST_NOSUID | ST_NODEV;
	struct statfs system;
	int source = open(bind->source, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (source < 0)
		die("cannot open '%s': %s; run the task again, and see the log of jnvdockerd", bind->source,
		    strerror(errno));
	int place = open_directory(root, bind->target);
	char *from = by_descriptor(source), *to = by_descriptor(place);
	if (mount(from, to, NULL, MS_BIND, NULL) < 0)
		die("cannot mount '%s' at %s: %s; check what else is mounted there", bind->source, bind->target,
		    strerror(errno));
	/* The mount must cover the place now, unless the image is being changed. */
	int mounted = open_beneath(root, bind->target, O_PATH | O_DIRECTORY, IN_CONTAINER);
	if (mounted < 0 || !is_same_directory(mounted, source))
		die("something other than '%s' is mounted at %s; run the task again", bind->source, bind->target);
	char *top = by_descriptor(mounted);
	if (mount(NULL, top, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) < 0)
		die("cannot make %s read-only: %s; check the kernel log (dmesg)", bind->target, strerror(errno));
	if (fstatfs(mounted, &system) < 0 || (system.f_flags & wanted) != wanted)
		die("'%s' stayed writable at %s; use Linux 5.6 or newer", bind->source, bind->target);
	close(source);
	close(place);
	close(mounted);
	free(from);
	free(to);
	free(top);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Whether it is the root of a mount, and not a directory of the surrounding one. */
static bool is_mount(int directory)
{
	struct statx status;

	return statx(directory, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &status) == 0 &&
	       (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

static bool is_hosts(int directory)
{
	struct stat status, hosts;

	return fstat(directory, &status) < 0 || stat("/dev", &hosts) < 0 || status.st_dev == hosts.st_dev;
}

/* Opens the container's own /dev: a node there is neither in the image nor on the host. */
static int open_dev(int root)
{
	struct statfs system;
	int dev = open_beneath(root, "/dev", O_PATH | O_DIRECTORY, RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS);

	if (dev < 0)
		die("cannot open /dev of the container: %s; " OTHER_IMAGE, strerror(errno));
	if (fstatfs(dev, &system) < 0 || system.f_type != TMPFS_MAGIC || !is_mount(dev) || is_hosts(dev))
		die("the container's /dev is not a tmpfs of its own; start the agent with --isolation=...,filesystem/linux, and mount"
		    " nothing there");
	return dev;
}

static void make_node(int dev, const struct device *device)
{
	const char *name = parse_device(device->path);
	dev_t number = makedev(device->major, device->minor);
	struct stat status;

	if (mknodat(dev, name, S_IFCHR | 0666, number) < 0 && errno != EEXIST)
		die("cannot create %s in the container: %s; check the mount options of its /dev", device->path,
		    strerror(errno));
	int node = openat(dev, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (node < 0 || fstat(node, &status) < 0)
		die("cannot open %s in the container: %s; run the task again", device->path, strerror(errno));
	if (!S_ISCHR(status.st_mode) || status.st_rdev != number)
		die("%s exists in the container and is not device %u:%u; have it removed from the image or the task's"
		    " volumes, or use another image", device->path, device->major, device->minor);
	char *path = by_descriptor(node);
	if (chmod(path, 0666) < 0)
		die("cannot set the mode of %s in the container: %s; run the task again", device->path, strerror(errno));
	close(node);
	free(path);
}

/* ---- both commands --------------------------------------------------------------------------- */

/* A newly opened file would take the number of a closed standard descriptor, and a message would become a rule. */
static void fill_standard(void)
{
	int opened;

	while ((opened = open("/dev/null", O_RDWR | O_CLOEXEC)) >= 0 && opened <= 2)
		continue;
	close(opened);
}

/* Repeats every remark that is no longer in the sandbox's stderr: the fetcher has emptied it by now. */
static void repeat_remarks(void)
{
	char *said = getenv(REMARKS_VARIABLE);
	struct buffer there = { 0 };
	struct stat status;

	if (said == NULL)
		return;
	/* If it cannot be read, such as a terminal or a logger, it counts as empty. */
	read_file(AT_FDCWD, "/proc/self/fd/2", 0, MAX_STDERR, &there, &status);
	for (char *line = said, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
		char *text = joined("%.*s", (int)(end + 1 - line), line);

		if (!contains(&there, text))
			remark(text, strlen(text));
		free(text);
	}
	free(there.data);
}

static void apply(const struct plan *plan)
{
	set_rules(plan);
	if (plan->rootfs == NULL)
		return;
	int root = open(plan->rootfs, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		die("cannot open the container's root '%s': %s; run the task again", plan->rootfs, strerror(errno));
	for (size_t i = 0; i < plan->mount_count; i++)
		mount_read_only(root, &plan->mounts[i]);
	int dev = plan->device_count > 0 ? open_dev(root) : -1;
	for (size_t i = 0; i < plan->device_count; i++)
		make_node(dev, &plan->devices[i]);
}

int main(int argc, char **argv)
{
	static struct plan plan;

	fill_standard();
	if (argc == 3 && strcmp(argv[1], "refuse") == 0) {
		repeat_remarks();
		die("%s", argv[2]);
	}
	if (argc < 2 || strcmp(argv[1], "apply") != 0)
		die("only Mesos's helper runs jnvdocker-prestart; run 'jnvdocker mesos install' to set that up");
	repeat_remarks();
	/* Under the agent's umask only root could use the nodes. */
	umask(0);
	parse_plan(&plan, argc - 2, argv + 2);
	apply(&plan);
	return 0;
}
