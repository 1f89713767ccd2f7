-- A Mesos container's lease: cgroup is its freezer's then.
ALTER TABLE lease ADD COLUMN runtime TEXT; -- the agent's folder of it
ALTER TABLE lease ADD COLUMN devices TEXT; -- the folder of the devices cgroup of the outermost container

-- What a place in the line is for, as of a claim, and the UUIDs of the only GPUs that it may be given.
ALTER TABLE ticket ADD COLUMN engine TEXT NOT NULL DEFAULT '';
ALTER TABLE ticket ADD COLUMN image TEXT NOT NULL DEFAULT '?';
ALTER TABLE ticket ADD COLUMN gpus TEXT NOT NULL DEFAULT ''; -- with commas between them; '' when any
