-- Whose a claim is, in a column of its own. Until now its engine said that: '' was a process of the host, 'mesos' a Mesos
-- task, and a URL an engine behind another socket; and the image was '?' when nobody knew it.
PRAGMA defer_foreign_keys = ON; -- what refers to a claim finds it again before this is committed

CREATE TABLE claim_of_5 AS SELECT * FROM claim;
DROP TABLE claim;

CREATE TABLE claim (
  id TEXT PRIMARY KEY,
  origin TEXT NOT NULL CHECK (origin IN ('engine', 'other_engine', 'process', 'mesos')),
  engine TEXT,                       -- of a container: its engine's id, or address when the daemon does not ask that
  image TEXT,                        -- of a container, as far as it is known; else the program, or the task's name
  uid INTEGER NOT NULL,
  owner TEXT NOT NULL,
  created INTEGER NOT NULL,
  volume INTEGER NOT NULL DEFAULT 0, -- whether docker was told of its volume
  container TEXT,                    -- its id and name, as soon as they are known
  name TEXT,
  released INTEGER NOT NULL DEFAULT 0, -- by force: what runs now does not count until it is started again
  forgotten INTEGER,                 -- when its container and volume were gone
  stopped INTEGER NOT NULL DEFAULT 0, -- whether the engine said that the container had ended, when its last lease did
  CHECK ((engine IS NOT NULL) = (origin IN ('engine', 'other_engine'))),
  CHECK (image IS NOT NULL OR engine IS NOT NULL)
) STRICT;

INSERT INTO claim
  SELECT id,
    CASE
      WHEN engine = '' THEN 'process'
      WHEN engine = 'mesos' THEN 'mesos'
      WHEN instr(engine, '://') THEN 'other_engine'
      ELSE 'engine'
    END,
    iif(engine IN ('', 'mesos'), NULL, engine),
    iif(engine NOT IN ('', 'mesos') AND image = '?', NULL, image),
    uid, owner, created, volume, container, name, released, forgotten, stopped
  FROM claim_of_5;

DROP TABLE claim_of_5;

CREATE INDEX claim_of_container ON claim (container);
CREATE INDEX claim_alive ON claim (id) WHERE forgotten IS NULL;
CREATE INDEX claim_forgotten ON claim (forgotten) WHERE forgotten IS NOT NULL;

-- What a place in the queue is for, likewise; NULL for that of a release before schema 4, which did not write it, until
-- its client asks again.
ALTER TABLE ticket ADD COLUMN origin TEXT;
ALTER TABLE ticket RENAME COLUMN engine TO engine_of_5;
ALTER TABLE ticket RENAME COLUMN image TO image_of_5;
ALTER TABLE ticket ADD COLUMN engine TEXT;
ALTER TABLE ticket ADD COLUMN image TEXT;

UPDATE ticket SET
  origin = CASE
    WHEN engine_of_5 = '' THEN 'process'
    WHEN engine_of_5 = 'mesos' THEN 'mesos'
    WHEN instr(engine_of_5, '://') THEN 'other_engine'
    ELSE 'engine'
  END,
  engine = iif(engine_of_5 IN ('', 'mesos'), NULL, engine_of_5),
  image = image_of_5
WHERE image_of_5 <> '?';

ALTER TABLE ticket DROP COLUMN engine_of_5;
ALTER TABLE ticket DROP COLUMN image_of_5;

-- The last of the reasons for a refused start without what docker's user was told to do about it; NULL where an earlier
-- release wrote that.
ALTER TABLE refused_start ADD COLUMN what TEXT;
