# shellcheck shell=sh
# For a link in /etc/profile.d: has docker, compose and SDKs use the socket of 'jnvdockerd --proxy'. Changes nothing for
# users who may not open the socket or have chosen an engine, nor where no proxy serves.
if [ -z "${DOCKER_HOST-}" ] && [ -w /run/jnvdocker/docker.sock ]; then
  export DOCKER_HOST=unix:///run/jnvdocker/docker.sock
fi
