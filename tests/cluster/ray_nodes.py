"""A Ray of several nodes on this machine, as a process: it prints its address, and obeys what it reads.

`cut N` kills everything that runs on the N-th node, all at once.
"""

import os
import signal
import sys
from pathlib import Path

NODES = 2
CLIENTS = 10001
"""The port at which it serves drivers from outside."""


def main() -> None:
    """Start the nodes, and obey until there is nobody left to obey."""
    from ray.cluster_utils import Cluster

    # The head only keeps the books; trials are on the nodes.
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
    """A process and all that it has started, and what they have started."""
    children = Path(f"/proc/{pid}/task").glob("*/children")
    return [pid, *(one for path in children for child in path.read_text().split() for one in family(int(child)))]


if __name__ == "__main__":
    main()
