-- What the history is read and cleared by (leases by their end, claims by when they were forgotten), and the line.

CREATE INDEX lease_by_end ON lease (until);
CREATE INDEX claim_forgotten ON claim (forgotten) WHERE forgotten IS NOT NULL;

-- Who waits for GPUs, in order of their numbers, which are never used again. A place is its client's for as
-- long as that process lives, whatever becomes of the daemon.
CREATE TABLE ticket (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  boot TEXT NOT NULL,                -- pids mean nothing under another boot id
  pid INTEGER NOT NULL,
  start INTEGER NOT NULL,
  uid INTEGER NOT NULL,
  owner TEXT NOT NULL,
  request TEXT NOT NULL,             -- as --gpus spells it
  since INTEGER NOT NULL,
  UNIQUE (boot, pid, start)
) STRICT;
