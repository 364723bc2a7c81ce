"""What a lab needs from the machine: a slot with control groups and a disk image, GPUs, and polling of other limits.

Start reading at `slots.py`, which acquires and removes everything that a lab has on the machine.
"""

from assay.lab.host.gpus import gpu_nodes, gpu_numbers
from assay.lab.host.slots import LabSlot, acquire_slot, sweep

__all__ = ["LabSlot", "acquire_slot", "gpu_nodes", "gpu_numbers", "sweep"]
