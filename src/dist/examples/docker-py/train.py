#!/usr/bin/env python3
"""Runs a command in a container with two free GPUs: train.py IMAGE COMMAND..."""

import sys

import docker


def main():
    image, *command = sys.argv[1:]
    client = docker.from_env()
    gpus = docker.types.DeviceRequest(count=2, capabilities=[["gpu"]])
    try:
        container = client.containers.run(image, command, detach=True, device_requests=[gpus])
    except docker.errors.APIError as refused:
        # Says who has the GPUs, and since when.
        sys.exit(refused.explanation)
    print(container.name)


if __name__ == "__main__":
    main()
