"""The first process of a sandbox: starts the command under its limits, reaps what it leaves, and ends everything.

Called as `python -I -S keeper.py SPEC_FD STATUS_FD CONTROL_FD`. SPEC_FD holds the JSON that
`ragctx.verify.sandbox` writes; one JSON line goes to STATUS_FD when nothing is alive any more; when CONTROL_FD reaches
its end (ragctx wants the run ended, or is itself dead) everything is ended at once. The command holds none of them.

It is the reaper of all that the command starts: as process 1 of a namespace, or as a child subreaper. A daemon
that leaves its session and its parent is therefore still a descendant of the keeper.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import select
import signal
import stat
import struct
import sys
import time
from typing import Any

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP = 1, 4, 22, 24
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 36, 38

LIBC = ctypes.CDLL(None, use_errno=True)


class Refused(Exception):
    """A step before the command could run failed."""

    def __init__(self, step: str, path: str, number: int) -> None:
        super().__init__(step, path, number)
        self.report = {"error": step, "path": path, "errno": number}


def prctl(option: int, value: int, *rest: Any) -> None:
    """Call the C function, raising OSError where it fails."""
    arguments = [ctypes.c_ulong(value), *(rest or (ctypes.c_ulong(0),)), ctypes.c_ulong(0), ctypes.c_ulong(0)]
    if LIBC.prctl(option, *arguments[:4]) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {option}")


# --- system call filter -------------------------------------------------------------------------------------------
# Numbers of the kernel's tables: (x86_64, aarch64). What is here makes memory that no process accounts for, gives
# capabilities in a new namespace, reaches into other processes, or is attack surface no numerics need.

DENIED = {
    "add_key": (248, 217),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "io_uring_setup": (425, 425),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "mq_open": (240, 180),
    "msgget": (68, 186),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "request_key": (249, 218),
    "semget": (64, 190),
    "setns": (308, 268),
    "shmget": (29, 194),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
}
# Answered "no such call", so that libraries fall back (glibc from clone3 to clone, others to a file in /tmp).
ABSENT = {"clone3": (435, 435), "memfd_create": (319, 279), "memfd_secret": (447, 447)}
CLONE = (56, 220)
SOCKET = (41, 198)
# Signals to others, as the first argument; to itself they stay allowed (abort, raise).
SIGNALLING = {
    "kill": (62, 129),
    "prlimit64": (302, 261),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "tgkill": (234, 131),
}
SIGNALLING_ANY = {"pidfd_send_signal": (424, 424), "tkill": (200, 130)}
MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}

LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # classic BPF, words of seccomp_data
KILL, ALLOW, ERRNO = 0x80000000, 0x7FFF0000, 0x00050000
NUMBER_AT, MACHINE_AT, ARGUMENT_AT = 0, 4, 16  # the low word of the first argument on a little-endian machine
EPERM, ENOSYS, EACCES = 1, 38, 13
NAMESPACE_FLAGS = 0x7E020000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET


def filter_program(machine: str, *, deny_sockets: bool, own_pid: int | None) -> bytes:
    """Return the classic BPF program that `seccomp` runs at every system call.

    Args:
        machine: `os.uname().machine`.
        deny_sockets: Refuse every socket(2); pairs and pipes stay.
        own_pid: If given, signals may go to this process only.
    """
    column, audit = MACHINES[machine]

    def op(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
        return struct.pack("=HBBI", code, yes, no, value)

    def refuse(number: int, error: int) -> bytes:
        return op(EQUAL, number, 0, 1) + op(RETURN, ERRNO | error)

    program = op(LOAD, MACHINE_AT) + op(EQUAL, audit, 1, 0) + op(RETURN, KILL) + op(LOAD, NUMBER_AT)
    if machine == "x86_64":
        program += op(AT_LEAST, 0x40000000, 0, 1) + op(RETURN, ERRNO | ENOSYS)  # the x32 numbering
    denied = [*DENIED.values(), *(SIGNALLING_ANY.values() if own_pid is not None else ())]
    for call in denied:
        program += refuse(call[column], EPERM)
    for call in ABSENT.values():
        program += refuse(call[column], ENOSYS)
    if deny_sockets:
        program += refuse(SOCKET[column], EACCES)
    program += op(EQUAL, CLONE[column], 0, 4) + op(LOAD, ARGUMENT_AT) + op(ANY_BIT, NAMESPACE_FLAGS, 0, 1)
    program += op(RETURN, ERRNO | EPERM) + op(RETURN, ALLOW)
    if own_pid is not None:
        for name, call in SIGNALLING.items():
            itself = [own_pid, 0] if name == "prlimit64" else [own_pid]
            program += op(EQUAL, call[column], 0, len(itself) + 3) + op(LOAD, ARGUMENT_AT)
            for place, pid in enumerate(itself):
                program += op(EQUAL, pid, len(itself) - place, 0)
            program += op(RETURN, ERRNO | EPERM) + op(RETURN, ALLOW)
    return program + op(RETURN, ALLOW)


def install_filter(program: bytes) -> None:
    """Put the filter on this process and all it starts; needs no_new_privs."""
    code = ctypes.create_string_buffer(program, len(program))

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]

    prctl(PR_SET_SECCOMP, 2, ctypes.byref(Program(len(program) // 8, ctypes.addressof(code))))


# --- Landlock -----------------------------------------------------------------------------------------------------

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
REFER, TRUNCATE, IOCTL_DEVICE = 1 << 13, 1 << 14, 1 << 15
ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE


def restrict_files(abi: int, readable: list[str], writable: list[str]) -> None:
    """Leave this process and all it starts the named paths only (Landlock); needs no_new_privs.

    From version 4 on TCP is refused too, from version 6 on signals and abstract sockets to what is outside.
    """
    handled = (1 << 13) - 1
    for since, right in ((2, REFER), (3, TRUNCATE), (5, IOCTL_DEVICE)):
        handled |= right if abi >= since else 0
    words = [handled, 0b11 if abi >= 4 else 0, 0b11 if abi >= 6 else 0]
    attributes = struct.pack("=3Q", *words)[: 24 if abi >= 6 else 16 if abi >= 4 else 8]
    ruleset = LIBC.syscall(444, attributes, ctypes.c_size_t(len(attributes)), 0)
    if ruleset < 0:
        raise OSError(ctypes.get_errno(), "landlock_create_ruleset")
    for paths, rights in ((readable, EXECUTE | READ_FILE | READ_DIR), (writable, handled)):
        for path in paths:
            try:
                place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except OSError:
                continue  # not there, or out of reach anyway
            usable = rights & handled if os.path.isdir(path) else rights & handled & ON_FILES
            if LIBC.syscall(445, ruleset, 1, struct.pack("=Qi", usable, place), 0) != 0:
                raise OSError(ctypes.get_errno(), "landlock_add_rule")
            os.close(place)
    if LIBC.syscall(446, ruleset, 0) != 0:
        raise OSError(ctypes.get_errno(), "landlock_restrict_self")
    os.close(ruleset)


# --- the command --------------------------------------------------------------------------------------------------


def drop_to(uid: int) -> None:
    """Become a user without groups or capabilities."""
    capability = 0
    while LIBC.prctl(PR_CAPBSET_DROP, ctypes.c_ulong(capability), *[ctypes.c_ulong(0)] * 3) == 0:
        capability += 1
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def confine(spec: dict[str, Any]) -> None:
    """Make this process what the command is to be: session, signals, limits, user, folder, filters."""
    os.setsid()
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    os.umask(0o077)
    for name, value in spec["rlimits"].items():
        number = getattr(resource, name)
        hard = resource.getrlimit(number)[1]
        bounded = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(number, (bounded, bounded))
    if spec["uid"] is not None:
        drop_to(spec["uid"])
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    try:
        os.chdir(spec["folder"])
    except OSError as error:
        raise Refused("folder", spec["folder"], error.errno or 0) from None
    for path in spec["readable"]:
        try:
            is_folder = stat.S_ISDIR(os.stat(path).st_mode)
        except OSError as error:
            raise Refused("readable", path, error.errno or 0) from None
        if not os.access(path, os.R_OK | (os.X_OK if is_folder else 0)):
            raise Refused("readable", path, EACCES)
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    if spec["landlock"]:
        restrict_files(spec["landlock"]["abi"], spec["landlock"]["readable"], spec["landlock"]["writable"])
    if spec["seccomp"]:
        own_pid = os.getpid() if spec["own_signals_only"] else None
        install_filter(filter_program(os.uname().machine, deny_sockets=spec["deny_sockets"], own_pid=own_pid))


def start(spec: dict[str, Any]) -> int:
    """Start the command and return its process id.

    Raises:
        Refused: If it cannot run.
    """
    error_read, error_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        report: dict[str, Any]
        try:
            confine(spec)
            os.execve(spec["command"][0], spec["command"], spec["environment"])
        except Refused as refused:
            report = refused.report
        except OSError as error:
            report = {"error": error.strerror or "exec", "path": error.filename or "", "errno": error.errno or 0}
            if error.filename == spec["command"][0]:
                report["error"] = "exec"
        except BaseException as error:
            report = {"error": repr(error), "path": "", "errno": 0}
        os.write(error_write, json.dumps(report).encode())
        os._exit(127)
    os.close(error_write)
    with os.fdopen(error_read, "rb") as stream:
        raw = stream.read()
    if raw:
        os.waitpid(pid, 0)
        refusal = json.loads(raw)
        raise Refused(refusal["error"], refusal["path"], refusal["errno"])
    return pid


def wait_for(child: int, control: int, wake: int) -> int | None:
    """Reap until the command has ended; return its wait status, or None if ragctx wants it ended."""
    poller = select.poll()
    poller.register(control, select.POLLIN)
    poller.register(wake, select.POLLIN)
    while True:
        for descriptor, _ in poller.poll():
            if descriptor == control:
                return None
            os.read(wake, 4096)
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            if pid == child:
                return status


# --- the end ------------------------------------------------------------------------------------------------------


def descendants() -> list[int]:
    """Return every process below this one."""
    parents: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as stream:
                    fields = stream.read().rpartition(b")")[2].split()
            except OSError:
                continue
            parents.setdefault(int(fields[1]), []).append(int(name))
    found, queue = [], [os.getpid()]
    while queue:
        children = parents.get(queue.pop(), [])
        found += children
        queue += children
    return found


def kill_all(spec: dict[str, Any]) -> None:
    """Send SIGKILL to everything below the keeper."""
    if spec["sole"]:
        try:
            os.kill(-1, signal.SIGKILL)  # everything in the namespace but its first process
        except ProcessLookupError:
            pass
    elif spec["uid"] is not None:
        pid = os.fork()
        if pid == 0:
            # As that user, -1 names all its processes at once, so that no fork slips between two looks.
            try:
                drop_to(spec["uid"])
                os.kill(-1, signal.SIGKILL)
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
    else:
        for pid in descendants():
            try:
                resource.prlimit(pid, resource.RLIMIT_NPROC, (0, 0))  # a fork bomb cannot refill what is killed
            except (OSError, ValueError):
                pass
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass


def end_all(spec: dict[str, Any], child: int) -> int | None:
    """Kill and reap until nothing is left; return the command's wait status if it was reaped here."""
    found = None
    while True:
        kill_all(spec)
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return found
            if pid == 0:
                break
            if pid == child:
                found = status
        time.sleep(0.002)


def main() -> None:
    """Keep one run."""
    spec_fd, status_fd, control_fd = (int(a) for a in sys.argv[1:4])
    with os.fdopen(spec_fd, "rb") as stream:
        spec = json.load(stream)
    for descriptor in (status_fd, control_fd):
        os.set_inheritable(descriptor, False)
    try:
        with open("/proc/self/oom_score_adj", "w") as adjustment:
            # As if it used 30 % more of the machine: it rather than ragctx, but not in the place of what is to blame.
            adjustment.write("300")
    except OSError:
        pass
    prctl(PR_SET_DUMPABLE, 0)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    wake_read, wake_write = os.pipe()
    for descriptor in (wake_read, wake_write):
        os.set_blocking(descriptor, False)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    report: dict[str, Any]
    try:
        child = start(spec)
    except Refused as refused:
        report = refused.report
    else:
        status = wait_for(child, control_fd, wake_read)
        late = end_all(spec, child)
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        report = {"status": status if status is not None else late, "cpu_s": usage.ru_utime + usage.ru_stime}
    os.write(status_fd, json.dumps(report).encode() + b"\n")


if __name__ == "__main__":
    main()
