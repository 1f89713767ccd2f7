-- Who has which GPU, and who had it. Times are milliseconds since 1970. The rules that must hold whatever
-- the code does are here: the index one_holder and the triggers are the lock.

-- A container's right to ask for certain GPUs.
CREATE TABLE claim (
  id TEXT PRIMARY KEY,
  engine TEXT NOT NULL,              -- whose containers it is for
  uid INTEGER NOT NULL,
  owner TEXT NOT NULL,
  image TEXT NOT NULL,
  created INTEGER NOT NULL,
  volume INTEGER NOT NULL DEFAULT 0, -- whether docker was told of its volume
  container TEXT,                    -- its id and name, as soon as they are known
  name TEXT,
  released INTEGER NOT NULL DEFAULT 0, -- by force: what runs now does not count until it is started again
  forgotten INTEGER                  -- when its container and volume were gone
) STRICT;

CREATE INDEX claim_of_container ON claim (container);
CREATE INDEX claim_alive ON claim (id) WHERE forgotten IS NULL;

CREATE TABLE claim_gpu (
  claim TEXT NOT NULL REFERENCES claim,
  gpu TEXT NOT NULL,                 -- its UUID
  position INTEGER NOT NULL,         -- its index and its node's minor when it was claimed
  minor INTEGER NOT NULL,
  PRIMARY KEY (claim, gpu)
) STRICT, WITHOUT ROWID;

-- One period of holding a claim's GPUs. The number is never used again.
CREATE TABLE lease (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  claim TEXT NOT NULL REFERENCES claim,
  holder TEXT NOT NULL CHECK (holder IN ('client', 'container', 'mesos', 'process')),
  boot TEXT NOT NULL,                -- pids mean nothing under another boot id
  pid INTEGER NOT NULL,              -- the client, or the engine that mounted the claim
  start INTEGER NOT NULL,
  init_pid INTEGER,                  -- a container's first process, as soon as it is known
  init_start INTEGER,
  cgroup TEXT,
  since INTEGER NOT NULL,
  until INTEGER,
  evidence TEXT,                     -- of the holder's end
  CHECK ((until IS NULL) = (evidence IS NULL))
) STRICT;

CREATE UNIQUE INDEX one_lease ON lease (claim) WHERE until IS NULL;
CREATE INDEX lease_of_claim ON lease (claim);

CREATE TABLE lease_gpu (
  lease INTEGER NOT NULL REFERENCES lease,
  gpu TEXT NOT NULL,
  parent TEXT,                       -- the GPU that a MIG instance is a part of
  mode TEXT NOT NULL DEFAULT 'exclusive' CHECK (mode IN ('exclusive', 'shared')),
  live INTEGER NOT NULL DEFAULT 1 CHECK (live IN (0, 1)),
  PRIMARY KEY (lease, gpu)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX one_holder ON lease_gpu (gpu) WHERE live AND mode = 'exclusive';
CREATE INDEX live_gpu ON lease_gpu (gpu) WHERE live;
CREATE INDEX live_parent ON lease_gpu (parent) WHERE live;
CREATE INDEX leases_of_gpu ON lease_gpu (gpu, lease);

CREATE TRIGGER exclusive_or_shared_whole_or_parts BEFORE INSERT ON lease_gpu WHEN NEW.live
BEGIN
  SELECT RAISE(ABORT, 'the GPU is held in another way')
  WHERE EXISTS (SELECT 1 FROM lease_gpu WHERE live AND gpu = NEW.gpu AND mode <> NEW.mode)
    OR EXISTS (SELECT 1 FROM lease_gpu WHERE live AND gpu = NEW.parent)
    OR EXISTS (SELECT 1 FROM lease_gpu WHERE live AND parent = NEW.gpu);
END;

CREATE TRIGGER live_only_with_its_lease BEFORE INSERT ON lease_gpu
WHEN NEW.live <> (SELECT until IS NULL FROM lease WHERE id = NEW.lease)
BEGIN
  SELECT RAISE(ABORT, 'a GPU is held as long as its lease');
END;

CREATE TRIGGER what_is_held_stays_as_it_is BEFORE UPDATE ON lease_gpu
WHEN (NEW.lease, NEW.gpu, NEW.parent, NEW.mode) IS NOT (OLD.lease, OLD.gpu, OLD.parent, OLD.mode)
  OR NEW.live <> (SELECT until IS NULL FROM lease WHERE id = OLD.lease)
BEGIN
  SELECT RAISE(ABORT, 'a GPU is held as long as its lease');
END;

CREATE TRIGGER an_end_is_final BEFORE UPDATE OF until ON lease WHEN OLD.until IS NOT NULL
BEGIN
  SELECT RAISE(ABORT, 'the lease has ended');
END;

CREATE TRIGGER lease_ends AFTER UPDATE OF until ON lease WHEN NEW.until IS NOT NULL
BEGIN
  UPDATE lease_gpu SET live = 0 WHERE lease = NEW.id;
  DELETE FROM mount WHERE claim = NEW.claim;
  INSERT INTO gpu (uuid, idle_since) SELECT gpu, NEW.until FROM lease_gpu WHERE lease = NEW.id
    ON CONFLICT (uuid) DO UPDATE SET idle_since = max(idle_since, excluded.idle_since);
END;

-- Docker's mounts of claim volumes that it has not taken back, each as often as it was mounted.
CREATE TABLE mount (
  claim TEXT NOT NULL REFERENCES claim,
  use TEXT NOT NULL
) STRICT;

CREATE INDEX mount_of_claim ON mount (claim, use);

-- What was held before, and is not now.
CREATE TABLE gpu (
  uuid TEXT PRIMARY KEY,
  idle_since INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The boot in which an engine's containers have all been looked at, since this registry was made: what a
-- loss of power has taken is known again then.
CREATE TABLE reconciled (
  boot TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
