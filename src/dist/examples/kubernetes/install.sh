#!/bin/sh
# Has jnvdocker give this node's pods their GPUs. As root, on each node with GPUs, once the package is installed; no
# DaemonSet is needed. The node must not run another device plugin for nvidia.com/gpu.
set -eu

config=/etc/jnvdocker/config.toml
enabled='^[[:space:]]*(kubernetes\.)?enabled[[:space:]]*='
if grep -qE "$enabled" "$config"; then
  sed -i -E "s/($enabled).*/\1 true/" "$config"
else
  grep -q '^\[kubernetes\]' "$config" || printf '\n[kubernetes]\n' >> "$config"
  sed -i '/^\[kubernetes\]/a enabled = true' "$config"
fi
systemctl enable jnvdocker.socket jnvdocker.service jnvdocker-nodes.service
systemctl restart jnvdocker.socket jnvdocker.service
jnvdocker gpu doctor
