// A name service that never answers (nsswitch.conf: "passwd: silent"), as a directory server that is gone.
#include <nss.h>
#include <pwd.h>
#include <stddef.h>
#include <unistd.h>

enum nss_status _nss_silent_getpwuid_r(uid_t uid, struct passwd *user, char *text, size_t size, int *error)
{
    (void)uid, (void)user, (void)text, (void)size, (void)error;
    for (;;)
        pause();
}

enum nss_status _nss_silent_getpwnam_r(const char *name, struct passwd *user, char *text, size_t size, int *error)
{
    (void)name, (void)user, (void)text, (void)size, (void)error;
    for (;;)
        pause();
}
