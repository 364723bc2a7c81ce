"""A Slurm cluster of two nodes on this machine, in namespaces of its own."""

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from namespaces import ADDRESS, Namespaces

NODES = ("node1", "node2")
_CONFIGURATION = """
ClusterName=small
SlurmctldHost=head({address})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
JobRequeue=1
ReturnToService=2
SlurmdTimeout=5
KillWait=3
AccountingStorageType=accounting_storage/none
SchedulerParameters=batch_sched_delay=0,sched_interval=2
NodeName=node1 NodeHostname=node1 NodeAddr={address} Port=17001 CPUs=2 RealMemory=12000
NodeName=node2 NodeHostname=node2 NodeAddr={address} Port=17002 CPUs=2 RealMemory=12000
PartitionName=all Nodes=node1,node2 Default=YES MaxTime=INFINITE
"""


class SmallSlurm:
    """A controller and two nodes; `inside` is the prefix of commands that run on its head node."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.variables = {"SLURM_CONF": str(folder / "slurm.conf")}
        for name in ("state", *(f"spool.{node}" for node in NODES)):
            (folder / name).mkdir()
        (folder / "slurm.conf").write_text(_CONFIGURATION.format(folder=folder, address=ADDRESS))
        (folder / "munge.key").write_bytes(os.urandom(256))
        (folder / "munge.key").chmod(0o600)
        self._namespaces = Namespaces()
        self.inside = self._namespaces.inside
        self._start_daemons()

    def call(self, *words: str) -> str:
        """Run a Slurm command on the head node."""
        command = [*self.inside, *words]
        return subprocess.run(command, env=self._environment, capture_output=True, text=True, check=True).stdout

    def job_on(self, node: str) -> str | None:
        """Return the id of a job that runs on a node, or None."""
        running = self.call("squeue", "--noheader", "--array", "--states=RUNNING", f"--nodelist={node}", "--format=%i")
        return running.split()[0] if running.split() else None

    def submitted(self) -> list[str]:
        """Return the ids of all jobs, finished or not."""
        return self.call("squeue", "--noheader", "--array", "--states=all", "--format=%i").split()

    def queued(self) -> list[str]:
        """Return the ids of pending jobs."""
        return self.call("squeue", "--noheader", "--array", "--states=PENDING", "--format=%i").split()

    def hurry(self) -> bool:
        """Start requeued jobs now, which Slurm delays for two minutes; False if there are none."""
        queued = self.queued()
        for number in queued:
            with suppress(subprocess.CalledProcessError):  # it has started, or ended
                self.call("scontrol", "update", f"JobId={number}", "StartTime=now")
        return bool(queued)

    def kill_daemon(self, node: str) -> None:
        """Kill a node's daemon, but not the jobs it started."""
        for pid in self._processes_of(node):
            if _name_of(pid) == "slurmd":
                os.kill(pid, signal.SIGKILL)

    def cut_power(self, node: str) -> None:
        """Kill everything that runs on a node, all at once."""
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in self._processes_of(node):
                os.kill(pid, number)

    def close(self) -> None:
        """Kill everything."""
        self._namespaces.close()

    @property
    def _environment(self) -> dict[str, str]:
        return {**os.environ, **self.variables}

    def _start_daemons(self) -> None:
        munge = {name: str(self.folder / f"munge.{name}") for name in ("socket", "key", "pid", "log", "seed")}
        options = [f"--{kind}-file={munge[kind]}" for kind in ("key", "pid", "log", "seed")]
        self.call("munged", "--force", f"--socket={munge['socket']}", *options)
        self.call("slurmctld")
        self._host_names: dict[str, str] = {}
        for node in NODES:
            # Trials recognize a machine by its host name.
            starting = f"hostname {node}; readlink /proc/self/ns/uts; exec slurmd -N {node}"
            self._host_names[node] = self.call("unshare", "--uts", "sh", "-ec", starting).strip()
        deadline = time.monotonic() + 60
        while self.call("sinfo", "--noheader", "--Node", "--format=%T").split() != ["idle", "idle"]:
            assert time.monotonic() < deadline, (self.folder / "slurmctld.log").read_text()

    def _processes_of(self, node: str) -> list[int]:
        pids = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if str((folder / "ns" / "uts").readlink()) == self._host_names[node]:
                    pids.append(int(folder.name))
            except OSError:  # it has just ended
                continue
        return pids


def _name_of(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()
