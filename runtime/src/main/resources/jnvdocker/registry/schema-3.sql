-- GPUs that an administrator has taken out: they get no new lease.
CREATE TABLE cordon (
  gpu TEXT PRIMARY KEY,              -- its UUID
  uid INTEGER NOT NULL,
  owner TEXT NOT NULL,
  reason TEXT NOT NULL,              -- may be empty
  since INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The cgroups of ended processes that are left: looked for every few seconds, in a history of any length.
CREATE INDEX group_left ON lease (cgroup)
  WHERE holder = 'process' AND until IS NOT NULL AND cgroup IS NOT NULL;
