"""A process that runs a Ray cluster of several nodes on this machine: it prints its address and reads commands.

`cut N` kills everything that runs on the N-th node, all at once.
"""

import os
import signal
import sys
from pathlib import Path

NODES = 2
CLIENTS = 10001
"""The port of the Ray client server."""


def main() -> None:
    """Start the nodes, and execute commands until standard input closes."""
    from ray.cluster_utils import Cluster

    # The head node runs no trials.
    head = {"num_cpus": 0, "include_dashboard": False, "ray_client_server_port": CLIENTS}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    nodes = [cluster.add_node(num_cpus=2, memory=4 * 10**9) for _ in range(NODES)]
    print(cluster.address, flush=True)
    for line in sys.stdin:
        node = nodes[int(line.split()[1])]
        (raylet,) = node.all_processes["raylet"]
        killed = family(raylet.process.pid)
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in killed:
                os.kill(pid, number)
        print("cut", flush=True)


def family(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    children = Path(f"/proc/{pid}/task").glob("*/children")
    return [
        pid,
        *(descendant for path in children for child in path.read_text().split() for descendant in family(int(child))),
    ]


if __name__ == "__main__":
    main()
