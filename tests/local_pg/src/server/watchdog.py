# Runs PostgreSQL until its last owner has ended.
#
# Arguments: the folder of the server, the account's uid and gid (-1: unchanged), the boot id of the
# machine, the command. Every owner holds a shared lock on `owners.lock`, which the kernel releases
# when the process ends or is killed; the exclusive lock means that there is no owner left.
import fcntl
import os
import signal
import subprocess
import sys
import threading

try:
    import ctypes
except ImportError:
    ctypes = None

folder, uid, gid, boot, *command = sys.argv[1:]
os.chdir(folder)
os.umask(0o077)
alive = open("watchdog.lock", "a")
# The process that starts a server has checked that there is no other watchdog.
fcntl.flock(alive, fcntl.LOCK_EX)

# The owner waits for the parent only. The child inherits its locks and leaves its terminal.
if os.fork():
    os._exit(0)
os.setsid()
signal.signal(signal.SIGHUP, signal.SIG_IGN)
watchdog = os.getpid()


def become_account():
    if int(uid) >= 0:
        os.setgroups([])
        os.setgid(int(gid))
        os.setuid(int(uid))
    if ctypes and sys.platform == "linux":
        # PR_SET_PDEATHSIG: the server ends if the watchdog is killed.
        ctypes.CDLL(None).prctl(1, signal.SIGINT)
        if os.getppid() != watchdog:
            os._exit(1)


server = subprocess.Popen(command, preexec_fn=become_account, stdin=subprocess.DEVNULL)


def stop():
    # Fast shutdown, immediate shutdown, kill.
    for request, patience in ((signal.SIGINT, 10), (signal.SIGQUIT, 5), (signal.SIGKILL, None)):
        server.send_signal(request)
        try:
            return server.wait(patience)
        except subprocess.TimeoutExpired:
            pass


def follow_the_last_owner():
    with open("owners.lock", "a") as owners:
        fcntl.flock(owners, fcntl.LOCK_EX)
        stop()
        # The main thread ends the process, which releases this lock.
        threading.Event().wait()


signal.signal(signal.SIGTERM, lambda *_: server.send_signal(signal.SIGINT))
threading.Thread(target=follow_the_last_owner, daemon=True).start()
if server.wait() == 0:
    with open("clean", "w") as clean:
        clean.write(boot)
os._exit(0)
