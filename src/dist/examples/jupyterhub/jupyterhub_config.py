# JupyterHub with DockerSpawner: each user's server has a free GPU to itself for as long as it runs. Needs jnvdocker's
# OCI runtime on the host, and in /etc/jnvdocker/config.toml, for servers to belong to their users:
#   [runtime]
#   trust_owner = ["label"]
# Without the key, or where the host has no user of that name, max_gpus_unknown limits these servers together.
c = get_config()  # noqa: F821

c.JupyterHub.spawner_class = "dockerspawner.DockerSpawner"
c.DockerSpawner.image = "quay.io/jupyter/pytorch-notebook:cuda12-python-3.11"
c.DockerSpawner.remove = True
c.DockerSpawner.extra_host_config = {"runtime": "nvidia"}
# A number, "all", or "device=0,1".
c.DockerSpawner.environment = {"JNVDOCKER_GPUS": "1"}



# From DockerSpawner 13 on this may be a function.
def owner(spawner):
    return {"labels": {"jnvdocker.owner": spawner.user.name}}


c.DockerSpawner.extra_create_kwargs = owner

# A server that nobody uses gives its GPU back.
c.JupyterHub.services = [
    {
        "name": "idle",
        "admin": True,
        "command": ["python3", "-m", "jupyterhub_idle_culler", "--timeout=3600"],
    }
]
