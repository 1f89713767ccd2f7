-- For how long the GPUs of leases were idle, by the hours since the lease began: those move with the clock as the lease
-- does. Only hours with any such time have a row.
CREATE TABLE idle (
  lease INTEGER NOT NULL REFERENCES lease,
  gpu TEXT NOT NULL,                 -- its UUID
  hour INTEGER NOT NULL,             -- 0 is the first
  millis INTEGER NOT NULL,
  PRIMARY KEY (lease, gpu, hour)
) STRICT, WITHOUT ROWID;

-- The GPUs that were idle when this was last written, for the next daemon of this boot. Times are milliseconds since
-- the boot. A lease that has ended since does not matter, so it is not referred to.
CREATE TABLE idle_now (
  lease INTEGER NOT NULL,
  gpu TEXT NOT NULL,
  source TEXT NOT NULL CHECK (source IN ('nodes', 'nvml')),
  since INTEGER NOT NULL,
  at_least INTEGER NOT NULL CHECK (at_least IN (0, 1)), -- whether it may have been idle before: nobody looked
  last INTEGER NOT NULL,             -- when it was last seen to be idle
  PRIMARY KEY (lease, gpu, source)
) STRICT, WITHOUT ROWID;
