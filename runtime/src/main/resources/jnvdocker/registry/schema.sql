-- The GPUs' holders, now and in the past. Times are milliseconds since 1970, except where a column says otherwise. The rules
-- that must hold whatever the code does are here: the triggers are the lock. A text that others have chosen has a bound
-- (ForeignText): a row is kept for a year.

-- The right of a container, process, task or pod to request certain GPUs.
CREATE TABLE claim (
  id TEXT PRIMARY KEY,
  secret TEXT NOT NULL DEFAULT '',   -- what its container names beside the id, which every user sees; '' where no container can name it
  origin TEXT NOT NULL CHECK (origin IN ('engine', 'process', 'mesos', 'oci', 'pod')),
  engine TEXT,                       -- of a container: its engine's id, or the root of the real runtime; of a pod: its uid, '' as long as that is not known
  image TEXT,                        -- of a container, as far as it is known; of a pod, its namespace/name, as far as it is known; else the program, or the task's name
  uid INTEGER NOT NULL,
  owner TEXT NOT NULL,
  request TEXT,                      -- as --gpus spells it; NULL where no later start needs it
  time INTEGER,                      -- how long each of its leases is to last, in milliseconds, if its user says so
  created INTEGER NOT NULL,
  volume INTEGER NOT NULL DEFAULT 0, -- whether its volume was reported to docker
  container TEXT,                    -- its id and name, as soon as they are known
  name TEXT,
  beside TEXT,                       -- the claim whose GPUs it was given, too; NULL if it was given free ones
  party TEXT NOT NULL AS (coalesce(beside, id)), -- the claims of one party, all of one user, may have the same GPUs at one time
  released INTEGER NOT NULL DEFAULT 0, -- by force: what runs now does not count until it is started again
  forgotten INTEGER,                 -- when its container and volume were gone
  stopped INTEGER NOT NULL DEFAULT 0, -- whether the engine said that the container had ended, when its last lease did
  CHECK ((engine IS NOT NULL) = (origin IN ('engine', 'oci', 'pod'))),
  CHECK (image IS NOT NULL OR engine IS NOT NULL),
  CHECK (length(owner) <= 255 AND length(name) <= 255),
  CHECK (length(image) <= 511),      -- two names and a slash
  CHECK (length(engine) <= 4096 AND length(container) <= 4096)
) STRICT;

CREATE INDEX claim_of_container ON claim (container);
CREATE INDEX claim_of_party ON claim (party);
CREATE INDEX claim_alive ON claim (id) WHERE forgotten IS NULL;
CREATE INDEX claim_forgotten ON claim (forgotten) WHERE forgotten IS NOT NULL;

CREATE TRIGGER one_user_a_party BEFORE INSERT ON claim WHEN NEW.beside IS NOT NULL
BEGIN
  SELECT RAISE(ABORT, 'a party is of one user')
  WHERE EXISTS (SELECT 1 FROM claim WHERE party = NEW.beside AND uid <> NEW.uid);
END;

CREATE TRIGGER a_party_stays BEFORE UPDATE OF beside ON claim
BEGIN
  SELECT RAISE(ABORT, 'a claim stays in its party');
END;

CREATE TABLE claim_gpu (
  claim TEXT NOT NULL REFERENCES claim,
  gpu TEXT NOT NULL,                 -- its UUID
  position INTEGER NOT NULL,         -- its index and its node's minor when it was claimed
  minor INTEGER NOT NULL,
  parent TEXT,                       -- of a MIG instance: the GPU that it is a part of,
  part TEXT,                         -- and all that is known of the part, or of a share of a GPU, in one word; both are NULL for a whole GPU
  PRIMARY KEY (claim, gpu)
) STRICT, WITHOUT ROWID;

-- One period of holding a claim's GPUs. The number is never used again. The claim's origin says of which kind the
-- holder is, and so what its process, cgroup and details are.
CREATE TABLE lease (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  claim TEXT NOT NULL REFERENCES claim,
  holder TEXT NOT NULL CHECK (holder IN ('reserved', 'created', 'held')),
  boot TEXT NOT NULL,                -- pids mean nothing under another boot id
  pid INTEGER NOT NULL,              -- the process that the holder is known by as long as nothing better is
  start INTEGER NOT NULL,
  init_pid INTEGER,                  -- a container's first process, as soon as it is known
  init_start INTEGER,
  cgroup TEXT,
  details TEXT,                      -- what only its kind can read: parts separated by line feeds
  since INTEGER NOT NULL,
  since_up INTEGER,                  -- the same in milliseconds since the boot that the lease is of: moves with the clock
  time INTEGER,                      -- how long it may last, in milliseconds; NULL for as long as its holder
  joined INTEGER NOT NULL DEFAULT 0 CHECK (joined IN (0, 1)), -- whether others of its party had its GPUs when it began
  until INTEGER,
  until_up INTEGER,                  -- the same in milliseconds since the boot until_boot,
  until_boot TEXT,                   -- which is another where the host has restarted
  evidence TEXT,                     -- of the holder's end
  CHECK ((until IS NULL) = (evidence IS NULL)),
  CHECK (length(evidence) <= 2000)
) STRICT;

CREATE UNIQUE INDEX one_lease ON lease (claim) WHERE until IS NULL;
CREATE INDEX lease_of_claim ON lease (claim);
CREATE INDEX lease_by_end ON lease (until);
CREATE INDEX reservation_by_end ON lease (until) WHERE holder = 'reserved' AND until IS NOT NULL;

CREATE TABLE lease_gpu (
  lease INTEGER NOT NULL REFERENCES lease,
  gpu TEXT NOT NULL,
  parent TEXT,                       -- the GPU that a MIG instance is a part of
  share INTEGER CHECK (share > 0),   -- how many bytes of its memory are held, and how many it has;
  memory INTEGER,                    -- NULL where no other party may have it
  counts REAL NOT NULL DEFAULT 1 CHECK (counts > 0 AND counts <= 1), -- as how many GPUs: less than 1 for a share or a MIG instance
  live INTEGER NOT NULL DEFAULT 1 CHECK (live IN (0, 1)),
  kept INTEGER,                      -- for how long after its end it was kept for its owner, in milliseconds, where that was given up
  PRIMARY KEY (lease, gpu),
  CHECK ((share IS NULL) = (memory IS NULL)),
  CHECK (share IS NULL OR parent IS NULL)
) STRICT, WITHOUT ROWID;

CREATE INDEX live_gpu ON lease_gpu (gpu) WHERE live;
CREATE INDEX live_parent ON lease_gpu (parent) WHERE live;
CREATE INDEX leases_of_gpu ON lease_gpu (gpu, lease);

-- The indexes are named, since SQLite would go through all leases that a GPU ever had.
CREATE TRIGGER one_party_whole_or_parts BEFORE INSERT ON lease_gpu WHEN NEW.live
BEGIN
  SELECT RAISE(ABORT, 'the GPU has another holder')
  WHERE EXISTS (SELECT 1 FROM lease_gpu held INDEXED BY live_gpu WHERE live AND gpu = NEW.gpu
      AND (share IS NULL OR NEW.share IS NULL)
      AND (share IS NOT NULL OR NEW.share IS NOT NULL OR
        (SELECT party FROM lease JOIN claim ON claim.id = lease.claim WHERE lease.id = held.lease)
        IS NOT (SELECT party FROM lease JOIN claim ON claim.id = lease.claim WHERE lease.id = NEW.lease)))
    OR EXISTS (SELECT 1 FROM lease_gpu INDEXED BY live_gpu WHERE live AND gpu = NEW.parent)
    OR EXISTS (SELECT 1 FROM lease_gpu INDEXED BY live_parent WHERE live AND parent = NEW.gpu);
END;

CREATE TRIGGER shares_fit BEFORE INSERT ON lease_gpu WHEN NEW.live AND NEW.share IS NOT NULL
BEGIN
  SELECT RAISE(ABORT, 'the GPU has not so much memory left')
  WHERE NEW.share + (SELECT total(share) FROM lease_gpu INDEXED BY live_gpu WHERE live AND gpu = NEW.gpu)
    > NEW.memory;
END;

CREATE TRIGGER live_only_with_its_lease BEFORE INSERT ON lease_gpu
WHEN NEW.live <> (SELECT until IS NULL FROM lease WHERE id = NEW.lease)
BEGIN
  SELECT RAISE(ABORT, 'a GPU is held as long as its lease');
END;

CREATE TRIGGER what_is_held_stays_as_it_is BEFORE UPDATE ON lease_gpu
WHEN (NEW.lease, NEW.gpu, NEW.parent, NEW.share, NEW.memory, NEW.counts)
    IS NOT (OLD.lease, OLD.gpu, OLD.parent, OLD.share, OLD.memory, OLD.counts)
  OR NEW.live <> (SELECT until IS NULL FROM lease WHERE id = OLD.lease)
  OR NEW.live AND NEW.kept IS NOT NULL
BEGIN
  SELECT RAISE(ABORT, 'a GPU is held as long as its lease');
END;

-- The clock may move the time of an end, as a time since the boot says; nothing else may.
CREATE TRIGGER an_end_is_final BEFORE UPDATE OF until, until_up, until_boot ON lease
WHEN OLD.until IS NOT NULL
  AND (NEW.until IS NULL OR OLD.until_up IS NULL
    OR (NEW.until_up, NEW.until_boot) IS NOT (OLD.until_up, OLD.until_boot))
BEGIN
  SELECT RAISE(ABORT, 'the lease has ended');
END;

CREATE TRIGGER lease_ends AFTER UPDATE OF until ON lease WHEN OLD.until IS NULL AND NEW.until IS NOT NULL
BEGIN
  UPDATE lease_gpu SET live = 0 WHERE lease = NEW.id;
  DELETE FROM mount WHERE claim = NEW.claim;
  INSERT INTO gpu (uuid, idle_since, idle_up, idle_boot, stopped)
    SELECT gpu, NEW.until, NEW.until_up, NEW.until_boot,
      (SELECT id FROM claim
        WHERE id = NEW.claim AND NEW.holder = 'held' AND NOT released AND share IS NULL
          AND origin IN ('engine', 'oci'))
    FROM lease_gpu WHERE lease = NEW.id
    ON CONFLICT (uuid) DO UPDATE
      SET idle_since = excluded.idle_since, idle_up = excluded.idle_up, idle_boot = excluded.idle_boot,
        -- A reservation that came to nothing does not matter.
        stopped = CASE NEW.holder WHEN 'reserved' THEN gpu.stopped ELSE excluded.stopped END;
END;

-- What was kept for one user is over when another has the GPU.
CREATE TRIGGER another_user_has_it AFTER INSERT ON lease_gpu WHEN NEW.live
BEGIN
  UPDATE gpu SET stopped = NULL
  WHERE uuid = NEW.gpu
    AND (SELECT uid FROM claim WHERE id = gpu.stopped)
      IS NOT (SELECT uid FROM claim JOIN lease ON lease.claim = claim.id WHERE lease.id = NEW.lease);
END;

-- Docker's mounts of claim volumes that it has not taken back, each as often as it was mounted.
CREATE TABLE mount (
  claim TEXT NOT NULL REFERENCES claim,
  use TEXT NOT NULL
) STRICT;

CREATE INDEX mount_of_claim ON mount (claim, use);

-- The GPUs that were held before, and are not now.
CREATE TABLE gpu (
  uuid TEXT PRIMARY KEY,
  idle_since INTEGER NOT NULL,
  idle_up INTEGER,                   -- the same in milliseconds since the boot idle_boot
  idle_boot TEXT,
  stopped TEXT                       -- the claim of the container that held it until then; NULL if nothing is kept for its owner
) STRICT, WITHOUT ROWID;

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
  at_least INTEGER NOT NULL CHECK (at_least IN (0, 1)), -- whether it may have been idle before, without a daemon
  last INTEGER NOT NULL,             -- when it was last seen to be idle
  PRIMARY KEY (lease, gpu, source)
) STRICT, WITHOUT ROWID;

-- When GPUs could be given to nobody, though nobody held them under a lease. The last row of each is written again as
-- long as that lasts.
CREATE TABLE trouble (
  gpu TEXT NOT NULL,                 -- its UUID
  state TEXT NOT NULL CHECK (state IN ('unmanaged', 'cordoned', 'sick')),
  user TEXT,                         -- of an unmanaged use, as far as it is known
  since INTEGER NOT NULL,
  until INTEGER NOT NULL,            -- when it was last seen
  CHECK (length(user) <= 255),
  PRIMARY KEY (gpu, since)
) STRICT, WITHOUT ROWID;

CREATE INDEX trouble_by_end ON trouble (until);

-- Reservations that never became anything, added up by the hour in which they ended: a loop of them can't fill the
-- history. For the whole of a user's, gpu is ''.
CREATE TABLE reserved (
  uid INTEGER NOT NULL,
  owner TEXT NOT NULL,               -- separates the namespaces of Kubernetes, whose uid is the same
  gpu TEXT NOT NULL,
  hour INTEGER NOT NULL,             -- since 1970
  leases INTEGER NOT NULL,
  millis INTEGER NOT NULL,
  last INTEGER NOT NULL,
  PRIMARY KEY (uid, owner, gpu, hour)
) STRICT, WITHOUT ROWID;

CREATE INDEX reserved_hour ON reserved (hour);

-- The queue, the highest priority first, then in order of the tickets' numbers, which are never used again. A place is its client's for as long as that
-- process lives, whatever becomes of the daemon.
CREATE TABLE ticket (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  boot TEXT NOT NULL,                -- pids mean nothing under another boot id
  pid INTEGER NOT NULL,
  start INTEGER NOT NULL,
  uid INTEGER NOT NULL,
  owner TEXT NOT NULL,
  request TEXT NOT NULL,             -- as --gpus spells it
  since INTEGER NOT NULL,
  origin TEXT NOT NULL,              -- of the claim that it becomes, with its engine and image
  engine TEXT,
  image TEXT,
  gpus TEXT NOT NULL,                -- the UUIDs of the only GPUs that it may be given, separated by commas; '' when any
  time INTEGER,                      -- how long it wants them, in milliseconds, if it says so
  priority INTEGER NOT NULL,         -- of its owner's requests, by the limits of the moment at which it was taken
  name TEXT,                         -- of the container that waits to be started
  CHECK (length(owner) <= 255 AND length(name) <= 255 AND length(image) <= 511 AND length(engine) <= 4096),
  UNIQUE (boot, pid, start)
) STRICT;

-- GPUs that are one user's between two moments: a row for each. The moments do not move with the clock.
CREATE TABLE booking (
  id INTEGER NOT NULL,
  gpu TEXT NOT NULL,                 -- its UUID
  parent TEXT,                       -- of a MIG instance: the GPU that it is a part of
  uid INTEGER NOT NULL,
  owner TEXT NOT NULL,
  since INTEGER NOT NULL,
  until INTEGER NOT NULL CHECK (since < until),
  CHECK (length(owner) <= 255),
  PRIMARY KEY (id, gpu)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER one_booking BEFORE INSERT ON booking
BEGIN
  SELECT RAISE(ABORT, 'the GPU is booked in that time')
  WHERE EXISTS (SELECT 1 FROM booking WHERE since < NEW.until AND NEW.since < until
    AND (gpu = NEW.gpu OR gpu = NEW.parent OR parent = NEW.gpu));
END;

-- The number of the last booking: none is used again.
CREATE TABLE booking_number (
  last INTEGER NOT NULL
) STRICT;

INSERT INTO booking_number (last) VALUES (0);

-- GPUs that an administrator has taken out: they get no new lease.
CREATE TABLE cordon (
  gpu TEXT PRIMARY KEY,              -- its UUID
  uid INTEGER NOT NULL,
  owner TEXT NOT NULL,
  reason TEXT NOT NULL,              -- may be empty
  since INTEGER NOT NULL,
  CHECK (length(owner) <= 255 AND length(reason) <= 255)
) STRICT, WITHOUT ROWID;

-- Claims whose containers ran when their engine ended, and were refused when it was to start them again: their
-- restart policy does not try a second time.
CREATE TABLE refused_start (
  claim TEXT PRIMARY KEY REFERENCES claim,
  reasons TEXT NOT NULL,             -- as reported to docker, a line each; it keeps one as the container's error
  what TEXT NOT NULL,                -- the last of them without the remedy
  since INTEGER NOT NULL,
  container TEXT,                    -- its id, and when docker says that it had ended, as soon as that is known
  finished TEXT,
  CHECK (length(what) <= 2000)
) STRICT, WITHOUT ROWID;

-- When this boot began by the clock, which may be set: times of this boot are kept as milliseconds since then, too,
-- and moved with the clock.
CREATE TABLE boot_time (
  boot TEXT PRIMARY KEY,
  began INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
