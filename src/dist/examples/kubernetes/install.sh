#!/bin/sh
# Has jnvdocker give this node's pods their GPUs. As root, on each node with GPUs, once the package is installed; no
# DaemonSet is needed. The node must not run another device plugin for nvidia.com/gpu.
set -eu

config=/etc/jnvdocker/config.d
mkdir -p "$config"
printf '[kubernetes]\nenabled = true\n' > "$config/kubernetes.toml"
systemctl enable --now jnvdocker.socket jnvdocker.service jnvdocker-nodes.service
systemctl reload jnvdocker.service
jnvdocker gpu doctor
