-- How often the registry has been changed: a file beside it says the same, by which one that is older is known.
CREATE TABLE generation (
  number INTEGER NOT NULL
) STRICT;

INSERT INTO generation (number) VALUES (0);

-- What runs of a claim that an earlier version has released by force counts again.
UPDATE claim SET released = 0 WHERE released <> 0;

-- When this boot began by the clock, which may be set: times of this boot are kept as milliseconds since then, too,
-- and moved with the clock.
CREATE TABLE boot_time (
  boot TEXT PRIMARY KEY,
  began INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

ALTER TABLE lease ADD COLUMN since_up INTEGER; -- in the boot that the lease is of
ALTER TABLE lease ADD COLUMN until_up INTEGER;
ALTER TABLE lease ADD COLUMN until_boot TEXT;  -- a lease of another boot is ended in this one
ALTER TABLE gpu ADD COLUMN idle_up INTEGER;
ALTER TABLE gpu ADD COLUMN idle_boot TEXT;

DROP TRIGGER an_end_is_final;

CREATE TRIGGER an_end_is_final BEFORE UPDATE OF until, until_up, until_boot ON lease
WHEN OLD.until IS NOT NULL
  AND (NEW.until IS NULL OR OLD.until_up IS NULL
    OR (NEW.until_up, NEW.until_boot) IS NOT (OLD.until_up, OLD.until_boot))
BEGIN
  SELECT RAISE(ABORT, 'the lease has ended');
END;

DROP TRIGGER lease_ends;

CREATE TRIGGER lease_ends AFTER UPDATE OF until ON lease WHEN OLD.until IS NULL AND NEW.until IS NOT NULL
BEGIN
  UPDATE lease_gpu SET live = 0 WHERE lease = NEW.id;
  DELETE FROM mount WHERE claim = NEW.claim;
  INSERT INTO gpu (uuid, idle_since, idle_up, idle_boot)
    SELECT gpu, NEW.until, NEW.until_up, NEW.until_boot FROM lease_gpu WHERE lease = NEW.id
    ON CONFLICT (uuid) DO UPDATE
      SET idle_since = excluded.idle_since, idle_up = excluded.idle_up, idle_boot = excluded.idle_boot;
END;

-- Reservations that never became anything, added up by the hour in which they ended: a loop of them can't fill the
-- history. For the whole of a user's, gpu is ''.
CREATE TABLE reserved (
  uid INTEGER NOT NULL,
  gpu TEXT NOT NULL,
  hour INTEGER NOT NULL,             -- since 1970
  owner TEXT NOT NULL,
  leases INTEGER NOT NULL,
  millis INTEGER NOT NULL,
  last INTEGER NOT NULL,
  PRIMARY KEY (uid, gpu, hour)
) STRICT, WITHOUT ROWID;

CREATE INDEX reserved_hour ON reserved (hour);
CREATE INDEX reservation_by_end ON lease (until) WHERE holder = 'client' AND until IS NOT NULL;

-- Whether the engine said that the claim's container had ended, when its last lease did: else that has ended
-- with its engine.
ALTER TABLE claim ADD COLUMN stopped INTEGER NOT NULL DEFAULT 0;

-- Claims whose containers ran when their engine ended, and were refused when it was to start them again: their
-- restart policy does not try a second time.
CREATE TABLE refused_start (
  claim TEXT PRIMARY KEY REFERENCES claim,
  reasons TEXT NOT NULL,             -- as docker was told, a line each; it keeps one as the container's error
  since INTEGER NOT NULL,
  container TEXT,                    -- its id, and when docker says that it had ended, as soon as that is known
  finished TEXT
) STRICT, WITHOUT ROWID;
