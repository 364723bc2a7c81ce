"""What a lab needs of the host: slots, control groups, disk images, GPUs, and polling where no limit is enforced."""
