-- Pods of Kubernetes. Their leases are called 'container' as well, and what a kubelet has reserved 'client'; the claim says
-- of what kind they are.
PRAGMA defer_foreign_keys = ON; -- what refers to a claim finds it again before this is committed

CREATE TABLE claim_of_9 AS SELECT * FROM claim;
DROP TABLE claim;

CREATE TABLE claim (
  id TEXT PRIMARY KEY,
  origin TEXT NOT NULL CHECK (origin IN ('engine', 'other_engine', 'process', 'mesos', 'oci', 'pod')),
  engine TEXT,                       -- of a container: its engine's id, address, or the root of the real runtime; of a pod: its uid, '' as long as that is not known
  image TEXT,                        -- of a container, as far as it is known; of a pod, its namespace/name, as far as it is known; else the program, or the task's name
  uid INTEGER NOT NULL,
  owner TEXT NOT NULL,
  request TEXT,                      -- as --gpus spells it; NULL where nobody needs it again, or an earlier release wrote
  created INTEGER NOT NULL,
  volume INTEGER NOT NULL DEFAULT 0, -- whether docker was told of its volume
  container TEXT,                    -- its id and name, as soon as they are known
  name TEXT,
  released INTEGER NOT NULL DEFAULT 0, -- by force: what runs now does not count until it is started again
  forgotten INTEGER,                 -- when its container and volume were gone
  stopped INTEGER NOT NULL DEFAULT 0, -- whether the engine said that the container had ended, when its last lease did
  CHECK ((engine IS NOT NULL) = (origin IN ('engine', 'other_engine', 'oci', 'pod'))),
  CHECK (image IS NOT NULL OR engine IS NOT NULL)
) STRICT;

INSERT INTO claim
  SELECT id, origin, engine, image, uid, owner, request, created, volume, container, name, released, forgotten, stopped
  FROM claim_of_9;

DROP TABLE claim_of_9;

CREATE INDEX claim_of_container ON claim (container);
CREATE INDEX claim_alive ON claim (id) WHERE forgotten IS NULL;
CREATE INDEX claim_forgotten ON claim (forgotten) WHERE forgotten IS NOT NULL;

-- Of a pod's lease: the names of the containers that have had the GPU, parted by commas.
ALTER TABLE lease ADD COLUMN containers TEXT;
