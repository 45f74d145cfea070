/* Name services of static programs.
 *
 * glibc loads the services that /etc/nsswitch.conf names when a program first looks up a name. The
 * libraries of another release crash a static program there. Static builds are linked with this
 * object, which keeps them to the services that are part of glibc.
 */
#include <nss.h>

extern int __nss_configure_lookup(const char *database, const char *services);

__attribute__((constructor)) static void use_built_in_services(void) {
  __nss_configure_lookup("hosts", "files dns");
  __nss_configure_lookup("passwd", "files");
  __nss_configure_lookup("group", "files");
  __nss_configure_lookup("services", "files");
  __nss_configure_lookup("protocols", "files");
}
