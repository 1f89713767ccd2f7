-- GPUs that an administrator has taken out: they get no new lease.
CREATE TABLE cordon (
  gpu TEXT PRIMARY KEY,              -- its UUID
  uid INTEGER NOT NULL,
  owner TEXT NOT NULL,
  reason TEXT NOT NULL,              -- may be empty
  since INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
