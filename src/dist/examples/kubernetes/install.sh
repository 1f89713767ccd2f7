#!/bin/sh
# Has jnvdocker give this node's pods their GPUs. As root, on each node with GPUs, once the package is installed; no
# DaemonSet is needed. The node must not run another device plugin for nvidia.com/gpu.
set -eu

config=/etc/jnvdocker/config.toml
if ! grep -q '^\[kubernetes\]' "$config"; then
  printf '\n[kubernetes]\n' >> "$config"
fi
if ! grep -q '^enabled *=' "$config"; then
  sed -i '/^\[kubernetes\]/a enabled = true' "$config"
fi
systemctl enable jnvdocker.socket jnvdocker.service jnvdocker-nodes.service
systemctl restart jnvdocker.socket jnvdocker.service
jnvdocker gpu doctor
