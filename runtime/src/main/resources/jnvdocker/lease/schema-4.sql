-- A Mesos container's lease: cgroup is its freezer's then.
ALTER TABLE lease ADD COLUMN runtime TEXT; -- the agent's folder of it
ALTER TABLE lease ADD COLUMN devices TEXT; -- the folder of the devices cgroup of the outermost container
